//! One client at the other end of a pipe.

use std::sync::Arc;

use rmcp::service::{QuitReason, serve_directly};
use stanchion_core::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncWrite};

use super::MemoryServer;
use super::handler::Exact;
use super::lines::Lines;

/// Serves the client at standard input and output until the input ends; then what is under way is answered, for at most 5 s.
///
/// # If it fails
/// `Unexpected`: a fault of ours. What was acknowledged has happened.
///
/// ```no_run
/// # async fn example() -> stanchion_core::Result<()> {
/// # use std::sync::Arc;
/// # use stanchion_memory::{GraphMemory, MemoryServer, serve_stdio};
/// serve_stdio(MemoryServer::new(Arc::new(GraphMemory::default()))).await
/// # }
/// ```
pub async fn serve_stdio(server: MemoryServer) -> Result<()> {
    let (read, write) = rmcp::transport::io::stdio_pipes();
    serve_lines(server, read, write).await
}

/// Serves the client at any two pipes, one message on each line, as [`serve_stdio`] does.
///
/// # If it fails
/// `Unexpected`: a fault of ours. What was acknowledged has happened.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # use std::sync::Arc;
/// # use stanchion_memory::{GraphMemory, MemoryServer, serve_lines};
/// let input = &br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#[..];
/// let (mut answers, output) = tokio::io::duplex(1024);
/// serve_lines(MemoryServer::new(Arc::new(GraphMemory::default())), input, output).await?;
/// let mut said = String::new();
/// tokio::io::AsyncReadExt::read_to_string(&mut answers, &mut said).await.unwrap();
/// assert_eq!(said, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
pub async fn serve_lines<R, W>(server: MemoryServer, read: R, write: W) -> Result<()>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let connection = server.connection();
    let lines = Lines::start(read, write, Arc::clone(&connection.session));
    // Without a handshake of `rmcp`'s own: the official server answers before `initialize`, too.
    let running = serve_directly::<rmcp::RoleServer, _, _, _, _>(Exact(connection), lines, None);
    match running.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(reason) => Err(Error::new(ErrorKind::Unexpected, "the server broke off").with("why", format!("{reason:?}"))),
        Err(error) => Err(Error::new(ErrorKind::Unexpected, "the server broke off").because(error)),
    }
}
