//! Calls with an idempotency key, which several workers make, and make again; the control has no key.

use std::time::Duration;

use stanchion_core::claim::Response;
use stanchion_core::{Acquire, Answer, Call, Guard, InFlight, Policy, Reply, Result, Wait};

use super::dice::Dice;
use super::journal::{Line, Outcome};
use super::worker::Worker;

/// How often one caller asks for one key.
const ATTEMPTS: u64 = 4;
/// Locks that some of the calls take.
const LOCKS: u64 = 16;

/// Asks until it is told what became of the call, and says how many calls were acknowledged.
pub(super) async fn call(worker: &Worker, guard: &Guard, dice: &mut Dice, op: &str, task: u64, step: u64) -> u64 {
    let key = format!("{task}-{step}");
    for attempt in 0..ATTEMPTS {
        let op = format!("{op}.{attempt}");
        worker.journal.line(&Line::Call { key: key.clone(), op: op.clone() });
        let outcome = if worker.orders.guarded {
            let wait = dice.percent(50).then(|| worker.orders.lease * 2);
            told(&once(worker, guard, &key, &op, wait).await)
        } else {
            effect(worker, &key, &op);
            Outcome::Ok(op.clone())
        };
        let acknowledged = outcome.is_ok();
        worker.journal.line(&Line::Answer { key: key.clone(), op, outcome });
        if acknowledged {
            return 1;
        }
        tokio::time::sleep(Duration::from_millis(dice.below(20))).await;
    }
    0
}

/// One call of this key; `wait` for another one that is at work.
pub(super) async fn once(
    worker: &Worker,
    guard: &Guard,
    key: &str,
    op: &str,
    wait: Option<Duration>,
) -> Result<Answer> {
    let in_flight = wait.map_or(InFlight::Reject, InFlight::Wait);
    // What is tried here is the death of processes, not of machines: a store that may forget at a power cut will do.
    let policy = Policy::default().in_flight(in_flight).lease(worker.orders.lease)?.allow_weak();
    let (call_key, payload) = worker.orders.call_key(key)?;
    let mut call = Call::new(worker.orders.scope()?, policy).key(call_key, payload);
    let number = key.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31) + u64::from(byte));
    if number.is_multiple_of(4) {
        let lock = worker.orders.lock(&format!("k{}", number / 4 % LOCKS))?;
        let wait = wait.unwrap_or(worker.orders.lease);
        call = call.lock(Acquire::new(lock).ttl(worker.orders.lease)?.wait(Wait::For(wait)));
    }
    let work = |_| async {
        effect(worker, key, op);
        Reply::Done(Response::new("", op.to_owned()))
    };
    guard.call(&call, work).await
}

fn effect(worker: &Worker, key: &str, op: &str) {
    worker.effects.text(&format!("{key} {op}"));
}

pub(super) fn told(answer: &Result<Answer>) -> Outcome {
    let reply = match answer {
        Ok(answer) => &answer.reply,
        Err(e) => return Outcome::of(e),
    };
    match reply {
        Reply::Done(response) => {
            let body = response.bytes().map(|body| String::from_utf8_lossy(body).into_owned());
            Outcome::Ok(body.unwrap_or_else(|| "-".to_owned()))
        }
        Reply::Unknown(_) => Outcome::Maybe("unknown".to_owned()),
        // Our tool never says so.
        Reply::Failed(_) | Reply::NoEffect(_) | Reply::Suspended(_) => Outcome::Maybe("strange".to_owned()),
    }
}
