//! `stanchion-bench echo-server`: an MCP server that does next to nothing, over stdio or HTTP.

mod http;

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Outcome;

pub(crate) fn main(http: Option<SocketAddr>) -> Outcome {
    match http {
        Some(address) => http::main(address),
        None => stdio(),
    }
}

fn stdio() -> Outcome {
    let echo = Echo::default();
    let mut input = BufReader::with_capacity(64 * 1024, std::io::stdin().lock());
    // Not the standard output of the library: that one would flush at every line.
    let output = std::fs::File::from(rustix::io::dup(std::io::stdout())?);
    let mut output = BufWriter::with_capacity(64 * 1024, output);
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        answer.clear();
        if echo.answer(&line, &mut answer)? {
            answer.push(b'\n');
            output.write_all(&answer)?;
        }
        // Together what came together.
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
}

/// The server's state: how often it wrote.
#[derive(Debug, Default)]
struct Echo {
    writes: AtomicU64,
}

/// What every small server of ours looks at.
#[derive(Deserialize)]
pub(crate) struct Request<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize<'a> {
    #[serde(borrow)]
    protocol_version: &'a RawValue,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

const CAPABILITIES: &str = r#""capabilities":{"tools":{}}"#;
const INFO: &str = r#"{"name":"stanchion-bench-echo","version":"1"}"#;
const SCHEMA: &str = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;

impl Echo {
    /// Appends the answer; `false` where there is none to give.
    fn answer(&self, line: &[u8], out: &mut Vec<u8>) -> Outcome<bool> {
        let request: Request<'_> = serde_json::from_slice(line)?;
        let (Some(id), Some(method)) = (request.id, request.method) else { return Ok(false) };
        write!(out, r#"{{"jsonrpc":"2.0","id":{id},"#)?;
        let params = request.params.map_or("{}", RawValue::get);
        match method.as_ref() {
            "tools/call" => self.call(params, out)?,
            "tools/list" => write!(
                out,
                r#""result":{{"resultType":"complete","tools":[{{"name":"echo","description":"Says it again.","inputSchema":{SCHEMA},"annotations":{{"readOnlyHint":true}}}},{{"name":"write","description":"Counts, and says it again.","inputSchema":{SCHEMA}}}]}}"#
            )?,
            "initialize" => {
                let version = serde_json::from_str::<Initialize<'_>>(params)?.protocol_version;
                write!(out, r#""result":{{"protocolVersion":{version},{CAPABILITIES},"serverInfo":{INFO}}}"#)?;
            }
            "server/discover" => write!(
                out,
                r#""result":{{"resultType":"complete","supportedVersions":["2026-07-28"],{CAPABILITIES},"_meta":{{"io.modelcontextprotocol/serverInfo":{INFO}}}}}"#
            )?,
            "ping" => out.extend_from_slice(br#""result":{}"#),
            _ => out.extend_from_slice(br#""error":{"code":-32601,"message":"no such method"}"#),
        }
        out.push(b'}');
        Ok(true)
    }

    fn call(&self, params: &str, out: &mut Vec<u8>) -> Outcome {
        let Ok(call) = serde_json::from_str::<Call<'_>>(params) else {
            out.extend_from_slice(br#""error":{"code":-32602,"message":"name and arguments.text are needed"}"#);
            return Ok(());
        };
        let text = call.arguments.text;
        match call.name.as_ref() {
            "echo" => {
                write!(out, r#""result":{{"resultType":"complete","content":[{{"type":"text","text":{text}}}]}}"#)?;
            }
            "write" => {
                let writes = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
                write!(
                    out,
                    r#""result":{{"resultType":"complete","content":[{{"type":"text","text":{text}}}],"structuredContent":{{"writes":{writes}}}}}"#
                )?;
            }
            _ => out.extend_from_slice(br#""error":{"code":-32602,"message":"no such tool"}"#),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(echo: &Echo, line: &str) -> Option<serde_json::Value> {
        let mut out = Vec::new();
        echo.answer(line.as_bytes(), &mut out).unwrap().then(|| serde_json::from_slice(&out).unwrap())
    }

    #[test]
    fn each_write_is_counted_and_an_echo_is_not() {
        let echo = Echo::default();
        let call = |name: &str| {
            let line = format!(
                r#"{{"id":7,"method":"tools/call","params":{{"name":"{name}","arguments":{{"text":"a\"b"}}}}}}"#
            );
            answer(&echo, &line).unwrap()
        };
        assert_eq!(call("write")["result"]["structuredContent"]["writes"], 1);
        assert_eq!(call("echo")["result"]["content"][0]["text"], "a\"b");
        assert_eq!(call("write")["result"]["structuredContent"]["writes"], 2);
    }

    #[test]
    fn both_eras_are_answered_and_notifications_are_not() {
        let echo = Echo::default();
        let old = r#"{"id":"x","method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        assert_eq!(answer(&echo, old).unwrap()["result"]["protocolVersion"], "2025-06-18");
        let new = answer(&echo, r#"{"id":1.5,"method":"server/discover"}"#).unwrap();
        assert_eq!((new["id"].as_f64(), &new["result"]["supportedVersions"][0]), (Some(1.5), &"2026-07-28".into()));
        assert!(answer(&echo, r#"{"method":"notifications/initialized"}"#).is_none());
    }
}
