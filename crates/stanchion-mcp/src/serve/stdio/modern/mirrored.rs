//! What a request of this era says twice: in its headers and in its body. Whoever reads only one must not be fooled.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::HeaderName;
use serde::Deserialize;
use serde_json::Value;

use crate::frame::Frame;
use crate::frame::text_of;
use crate::serve::stdio::headers;
use crate::serve::stdio::message::{VERSION, meta, param};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// So many tools whose arguments are mirrored are remembered, and so deep their schemas are looked into.
const TOOLS: usize = 10_000;
const DEPTH: usize = 16;

/// An argument that is in a header, too.
#[derive(Debug, Clone)]
struct Argument {
    header: HeaderName,
    path: Vec<String>,
}

/// Which arguments of which tools are mirrored, as far as a list of tools has come by.
#[derive(Debug, Default)]
pub(super) struct Mirrored(RwLock<HashMap<String, Vec<Argument>>>);

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    input_schema: Value,
}

impl Mirrored {
    /// Looks at an answer to `tools/list`.
    pub(super) fn learn(&self, text: &str) {
        let known = !self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty();
        if !known && !text.contains("x-mcp-header") {
            return;
        }
        let Some(result) = Frame::parse(text).ok().and_then(|frame| frame.result().map(ToOwned::to_owned)) else {
            return;
        };
        let Ok(listed) = serde_json::from_str::<Listed>(result.get()) else { return };
        let mut tools = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for tool in listed.tools {
            let mut found = Vec::new();
            collect(&tool.input_schema, &mut Vec::new(), &mut found);
            if found.is_empty() {
                tools.remove(&tool.name);
            } else if tools.len() < TOOLS {
                tools.insert(tool.name, found);
            }
        }
    }

    /// What does not agree, in words.
    pub(super) fn disagreement(&self, headers: &HeaderMap, frame: &Frame<'_>) -> Option<String> {
        let version = meta(frame, VERSION).and_then(text_of);
        let method = frame.method().unwrap_or_default();
        plain(headers, &headers::VERSION, version.as_deref())
            .or_else(|| plain(headers, &METHOD, Some(method)))
            .or_else(|| name_disagrees(headers, frame, method))
            .or_else(|| if method == "tools/call" { self.argument_disagrees(headers, frame) } else { None })
    }

    fn argument_disagrees(&self, headers: &HeaderMap, frame: &Frame<'_>) -> Option<String> {
        let tools = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let arguments = tools.get(&*param(frame, "name")?)?;
        let params: Value = frame.params().and_then(|raw| serde_json::from_str(raw.get()).ok())?;
        arguments.iter().find_map(|argument| {
            let mut value = params.get("arguments").unwrap_or(&Value::Null);
            for step in &argument.path {
                value = value.get(step).unwrap_or(&Value::Null);
            }
            let sent = headers.get(&argument.header);
            let agrees = match (sent, value) {
                _ if is_twice(headers, &argument.header) => false,
                (None, Value::Null) => true,
                (Some(sent), value) => {
                    sent.to_str().ok().and_then(|sent| decoded(sent.trim())).is_some_and(|sent| same(&sent, value))
                }
                (None, _) => false,
            };
            (!agrees).then(|| mismatch(&argument.header))
        })
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Argument>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, schema) in properties {
        path.push(name.clone());
        let header = schema.get("x-mcp-header").and_then(Value::as_str);
        if let Some(header) = header.and_then(|suffix| format!("mcp-param-{suffix}").to_ascii_lowercase().parse().ok())
        {
            found.push(Argument { header, path: path.clone() });
        }
        if path.len() < DEPTH {
            collect(schema, path, found);
        }
        path.pop();
    }
}

fn mismatch(header: &HeaderName) -> String {
    format!("Header mismatch: {header} is missing, or does not say what the body says")
}

/// Whoever stands between us and the client may read the other one.
fn is_twice(headers: &HeaderMap, header: &HeaderName) -> bool {
    headers.get_all(header).iter().count() > 1
}

fn plain(headers: &HeaderMap, header: &HeaderName, body: Option<&str>) -> Option<String> {
    (is_twice(headers, header) || headers::text(headers, header) != body).then(|| mismatch(header))
}

fn name_disagrees(headers: &HeaderMap, frame: &Frame<'_>, method: &str) -> Option<String> {
    let (member, required) = match method {
        "tools/call" | "prompts/get" => ("name", true),
        "resources/read" => ("uri", true),
        "tasks/get" | "tasks/update" | "tasks/cancel" => ("taskId", false),
        _ => return None,
    };
    if is_twice(headers, &NAME) {
        return Some(mismatch(&NAME));
    }
    let said = param(frame, member);
    match headers.get(NAME) {
        None if !required || said.is_none() => None,
        None => Some(mismatch(&NAME)),
        Some(sent) => {
            let sent = sent.to_str().ok().and_then(|sent| decoded(sent.trim()));
            (sent.is_none() || sent.as_deref() != said.as_deref()).then(|| mismatch(&NAME))
        }
    }
}

/// A value as it was before it was made fit for a header; `None` if it is made fit badly.
fn decoded(sent: &str) -> Option<String> {
    match sent.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(sent.to_owned()),
    }
}

fn same(sent: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text == sent,
        Value::Bool(yes) => sent == if *yes { "true" } else { "false" },
        Value::Number(number) => {
            number.to_string() == sent || sent.parse::<f64>().is_ok_and(|sent| number.as_f64() == Some(sent))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments, headers, and whether they agree.
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], bool);

    fn call(arguments: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"weather","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
        )
    }

    fn told() -> Mirrored {
        let mirrored = Mirrored::default();
        mirrored.learn(
            r#"{"id":1,"result":{"tools":[{"name":"other"},{"name":"weather","inputSchema":{"type":"object","properties":{
            "city":{"type":"string","x-mcp-header":"City"},
            "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}}]}}"#,
        );
        mirrored
    }

    fn headers(more: &[(&str, &str)]) -> HeaderMap {
        let base = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "weather")];
        let mut headers = HeaderMap::new();
        for (name, value) in base.iter().chain(more) {
            headers.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn headers_and_body_must_say_the_same() {
        let mirrored = told();
        let rows: &[Row<'_>] = &[
            ("{}", &[], true),
            (r#"{"city":"Berlin"}"#, &[("mcp-param-city", "Berlin")], true),
            (r#"{"city":"Berlin"}"#, &[("Mcp-Param-City", " Berlin ")], true),
            (r#"{"city":"Berlin"}"#, &[], false),
            (r#"{"city":"Berlin"}"#, &[("mcp-param-city", "Bonn")], false),
            (r#"{"city":null}"#, &[], true),
            ("{}", &[("mcp-param-city", "Bonn")], false),
            (r#"{"city":"Hello"}"#, &[("mcp-param-city", "=?base64?SGVsbG8=?=")], true),
            (r#"{"city":"Hello"}"#, &[("mcp-param-city", "=?base64?SGVsbG8?=")], false),
            (r#"{"city":"Hello"}"#, &[("mcp-param-city", "=?base64?SGVs!!!bG8=?=")], false),
            (r#"{"city":"=?base64?SGVsbG8="}"#, &[("mcp-param-city", "=?base64?SGVsbG8=")], true),
            (r#"{"deep":{"n":42}}"#, &[("mcp-param-n", "42.0")], true),
            (r#"{"deep":{"n":42}}"#, &[("mcp-param-n", "43")], false),
            ("{}", &[("mcp-name", "=?base64?d2VhdGhlcg==?=")], true),
            ("{}", &[("mcp-name", "Weather")], false),
            ("{}", &[("mcp-method", "TOOLS/CALL")], false),
            ("{}", &[("mcp-protocol-version", "2025-11-25")], false),
            ("{}", &[("mcp-param-unknown", "whatever")], true),
        ];
        for (arguments, more, fine) in rows {
            let text = call(arguments);
            let said = mirrored.disagreement(&headers(more), &Frame::parse(&text).unwrap());
            assert_eq!(said.is_none(), *fine, "{arguments} {more:?}: {said:?}");
        }
    }
}
