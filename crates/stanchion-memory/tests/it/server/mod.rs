//! The MCP server, as clients meet it.

mod bad_input;
mod eras;
mod failures;
mod http;
mod http_client;
mod http_sessions;
mod keyed;
mod overload;
mod random;
mod support;
mod updates;
mod wire;
