//! Helper processes that do what they are told, line by line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::io::{BufRead as _, Write as _};

use stanchion_core::{Cond, RecordStore};
use stanchion_testkit::process::Child;

use super::engine::{PATIENCE, Place, key};

/// Another process.
#[derive(Debug)]
pub(super) struct Helper(pub(super) Child);

impl Helper {
    pub(super) async fn start(place: &Place) -> Self {
        let mut child = place.helper("obey", "unused", &[]);
        child.expect_line("READY", PATIENCE).await;
        Self(child)
    }

    pub(super) async fn start_many(place: &Place, count: usize) -> Vec<Self> {
        let mut helpers = Vec::new();
        for _ in 0..count {
            helpers.push(Self::start(place).await);
        }
        helpers
    }

    pub(super) fn tell(&mut self, command: &str) {
        self.0.write_line(command);
    }

    pub(super) async fn answer(&mut self) -> String {
        self.0.expect_line("SAID", PATIENCE).await
    }

    pub(super) async fn ask(&mut self, command: &str) -> String {
        self.tell(command);
        self.answer().await
    }
}

/// A helper's life: answers one command after the other until its input ends.
pub(super) async fn obey(mut act: impl AsyncFnMut(&[&str]) -> String) {
    write("READY");
    let (sender, mut commands) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    while let Some(line) = commands.recv().await {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = act(&words).await;
        say(&answer);
    }
}

/// An answer before the command has ended.
pub(super) fn say(answer: &str) {
    write(&format!("SAID {answer}"));
}

fn write(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// The engine's own time.
pub(super) async fn store_now(store: &dyn RecordStore) -> u64 {
    loop {
        if let Some(record) = store.get(&key("probe")).await.unwrap() {
            return record.times.unwrap().now_ms;
        }
        // Another may be faster.
        store.put(&key("probe"), "".into(), Cond::Absent, None).await.ok();
    }
}
