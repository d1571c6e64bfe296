//! The leases that carry our entries: one for each class of ttl, kept alive while the store is open and somebody needs it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use stanchion_core::{BootTime, Clock as _, SystemClock};
use tokio::time::Instant;

use super::fault::Fault;
use super::link::Hub;
use super::proto::{Granted, LeaseGrant, LeaseId};

const GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";
/// A session without owners goes on living for this long, or its own ttl if that is more.
const IDLE: Duration = Duration::from_secs(60);
/// How soon a failed keep-alive is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// A lease, and until when it surely lives.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: i64,
    ttl: Duration,
    /// Counted from before its last keep-alive was sent, on a clock that counts suspend as etcd's does.
    until: Mutex<BootTime>,
    used: Mutex<Instant>,
    over: AtomicBool,
    tainted: AtomicBool,
}

impl Session {
    /// A write on this session was sent and may arrive at any time, even after we have deleted what it would write. So no
    /// new owner joins, those who are there move at their next sign of life, and then the session ends.
    pub(super) fn taint(&self) {
        self.tainted.store(true, Ordering::Release);
    }

    pub(super) fn is_tainted(&self) -> bool {
        self.tainted.load(Ordering::Acquire)
    }

    fn lives_until(&self) -> BootTime {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// etcd does not know it any more, so all its entries are gone.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Long enough for grants of this ttl.
    pub(super) fn can_carry(&self, ttl: Duration) -> bool {
        self.ttl > ttl
    }

    fn kept(&self, sent: BootTime, ttl: Duration) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = (*until).max(sent + ttl);
    }
}

/// The sessions of one store.
#[derive(Debug)]
pub(super) struct Sessions {
    hub: Arc<Hub>,
    by_class: Mutex<HashMap<u64, Arc<Session>>>,
    opening: tokio::sync::Mutex<()>,
}

impl Sessions {
    pub(super) fn new(hub: Arc<Hub>) -> Arc<Self> {
        Arc::new(Self { hub, by_class: Mutex::default(), opening: tokio::sync::Mutex::default() })
    }

    /// A session that surely lives for `ttl` from now.
    pub(super) async fn carrying(self: &Arc<Self>, ttl: Duration) -> Result<Arc<Session>, Fault> {
        let class = class(ttl);
        if let Some(session) = self.living(class)
            && self.ensure(&session, ttl).await?
        {
            return Ok(session);
        }
        let _opening = self.opening.lock().await;
        if let Some(session) = self.living(class)
            && self.ensure(&session, ttl).await?
        {
            return Ok(session);
        }
        let session = self.grant(class).await?;
        self.by_class().insert(class, Arc::clone(&session));
        tokio::spawn(keep(Arc::downgrade(self), class, Arc::downgrade(&session)));
        match session.lives_until() >= SystemClock.now() + ttl {
            true => Ok(session),
            false => Err(Fault::NotSent("etcd took too long to grant a lease".to_owned())),
        }
    }

    /// Whether the session surely lives for `ttl` from now; asks etcd if need be. `false`: it is over.
    pub(super) async fn ensure(&self, session: &Session, ttl: Duration) -> Result<bool, Fault> {
        *session.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        if session.is_over() {
            return Ok(false);
        }
        if session.lives_until() >= SystemClock.now() + ttl {
            return Ok(true);
        }
        if !self.keep_alive(session).await? {
            return Ok(false);
        }
        match session.lives_until() >= SystemClock.now() + ttl {
            true => Ok(true),
            false => Err(Fault::NotSent("etcd took too long to keep a lease alive".to_owned())),
        }
    }

    /// `false`: etcd does not know the lease.
    async fn keep_alive(&self, session: &Session) -> Result<bool, Fault> {
        let sent = SystemClock.now();
        // It may be asked of another member again: what it does twice it does once.
        match self.hub.read::<Granted>(KEEP_ALIVE, &LeaseId { id: session.id }).await {
            Ok(Granted { ttl, .. }) if ttl > 0 => {
                session.kept(sent, Duration::from_secs(u64::try_from(ttl).unwrap_or(0)));
                Ok(true)
            }
            Ok(_) => {
                session.end();
                Ok(false)
            }
            Err(fault) if fault.no_lease() => {
                session.end();
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    async fn grant(&self, seconds: u64) -> Result<Arc<Session>, Fault> {
        let (id, ttl, sent) = grant(&self.hub, seconds).await?;
        let (until, used) = (Mutex::new(sent + ttl), Mutex::new(Instant::now()));
        Ok(Arc::new(Session { id, ttl, until, used, over: AtomicBool::new(false), tainted: AtomicBool::new(false) }))
    }

    fn living(&self, class: u64) -> Option<Arc<Session>> {
        self.by_class().get(&class).filter(|session| !session.is_over() && !session.is_tainted()).cloned()
    }

    fn by_class(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Session>>> {
        self.by_class.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session out if nobody has needed it for long; etcd ends it soon after.
    fn let_go(&self, class: u64, session: &Arc<Session>) -> bool {
        let mut by_class = self.by_class();
        if session.is_over() || session.is_tainted() {
            by_class.retain(|key, kept| *key != class || !Arc::ptr_eq(kept, session));
        }
        let used = *session.used.lock().unwrap_or_else(PoisonError::into_inner);
        // One for the caller, one for the map: nobody can come by another one while we hold the map.
        let mapped = by_class.get(&class).is_some_and(|kept| Arc::ptr_eq(kept, session));
        let idle = Arc::strong_count(session) <= 1 + usize::from(mapped);
        let gone = idle && (!mapped || used.elapsed() > IDLE.max(session.ttl));
        if gone && mapped {
            by_class.remove(&class);
        }
        gone
    }
}

/// A fresh lease: its id, its ttl, and the moment before it was asked for. Nobody minds one that is never used, so a lost
/// answer means only that there is none.
pub(super) async fn grant(hub: &Hub, seconds: u64) -> Result<(i64, Duration, BootTime), Fault> {
    let sent = SystemClock.now();
    let ttl = i64::try_from(seconds).unwrap_or(i64::MAX);
    match hub.write::<Granted>(GRANT, &LeaseGrant { ttl }).await {
        Ok(Granted { id, ttl, .. }) => Ok((id, Duration::from_secs(u64::try_from(ttl).unwrap_or(0)), sent)),
        Err(fault) if fault.is_unknown() => Err(Fault::NotSent(format!("no lease: {}", fault.why()))),
        Err(fault) => Err(fault),
    }
}

/// Keeps a session alive for as long as its store is open and it is needed.
async fn keep(sessions: Weak<Sessions>, class: u64, session: Weak<Session>) {
    let mut pause = Duration::from_secs(class) / 4;
    loop {
        tokio::time::sleep(pause).await;
        let (Some(sessions), Some(session)) = (sessions.upgrade(), session.upgrade()) else { return };
        if sessions.let_go(class, &session) || session.is_over() {
            return;
        }
        pause = match sessions.keep_alive(&session).await {
            Ok(_) => session.ttl / 4,
            Err(_) => AGAIN.min(session.ttl / 8),
        };
    }
}

/// Seconds that carry grants of `ttl`: half as much more, rounded up to one of a few sizes.
fn class(ttl: Duration) -> u64 {
    let seconds = (ttl + ttl / 2).as_secs() + 1;
    // Eight sizes from one power of two to the next.
    let step = (seconds.checked_ilog2().unwrap_or(0)).saturating_sub(3);
    seconds.max(2).div_ceil(1 << step) << step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_outlives_its_grants_by_half_and_there_are_few_sizes() {
        let classes: std::collections::BTreeSet<u64> = (1..86_400)
            .map(|seconds| {
                let (ttl, class) = (Duration::from_secs(seconds), class(Duration::from_secs(seconds)));
                assert!(Duration::from_secs(class) >= ttl + ttl / 2, "{seconds}: {class}");
                assert!(class <= seconds * 2 + 2, "{seconds}: {class}");
                class
            })
            .collect();
        assert!(classes.len() < 130, "{}", classes.len());
        assert_eq!(class(Duration::from_millis(50)), 2);
    }
}
