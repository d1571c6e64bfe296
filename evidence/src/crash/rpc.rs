//! A client of an MCP server on lines, which may die at any moment.

use serde_json::{Value, json};

use super::program::Talk;

/// What a caller is told of one call.
#[derive(Clone, Debug)]
pub enum Told {
    Done {
        replayed: bool,
        content: Value,
    },
    /// And nothing was changed.
    Failed(String),
    /// It says that it does not know, or it says nothing any more.
    Unknown(String),
}

/// One call.
#[derive(Clone, Debug)]
pub struct Ask {
    pub tool: &'static str,
    pub arguments: Value,
    pub key: Option<&'static str>,
}

#[derive(Debug)]
pub struct Client {
    talk: Talk,
    last: u64,
}

impl Client {
    /// `None` if it has died before it answered.
    pub fn greet(talk: Talk) -> Option<Self> {
        let mut client = Self { talk, last: 1 };
        let who = json!({"name": "crash", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who});
        client.talk.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string());
        client.answer_to(&[1])?;
        client.talk.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).then_some(client)
    }

    /// All at once; what each was told, in the same order.
    pub fn call_all(&mut self, asks: &[Ask]) -> Vec<Told> {
        let first = self.last + 1;
        let mut message = String::new();
        for ask in asks {
            self.last += 1;
            let mut params = json!({"name": ask.tool, "arguments": ask.arguments});
            if let Some(key) = ask.key {
                params["_meta"] = json!({"dev.stanchion/idempotencyKey": key});
            }
            let call = json!({"jsonrpc": "2.0", "id": self.last, "method": "tools/call", "params": params});
            message.push_str(&format!("{}{call}", if message.is_empty() { "" } else { "\n" }));
        }
        self.talk.say(&message);
        let mut open: Vec<u64> = (first..=self.last).collect();
        let mut told = vec![Told::Unknown("it died".to_owned()); asks.len()];
        while !open.is_empty() {
            let Some((id, answer)) = self.answer_to(&open) else { break };
            open.retain(|one| *one != id);
            if let Some(one) = usize::try_from(id - first).ok().and_then(|nth| told.get_mut(nth)) {
                *one = meaning(&answer);
            }
        }
        told
    }

    pub fn call(&mut self, ask: Ask) -> Told {
        self.call_all(&[ask]).pop().unwrap_or_else(|| Told::Unknown("nothing was said".to_owned()))
    }

    /// The next answer to one of these; `None` if there is none any more.
    fn answer_to(&mut self, open: &[u64]) -> Option<(u64, Value)> {
        loop {
            // What is no JSON is no answer; the last line of a killed program can be half a one.
            let message: Value = serde_json::from_str(&self.talk.hear()?).unwrap_or_default();
            if let Some(id) = message["id"].as_u64().filter(|id| open.contains(id)) {
                return Some((id, message));
            }
        }
    }
}

fn meaning(answer: &Value) -> Told {
    let result = &answer["result"];
    if result.is_object() && result["isError"] != true {
        let replayed = result["_meta"]["dev.stanchion/replayed"] == true;
        return Told::Done { replayed, content: result["structuredContent"].clone() };
    }
    let data = if result.is_object() { &result["_meta"]["dev.stanchion/error"] } else { &answer["error"]["data"] };
    // Whoever does not say anything about it says that it failed.
    match data["mayHaveExecuted"] == true {
        true => Told::Unknown(answer.to_string()),
        false => Told::Failed(answer.to_string()),
    }
}
