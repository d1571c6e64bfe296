//! An answer is told when it is recorded, or marked as not recorded: never before that is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, CasLock, Cond, Error, ErrorKind, FencingToken, Idempotency, Key, MemoryStore, Page, Record,
    RecordStore, Result, Version,
};

use super::support::*;

/// A store that takes no writes while it is away.
#[derive(Debug)]
struct Switched(MemoryStore, Arc<AtomicBool>);

impl Switched {
    fn check(&self) -> Result<()> {
        if self.1.load(Ordering::SeqCst) { Err(Error::new(ErrorKind::Unavailable, "away")) } else { Ok(()) }
    }
}

#[async_trait]
impl RecordStore for Switched {
    fn capability(&self) -> Capability {
        self.0.capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.0.get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.0.touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.check()?;
        self.0.put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.check()?;
        self.0.delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.0.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: tokio::time::Instant) -> Result<()> {
        self.0.changed(key, since, until).await
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_recorded_says_so_whole_or_as_an_event() {
    for (as_events, goes_away) in [(false, true), (true, true), (false, false), (true, false)] {
        let away = Arc::new(AtomicBool::new(false));
        let records: Arc<dyn RecordStore> = Arc::new(Switched(MemoryStore::new(), Arc::clone(&away)));
        let locks = Arc::new(CasLock::new(MemoryStore::new()));
        let claims = Idempotency::new(Arc::clone(&records), locks.clone());
        let store = Store { claims, locks, records, _folder: None };
        let switch = Arc::clone(&away);
        let server = Server::start(move |seen: Seen| {
            // The effect happens, and the store is gone before the answer comes.
            switch.store(goes_away, Ordering::SeqCst);
            async move {
                let answer = seen.result(r#"{"content":[]}"#);
                if as_events { Reply::events(&[&format!("id: 5\ndata: {answer}\n\n")]) } else { Reply::json(answer) }
            }
        })
        .await;
        let gateway = Gateway::start(&store, &format!("{WRITES}allow_weak = true\n"), &server.url()).await;
        let got = post(gateway.addr, &[BOTH], &call("1", Some("k"))).await;
        let marked = got.body.contains(r#""dev.stanchion/recorded":false"#);
        assert_eq!((marked, got.body.matches(r#""content""#).count()), (goes_away, 1), "{got:?}");
        assert_eq!(got.body.starts_with("id: 5\ndata: {"), as_events, "{got:?}");
        away.store(false, Ordering::SeqCst);
    }
}
