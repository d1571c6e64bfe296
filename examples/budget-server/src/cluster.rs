//! `--instances N`: this program again, N times, each on a port of its own.

use std::net::SocketAddr;
use std::process::Stdio;

use stanchion_core::{Error, ErrorKind, Result};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Starts the instances with our own arguments. They end with us, however we end: their standard input closes then.
pub(crate) async fn start(count: u16) -> Result<(Vec<Child>, Vec<SocketAddr>)> {
    let failed = || Error::new(ErrorKind::Unavailable, "an instance did not start");
    let program = std::env::current_exe().map_err(|e| failed().because(e))?;
    let (mut children, mut addresses) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut command = Command::new(&program);
        command.args(own_arguments()).args(["--listen", "127.0.0.1:0", "--until-stdin-closes"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed().because(e))?;
        let stdout = child.stdout.take().ok_or_else(failed)?;
        let line = BufReader::new(stdout).lines().next_line().await.map_err(|e| failed().because(e))?;
        let address = line.as_deref().and_then(|line| line.strip_prefix("READY ")).ok_or_else(failed)?;
        addresses.push(address.parse().map_err(|e| failed().because(e))?);
        children.push(child);
    }
    Ok((children, addresses))
}

/// Our arguments without those that an instance must not share.
fn own_arguments() -> Vec<String> {
    let mut kept = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--listen" | "--instances" => drop(arguments.next()),
            text if text.starts_with("--listen=") || text.starts_with("--instances=") => {}
            _ => kept.push(argument),
        }
    }
    kept
}
