//! A store as one client sees it: every request waits on the board.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, MemoryStore, Page, Record, RecordStore, Result, Version,
};
use tokio::time::Instant;

use super::board::{Board, Passed};

/// A store that can be replaced by an empty one behind its clients' backs.
#[derive(Debug)]
pub(super) struct Place(pub(super) Mutex<MemoryStore>);

impl Place {
    pub(super) fn store(&self) -> MemoryStore {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One client's way to a store.
#[derive(Debug, Clone)]
pub struct Wire {
    pub(super) client: usize,
    pub(super) board: Board,
    pub(super) place: std::sync::Arc<Place>,
    /// Answers wait on the board, too.
    pub(super) slow: bool,
}

impl Wire {
    async fn ask<T>(&self, what: String, writes: bool, answer: impl Future<Output = Result<T>>) -> Result<T> {
        let passed = self.board.pass(self.client, what, writes).await;
        let answer = answer.await;
        if self.slow {
            self.board.pass(self.client, "hears of it", false).await;
        }
        match passed {
            Passed::Through => answer,
            Passed::Unanswered => Err(Error::new(ErrorKind::OutcomeUnknown, "the answer is lost")),
        }
    }
}

/// Our own prefixes are not for people.
fn shown(key: &Key) -> String {
    key.as_str().replace('\u{1}', "").chars().take(20).collect()
}

fn condition(cond: Cond) -> String {
    match cond {
        Cond::Absent => "if absent".to_owned(),
        Cond::Version(version) => format!("if version {version}"),
        Cond::Fence(token) => format!("with fence {}", token.number()),
    }
}

#[async_trait]
impl RecordStore for Wire {
    fn capability(&self) -> Capability {
        self.place.store().capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.ask(format!("reads {}", shown(key)), false, async { self.place.store().get(key).await }).await
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        let what = format!("touches {} with fence {}", shown(key), token.number());
        self.ask(what, false, async { self.place.store().touch(key, token).await }).await
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let what = format!("writes {} {}", shown(key), condition(cond));
        self.ask(what, true, async { self.place.store().put(key, value, cond, ttl).await }).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        let what = format!("deletes {} {}", shown(key), condition(cond));
        self.ask(what, true, async { self.place.store().delete(key, cond).await }).await
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.ask("lists".to_owned(), false, async { self.place.store().scan(prefix, page).await }).await
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.place.store().changed(key, since, until).await
    }
}
