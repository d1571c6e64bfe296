//! Servers to be raced, for the tests: a sound one on pipes, and counters and shops over HTTP that are sound or not.
//!
//! `target memory FILE` · `target memory-http PORT FILE` · `target log FILE plain|locked` · `target notes FILE HOW`
//! `target counter PORT FILE sound|racy|slow` · `target objects PORT sound|racy` · `target shop PORT UPSTREAM retry|once`

mod notes;
mod objects;

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use stanchion_mcp::serve::Serve;
use stanchion_memory::{FileMemory, FileOptions, MemoryServer, serve_http, serve_stdio};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["memory", file] => memory(file),
        ["memory-http", port, file] => memory_http(port, file),
        ["log", file, how] => log(Path::new(file), how == "locked"),
        ["notes", file, how] => notes::notes(Path::new(file), how),
        ["counter", port, file, how] => counter(port, Path::new(file), how),
        ["objects", port, how] => objects::objects(port, how == "sound"),
        ["shop", port, upstream, how] => shop(port, upstream, how == "retry"),
        _ => Err("target memory FILE | memory-http PORT FILE | log FILE plain|locked | notes FILE HOW | counter PORT FILE sound|racy|slow | objects PORT sound|racy | shop PORT UPSTREAM retry|once".into()),
    }
}

/// What `stanchion memory` serves.
fn memory(file: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let memory = FileMemory::open(PathBuf::from(file), FileOptions::default())?;
    runtime.block_on(serve_stdio(MemoryServer::new(Arc::new(memory))))?;
    Ok(())
}

/// What `stanchion memory --http` serves.
fn memory_http(port: &str, file: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let memory = FileMemory::open(PathBuf::from(file), FileOptions::default())?;
    let served = async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        let server = MemoryServer::new(Arc::new(memory));
        serve_http(server, listener, Serve::new(), std::future::pending()).await?;
        Ok(())
    };
    runtime.block_on(served)
}

/// MCP on pipes: `add` writes a line to a file, `list` shows them. Locked, it holds a lock file meanwhile, which nobody takes
/// away if it is killed.
fn log(file: &Path, is_locked: bool) -> Result<()> {
    let lock = file.with_extension("lock");
    for line in std::io::stdin().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let arguments = &message["params"]["arguments"];
        let result = match (message["method"].as_str(), message["params"]["name"].as_str()) {
            (Some("initialize"), _) => json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
            (_, Some("add")) => {
                while is_locked && std::fs::OpenOptions::new().write(true).create_new(true).open(&lock).is_err() {
                    std::thread::yield_now();
                }
                let mut lines = std::fs::OpenOptions::new().append(true).create(true).open(file)?;
                lines.write_all(format!("{}\n", arguments["id"].as_str().unwrap_or_default()).as_bytes())?;
                pause(Duration::from_millis(arguments["busy_ms"].as_u64().unwrap_or(0)));
                if is_locked {
                    std::fs::remove_file(&lock)?;
                }
                json!({"content": []})
            }
            _ => {
                let all = std::fs::read_to_string(file).unwrap_or_default();
                json!({"structuredContent": {"lines": all.lines().collect::<Vec<_>>()}})
            }
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
        out.flush()?;
    }
    Ok(())
}

/// `POST /` adds one to the number in the file, `GET /` shows it. Sound with one process only. Slow, it takes its time for every call and
/// forgets every fifth, however they come.
fn counter(port: &str, file: &Path, how: &str) -> Result<()> {
    let (is_racy, is_slow) = (how == "racy", how == "slow");
    let turn = Arc::new(Mutex::new(0_u64));
    let file = file.to_owned();
    serve(port, move |method, _, _| {
        let read = || std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0_u64);
        if method == "GET" {
            return (200, format!("{{\"value\":{}}}", read()));
        }
        if is_slow {
            pause(Duration::from_millis(250));
        }
        let mut held = (!is_racy).then(|| turn.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(calls) = held.as_deref_mut() {
            *calls += 1;
            if is_slow && calls.is_multiple_of(5) {
                return (200, "{}".into());
            }
        }
        let value = read() + 1;
        pause(Duration::from_millis(if is_slow { 0 } else { 20 }));
        let temporary = file.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
        // stanchion-audit: ignore RC201 -- by purpose: the race tester has to find what a lock of one process leaves open
        let written = std::fs::write(&temporary, value.to_string()).and_then(|()| std::fs::rename(&temporary, &file));
        written.map_or((500, "{}".into()), |()| (200, format!("{{\"value\":{value}}}")))
    })
}

/// `POST /orders` charges at the upstream; a shop that retries without a key charges twice if an answer is lost.
fn shop(port: &str, upstream: &str, retries: bool) -> Result<()> {
    let upstream = upstream.trim_start_matches("http://").to_owned();
    serve(port, move |_, _, body| {
        for _ in 0..if retries { 5 } else { 1 } {
            if matches!(charge(&upstream, body), Ok(status) if status < 400) {
                return (200, "{}".into());
            }
        }
        (502, "{}".into())
    })
}

fn charge(upstream: &str, body: &str) -> Result<u16> {
    let mut socket = TcpStream::connect(upstream)?;
    let length = body.len();
    write!(
        socket,
        "POST /charge HTTP/1.1\r\nhost: {upstream}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer.split(' ').nth(1).ok_or("no answer")?.parse()?)
}

/// Waits between two steps, so that another call can come in between. It leaves the processor to that one.
#[expect(clippy::disallowed_methods, reason = "the mistake that is to be found, not a way to wait for something")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn serve(port: &str, answer: impl Fn(&str, &str, &str) -> (u16, String) + Send + Sync + 'static) -> Result<()> {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    let answer = Arc::new(answer);
    for socket in listener.incoming() {
        let (socket, answer) = (socket?, Arc::clone(&answer));
        std::thread::spawn(move || {
            if let Err(error) = one(socket, &*answer) {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

/// One request on each connection.
fn one(mut socket: TcpStream, answer: &dyn Fn(&str, &str, &str) -> (u16, String)) -> Result<()> {
    let mut lines = BufReader::new(socket.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    if lines.read_line(&mut first)? == 0 {
        return Ok(());
    }
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = answer(method, path, &String::from_utf8_lossy(&body));
    let length = body.len();
    write!(
        socket,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    Ok(())
}
