//! The way to the first byte: claim, lock, mark. And what is done instead while the store is away.

use std::convert::Infallible;
use std::sync::Arc;

use super::{Guard, OnStoreDown, Pass};
use crate::idempotency::{Entered, Plan, Running};
use crate::{
    Answer, Call, CasLock, Effect, Error, ErrorKind, Idempotency, Leases, Locks, MemoryStore, Policy, Reply, Result,
    claim::Response,
};

/// Everything is ours: the first byte may leave.
pub(super) struct Begun {
    pub(super) claim: Option<Running>,
    pub(super) leases: Leases,
    pub(super) degraded: bool,
}

pub(super) enum Start {
    Run(Begun),
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
        match start(&self.idempotency, &self.locks, call).await {
            Err(e) if matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown) => {
                self.degrade(call, e).await
            }
            other => other,
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
                Ok(Start::Run(Begun { claim: None, leases: Leases::default(), degraded: true }))
            }
            OnStoreDown::Local => {
                loud("local");
                let (idempotency, locks) = self.local.get_or_init(local);
                let weak = Policy::clone(&call.policy).allow_weak();
                let call = Call { policy: Arc::new(weak), ..call.clone() };
                Ok(match start(idempotency, locks, &call).await? {
                    Start::Run(begun) => Start::Run(Begun { degraded: true, ..begun }),
                    Start::Answer(answer) => Start::Answer(Answer { degraded: true, ..answer }),
                })
            }
            OnStoreDown::Refuse | OnStoreDown::ReadOnly => Err(nothing_sent(away)),
        }
    }
}

fn local() -> (Idempotency, Locks) {
    let store = MemoryStore::new();
    let locks = Arc::new(CasLock::new(store.clone()));
    (Idempotency::new(Arc::new(store), locks.clone()), Locks::shared(locks))
}

/// A lost answer of the store, before anything was sent to the tool, means that nothing ran.
fn nothing_sent(e: Error) -> Error {
    match e.kind() {
        ErrorKind::OutcomeUnknown => {
            Error::new(ErrorKind::Unavailable, "the store did not answer, so nothing was sent").because(e)
        }
        _ => e,
    }
}

async fn start(idempotency: &Idempotency, locks: &Locks, call: &Call) -> Result<Start> {
    let run = |claim, leases| Ok(Start::Run(Begun { claim, leases, degraded: false }));
    let Some(key) = call.key.as_ref().filter(|_| call.policy.effect != Effect::ReadOnly) else {
        return run(None, locks.acquire_all(&call.locks).await?);
    };
    let plan = match &call.locks[..] {
        [] => Plan::Mark,
        [lock] => Plan::Lock(Arc::new(lock.clone())),
        _ => Plan::Claim,
    };
    let sent = locks.clock().now();
    let (claim, leases) = match idempotency.enter(call, key, &plan, locks.backend()).await? {
        Entered::Answer(answer) => return Ok(Start::Answer(answer)),
        Entered::Run(claim, None) => (claim, Leases::default()),
        Entered::Run(claim, Some(grant)) => match locks.adopt(&call.locks[0], grant, sent) {
            Ok(lease) => (claim, lease.into()),
            Err(e) => return Err(not_sent(claim, Leases::default(), e).await),
        },
        Entered::Claimed(claimed) => match claimed.alive_while(locks.acquire_all(&call.locks)).await {
            Ok(leases) => (claimed.dispatch().await?, leases),
            Err(e) => {
                claimed.give_up().await;
                return Err(e);
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
async fn not_sent(claim: Running, leases: Leases, why: Error) -> Error {
    claim.finish(Reply::NoEffect(Response::new("", "")), None).await;
    release(leases).await;
    nothing_sent(why)
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
