//! How records end: a session holds them, and they are deleted with it.
//!
//! A session lives for 24 hours at most. A record that shall live longer is not held itself: a *lap* beside it is, by a session of 24
//! hours that only lets go of it. Whoever finds a lap that nobody holds starts the next one, and deletes the record after the last.
//! So a record never ends early, and ends late while no client runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::{BootTime, Clock as _, Key, Result, SystemClock};

use super::api::{OPS_MOST, Op, Pair, SESSION_MOST};
use super::maker::Maker;
use super::name::Names;

/// Sessions that are kept for later records.
const KEPT_MOST: usize = 64;

/// What holds a record.
#[derive(Debug, Clone)]
pub(super) enum Hold {
    /// This session, which deletes it.
    Session(String),
    /// A lap, held by this session; so many follow.
    Lap { session: String, left: u64 },
}

impl Hold {
    pub(super) fn session(&self) -> &str {
        match self {
            Self::Session(session) | Self::Lap { session, .. } => session,
        }
    }
}

/// The sessions of records.
#[derive(Debug)]
pub(super) struct Ttls {
    maker: Arc<Maker>,
    names: Names,
    /// How long a lap is.
    lap: Duration,
    /// By ttl: the newest session, and how long it surely lives.
    kept: Mutex<HashMap<(Duration, bool), (String, BootTime)>>,
}

impl Ttls {
    pub(super) fn new(maker: Arc<Maker>, names: Names) -> Self {
        Self { maker, names, lap: SESSION_MOST, kept: Mutex::default() }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<(Duration, bool), (String, BootTime)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds a record that lives for `ttl` from now, or a little longer.
    pub(super) async fn holding(&self, ttl: Duration) -> Result<Hold> {
        if ttl <= self.lap {
            return Ok(Hold::Session(self.session(ttl, "delete").await?));
        }
        let laps = ttl.as_millis().div_ceil(self.lap.as_millis().max(1));
        let session = self.session(self.lap, "release").await?;
        Ok(Hold::Lap { session, left: u64::try_from(laps).unwrap_or(u64::MAX) - 1 })
    }

    async fn session(&self, ttl: Duration, behavior: &'static str) -> Result<String> {
        let class = (ttl, behavior == "delete");
        let now = SystemClock.now();
        let found = self.kept().get(&class).filter(|(_, sure)| *sure >= now + ttl).map(|(id, _)| id.clone());
        if let Some(id) = found {
            return Ok(id);
        }
        // A little longer, so that the records of the next moments can share it.
        let (id, lives) = self.maker.make((ttl + ttl / 8).min(SESSION_MOST), behavior, Duration::ZERO).await?;
        let mut kept = self.kept();
        if kept.len() >= KEPT_MOST {
            kept.retain(|(ttl, _), (_, sure)| *sure >= now + *ttl);
        }
        if kept.len() < KEPT_MOST {
            kept.insert(class, (id.clone(), now + lives));
        }
        Ok(id)
    }

    /// The agent does not know this session any more.
    pub(super) fn forget(&self, session: &str) {
        self.kept().retain(|_, (id, _)| id != session);
    }

    /// Goes through the laps that have ended; how many of them. Bounded by what one answer can carry.
    pub(super) async fn sweep(&self) -> Result<usize> {
        let laps = self.maker.http.read_all(&[Op::tree(&self.names.laps())]).await?;
        let ended: Vec<&Pair> = laps.iter().filter(|lap| !lap.is_held()).collect();
        for lap in &ended {
            match self.names.key('t', &lap.key) {
                Some(Ok(key)) => self.next_lap(lap, &key).await?,
                _ => tracing::warn!(name = lap.key, "a lap that we have not written"),
            }
        }
        Ok(ended.len())
    }

    async fn next_lap(&self, lap: &Pair, key: &Key) -> Result<()> {
        let http = &self.maker.http;
        let same = Op::unchanged(&lap.key, lap.modify_index);
        if lap.flags > 0 {
            let session = self.session(self.lap, "release").await?;
            let next = Op::lock(&lap.key, b"", lap.flags - 1, &session);
            // Refused if another client was faster.
            http.write(&[same, next]).await?.ok();
            return Ok(());
        }
        let record = self.names.record(key);
        // Written in one step with its lap, so that both were made at the same index; a later record is not this one.
        let end = [same.clone(), Op::unchanged(&record, lap.create_index), Op::delete(&record), Op::delete(&lap.key)];
        if http.write(&end).await?.is_err() {
            http.write(&[same, Op::delete(&lap.key)]).await?.ok();
        }
        Ok(())
    }
}

const _: () = assert!(OPS_MOST >= 8, "a record, its fence and its lap fit into one transaction");

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use stanchion_core::{Capability, Cond, RecordStore as _};
    use stanchion_testkit::engines::Consul;
    use stanchion_testkit::{eventually, start_or_skip};
    use tokio::sync::Semaphore;

    use super::super::http::Http;
    use super::super::options::Options;
    use super::super::records::ConsulStore;
    use super::*;
    use crate::StoreUrl;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A store whose laps take a second, not a day.
    fn quick(server: &Consul) -> (Arc<Ttls>, ConsulStore) {
        let options = Options::read(&mut StoreUrl::parse(&server.url()).unwrap(), None).unwrap();
        let (http, names) = (Arc::new(Http::new(options).unwrap()), Names::new("stanchion".to_owned()));
        let mut ttls = Ttls::new(Arc::new(Maker::new(Arc::clone(&http))), names.clone());
        ttls.lap = Duration::from_secs(1);
        let (ttls, blocked) = (Arc::new(ttls), Arc::new(Semaphore::new(8)));
        let capability: Capability = stanchion_core::MemoryStore::new().capability();
        (Arc::clone(&ttls), ConsulStore::new(http, names, ttls, blocked, capability))
    }

    /// Sweeps once some lap has ended.
    async fn lap(ttls: &Ttls) {
        eventually(PATIENCE, "a lap ends", || async { ttls.sweep().await.unwrap() > 0 }).await;
    }

    #[tokio::test]
    async fn a_ttl_above_the_longest_session_is_kept_in_laps() {
        let server = start_or_skip!(Consul);
        let (ttls, records) = quick(&server);
        let key = Key::new("long").unwrap();
        let start = std::time::Instant::now();
        let ttl = Some(Duration::from_millis(2500));
        let version = records.put(&key, Bytes::from("kept"), Cond::Absent, ttl).await.unwrap();
        for _ in 0..2 {
            assert_eq!(ttls.sweep().await.unwrap(), 0, "a lap that runs is left alone");
            lap(&ttls).await;
            let found = records.get(&key).await.unwrap().expect("two more laps, then one more");
            assert_eq!(found.version, version, "a lap does not change the record");
        }
        lap(&ttls).await;
        assert!(records.get(&key).await.unwrap().is_none(), "after the third lap it has ended");
        assert!(start.elapsed() >= Duration::from_millis(2500), "never early: {:?}", start.elapsed());
        assert_eq!(ttls.sweep().await.unwrap(), 0, "nothing is left behind");
    }

    #[tokio::test]
    async fn a_lap_ends_no_later_record() {
        let server = start_or_skip!(Consul);
        let (ttls, records) = quick(&server);
        let key = Key::new("again").unwrap();
        let ttl = Some(Duration::from_millis(1500));
        let version = records.put(&key, Bytes::from("old"), Cond::Absent, ttl).await.unwrap();
        records.put(&key, Bytes::from("new"), Cond::Version(version), None).await.unwrap();
        lap(&ttls).await;
        lap(&ttls).await;
        assert_eq!(ttls.sweep().await.unwrap(), 0, "the lap is gone");
        assert_eq!(records.get(&key).await.unwrap().expect("it has no ttl").value, "new");
    }
}
