//! HTTP by hand: what is not written here is not sent.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::support::SOON;

/// One request and the response to it, line by line.
pub(super) struct Exchange {
    lines: tokio::io::Lines<BufReader<TcpStream>>,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
}

impl Exchange {
    pub(super) async fn new(at: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut socket = TcpStream::connect(at).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: {at}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        socket.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        let mut lines = BufReader::new(socket).lines();
        let first = lines.next_line().await.unwrap().expect("a response");
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Self { lines, status, headers }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The next message, as an event or as the body; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        // For all of it: a stream without messages still has signs of life.
        let message = async {
            loop {
                let line = self.lines.next_line().await.unwrap()?;
                let text = line.strip_prefix("data: ").unwrap_or(&line);
                if text.starts_with('{') {
                    return Some(serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}")));
                }
            }
        };
        tokio::time::timeout(SOON, message).await.expect("a message in time")
    }

    /// Everything there is.
    pub(super) async fn rest(mut self) -> String {
        let mut text = String::new();
        while let Some(line) = tokio::time::timeout(SOON, self.lines.next_line()).await.expect("the end").unwrap() {
            text += &line;
            text.push('\n');
        }
        text
    }
}
