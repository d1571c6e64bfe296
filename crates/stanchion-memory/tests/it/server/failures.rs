//! What goes wrong where the graph is kept is said, each in its own words.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use stanchion_core::{CasLock, Error, ErrorKind, Guard, MemoryStore};
use stanchion_memory::{Changed, GraphMemory, Memory, MemoryError, MemoryServer, Mutation, Notice, Query, Selection};

use super::support::Client;

/// What happens next, before all goes well.
#[derive(Debug)]
enum Next {
    Fails(ErrorKind),
    /// It fails, though it has happened.
    HappensAndFails(ErrorKind),
    Notices(&'static str),
    /// A fault of ours.
    Breaks,
}

#[derive(Debug, Default)]
struct Scripted {
    graph: GraphMemory,
    next: Mutex<VecDeque<Next>>,
}

impl Scripted {
    fn new(next: impl IntoIterator<Item = Next>) -> Arc<Self> {
        Arc::new(Self { next: Mutex::new(next.into_iter().collect()), ..Self::default() })
    }

    fn next(&self) -> Option<Next> {
        self.next.lock().expect("no panic").pop_front()
    }
}

fn notices(text: &str) -> Vec<Notice> {
    vec![Notice { kind: "file_replaced", text: text.to_owned() }]
}

#[async_trait::async_trait]
impl Memory for Scripted {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        match self.next() {
            None => self.graph.change(mutation).await,
            Some(Next::Breaks) => panic!("as planned"),
            Some(Next::Fails(kind)) => Err(Error::new(kind, "as planned").into()),
            Some(Next::HappensAndFails(kind)) => {
                self.graph.change(mutation).await?;
                Err(Error::new(kind, "as planned").into())
            }
            Some(Next::Notices(text)) => Ok(Changed { notices: notices(text), ..self.graph.change(mutation).await? }),
        }
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        match self.next() {
            Some(Next::Notices(text)) => Ok((self.graph.read(query).await?.0, notices(text))),
            Some(Next::Fails(kind) | Next::HappensAndFails(kind)) => Err(Error::new(kind, "as planned").into()),
            Some(Next::Breaks) => panic!("as planned"),
            None => self.graph.read(query).await,
        }
    }

    async fn changed(&self) {
        self.graph.changed().await;
    }
}

fn entities(name: &str) -> Value {
    json!({"entities": [{"name": name, "entityType": "t", "observations": []}]})
}

#[tokio::test]
async fn a_busy_lock_a_failed_tool_and_a_damaged_file_are_three_answers() {
    let kinds = [ErrorKind::Contended, ErrorKind::Damaged, ErrorKind::Unavailable, ErrorKind::Denied];
    let mut client = Client::of(MemoryServer::new(Scripted::new(kinds.map(Next::Fails))));
    let mut said = Vec::new();
    for _ in kinds {
        let answer = client.call("create_entities", entities("Ada")).await;
        assert_eq!(answer["isError"], true, "{answer}");
        let data = &answer["_meta"]["dev.stanchion/error"];
        assert_eq!(data["mayHaveExecuted"], false, "{answer}");
        assert!(answer["content"][0]["text"].as_str().unwrap().contains("Nothing was"), "{answer}");
        said.push(data["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(said, ["lock_busy", "file_damaged", "store_down", "store_unsuitable"]);
    let missing = json!({"observations": [{"entityName": "Ada", "contents": []}]});
    let failed = client.call("add_observations", missing).await;
    let official = json!({"content": [{"type": "text", "text": "Entity with name Ada not found"}], "isError": true});
    assert_eq!(failed, official);
}

#[tokio::test]
async fn a_read_that_fails_says_so_as_a_tool_and_as_a_resource() {
    let mut client = Client::of(MemoryServer::new(Scripted::new([
        Next::Fails(ErrorKind::Damaged),
        Next::Fails(ErrorKind::Damaged),
    ])));
    let tool = client.call("read_graph", json!({})).await;
    assert_eq!(tool["_meta"]["dev.stanchion/error"]["type"], "file_damaged", "{tool}");
    let resource = client.ask("resources/read", Some(json!({"uri": "memory://knowledge-graph"}))).await;
    assert_eq!(resource["error"]["data"]["type"], "file_damaged", "{resource}");
}

#[tokio::test]
async fn what_was_found_on_the_way_is_said_once_beside_the_answer() {
    let script = [Next::Notices("the file was replaced"), Next::Notices("again"), Next::Notices("and again")];
    let mut client = Client::of(MemoryServer::new(Scripted::new(script)));
    let changed = client.call("create_entities", entities("Ada")).await;
    assert_eq!(changed["structuredContent"], entities("Ada"));
    assert_eq!(changed["content"][1], json!({"type": "text", "text": "stanchion: the file was replaced"}));
    let told = json!([{"kind": "file_replaced", "text": "the file was replaced"}]);
    assert_eq!(changed["_meta"]["dev.stanchion/notices"], told);
    let read = client.call("read_graph", json!({})).await;
    assert_eq!(read["content"][1]["text"], "stanchion: again", "{read}");
    let resource = client.ask("resources/read", Some(json!({"uri": "memory://knowledge-graph"}))).await;
    let contents = &resource["result"]["contents"];
    assert_eq!(contents.as_array().unwrap().len(), 1);
    assert_eq!(contents[0]["_meta"]["dev.stanchion/notices"][0]["text"], "and again", "{resource}");
    let quiet = client.call("read_graph", json!({})).await;
    assert!(quiet.get("_meta").is_none() && quiet["content"].as_array().unwrap().len() == 1, "{quiet}");
}

fn remembering(memory: Arc<Scripted>) -> MemoryServer {
    let store = Arc::new(MemoryStore::new());
    MemoryServer::new(memory).keys("memory-test", move || {
        let store = Arc::clone(&store);
        async move { Ok(Guard::new(store, Arc::new(CasLock::new(MemoryStore::new())))) }
    })
}

async fn keyed(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "idempotencyKey": "k"});
    client.ask("tools/call", Some(params)).await["result"].take()
}

#[tokio::test]
async fn a_keyed_call_whose_outcome_is_unknown_is_not_run_again() {
    let memory = Scripted::new([]);
    let mut client = Client::of(remembering(Arc::clone(&memory)));
    client.call("create_entities", entities("Ada")).await;
    memory.next.lock().unwrap().push_back(Next::HappensAndFails(ErrorKind::OutcomeUnknown));
    let add = json!({"observations": [{"entityName": "Ada", "contents": ["likes looms"]}]});
    let unknown = keyed(&mut client, "add_observations", &add).await;
    // It had happened, and somebody takes it back.
    let deletion = json!({"entityName": "Ada", "observations": ["likes looms"]});
    client.call("delete_observations", json!({"deletions": [deletion]})).await;
    for said in [unknown, keyed(&mut client, "add_observations", &add).await] {
        let data = &said["_meta"]["dev.stanchion/error"];
        assert_eq!((&data["type"], &data["mayHaveExecuted"]), (&json!("outcome_unknown"), &json!(true)), "{said}");
    }
    let graph = client.call("read_graph", json!({})).await;
    assert_eq!(graph["structuredContent"]["entities"][0]["observations"], json!([]), "it was not brought back");
}

#[tokio::test]
async fn a_keyed_call_that_changed_nothing_may_be_repeated_under_its_key() {
    let mut client = Client::of(remembering(Scripted::new([Next::Fails(ErrorKind::Contended)])));
    let busy = keyed(&mut client, "create_entities", &entities("Ada")).await;
    assert_eq!(busy["_meta"]["dev.stanchion/error"]["type"], "lock_busy", "{busy}");
    let done = keyed(&mut client, "create_entities", &entities("Ada")).await;
    assert_eq!(done["structuredContent"], entities("Ada"), "{done}");
    assert_eq!(keyed(&mut client, "create_entities", &entities("Ada")).await["_meta"]["dev.stanchion/replayed"], true);
}

#[tokio::test]
async fn a_fault_of_ours_is_answered_and_the_next_call_is_served() {
    let mut client = Client::of(MemoryServer::new(Scripted::new([Next::Breaks, Next::Breaks, Next::Breaks])));
    for (tool, arguments) in [("create_entities", entities("Ada")), ("read_graph", json!({}))] {
        let said = client.call(tool, arguments).await;
        let data = &said["_meta"]["dev.stanchion/error"];
        assert_eq!((&data["type"], &data["mayHaveExecuted"]), (&json!("internal"), &json!(true)), "{said}");
    }
    let resource = client.ask("resources/read", Some(json!({"uri": "memory://knowledge-graph"}))).await;
    assert_eq!(resource["error"]["code"], -32603, "{resource}");
    assert_eq!(client.call("create_entities", entities("Ada")).await["structuredContent"], entities("Ada"));
}
