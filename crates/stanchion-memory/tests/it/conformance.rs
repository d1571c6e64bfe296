//! What every [`Memory`] does: one case for each line of its `# Behavior`, by the same name.
//!
//! A case gets a way to open handles on one graph, which is empty and its own. [`flawed`] shows that each of them can fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stanchion_memory::{
    Addition, Changed, Deletion, Entity, Graph, Memory, MemoryError, Mutation, Outcome, Query, Relation, Selection,
};
use tokio::task::JoinSet;

const PATIENCE: Duration = Duration::from_secs(30);

/// Opens one more handle on the graph, as another process would.
pub(crate) type Open<'a> = &'a (dyn Fn() -> Arc<dyn Memory> + Send + Sync);

/// The cases as tests: `memory_conformance!(name, async fn() -> impl Fn() -> Arc<dyn Memory>)`.
#[macro_export]
macro_rules! memory_conformance {
    ($name:ident, $graph:expr) => {
        $crate::memory_conformance!($name, $graph; acknowledged_means_kept, a_mutation_is_whole, no_update_is_lost,
            a_failed_mutation_changes_nothing);
    };
    ($name:ident, $graph:expr; $($case:ident),*) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let Some(open) = ($graph)().await else { return };
                    $crate::conformance::$case(&open).await;
                }
            )*
        }
    };
}

pub(crate) fn entity(name: impl Into<String>, observations: &[&str]) -> Entity {
    let observations = observations.iter().map(|&text| text.into()).collect();
    Entity { name: name.into(), entity_type: "t".into(), observations }
}

pub(crate) fn relation(from: &str, to: &str) -> Relation {
    Relation { from: from.into(), to: to.into(), relation_type: "r".into() }
}

pub(crate) fn addition(name: &str, contents: &[&str]) -> Mutation {
    let contents = contents.iter().map(|&text| text.into()).collect();
    Mutation::AddObservations(vec![Addition { entity_name: name.into(), contents }])
}

pub(crate) async fn all(memory: &dyn Memory) -> Selection {
    memory.read(Query::All).await.unwrap_or_else(|e| panic!("read: {e:?}")).0
}

pub(crate) async fn done(memory: &dyn Memory, mutation: Mutation) -> Outcome {
    let Changed { outcome, .. } = memory.change(mutation).await.unwrap_or_else(|e| panic!("change: {e:?}"));
    outcome
}

/// When `change` has returned, every later read of any process sees it.
pub(crate) async fn acknowledged_means_kept(open: Open<'_>) {
    let handles = [open(), open()];
    let mut model = Graph::default();
    let story = [
        Mutation::CreateEntities(vec![entity("a", &["1"]), entity("b", &[]), entity("ü \"\n", &["line\nbreak"])]),
        Mutation::CreateEntities(vec![entity("a", &["other"]), entity("c", &["3"])]),
        Mutation::CreateRelations(vec![relation("a", "b"), relation("b", "c"), relation("c", "nobody")]),
        addition("b", &["x", "y", "x"]),
        addition("b", &["y"]),
        Mutation::DeleteObservations(vec![Deletion { entity_name: "b".into(), observations: vec!["x".into()] }]),
        Mutation::DeleteRelations(vec![relation("c", "nobody"), relation("no", "one")]),
        Mutation::DeleteEntities(vec!["a".into(), "nobody".into()]),
        Mutation::CreateEntities(vec![entity("a", &["again"])]),
        Mutation::DeleteEntities(vec!["a".into(), "b".into(), "c".into(), "ü \"\n".into()]),
        Mutation::CreateEntities(vec![entity("last", &[])]),
    ];
    for (nth, mutation) in story.into_iter().enumerate() {
        let (plan, outcome) = model.plan(&mutation).expect("the story names what is there");
        model.apply(plan);
        assert_eq!(done(&*handles[nth % 2], mutation).await, outcome, "step {nth}");
        for handle in [&handles[0], &handles[1], &open()] {
            assert_eq!(all(&**handle).await, model.select(&Query::All), "step {nth}");
        }
    }
}

/// Readers see all of a mutation or nothing of it.
pub(crate) async fn a_mutation_is_whole(open: Open<'_>) {
    const MANY: usize = 40;
    let (writer, reader) = (open(), open());
    let ended = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&ended);
    let writing = tokio::spawn(async move {
        let entities: Vec<Entity> = (0..MANY).map(|n| entity(format!("e{n}"), &["x"])).collect();
        let names: Vec<String> = entities.iter().map(|one| one.name.clone()).collect();
        while !stop.load(Ordering::Relaxed) {
            done(&*writer, Mutation::CreateEntities(entities.clone())).await;
            let more = |name: &String| Addition { entity_name: name.clone(), contents: vec!["y".into()] };
            done(&*writer, Mutation::AddObservations(names.iter().map(more).collect())).await;
            done(&*writer, Mutation::DeleteEntities(names.clone())).await;
        }
    });
    // None, all, all with more: each several times, so that it was read while it was written.
    let mut seen = [0_u32; 3];
    let reading = async {
        while seen.iter().any(|times| *times < 5) {
            let graph = all(&*reader).await;
            let with_more = graph.entities.iter().filter(|one| one.observations.len() == 2).count();
            match (graph.entities.len(), with_more) {
                (0, 0) => seen[0] += 1,
                (MANY, 0) => seen[1] += 1,
                (MANY, MANY) => seen[2] += 1,
                torn => panic!("a part of a mutation: {torn:?}"),
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("every state is seen");
    ended.store(true, Ordering::Relaxed);
    writing.await.expect("the writer ends well");
}

/// Mutations of many processes at once all happen, one after the other.
pub(crate) async fn no_update_is_lost(open: Open<'_>) {
    const TASKS: usize = 8;
    const EACH: usize = 15;
    let handles = [open(), open()];
    done(&*handles[0], Mutation::CreateEntities(vec![entity("shared", &[])])).await;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let memory = Arc::clone(&handles[task % 2]);
        tasks.spawn(async move {
            for n in 0..EACH {
                let name = format!("{task}-{n}");
                done(&*memory, Mutation::CreateEntities(vec![entity(name.clone(), &[])])).await;
                done(&*memory, Mutation::CreateRelations(vec![relation("shared", &name)])).await;
                done(&*memory, addition("shared", &[&name])).await;
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("every mutation is done");
    }
    let mut expected: Vec<String> = (0..TASKS).flat_map(|task| (0..EACH).map(move |n| format!("{task}-{n}"))).collect();
    expected.sort();
    let sorted = |names: Vec<String>| {
        let mut names = names;
        names.sort();
        names
    };
    for handle in [&handles[0], &handles[1], &open()] {
        let graph = all(&**handle).await;
        assert_eq!(sorted(graph.entities[0].observations.clone()), expected, "observations");
        assert_eq!(sorted(graph.entities[1..].iter().map(|one| one.name.clone()).collect()), expected, "entities");
        assert_eq!(sorted(graph.relations.iter().map(|one| one.to.clone()).collect()), expected, "relations");
    }
}

/// An error whose kind says "nothing ran" is true to it; also for those that are written at the same moment.
pub(crate) async fn a_failed_mutation_changes_nothing(open: Open<'_>) {
    let handles = [open(), open()];
    done(&*handles[0], Mutation::CreateEntities(vec![entity("a", &[])])).await;
    let to = |name: &str| Addition { entity_name: name.into(), contents: vec!["bad".into()] };
    let mut tasks = JoinSet::new();
    for n in 0..40 {
        let memory = Arc::clone(&handles[n % 2]);
        let bad = Mutation::AddObservations(vec![to("a"), to("nobody")]);
        tasks.spawn(async move {
            if n % 4 < 2 {
                let error = memory.change(bad).await.expect_err("there is nobody");
                assert!(matches!(&error, MemoryError::NotFound(name) if name.0 == "nobody"), "{error:?}");
            } else {
                done(&*memory, addition("a", &[&n.to_string()])).await;
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("as it should be");
    }
    let mut expected: Vec<String> = (0..40).filter(|n| n % 4 >= 2).map(|n| n.to_string()).collect();
    expected.sort();
    for handle in [&handles[0], &handles[1], &open()] {
        let mut graph = all(&**handle).await;
        graph.entities[0].observations.sort();
        assert_eq!(graph.entities[0].observations, expected);
        assert_eq!((graph.entities.len(), graph.relations.len()), (1, 0));
    }
}

/// Memories with one flaw each, and the case that finds it.
mod flawed {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use stanchion_memory::Notice;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Flaw {
        None,
        /// Each handle reads what it has written itself, and the others' only when it writes.
        ReadsLate,
        /// What a mutation brings comes one by one.
        Torn,
        /// Works on a copy and puts it back.
        Overwrites,
        /// Does what it can before it fails.
        Partial,
    }

    #[derive(Debug)]
    struct Flawed {
        flaw: Flaw,
        graph: Arc<Mutex<Graph>>,
        own: Mutex<Selection>,
    }

    fn copy(graph: &Graph) -> Graph {
        Graph::new(graph.entities().to_vec(), graph.relations().to_vec())
    }

    /// The same mutation in pieces.
    fn pieces(mutation: &Mutation) -> Vec<Mutation> {
        match mutation.clone() {
            Mutation::CreateEntities(all) => all.into_iter().map(|one| Mutation::CreateEntities(vec![one])).collect(),
            Mutation::AddObservations(all) => all.into_iter().map(|one| Mutation::AddObservations(vec![one])).collect(),
            Mutation::DeleteEntities(all) => all.into_iter().map(|one| Mutation::DeleteEntities(vec![one])).collect(),
            other => vec![other],
        }
    }

    #[async_trait]
    impl Memory for Flawed {
        async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
            let outcome = copy(&self.graph.lock().unwrap()).plan(&mutation).map(|(_, outcome)| outcome);
            let parts = match self.flaw {
                Flaw::Torn if outcome.is_ok() => pieces(&mutation),
                Flaw::Partial => pieces(&mutation),
                _ => vec![mutation],
            };
            for part in parts {
                let read = copy(&self.graph.lock().unwrap());
                if matches!(self.flaw, Flaw::Torn | Flaw::Overwrites) {
                    tokio::task::yield_now().await;
                }
                let mut graph = self.graph.lock().unwrap();
                if self.flaw == Flaw::Overwrites {
                    *graph = read;
                }
                let (plan, _) = graph.plan(&part)?;
                graph.apply(plan);
                *self.own.lock().unwrap() = graph.select(&Query::All);
            }
            Ok(Changed { outcome: outcome?, notices: vec![] })
        }

        async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
            let graph = match self.flaw {
                Flaw::ReadsLate => self.own.lock().unwrap().clone(),
                _ => self.graph.lock().unwrap().select(&query),
            };
            Ok((graph, vec![]))
        }

        async fn changed(&self) {}
    }

    fn opener(flaw: Flaw) -> impl Fn() -> Arc<dyn Memory> + Send + Sync {
        let graph = Arc::new(Mutex::new(Graph::default()));
        move || Arc::new(Flawed { flaw, graph: Arc::clone(&graph), own: Mutex::default() })
    }

    crate::memory_conformance!(without_a_flaw_all_is_well, async || Some(super::opener(super::Flaw::None)));

    macro_rules! found {
        ($test:ident, $flaw:ident, $case:ident) => {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let open = opener(Flaw::$flaw);
                let case = tokio::spawn(async move { super::$case(&open).await });
                assert!(case.await.is_err_and(|e| e.is_panic()), "the case finds nothing, so it proves nothing");
            }
        };
    }
    found!(a_late_read_is_found, ReadsLate, acknowledged_means_kept);
    found!(a_torn_mutation_is_found, Torn, a_mutation_is_whole);
    found!(an_overwritten_update_is_found, Overwrites, no_update_is_lost);
    found!(a_half_done_failure_is_found, Partial, a_failed_mutation_changes_nothing);
}
