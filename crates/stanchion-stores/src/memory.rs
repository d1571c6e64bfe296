//! `memory:` — one process, nothing survives it.

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{CasLock, MemoryStore, Result};

use crate::{Backend, Finding, OpenOptions, Opened, StoreUrl, doctor};

pub(crate) static BACKEND: Memory = Memory;

#[derive(Debug)]
pub(crate) struct Memory;

#[async_trait]
impl Backend for Memory {
    fn schemes(&self) -> &'static [&'static str] {
        &["memory"]
    }

    fn help(&self) -> &'static str {
        "memory:\n  Inside this process only; for tests.\n  clock=store|none   judge expiry by the store's time or by observed no-change"
    }

    async fn open(&self, mut url: StoreUrl, _: OpenOptions) -> Result<Opened> {
        let store = match url.take_choice("clock", &["store", "none"])? {
            "none" => MemoryStore::without_clock(),
            _ => MemoryStore::new(),
        };
        url.finish(&["clock"])?;
        Ok(Opened {
            locks: Arc::new(CasLock::new(store.clone())),
            records: Some(Arc::new(store)),
            fused: None,
            shown: url.to_string(),
        })
    }

    async fn examine(&self, url: StoreUrl, options: OpenOptions) -> Result<Vec<Finding>> {
        let mut findings = doctor::of_capability(self.open(url, options).await?.locks.capability());
        let alone = Finding::weak("sharing", "no other process sees these locks and records");
        findings.push(alone.fix("use sqlite: for all processes of a machine, a server for several machines"));
        Ok(findings)
    }
}
