//! JSON-RPC as MCP uses it: requests out, answers in.

use serde_json::{Value, json};

use super::{Answer, Reply, shown};

/// What is offered; servers answer with what they speak.
pub(super) const PROTOCOL: &str = "2025-06-18";

pub(super) fn initialize(id: u64) -> Value {
    let client = json!({"name": "stanchion-race", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})
}

pub(super) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

pub(super) fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

pub(super) fn tools(id: u64, cursor: Option<&str>) -> Value {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params})
}

/// The tools of an answer, and where the list goes on.
pub(super) fn listed(message: &Value) -> Result<(Vec<Value>, Option<String>), String> {
    let result = message.get("result");
    let tools = result.and_then(|it| it.get("tools")).and_then(Value::as_array).cloned();
    let tools = tools.ok_or_else(|| format!("its answer to tools/list is {}", shown(&message.to_string())))?;
    let next = result.and_then(|it| it.get("nextCursor")).and_then(Value::as_str).map(str::to_owned);
    Ok((tools, next))
}

/// Our answer to what a server asks of us.
pub(super) fn answer_to(request: &Value) -> Value {
    let id = request.get("id").cloned().unwrap_or_default();
    if request.get("method").and_then(Value::as_str) == Some("ping") {
        return json!({"jsonrpc": "2.0", "id": id, "result": {}});
    }
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "this client only makes calls"}})
}

/// What an answer to a tool call means.
pub(super) fn reply(message: &Value) -> Reply {
    if let Some(error) = message.get("error") {
        let said = error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
        return refused(&said, error);
    }
    let Some(result) = message.get("result").filter(|it| it.is_object()) else {
        return Reply::Garbage(shown(&message.to_string()));
    };
    let content = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = content.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return refused(&texts.join(" "), result);
    }
    let structured = result.get("structuredContent").filter(|it| !it.is_null()).cloned();
    let json = structured.or_else(|| texts.first().and_then(|text| serde_json::from_str(text).ok()));
    Reply::Answer(Answer::new(texts.join("\n"), json))
}

fn refused(said: &str, all: &Value) -> Reply {
    Reply::Refused { what: shown(said), may_have_run: !says_nothing_ran(all) }
}

/// Does an error say that nothing ran? Only a field that says exactly that is believed.
pub(super) fn says_nothing_ran(error: &Value) -> bool {
    match error {
        Value::Object(fields) => {
            fields.get("mayHaveExecuted") == Some(&Value::Bool(false)) || fields.values().any(says_nothing_ran)
        }
        Value::Array(items) => items.iter().any(says_nothing_ran),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_may_have_run_unless_it_says_otherwise() {
        let may = |message: Value| match reply(&message) {
            Reply::Refused { may_have_run, .. } => Some(may_have_run),
            _ => None,
        };
        assert_eq!(may(json!({"error": {"code": -32602, "message": "no"}})), Some(true));
        assert_eq!(may(json!({"error": {"message": "busy", "data": {"mayHaveExecuted": false}}})), Some(false));
        assert_eq!(may(json!({"result": {"isError": true, "content": [{"type": "text", "text": "no"}]}})), Some(true));
        assert_eq!(may(json!({"result": {}})), None);
        assert!(matches!(reply(&json!({"result": 3})), Reply::Garbage(_)));
        assert!(matches!(reply(&json!({})), Reply::Garbage(_)));
    }
}
