//! The sessions that our places in line hang on, kept alive while somebody uses them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use stanchion_core::{BootTime, Clock as _, Result, SystemClock};

use super::api::SESSION_MOST;
use super::http::Shared;
use super::maker::Maker;

/// A session that nobody used for so many of its renewals is ended.
const IDLE_RENEWALS: u32 = 8;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) ttl: Duration,
    /// It lives until then at least: counted from before its last renewal was sent.
    sure: Mutex<BootTime>,
    dead: AtomicBool,
}

impl Session {
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
            && session.reach(&self.maker.http, start + ttl).await?
        {
            return Ok(Arc::clone(session));
        }
        let sent = SystemClock.now();
        let (id, ttl) = self.maker.make(class, "release", self.delay).await?;
        let session = Arc::new(Session { id, ttl, sure: Mutex::new(sent + ttl), dead: AtomicBool::new(false) });
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

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<Duration, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews a session until it is gone or idle.
async fn keep(session: Weak<Session>, slot: Weak<Slot>, http: Shared) {
    let mut idle = 0;
    loop {
        let Some(pause) = session.upgrade().map(|session| session.ttl / 4) else { return };
        tokio::time::sleep(pause).await;
        let (Some(kept), Some(slot)) = (session.upgrade(), slot.upgrade()) else { return };
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
