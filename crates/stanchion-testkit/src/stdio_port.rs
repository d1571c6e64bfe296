//! A program that talks on its pipes, on a port: so that the fault proxy can stand in front of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::{JoinHandle, JoinSet};

/// Runs a command for each connection, whose standard input and output it becomes. A connection that is cut closes the
/// command's input, as a client does that goes away; the command is killed with the port.
///
/// ```
/// # use std::{io::{BufRead as _, BufReader, Write as _}, net::TcpStream};
/// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, StdioPort};
/// # #[tokio::main] async fn main() {
/// // Answers every request.
/// let port = StdioPort::start(&["sed", "-u", "s/\"method\":\"ping\"/\"result\":{}/"]).await;
/// let proxy = FaultProxy::start(port.addr(), Protocol::JsonRpc).await;
/// proxy.set_plan(Plan::first("\"id\":2", Fault::LoseReply));
/// let mut client = TcpStream::connect(proxy.addr()).unwrap();
/// let mut answers = BufReader::new(client.try_clone().unwrap()).lines();
/// writeln!(client, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
/// assert_eq!(answers.next().unwrap().unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
/// writeln!(client, r#"{{"jsonrpc":"2.0","id":2,"method":"ping"}}"#).unwrap();
/// assert!(answers.next().is_none_or(|line| line.is_err()));
/// assert_eq!(proxy.counts().lost_replies, 1);
/// # }
/// ```
#[derive(Debug)]
pub struct StdioPort {
    addr: SocketAddr,
    serving: JoinHandle<()>,
}

impl StdioPort {
    /// Listens on a loopback port of its own.
    ///
    /// # Panics
    /// When no loopback port can be had, or later when the command does not start.
    pub async fn start(command: &[&str]) -> StdioPort {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free loopback port");
        let addr = listener.local_addr().expect("it was just bound");
        let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let serving = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                running.spawn(run(words.clone(), client));
            }
        });
        StdioPort { addr, serving }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for StdioPort {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn run(words: Vec<String>, mut client: TcpStream) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {words:?}: {e}"));
    let mut input = child.stdin.take().expect("stdin was piped two lines above");
    let mut output = child.stdout.take().expect("stdout was piped three lines above");
    let (mut from, mut to) = client.split();
    let asking = async {
        // A connection that breaks is an end like another.
        tokio::io::copy(&mut from, &mut input).await.ok();
        drop(input);
        std::future::pending::<()>().await;
    };
    let answering = async {
        tokio::io::copy(&mut output, &mut to).await.ok();
        to.shutdown().await.ok();
    };
    tokio::select! {
        () = asking => {}
        () = answering => {}
    }
    // Its output ended: it is about to end, or it would have nothing to say any more.
    child.wait().await.ok();
}
