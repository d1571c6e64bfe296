//! Everybody who has subscribed hears of every change, whoever makes it.

use std::sync::Arc;

use serde_json::json;
use stanchion_memory::{GraphMemory, Memory as _, MemoryServer, Mutation};

use super::support::Client;

async fn told(client: &mut Client) {
    let next = match client.notified.pop() {
        Some(next) => next,
        None => client.next().await.expect("a message"),
    };
    let expected = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "memory://knowledge-graph"}});
    assert_eq!(next, expected);
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
    told(&mut one).await;
    told(&mut two).await;
    assert_eq!(quiet.said_until_now().await, [serde_json::Value::Null; 0], "who has not subscribed is not told");
    // A client that has gone is no hindrance.
    one.leave().await;
    quiet.call("create_entities", json!({"entities": []})).await;
    told(&mut two).await;
}

#[tokio::test]
async fn a_change_past_the_server_is_told_while_somebody_listens() {
    let memory = Arc::new(GraphMemory::default());
    let server = MemoryServer::new(memory.clone());
    let mut client = subscriber(&server).await;
    memory.change(Mutation::DeleteEntities(vec![])).await.unwrap();
    told(&mut client).await;
    memory.change(Mutation::DeleteEntities(vec![])).await.unwrap();
    told(&mut client).await;
}
