//! Two real instances behind the balancer, raced by real MCP clients.
#![expect(clippy::unwrap_used, reason = "a helper that cannot go on ends the test")]

mod bad_input;
mod invoices;
mod one_command;
mod races;
mod reports;
mod site;
mod stale;
