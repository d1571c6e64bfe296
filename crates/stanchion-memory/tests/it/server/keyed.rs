//! A keyed call happens once, however often it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use stanchion_core::{CasLock, Error, ErrorKind, Guard, MemoryStore};
use stanchion_memory::{GraphMemory, MemoryServer};

use super::support::{Client, graph_server};

/// A server that remembers, and how often its store was opened.
fn remembering() -> (MemoryServer, Arc<AtomicUsize>) {
    let (store, opened) = (Arc::new(MemoryStore::new()), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&opened);
    let server = MemoryServer::new(Arc::new(GraphMemory::default())).keys("memory-test", move || {
        counter.fetch_add(1, Ordering::SeqCst);
        let store = Arc::clone(&store);
        async move { Ok(Guard::new(store, Arc::new(CasLock::new(MemoryStore::new())))) }
    });
    (server, opened)
}

fn entities(name: &str) -> Value {
    json!({"entities": [{"name": name, "entityType": "t", "observations": []}]})
}

fn keyed(tool: &str, arguments: &Value, key: &str) -> Option<Value> {
    Some(json!({"name": tool, "arguments": arguments, "_meta": {"dev.stanchion/idempotencyKey": key}}))
}

#[tokio::test]
async fn a_repeated_call_happens_once_and_is_answered_as_it_was() {
    let (server, opened) = remembering();
    let mut client = Client::of(server.clone());
    client.call("create_entities", entities("Ada")).await;
    assert_eq!(opened.load(Ordering::SeqCst), 0, "who sends no keys pays nothing");
    let add = json!({"observations": [{"entityName": "Ada", "contents": ["likes looms"]}]});
    let first = client.ask("tools/call", keyed("add_observations", &add, "k1")).await;
    let added = json!({"results": [{"entityName": "Ada", "addedObservations": ["likes looms"]}]});
    assert_eq!(first["result"]["structuredContent"], added);
    assert!(first["result"].get("_meta").is_none(), "{first}");
    // What others do in between is not undone.
    client
        .call("delete_observations", json!({"deletions": [{"entityName": "Ada", "observations": ["likes looms"]}]}))
        .await;
    // Another client with the same key, too.
    let mut other = Client::of(server);
    for client in [&mut client, &mut other] {
        let mut again = client.ask("tools/call", keyed("add_observations", &add, "k1")).await;
        let meta = again["result"].as_object_mut().unwrap().remove("_meta").unwrap();
        assert_eq!(meta["dev.stanchion/replayed"], true, "{meta}");
        assert_eq!(again["result"], first["result"]);
    }
    let graph = client.call("read_graph", json!({})).await;
    assert_eq!(graph["structuredContent"]["entities"][0]["observations"], json!([]));
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    // The control: without a key it happens again, and with another one, too.
    let unkeyed = client.call("add_observations", add.clone()).await;
    assert_eq!(unkeyed["structuredContent"], added);
    let third = client.ask("tools/call", keyed("add_observations", &add, "k2")).await;
    assert_eq!(third["result"]["structuredContent"]["results"][0]["addedObservations"], json!([]));
}

#[tokio::test]
async fn every_tool_that_writes_takes_a_key_and_those_that_read_do_not() {
    let (server, opened) = remembering();
    let mut client = Client::of(server);
    let relations = json!({"relations": [{"from": "a", "to": "b", "relationType": "r"}]});
    let reads =
        [("read_graph", json!({})), ("search_nodes", json!({"query": ""})), ("open_nodes", json!({"names": []}))];
    for (tool, arguments) in &reads {
        let answer = client.ask("tools/call", keyed(tool, arguments, "k")).await;
        assert!(answer["result"]["structuredContent"].is_object(), "{answer}");
    }
    assert_eq!(opened.load(Ordering::SeqCst), 0);
    let writes = [
        ("create_entities", entities("a")),
        ("create_relations", relations.clone()),
        ("add_observations", json!({"observations": [{"entityName": "a", "contents": ["o"]}]})),
        ("delete_observations", json!({"deletions": [{"entityName": "a", "observations": ["o"]}]})),
        ("delete_relations", relations),
        ("delete_entities", json!({"entityNames": ["a"]})),
    ];
    for (tool, arguments) in &writes {
        let first = client.ask("tools/call", keyed(tool, arguments, "k")).await;
        let mut again = client.ask("tools/call", keyed(tool, arguments, "k")).await;
        let meta = again["result"].as_object_mut().unwrap().remove("_meta").unwrap();
        assert_eq!(meta["dev.stanchion/replayed"], true, "{tool}");
        assert_eq!(first["result"], again["result"], "{tool}");
    }
    // The control: without a key the second answer is another.
    let first = client.call("create_entities", entities("c")).await;
    assert_ne!(first, client.call("create_entities", entities("c")).await);
}

#[tokio::test]
async fn a_key_for_other_arguments_is_a_conflict_and_changes_nothing() {
    let (server, _) = remembering();
    let mut client = Client::of(server);
    client.ask("tools/call", keyed("create_entities", &entities("a"), "k")).await;
    let conflict = client.ask("tools/call", keyed("create_entities", &entities("b"), "k")).await;
    assert_eq!(conflict["error"]["code"], -32602, "{conflict}");
    assert_eq!(conflict["error"]["data"]["type"], "idempotency_key_conflict");
    let graph = client.call("read_graph", json!({})).await;
    assert_eq!(graph["structuredContent"]["entities"].as_array().unwrap().len(), 1);
    // The same arguments in another order of members are the same.
    let reordered = r#"{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"_meta":{"dev.stanchion/idempotencyKey":"k"},"arguments":{"entities":[{"observations":[],"entityType":"t","name":"a"}]},"name":"create_entities"}}"#;
    client.line(reordered).await;
    assert_eq!(client.next().await.unwrap()["result"]["_meta"]["dev.stanchion/replayed"], true);
}

#[tokio::test]
async fn a_call_that_changed_nothing_may_be_tried_again_under_its_key() {
    let (server, _) = remembering();
    let mut client = Client::of(server);
    let add = json!({"observations": [{"entityName": "Ada", "contents": ["o"]}]});
    let failed = client.ask("tools/call", keyed("add_observations", &add, "k")).await;
    let official = json!({"content": [{"type": "text", "text": "Entity with name Ada not found"}], "isError": true});
    assert_eq!(failed["result"], official);
    client.call("create_entities", entities("Ada")).await;
    let done = client.ask("tools/call", keyed("add_observations", &add, "k")).await;
    assert_eq!(done["result"]["structuredContent"]["results"][0]["addedObservations"], json!(["o"]));
}

#[tokio::test]
async fn a_key_is_found_in_every_place_and_a_bad_one_is_refused() {
    let (server, _) = remembering();
    let mut client = Client::of(server);
    let mut call = async |more: Value| {
        let mut params = json!({"name": "create_entities", "arguments": entities("a")});
        params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        client.ask("tools/call", Some(params)).await
    };
    call(json!({"idempotencyKey": "p"})).await;
    for place in [
        json!({"idempotencyKey": "p"}),
        json!({"_meta": {"idempotencyKey": "p"}}),
        json!({"_meta": {"idempotency_key": "p"}}),
    ] {
        assert_eq!(call(place.clone()).await["result"]["_meta"]["dev.stanchion/replayed"], true, "{place}");
    }
    for bad in [json!({"idempotencyKey": 5}), json!({"_meta": {"idempotencyKey": ""}})] {
        let refused = call(bad.clone()).await;
        assert_eq!(refused["error"]["data"]["type"], "idempotency_key_invalid", "{bad}: {refused}");
        assert_eq!(refused["error"]["data"]["mayHaveExecuted"], false);
    }
}

#[tokio::test]
async fn without_a_place_to_remember_a_keyed_call_is_refused_and_said_so() {
    let mut client = Client::of(graph_server());
    let refused = client.ask("tools/call", keyed("create_entities", &entities("a"), "k")).await;
    assert_eq!(refused["result"]["_meta"]["dev.stanchion/error"]["type"], "store_unsuitable", "{refused}");
    assert_eq!(refused["result"]["isError"], true);
    assert!(client.initialize().await["result"]["capabilities"].get("extensions").is_none());
    let away = graph_server().keys("memory-test", || async { Err(Error::new(ErrorKind::Unavailable, "it is away")) });
    let mut client = Client::of(away);
    let refused = client.ask("tools/call", keyed("create_entities", &entities("a"), "k")).await;
    let data = &refused["result"]["_meta"]["dev.stanchion/error"];
    assert_eq!((&data["type"], &data["mayHaveExecuted"]), (&json!("store_down"), &json!(false)), "{refused}");
    assert_eq!(client.call("read_graph", json!({})).await["structuredContent"]["entities"], json!([]));
    let capabilities = client.initialize().await["result"]["capabilities"].take();
    assert!(capabilities["extensions"]["dev.stanchion/idempotency"]["retentionSeconds"].is_u64(), "{capabilities}");
}
