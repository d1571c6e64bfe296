//! Stanchion's guard through its front door.

use std::sync::Arc;

use stanchion_core::claim::Response;
use stanchion_core::{
    Acquire, Call, CallKey, Fingerprint, Guard, Idempotency, Key, Locks, Owner, Policy, Reply, Scope,
};
use stanchion_stores::{OpenOptions, open_with};

use super::place;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};
use crate::{Fault, Outcome};

/// What a caller sends and a tool answers.
const ASKED: &str = r#"{"order": 77, "customer": "bob", "amount": 12.50}"#;
const ANSWER: &str = r#"{"invoice": 1181, "sent": true}"#;

struct Calls {
    guard: Guard,
    scope: Scope,
    policy: Arc<Policy>,
    lock: Option<Acquire>,
    /// Stands before the number of a fresh key; `None`: the same key again and again.
    fresh: Option<String>,
    number: u64,
}

impl Client for Calls {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.number += 1;
        let key = match &self.fresh {
            Some(before) => format!("{before}-{}", self.number),
            None => "again".to_owned(),
        };
        let call = Call::new(self.scope.clone(), Arc::clone(&self.policy))
            .key(CallKey::new(key)?, Fingerprint::of_json(ASKED)?);
        let call = self.lock.iter().fold(call, |call, lock| call.lock(lock.clone()));
        let answer = self.guard.call(&call, |_| async { Reply::Done(Response::new("", ANSWER)) }).await?;
        match (answer.replayed, answer.recorded, &self.fresh) {
            (false, true, Some(_)) => Ok(()),
            (true, _, None) => Ok(()),
            (false, _, None) if self.number == 1 => Ok(()),
            _ => Err(Fault::from(format!("an unexpected answer: {answer:?}"))),
        }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        Ok(())
    }
}

/// Place: the URL, the durability. A fresh key and a lock per task.
pub(super) fn guarded(job: &Job) -> Outcome<Tally> {
    run(job, true, true)
}

/// A fresh key, no lock.
pub(super) fn claimed(job: &Job) -> Outcome<Tally> {
    run(job, true, false)
}

/// One key per task, and its answer.
pub(super) fn replayed(job: &Job) -> Outcome<Tally> {
    run(job, false, false)
}

fn run(job: &Job, fresh: bool, locked: bool) -> Outcome<Tally> {
    on_runtime(async {
        let options = OpenOptions::default().durability(place(job, 1)?.parse()?);
        let opened = open_with(place(job, 0)?, options).await?;
        let records = opened.records.ok_or("the store has no records")?;
        let mut claims = Idempotency::new(records, Arc::clone(&opened.locks));
        if let Some(fused) = opened.fused {
            claims = claims.fused(fused);
        }
        let guard = Guard::with(claims, Locks::shared(opened.locks));
        // This Redis keeps nothing through a power cut; for a race of speeds that does not matter.
        let policy = Arc::new(Policy::default().allow_weak());
        let client = |task| -> Outcome<Calls> {
            Ok(Calls {
                guard: guard.clone(),
                scope: Scope::new("bench", "billing", format!("{}-{task}", job.key))?,
                policy: Arc::clone(&policy),
                lock: if locked { Some(Acquire::new(Key::new(job.key_of(task))?)) } else { None },
                fresh: fresh.then(|| Owner::random().to_hex()),
                number: 0,
            })
        };
        run_tasks(job, (0..job.tasks).map(client).collect::<Outcome<Vec<_>>>()?).await
    })
}
