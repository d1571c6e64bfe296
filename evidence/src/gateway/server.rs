//! A simulated server behind a gateway: its one tool reads a number, takes its time, and writes one more.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use stanchion_mcp::Sink;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

use super::fate::{Dice, Life};

/// The longest that the tool takes. A server whose gateway was killed is done before the lock is anybody else's.
const WORK: Duration = Duration::from_secs(4);

/// What all servers share, as a file would be: nothing keeps them apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) number: u64,
    /// What each note has made of the number, whenever it was added.
    pub(super) effects: BTreeMap<String, Vec<u64>>,
}

impl Ledger {
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, note: &str) -> bool {
        self.book().effects.contains_key(note)
    }
}

/// What the tool says to a note that made the number this.
pub(super) fn said(note: &str, number: u64) -> String {
    format!("{note} made it {number}")
}

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) ledger: Ledger,
    pub(super) dice: Dice,
    pub(super) life: Life,
}

impl Server {
    /// Answers what comes through the pipe, several at a time, until it is killed.
    pub(super) async fn serve(
        self,
        mut pipe: UnboundedReceiver<String>,
        answer: impl Fn(String) + Clone + Send + 'static,
    ) {
        while let Some(line) = pipe.recv().await {
            sleep(self.dice.pause(Duration::from_millis(20))).await;
            if self.life.is_over() {
                return;
            }
            let Ok(asked) = serde_json::from_str::<Value>(&line) else { continue };
            let (server, answer) = (self.clone(), answer.clone());
            tokio::spawn(async move {
                if let Some(result) = server.result(&asked).await {
                    answer(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
                }
            });
        }
    }

    async fn result(&self, asked: &Value) -> Option<Value> {
        if asked["method"] == "tools/list" {
            return Some(json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}));
        }
        let note = asked["params"]["arguments"]["note"].as_str()?;
        let read = self.ledger.book().number;
        sleep(self.dice.pause(WORK)).await;
        self.alive()?;
        let number = read + 1;
        {
            let mut book = self.ledger.book();
            // stanchion-audit: ignore RC104 -- the tool that loses updates, so that there is something to guard
            book.number = number;
            book.effects.entry(note.to_owned()).or_default().push(number);
        }
        sleep(self.dice.pause(Duration::from_secs(1))).await;
        self.alive()?;
        Some(json!({"content": [{"type": "text", "text": said(note, number)}]}))
    }

    fn alive(&self) -> Option<()> {
        (!self.life.is_over()).then_some(())
    }
}

/// The writing end of a pipe: every line goes to `to`.
pub(super) struct Pipe<F> {
    pub(super) part: Vec<u8>,
    pub(super) to: F,
}

impl<F: FnMut(String)> Write for Pipe<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if *byte == b'\n' {
                (self.to)(String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned());
            } else {
                self.part.push(*byte);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: FnMut(String) + Send + 'static> Sink for Pipe<F> {
    fn is_ready(&self) -> bool {
        true
    }
}
