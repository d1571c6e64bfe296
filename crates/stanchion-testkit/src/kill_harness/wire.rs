//! Between the engine under test and its store: notes what is written, and gives the middle of each write a name.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::claim::{Claim, State};
use stanchion_core::pause::pause_point;
use stanchion_core::{
    Begin, Begun, Capability, Cond, FencingToken, Finish, Finished, Fused, Key, Page, Record, RecordStore, Result,
    Separate, Version,
};
use tokio::time::Instant;

use super::log::Log;
use super::profile::Plan;
use super::slow::timed;
use super::{Bug, Design, Stores};

#[derive(Debug, Clone)]
pub(super) struct Wire(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    records: Arc<dyn RecordStore>,
    fused: Arc<dyn Fused>,
    log: Arc<Log>,
    plan: Plan,
    /// What was read of each claim. Older versions too: a sweep and a write of our own may overtake each other.
    seen: Mutex<HashMap<(Key, Version), Record>>,
}

impl Wire {
    pub(super) fn new(stores: &Stores, plan: &Plan, log: &Arc<Log>) -> Self {
        let records = Arc::clone(&stores.records);
        let fused = stores.fused.clone();
        let separate = || Arc::new(Separate::new(Arc::clone(&records), Arc::clone(&stores.locks))) as Arc<dyn Fused>;
        let fused = fused.unwrap_or_else(separate);
        Self(Arc::new(Inner { records, fused, log: Arc::clone(log), plan: plan.clone(), seen: Mutex::default() }))
    }

    fn see(&self, key: &Key, record: Option<&Record>) {
        let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(record.map(|record| ((key.clone(), record.version), record.clone())));
    }

    /// The claim as `version`, if that was read here.
    fn before(&self, key: &Key, version: Version) -> Option<(Claim, Record)> {
        let seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let record = seen.get(&(key.clone(), version))?;
        Some((Claim::decode(&record.value).ok()?, record.clone()))
    }

    fn bug(&self) -> Option<Bug> {
        match self.0.plan.design {
            Design::Planted(bug) => Some(bug),
            Design::Guard | Design::Seed => None,
        }
    }

    /// The record as the engine gets it.
    fn show(&self, mut record: Record) -> Record {
        if let Some(bug) = self.bug() {
            bug.shown(&mut record);
        }
        record
    }

    /// A claim of this run, as `principal index epoch`.
    fn name(&self, claim: &Claim) -> Option<String> {
        let index = self.0.plan.index(&claim.key).filter(|_| claim.scope.tool() == self.0.plan.name)?;
        Some(format!("{} {index} {}", claim.scope.principal(), claim.attempt.epoch))
    }

    fn note(&self, what: &str, claim: &Claim, more: &str) {
        if let Some(name) = self.name(claim) {
            self.0.log.line(&format!("{what} {name} {more}"));
        }
    }

    /// A claim whose end is still to come must not disappear by itself.
    fn check_ttl(&self, claim: Option<&Claim>, ttl: Option<Duration>) {
        if let (Some(claim), Some(_)) = (claim.filter(|claim| claim.state.is_open()), ttl) {
            self.note("open-ttl", claim, claim.state.name());
        }
    }
}

/// The first look sends the request; then its sender can be killed while it is under way.
async fn in_two<T>(point: &'static str, request: impl Future<Output = T>) -> T {
    let mut request = pin!(request);
    let first = std::future::poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx))).await;
    match first {
        Poll::Ready(done) => {
            pause_point(point).await;
            done
        }
        Poll::Pending => {
            pause_point(point).await;
            request.await
        }
    }
}

#[async_trait]
impl RecordStore for Wire {
    fn capability(&self) -> Capability {
        self.0.records.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let found = self.0.records.get(key).await?;
        self.see(key, found.as_ref());
        Ok(found.map(|record| self.show(record)))
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.0.records.touch(key, token).await
    }

    /// Besides the fused steps, the engine writes only what it judges to have lapsed.
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let next = Claim::decode(&value).ok();
        self.check_ttl(next.as_ref(), ttl);
        if let (Cond::Version(version), Some(next)) = (cond, &next) {
            let judged = self.before(key, version).map(|(claim, record)| {
                let age = record.times.map_or(u128::MAX, |times| times.age().as_millis());
                let limit = claim.state.lapses_after().map_or(u128::MAX, |limit| limit.as_millis());
                format!("{} {} {age} {limit}", claim.state.name(), next.state.name())
            });
            self.note("lapse", next, &judged.unwrap_or_else(|| "unread - 0 0".to_owned()));
        }
        let planted = self.bug().and_then(|bug| bug.written(&value, true));
        in_two("kill.mid-lapse", self.0.records.put(key, planted.unwrap_or(value), cond, ttl)).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.0.log.line(&format!("delete {key:?}"));
        self.0.records.delete(key, cond).await
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let found = self.0.records.scan(prefix, page).await?;
        found.iter().for_each(|(key, record)| self.see(key, Some(record)));
        Ok(found.into_iter().map(|(key, record)| (key, self.show(record))).collect())
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.0.records.changed(key, since, until).await
    }
}

#[async_trait]
impl Fused for Wire {
    async fn begin(&self, begin: &Begin) -> Result<Begun> {
        let planted = self.bug().and_then(|bug| bug.written(&begin.granted, false));
        let sent = Begin { granted: planted.unwrap_or_else(|| begin.granted.clone()), ..begin.clone() };
        let limit = self.0.plan.delay();
        let begun = in_two("kill.mid-begin", timed(&self.0.log, limit, self.0.fused.begin(&sent))).await?;
        let written = |value: &Bytes, version: Version| {
            let record = Record { value: value.clone(), version, fence: None, times: None };
            self.see(&begin.key, Some(&record));
        };
        match &begun {
            Begun::Granted { version, .. } => written(&begin.granted, *version),
            Begun::Busy { version, .. } => written(&begin.busy, *version),
            Begun::Found(found) => self.see(&begin.key, found.as_ref()),
        }
        Ok(match begun {
            Begun::Found(found) => Begun::Found(found.map(|record| self.show(record))),
            begun => begun,
        })
    }

    async fn finish(&self, finish: &Finish) -> Result<Finished> {
        let Ok(next) = Claim::decode(&finish.value) else { return self.0.fused.finish(finish).await };
        self.check_ttl(Some(&next), finish.ttl);
        let before = match finish.cond {
            Cond::Version(version) => self.before(&finish.key, version).map(|(claim, _)| claim.state),
            _ => None,
        };
        let point = match (&before, &next.state) {
            (Some(State::Dispatched { .. }), State::Dispatched { .. }) => "kill.mid-beat",
            (_, State::Dispatched { .. }) => "kill.mid-dispatch",
            (_, State::Claimed { .. }) => "kill.mid-claim-beat",
            (_, State::Done { .. }) => "kill.mid-record",
            _ => "kill.mid-end",
        };
        let sent = match self.bug() {
            Some(bug) => Finish {
                value: bug.written(&finish.value, false).unwrap_or_else(|| finish.value.clone()),
                ttl: bug.ttl(&finish.value, finish.ttl),
                ..finish.clone()
            },
            None => finish.clone(),
        };
        let mut finished = in_two(point, self.0.fused.finish(&sent)).await?;
        if let (Some(Bug::LateWritesWin), Finished::Found(Some(record))) = (self.bug(), &finished) {
            let cond = Cond::Version(record.version);
            finished = self.0.fused.finish(&Finish { cond, ..sent }).await?;
        }
        match &finished {
            Finished::Written { version, .. } => {
                let record = Record { value: finish.value.clone(), version: *version, fence: None, times: None };
                self.see(&finish.key, Some(&record));
                self.note("wrote", &next, &said(&next.state));
            }
            Finished::Found(found) => {
                self.see(&finish.key, found.as_ref());
                let stands = found.as_ref().and_then(|record| Claim::decode(&record.value).ok());
                // Another attempt, or an end: this write came too late, and is refused.
                if let Some(stands) = stands.filter(|it| it.attempt != next.attempt || !it.state.is_open()) {
                    let epoch = stands.attempt.epoch;
                    self.note("late", &next, &format!("{} {epoch} {}", next.state.name(), stands.state.name()));
                }
            }
        }
        Ok(match finished {
            Finished::Found(found) => Finished::Found(found.map(|record| self.show(record))),
            finished => finished,
        })
    }
}

/// The state, and the body of a finished call.
pub(super) fn said(state: &State) -> String {
    let body = match state {
        State::Done { response, .. } | State::Tombstone { response, .. } => {
            response.bytes().map(|body| String::from_utf8_lossy(body).into_owned())
        }
        _ => None,
    };
    format!("{} {}", state.name(), body.unwrap_or_else(|| "-".to_owned()))
}
