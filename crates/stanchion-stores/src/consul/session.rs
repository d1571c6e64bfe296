//! The sessions that our places in line hang on, kept alive while somebody uses them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use stanchion_core::{BootTime, Clock as _, Result, SystemClock};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::api::{Op, SESSION_MOST};
use super::http::Shared;
use super::maker::Maker;

/// A session that nobody used for so many of its renewals is ended.
const IDLE_RENEWALS: u32 = 8;
/// How often the end of a tainted session is tried; then its time to live ends it.
const END_TRIES: u32 = 20;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) ttl: Duration,
    /// It lives until then at least: counted from before its last renewal was sent.
    sure: Mutex<BootTime>,
    dead: AtomicBool,
    tainted: AtomicBool,
    /// What unanswered writes may still tie to this session, or have tied.
    doubts: Mutex<Vec<String>>,
    /// Wakes the one who keeps it.
    bell: Arc<Notify>,
    http: Shared,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_tainted()
            && let Ok(runtime) = Handle::try_current()
        {
            let names = std::mem::take(&mut *self.doubts());
            runtime.spawn(end(Arc::clone(&self.http), std::mem::take(&mut self.id), names));
        }
    }
}

impl Session {
    fn new(id: String, ttl: Duration, sent: BootTime, http: Shared) -> Self {
        let (dead, tainted) = (AtomicBool::new(false), AtomicBool::new(false));
        let (doubts, bell) = (Mutex::default(), Arc::default());
        Self { id, ttl, sure: Mutex::new(sent + ttl), dead, tainted, doubts, bell, http }
    }

    fn doubts(&self) -> MutexGuard<'_, Vec<String>> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A write that ties `name` to this session was sent and may arrive at any time, even after we have deleted the name. So
    /// no new owner joins, those who are there move, and the session ends with the last of them.
    pub(super) fn taint(&self, name: &str) {
        let mut doubts = self.doubts();
        if !doubts.iter().any(|known| known == name) {
            doubts.push(name.to_owned());
        }
        self.tainted.store(true, Ordering::SeqCst);
        self.bell.notify_one();
    }

    pub(super) fn is_tainted(&self) -> bool {
        self.tainted.load(Ordering::SeqCst)
    }

    /// Another session has taken this name over, so what becomes of it is no more ours to clear.
    pub(super) fn hand_over(&self, name: &str) {
        self.doubts().retain(|known| known != name);
    }

    fn lives_until(&self) -> BootTime {
        *self.sure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Not known to have ended.
    pub(super) fn is_alive(&self) -> bool {
        !self.dead.load(Ordering::SeqCst)
    }

    pub(super) fn ended(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    /// Makes sure that it lives until `end`, which is at most its ttl away; `false` if it has ended.
    pub(super) async fn reach(&self, http: &Shared, end: BootTime) -> Result<bool> {
        if self.is_alive() && self.lives_until() < end {
            let sent = SystemClock.now();
            if http.renew_session(&self.id).await? {
                let mut sure = self.sure.lock().unwrap_or_else(PoisonError::into_inner);
                *sure = (*sure).max(sent + self.ttl);
            } else {
                self.ended();
            }
        }
        Ok(self.is_alive())
    }
}

/// One session per class of ttl.
#[derive(Debug)]
pub(super) struct Sessions {
    maker: Arc<Maker>,
    delay: Duration,
    slots: Mutex<HashMap<Duration, Arc<Slot>>>,
}

type Slot = tokio::sync::Mutex<Option<Arc<Session>>>;

/// Half as long again as what is asked, so that a renewal in time leaves enough; in steps that keep the classes few.
fn class(ttl: Duration) -> Duration {
    let wanted = (ttl + ttl / 2).as_secs_f64().ceil().max(1.0);
    let step = (wanted.log2().floor() - 5.0).max(0.0).exp2();
    Duration::from_secs_f64((wanted / step).ceil() * step).min(SESSION_MOST)
}

impl Sessions {
    pub(super) fn new(maker: Arc<Maker>, delay: Duration) -> Self {
        Self { maker, delay, slots: Mutex::default() }
    }

    /// A session that surely lives for `ttl` from `start`.
    pub(super) async fn reaching(&self, start: BootTime, ttl: Duration) -> Result<Arc<Session>> {
        let class = class(ttl);
        let slot = Arc::clone(self.slots().entry(class).or_default());
        let mut place = slot.lock().await;
        if let Some(session) = &*place
            && !session.is_tainted()
            && session.reach(&self.maker.http, start + ttl).await?
        {
            return Ok(Arc::clone(session));
        }
        let sent = SystemClock.now();
        let (id, ttl) = self.maker.make(class, "release", self.delay).await?;
        let session = Arc::new(Session::new(id, ttl, sent, Arc::clone(&self.maker.http)));
        tokio::spawn(keep(Arc::downgrade(&session), Arc::downgrade(&slot), Arc::clone(&self.maker.http)));
        *place = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Ends those that are left.
    pub(super) async fn end(&self) {
        let slots: Vec<_> = self.slots().drain().map(|(_, slot)| slot).collect();
        for slot in slots {
            if let Some(session) = slot.lock().await.take() {
                self.maker.http.destroy_session(&session.id).await;
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Duration, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews a session until it is gone or idle.
async fn keep(session: Weak<Session>, slot: Weak<Slot>, http: Shared) {
    let mut idle = 0;
    loop {
        let found = session.upgrade().map(|session| (session.ttl / 4, Arc::clone(&session.bell)));
        let Some((pause, bell)) = found else { return };
        drop(tokio::time::timeout(pause, bell.notified()).await);
        let (Some(kept), Some(slot)) = (session.upgrade(), slot.upgrade()) else { return };
        if kept.is_tainted() {
            // Only those who stand in line with it hold on to it from now on.
            let mut place = slot.lock().await;
            if place.as_ref().is_some_and(|placed| Arc::ptr_eq(placed, &kept)) {
                *place = None;
            }
        }
        // The slot's and ours: nobody stands in line with it.
        idle = if Arc::strong_count(&kept) <= 2 { idle + 1 } else { 0 };
        if idle >= IDLE_RENEWALS {
            let mut place = slot.lock().await;
            if Arc::strong_count(&kept) <= 2 && place.as_ref().is_some_and(|placed| Arc::ptr_eq(placed, &kept)) {
                *place = None;
                kept.ended();
                http.destroy_session(&kept.id).await;
                return;
            }
            idle = 0;
        }
        match kept.reach(&http, SystemClock.now() + kept.ttl).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::debug!(%error, "could not renew a session, trying again"),
        }
    }
}

/// Ends a tainted session, and takes out of line what its unanswered writes had put there: nobody stands there. Once the end is
/// acknowledged none of those writes can arrive any more.
async fn end(http: Shared, id: String, names: Vec<String>) {
    for _ in 0..END_TRIES {
        if http.destroy_session(&id).await && clear(&http, &names).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Deletes those of `names` that no session holds.
async fn clear(http: &Shared, names: &[String]) -> Result<()> {
    for name in names {
        for pair in http.read_all(&[Op::tree(name)]).await?.iter().filter(|pair| !pair.is_held()) {
            http.write(&[Op::unchanged(&pair.key, pair.modify_index), Op::delete(&pair.key)]).await?.ok();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_outlives_its_grants_and_the_classes_are_few() {
        let mut classes = std::collections::BTreeSet::new();
        for seconds in 1..57_600 {
            let ttl = Duration::from_secs(seconds);
            assert!(class(ttl) >= ttl + ttl / 2 && class(ttl) <= ttl * 2, "{ttl:?}: {:?}", class(ttl));
            classes.insert(class(ttl));
        }
        assert!(classes.len() < 500, "{}", classes.len());
        assert_eq!(class(Duration::from_millis(300)), Duration::from_secs(1));
        assert_eq!(class(SESSION_MOST), SESSION_MOST);
    }
}
