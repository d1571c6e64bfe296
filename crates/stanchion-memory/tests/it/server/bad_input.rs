//! What is no message is answered, and nothing of it ends the connection.

use serde_json::{Value, json};
use stanchion_memory::MemoryServer;

use super::support::{Client, Slow, graph_server};

#[tokio::test]
async fn what_is_no_message_is_refused_and_the_next_one_is_answered() {
    let mut client = Client::of(graph_server());
    let parse = |line: &'static str| (line, Value::Null, -32700);
    let no = |line: &'static str, id: Value| (line, id, -32600);
    let cases = [
        parse("garbage"),
        parse("{"),
        parse(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_ent"#),
        parse(r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}"#),
        no("5", Value::Null),
        no("null", Value::Null),
        no(r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#, Value::Null),
        no(r#"{"id":7,"method":"ping"}"#, json!(7)),
        no(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, json!(7)),
        no(r#"{"jsonrpc":"2.0","id":8}"#, json!(8)),
        no(r#"{"jsonrpc":"2.0","id":8,"method":5}"#, json!(8)),
        no(r#"{"jsonrpc":"2.0","id":8,"method":"ping","result":{}}"#, json!(8)),
        no(r#"{"jsonrpc":"2.0","id":"s","method":"ping","params":5}"#, json!("s")),
        no(r#"{"jsonrpc":"2.0","id":"s","method":"ping","params":[]}"#, json!("s")),
        no(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null),
        no(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
        no(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null),
        no(r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#, Value::Null),
        no(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read_graph","_meta":5}}"#, json!(4)),
    ];
    for (line, id, code) in cases {
        client.line(line).await;
        let said = client.said_until_now().await;
        assert_eq!(said.len(), 1, "{line}: {said:?}");
        assert_eq!((&said[0]["id"], &said[0]["error"]["code"]), (&id, &json!(code)), "{line}: {said:?}");
    }
    // These are nothing, or nothing that is answered.
    for line in [
        "",
        "   ",
        r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"create_entities","arguments":{"entities":[{"name":"n","entityType":"t","observations":[]}]}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    ] {
        client.line(line).await;
        assert_eq!(client.said_until_now().await, [Value::Null; 0], "{line}");
    }
    // A call that is no request has changed nothing.
    assert_eq!(client.call("read_graph", json!({})).await["structuredContent"]["entities"], json!([]));
}

#[tokio::test]
async fn odd_but_good_messages_are_answered() {
    let mut client = Client::of(graph_server());
    for (line, id) in [
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", json!(1)),
        (r#"  {"jsonrpc":"2.0","id":"","method":"ping","extra":[1]}  "#, json!("")),
        (r#"{"jsonrpc":"2.0","id":-9007199254740991,"method":"ping"}"#, json!(-9_007_199_254_740_991_i64)),
        (r#"{"method":"ping","id":"\u00e9","jsonrpc":"2.0"}"#, json!("é")),
        // Half a character.
        (r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"\ud800"}}"#, json!(2)),
    ] {
        client.line(line).await;
        let answer = client.next().await.unwrap();
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": id, "result": {}}), "{line}");
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_without_being_kept() {
    let mut client = Client::of(graph_server());
    let head = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":""#;
    let long = format!("{head}{}\"}}}}", "y".repeat(stanchion_mcp::stdio::FRAME_MAX));
    client.line(&long).await;
    let said = client.said_until_now().await;
    assert_eq!((said.len(), &said[0]["error"]["code"]), (1, &json!(-32600)), "{said:?}");
    let fits = format!("{head}{}\"}}}}", "y".repeat(1 << 20));
    client.line(&fits).await;
    assert_eq!(client.next().await.unwrap()["result"], json!({}));
}

fn create(id: &str, name: &str) -> String {
    let entity = json!({"name": name, "entityType": "t", "observations": []});
    let params = json!({"name": "create_entities", "arguments": {"entities": [entity]}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

async fn names(client: &mut Client) -> Vec<String> {
    let graph = client.call("read_graph", json!({})).await;
    let entities = graph["structuredContent"]["entities"].as_array().expect("entities");
    entities.iter().map(|entity| entity["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_both_calls_are_answered() {
    let slow = Slow::new();
    let mut client = Client::of(MemoryServer::new(slow.clone()));
    client.line(&create("same", "first")).await;
    slow.asked.acquire().await.unwrap().forget();
    client.line(&create("same", "second")).await;
    let refused = client.next().await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("same"), &json!(-32600)), "{refused}");
    slow.may.add_permits(2);
    let answer = client.next().await.unwrap();
    assert_eq!(answer["result"]["structuredContent"]["entities"][0]["name"], "first");
    // It is free again.
    client.line(&create("same", "third")).await;
    assert_eq!(client.next().await.unwrap()["result"]["structuredContent"]["entities"][0]["name"], "third");
    assert_eq!(names(&mut client).await, ["first", "third"]);
}

#[tokio::test]
async fn a_call_that_is_taken_back_is_not_answered_and_is_not_left_half_way() {
    let slow = Slow::new();
    let mut client = Client::of(MemoryServer::new(slow.clone()));
    client.line(&create("a", "Ada")).await;
    slow.asked.acquire().await.unwrap().forget();
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#).await;
    client.said_until_now().await;
    slow.may.add_permits(1);
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = names(&mut client).await;
    }
    assert_eq!(seen, ["Ada"]);
    assert_eq!(client.said_until_now().await, [Value::Null; 0]);
}

#[tokio::test]
async fn the_end_of_input_waits_for_what_is_under_way() {
    let slow = Slow::new();
    let mut client = Client::of(MemoryServer::new(slow.clone()));
    client.line(&create("a", "Ada")).await;
    slow.asked.acquire().await.unwrap().forget();
    let leaving = tokio::spawn(client.leave());
    slow.may.add_permits(1);
    let said = leaving.await.unwrap();
    assert_eq!((said.len(), &said[0]["id"]), (1, &json!("a")), "{said:?}");
}
