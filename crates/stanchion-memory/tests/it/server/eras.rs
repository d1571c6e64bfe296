//! Both eras of the protocol on one pipe.

use serde_json::{Value, json};

use super::support::{Client, graph_server, modern_meta};

fn with_meta(mut params: Value) -> Option<Value> {
    params["_meta"] = modern_meta();
    Some(params)
}

#[tokio::test]
async fn the_era_without_sessions_needs_no_handshake() {
    let mut client = Client::of(graph_server());
    let found = client.ask("server/discover", with_meta(json!({}))).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{found}");
    assert_eq!(found["result"]["capabilities"]["resources"], json!({"listChanged": true, "subscribe": true}));
    let list = client.ask("tools/list", with_meta(json!({}))).await;
    let result = &list["result"];
    assert_eq!((result["tools"].as_array().unwrap().len(), &result["resultType"]), (9, &json!("complete")));
    assert!(result["ttlMs"].is_u64(), "{result}");
    let ada = json!({"name": "Ada", "entityType": "person", "observations": []});
    let create = json!({"name": "create_entities", "arguments": {"entities": [ada]}});
    let created = client.ask("tools/call", with_meta(create)).await;
    assert_eq!(created["result"]["resultType"], "complete");
    assert_eq!(created["result"]["structuredContent"], json!({"entities": [ada]}));
    let wrong = client.ask("tools/call", with_meta(json!({"name": "nosuch"}))).await;
    assert_eq!((&wrong["result"]["isError"], &wrong["result"]["resultType"]), (&json!(true), &json!("complete")));
    let read = client.ask("resources/read", with_meta(json!({"uri": "memory://knowledge-graph"}))).await;
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("\"Ada\""), "{read}");
    // A request of the other era on the same pipe is answered in its own way.
    let plain = client.call("read_graph", json!({})).await;
    assert!(plain.get("resultType").is_none(), "{plain}");
}

#[tokio::test]
async fn a_request_of_the_era_without_sessions_must_say_who_asks() {
    let mut client = Client::of(graph_server());
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let answer = client.ask("tools/list", Some(json!({"_meta": meta}))).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2099-01-01"});
    let answer = client.ask("tools/list", Some(json!({"_meta": meta}))).await;
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
}

#[tokio::test]
async fn who_listens_is_told_of_a_change_until_it_goes() {
    let mut client = Client::of(graph_server());
    let filter = json!({"resourceSubscriptions": ["memory://knowledge-graph", "memory://other"]});
    let listen = json!({"notifications": filter, "_meta": modern_meta()});
    let listen = json!({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen", "params": listen});
    client.line(&listen.to_string()).await;
    let accepted = client.next().await.unwrap();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    let only = json!({"resourceSubscriptions": ["memory://knowledge-graph"]});
    assert_eq!(accepted["params"]["notifications"], only);
    let create = json!({"name": "create_entities", "arguments": {"entities": []}});
    client.ask("tools/call", with_meta(create)).await;
    let told = match client.notified.pop() {
        Some(told) => told,
        None => client.next().await.unwrap(),
    };
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "memory://knowledge-graph");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "listen");
    // The end of input ends it with an answer, and at once.
    let started = std::time::Instant::now();
    let last = client.leave().await;
    assert!(last.iter().any(|message| message["id"] == "listen" && message.get("result").is_some()), "{last:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_subscription_that_is_taken_back_says_nothing_more() {
    let mut client = Client::of(graph_server());
    let filter = json!({"resourceSubscriptions": ["memory://knowledge-graph"]});
    let listen = json!({"notifications": filter, "_meta": modern_meta()});
    let listen = json!({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen", "params": listen});
    client.line(&listen.to_string()).await;
    client.next().await.unwrap();
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"listen"}}"#).await;
    client.said_until_now().await;
    client.call("create_entities", json!({"entities": []})).await;
    assert_eq!(client.said_until_now().await, [Value::Null; 0]);
    assert_eq!(client.leave().await, [Value::Null; 0]);
}
