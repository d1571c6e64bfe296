//! Everybody who has subscribed hears of every change once, whoever makes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use stanchion_memory::{
    Changed, Compat, FileMemory, FileOptions, GraphMemory, Memory, MemoryError, MemoryServer, Mutation, Notice, Query,
    Selection,
};

use super::support::{Client, Slow, file_server};

fn is_told(message: &Value) {
    let expected = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "memory://knowledge-graph"}});
    assert_eq!(*message, expected);
}

async fn told(client: &mut Client) {
    is_told(&match client.notified.pop() {
        Some(next) => next,
        None => client.next().await.expect("a message"),
    });
}

/// Once, and not again.
async fn told_once(client: &mut Client) {
    told(client).await;
    assert_eq!(client.notified, [Value::Null; 0]);
    assert_eq!(client.said_unasked().await, [Value::Null; 0]);
}

async fn subscriber(server: &MemoryServer) -> Client {
    let mut client = Client::of(server.clone());
    client.initialize().await;
    let done = client.ask("resources/subscribe", Some(json!({"uri": "memory://knowledge-graph"}))).await;
    assert_eq!(done["result"], json!({}));
    client
}

#[tokio::test]
async fn a_change_of_one_client_is_told_to_the_others() {
    let server = MemoryServer::new(Arc::new(GraphMemory::default()));
    let (mut one, mut two) = (subscriber(&server).await, subscriber(&server).await);
    let mut quiet = Client::of(server.clone());
    quiet.initialize().await;
    quiet.call("create_entities", json!({"entities": []})).await;
    told_once(&mut one).await;
    told_once(&mut two).await;
    assert_eq!(quiet.said_until_now().await, [Value::Null; 0], "who has not subscribed is not told");
    // A client that has gone is no hindrance.
    one.leave().await;
    quiet.call("create_entities", json!({"entities": []})).await;
    told_once(&mut two).await;
}

#[tokio::test]
async fn a_change_past_the_server_is_told_while_somebody_listens() {
    let memory = Arc::new(GraphMemory::default());
    let server = MemoryServer::new(memory.clone());
    let mut client = subscriber(&server).await;
    for _ in 0..2 {
        memory.change(Mutation::DeleteEntities(vec![])).await.unwrap();
        told_once(&mut client).await;
    }
}

#[tokio::test]
async fn a_change_of_another_process_right_after_ones_own_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let other = FileMemory::open(folder.path().join("official.jsonl"), FileOptions::default()).unwrap();
    let mut client = subscriber(&file_server(&folder, Compat::Append)).await;
    // The file is there, and has been looked at.
    client.call("create_entities", json!({"entities": [{"name": "a", "entityType": "t", "observations": []}]})).await;
    told_once(&mut client).await;
    for nth in 0..8 {
        let entity = |name: &str| json!({"name": format!("{name}{nth}"), "entityType": "t", "observations": []});
        client.call("create_entities", json!({"entities": [entity("own")]})).await;
        let theirs = serde_json::from_value(entity("theirs")).unwrap();
        other.change(Mutation::CreateEntities(vec![theirs])).await.unwrap();
        // What was said before its change may not have been about it.
        told(&mut client).await;
        assert_eq!(client.notified, [Value::Null; 0]);
        told_once(&mut client).await;
    }
}

#[tokio::test]
async fn a_change_of_others_during_one_of_ours_is_told_when_ours_fails() {
    let slow = Slow::new();
    let server = MemoryServer::new(slow.clone());
    let mut client = subscriber(&server).await;
    let mut other = Client::of(server);
    let missing = json!({"observations": [{"entityName": "nobody", "contents": []}]});
    let params = json!({"name": "add_observations", "arguments": missing});
    other.line(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}).to_string()).await;
    slow.asked.acquire().await.unwrap().forget();
    slow.change_past(Mutation::DeleteEntities(vec![])).await;
    assert_eq!(client.said_unasked().await, [Value::Null; 0], "it may be the one that is being made");
    slow.may.add_permits(1);
    assert_eq!(other.next().await.unwrap()["result"]["isError"], true);
    told_once(&mut client).await;
}

/// Looking for changes breaks at first.
#[derive(Debug, Default)]
struct Breaking {
    graph: GraphMemory,
    has_broken: AtomicBool,
}

#[async_trait::async_trait]
impl Memory for Breaking {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        self.graph.change(mutation).await
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        self.graph.read(query).await
    }

    async fn changed(&self) {
        assert!(self.has_broken.swap(true, Ordering::SeqCst), "as planned");
        self.graph.changed().await;
    }
}

#[tokio::test]
async fn a_fault_of_ours_does_not_end_the_watching() {
    let memory = Arc::new(Breaking::default());
    let mut client = subscriber(&MemoryServer::new(memory.clone())).await;
    memory.change(Mutation::DeleteEntities(vec![])).await.unwrap();
    told_once(&mut client).await;
    assert!(memory.has_broken.load(Ordering::SeqCst));
}
