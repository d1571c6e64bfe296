//! MCP servers, as their own code shows them. Where nothing else is said, their transport is the standard input.

use std::collections::BTreeMap;

use super::{Facts, mcp};
use crate::frontend::Dialect;

/// What makes a server, in the official SDKs and those that people use instead.
const SERVERS: [&str; 13] = [
    "mcp.server",
    "fastmcp",
    "FastMCP",
    "@modelcontextprotocol/sdk/server",
    "@modelcontextprotocol/server",
    "mcp-framework",
    "litemcp",
    "modelcontextprotocol/go-sdk",
    "mark3labs/mcp-go",
    "metoro-io/mcp-golang",
    "rmcp::",
    "rust_mcp_sdk",
    "mcp_server::",
];
/// Server transports over standard input and output.
const STDIO: [&str; 16] = [
    "StdioServerTransport",
    "@tmcp/transport-stdio",
    "stdio_server",
    "run_stdio_async",
    "transport=\"stdio\"",
    "transport='stdio'",
    "run(\"stdio\")",
    "transportType: \"stdio\"",
    "transportType: 'stdio'",
    "ServeStdio",
    "NewStdioServer",
    "mcp.StdioTransport",
    "NewStdioTransport",
    "transport::stdio",
    "transport::io::stdio",
    "StdioTransport::new",
];
/// Server transports by which all clients share one process.
const SHARED: [&str; 14] = [
    "streamable-http",
    "streamable_http",
    "StreamableHTTP",
    "StreamableHttp",
    "SSEServerTransport",
    "@tmcp/transport-http",
    "@tmcp/transport-sse",
    "SseServer",
    "sse_app",
    "http_app",
    "httpStream",
    "transport=\"http\"",
    "transport=\"sse\"",
    "NewSSEServer",
];

/// Whether a file of this name can say something.
pub(super) fn is_wanted(name: &str) -> bool {
    Dialect::of(name).is_some()
}

/// What the files of a program have said so far, by package.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<String, One>);

/// What those of one package have said.
#[derive(Debug, Default)]
struct One {
    /// Path and line of the first server.
    server: Option<(String, u32)>,
    stdio: bool,
    shared: bool,
}

impl Seen {
    pub(super) fn read(&mut self, facts: &mut Facts<'_>, package: &str, text: &str) {
        let is_code = |line: &str| !line.trim_start().starts_with(['#', '/', '*']);
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        // A server that is told which transport to use can be told this one.
        let serves = says(&SERVERS);
        // Most files say nothing, and a look at the whole is cheaper than one at every line.
        if !serves && !says(&STDIO) && !says(&SHARED) {
            return;
        }
        let one = self.0.entry(package.to_owned()).or_default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_code(line)) {
            let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
            let number = u32::try_from(number).unwrap_or(0).saturating_add(1);
            let named = serves && (line.contains("\"stdio\"") || line.contains("'stdio'"));
            if (has(&STDIO) || named) && !one.stdio {
                mcp::add(facts, number, "an MCP server over stdio");
                one.stdio = true;
            }
            if one.server.is_none() && has(&SERVERS) {
                one.server = Some((facts.path.to_owned(), number));
            }
            one.shared |= has(&SHARED);
        }
    }

    pub(super) fn end<'a>(&'a self, facts: &mut Facts<'a>) {
        // A server that is made in one package can be given its transport in another.
        let shared = self.0.values().any(|one| one.shared);
        for One { server, stdio, .. } in self.0.values() {
            if let (Some((path, line)), false, false) = (server, stdio, shared) {
                facts.path = path;
                mcp::add(facts, *line, "an MCP server, by default over stdio");
            }
        }
    }
}
