//! A graph goes out as a file and comes back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;

use stanchion_core::{ChaosStore, MemoryStore};
use stanchion_memory::{Imported, Mutation, SharedMemory, export, from_jsonl, import};

use crate::conformance::{all, done, entity, relation};

fn memory(store: &MemoryStore) -> SharedMemory {
    SharedMemory::new(Arc::new(store.clone()), SharedMemory::DEFAULT_NAME).unwrap()
}

/// More than one chunk of each, with texts that need care.
async fn full(store: &MemoryStore) -> SharedMemory {
    let memory = memory(store);
    let name = |n: usize| format!("e{n} \"ü\"\n\u{2028}");
    let entities = (0..1234).map(|n| entity(name(n), &["\\", "twice", "twice"])).collect();
    done(&memory, Mutation::CreateEntities(entities)).await;
    let relations = (0..777).map(|n| relation(&name(n), &name(n + 1))).collect();
    done(&memory, Mutation::CreateRelations(relations)).await;
    memory
}

#[tokio::test]
async fn what_was_exported_and_imported_is_the_same_graph_and_twice_is_once() {
    let from = full(&MemoryStore::new()).await;
    let file = export(&from).await.unwrap();
    let to = memory(&MemoryStore::new());
    let imported = import(&to, &file).await.unwrap();
    assert_eq!((imported.entities_created, imported.relations_created), (1234, 777));
    assert_eq!((imported.entities_skipped, imported.relations_skipped, imported.damaged.len()), (0, 0, 0));
    assert_eq!(all(&to).await, all(&from).await);
    assert_eq!(export(&to).await.unwrap(), file);

    let again = import(&to, &file).await.unwrap();
    assert_eq!((again.entities_created, again.entities_merged, again.relations_created), (0, 0, 0));
    assert_eq!((again.entities_skipped, again.relations_skipped), (1234, 777));
    assert_eq!(export(&to).await.unwrap(), file);
}

#[tokio::test]
async fn what_is_there_gets_only_what_it_lacks() {
    let to = memory(&MemoryStore::new());
    done(&to, Mutation::CreateEntities(vec![entity("a", &["1", "2"]), entity("b", &["1"]), entity("own", &[])])).await;
    done(&to, Mutation::CreateRelations(vec![relation("a", "b")])).await;
    let file = [
        r#"{"type":"entity","name":"a","entityType":"t","observations":["2","3","3"]}"#,
        r#"{"type":"entity","name":"b","entityType":"another","observations":["1"]}"#,
        r#"{"type":"entity","name":"c","entityType":"t","observations":["1"]}"#,
        r#"{"type":"entity","name":"c","entityType":"t","observations":["1","2"]}"#,
        r#"{"type":"entity","na"#,
        r#"{"type":"relation","from":"a","to":"b","relationType":"r"}"#,
        r#"{"type":"relation","from":"b","to":"c","relationType":"r"}"#,
        r#"{"type":"relation","from":"b","to":"c","relationType":"r"}"#,
    ]
    .join("\n");
    let Imported { entities_created, entities_merged, entities_skipped, types_kept, .. } =
        import(&to, file.as_bytes()).await.unwrap();
    assert_eq!((entities_created, entities_merged, entities_skipped, types_kept), (1, 1, 1, 1));
    let expected = [entity("a", &["1", "2", "3"]), entity("b", &["1"]), entity("own", &[]), entity("c", &["1", "2"])];
    assert_eq!(all(&to).await.entities, expected);
    assert_eq!(all(&to).await.relations, [relation("a", "b"), relation("b", "c")]);

    let again = import(&to, file.as_bytes()).await.unwrap();
    assert_eq!((again.entities_skipped, again.relations_skipped), (3, 3));
    assert_eq!((again.damaged.len(), again.damaged[0].line), (1, 5));
    assert_eq!(all(&to).await.entities, expected);
}

#[tokio::test]
async fn a_document_is_imported_as_well() {
    let document = br#"{"entities":[{"name":"a","entityType":"t","observations":[]}],
        "relations":[{"from":"a","to":"b","relationType":"r"}, 7]}"#;
    let to = memory(&MemoryStore::new());
    let imported = import(&to, document).await.unwrap();
    assert_eq!((imported.entities_created, imported.relations_created, imported.damaged.len()), (1, 1, 1));
}

#[tokio::test]
async fn an_import_that_was_interrupted_is_repeated_until_all_is_there_once() {
    let from = full(&MemoryStore::new()).await;
    let file = export(&from).await.unwrap();
    let store = MemoryStore::new();
    let mut interruptions = 0;
    for seed in 0..200 {
        // The store goes away at some step, another one each time.
        let chaos = format!("error=0.4,seed={seed}").parse().unwrap();
        let to =
            SharedMemory::new(Arc::new(ChaosStore::new(store.clone(), chaos)), SharedMemory::DEFAULT_NAME).unwrap();
        if import(&to, &file).await.is_ok() {
            break;
        }
        interruptions += 1;
    }
    assert!(interruptions > 0, "it was never interrupted, so it proves nothing");
    let (graph, damaged) = from_jsonl(&export(&memory(&store)).await.unwrap());
    assert!(damaged.is_empty());
    assert_eq!(graph, all(&from).await, "after {interruptions} interruptions");
}
