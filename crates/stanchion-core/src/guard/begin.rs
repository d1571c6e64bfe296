//! The way to the first byte: claim, lock, mark. And what is done instead while the store is away.

use std::convert::Infallible;
use std::sync::Arc;

use super::{Guard, OnStoreDown, Pass};
use crate::idempotency::{Entered, Plan, Running};
use crate::{
    Answer, Call, CasLock, Effect, Error, ErrorKind, Idempotency, Leases, Locks, MemoryStore, Policy, Ran, Reply,
    Result, claim::Response,
};

/// Everything is ours: the first byte may leave.
pub(super) struct Ready {
    pub(super) claim: Option<Running>,
    pub(super) leases: Leases,
    pub(super) degraded: bool,
}

pub(super) enum Start {
    Run(Ready),
    Answer(Answer),
}

impl Guard {
    /// # If it fails
    /// Nothing was sent.
    pub(super) async fn begin(&self, call: &Call) -> Result<Start> {
        if call.policy.effect == Effect::Transactional {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a transactional call belongs into a transaction of its own",
            )
            .with("call", &call.scope)
            .hint("use claim_in_transaction of the PostgreSQL or SQLite store"));
        }
        // What was ready here while the store was away is answered from here.
        if let (Some((claims, locks)), Some(id)) = (self.local.get(), call.claim_id())
            && claims.get(&id).await?.is_some()
        {
            return local_start(claims, locks, call).await;
        }
        match start(&self.idempotency, &self.locks, call).await {
            Ok(start) => Ok(start),
            Err(NotStarted { error, store_away: true }) => self.degrade(call, error).await,
            Err(NotStarted { error, .. }) => Err(nothing_sent(error)),
        }
    }

    /// The store is away, and nothing was sent.
    async fn degrade(&self, call: &Call, away: Error) -> Result<Start> {
        let loud = |how: &'static str| {
            metrics::counter!("stanchion_degraded_calls_total", "how" => how).increment(1);
            tracing::error!(call = %call.scope, error = %away, how, "DEGRADED: the store is away, and the call is let through");
        };
        match self.on_store_down {
            OnStoreDown::ReadOnly if call.policy.effect == Effect::ReadOnly => {
                loud("read_only");
                Ok(Start::Run(Ready { claim: None, leases: Leases::default(), degraded: true }))
            }
            OnStoreDown::Local => {
                loud("local");
                let (idempotency, locks) = self.local.get_or_init(local);
                local_start(idempotency, locks, call).await
            }
            OnStoreDown::Refuse | OnStoreDown::ReadOnly => Err(nothing_sent(away)),
        }
    }
}

/// Guarded by this process alone.
async fn local_start(claims: &Idempotency, locks: &Locks, call: &Call) -> Result<Start> {
    let weak = Policy::clone(&call.policy).allow_weak();
    let call = Call { policy: Arc::new(weak), ..call.clone() };
    Ok(match start(claims, locks, &call).await.map_err(|e| nothing_sent(e.error))? {
        Start::Run(ready) => Start::Run(Ready { degraded: true, ..ready }),
        Start::Answer(answer) => Start::Answer(Answer { degraded: true, ..answer }),
    })
}

fn local() -> (Idempotency, Locks) {
    let store = MemoryStore::new();
    let locks = Arc::new(CasLock::new(store.clone()));
    (Idempotency::new(Arc::new(store), locks.clone()), Locks::shared(locks))
}

/// Whatever went wrong before anything was sent to the tool: nothing ran.
pub(super) fn nothing_sent(e: Error) -> Error {
    match e.ran() {
        Ran::Maybe => Error::new(ErrorKind::Unavailable, "the call was not ready, so nothing was sent").because(e),
        Ran::No => e,
    }
}

/// Why the first byte did not leave.
struct NotStarted {
    error: Error,
    /// The store did not answer, as opposed to us having been too slow.
    store_away: bool,
}

impl From<Error> for NotStarted {
    fn from(error: Error) -> Self {
        let store_away = matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown);
        Self { error, store_away }
    }
}

async fn start(idempotency: &Idempotency, locks: &Locks, call: &Call) -> Result<Start, NotStarted> {
    let run = |claim, leases| Ok(Start::Run(Ready { claim, leases, degraded: false }));
    let Some(key) = call.key.as_ref().filter(|_| call.policy.effect != Effect::ReadOnly) else {
        return run(None, locks.acquire_all(&call.locks).await?);
    };
    let plan = match &call.locks[..] {
        [] => Plan::Mark,
        [lock] => Plan::Lock(Arc::new(lock.clone())),
        _ => Plan::Claim,
    };
    let now = locks.clock().now();
    let (claim, leases) = match idempotency.enter(call, key, &plan, locks.backend()).await? {
        Entered::Answer(answer) => return Ok(Start::Answer(answer)),
        Entered::Run(claim, None) => (claim, Leases::default()),
        Entered::Run(claim, Some(grant)) => match locks.adopt(&call.locks[0], grant, claim.since().unwrap_or(now)) {
            Ok(lease) => (claim, lease.into()),
            Err(e) => return Err(not_sent(claim, Leases::default(), e).await),
        },
        Entered::Claimed(claimed) => match claimed.alive_while(locks.acquire_all(&call.locks)).await {
            Ok(leases) => (claimed.dispatch().await?, leases),
            Err(e) => {
                claimed.give_up().await;
                return Err(e.into());
            }
        },
    };
    // A pause between the mark and here may have been longer than the lease; then we are dead to others.
    if !claim.is_fresh() || leases.iter().any(|lease| lease.fence().is_err()) {
        let late =
            Error::new(ErrorKind::Unavailable, "the call was held up for longer than its lease before it was sent");
        return Err(not_sent(claim, leases, late).await);
    }
    run(Some(claim), leases)
}

/// The mark stands, and nothing was sent: the next call may try.
async fn not_sent(claim: Running, leases: Leases, error: Error) -> NotStarted {
    claim.finish(Reply::NoEffect(Response::new("", "")), None).await;
    release(leases).await;
    NotStarted { error, store_away: false }
}

pub(super) fn pass(claim: Option<&Running>, leases: &Leases) -> Pass {
    Pass {
        fence: leases.iter().next().map(|lease| lease.grant().fence),
        receipt: claim.map(Running::id),
        epoch: claim.map_or(0, Running::epoch),
        downstream_key: claim.map(|claim| claim.id().downstream_key()),
    }
}

pub(super) async fn keep_alive(claim: Option<&Running>) -> Infallible {
    match claim {
        Some(claim) => claim.keep_alive().await,
        None => std::future::pending().await,
    }
}

/// What the store says of the release must not hide what the tool said.
pub(super) async fn release(leases: Leases) {
    if let Err(error) = leases.release().await {
        tracing::warn!(%error, "a lock is not released yet; it goes on in the background");
    }
}
