//! Callers with one key, in two processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stanchion_core::claim::Response;
use stanchion_core::{
    Acquire, Call, CallKey, CasLock, Cond, Fingerprint, Guard, InFlight, Key, Policy, RecordStore as _, Reply, Result,
    Scope,
};

use super::explore::{Broken, Client, Judge, Told, Verdict, World};
use super::stops::{Stepped, Stops};

/// How a call is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Keyed,
    KeyedAndLocked,
    /// Planted: looks whether it was done, does it, notes that it was done.
    CheckThenAct,
}

struct Calls {
    world: World,
    how: How,
    effects: Arc<AtomicU32>,
}

pub(super) fn calls(world: World, how: How) -> Box<dyn Judge> {
    Box::new(Calls { world, how, effects: Arc::default() })
}

fn call(how: How) -> Result<Call> {
    let patience = InFlight::Wait(Duration::from_secs(60 * 60));
    let policy = Policy::default().allow_weak().in_flight(patience);
    let call = Call::new(Scope::new("alice", "billing", "pay")?, policy)
        .key(CallKey::new("order-77")?, Fingerprint::of_bytes(b"77"));
    Ok(if how == How::KeyedAndLocked { call.lock(Acquire::new(Key::new("ledger")?)) } else { call })
}

fn guard(store: impl stanchion_core::RecordStore + Clone) -> Guard {
    Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)))
}

async fn guarded(guard: Guard, how: How, body: String, effects: Arc<AtomicU32>, stops: Option<Stops>) -> String {
    let answer = async {
        let work = |_| async move {
            if let Some(stops) = stops {
                stops.stop("tool", false).await;
            }
            effects.fetch_add(1, Ordering::SeqCst);
            Reply::Done(Response::new("", body))
        };
        guard.call(&call(how)?, work).await
    };
    match answer.await.map(|answer| answer.reply) {
        Ok(Reply::Done(response)) => {
            format!("done by {}", String::from_utf8_lossy(response.bytes().map_or(b"", |body| &body[..])))
        }
        Ok(Reply::Unknown(_)) => "unknown".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("nothing ran: {}", error.kind()),
    }
}

async fn check_then_act(store: Stepped, body: String, effects: Arc<AtomicU32>, stops: Stops) -> String {
    let act = async {
        let key = Key::new("done")?;
        if let Some(found) = store.get(&key).await? {
            return Ok(String::from_utf8_lossy(&found.value).into_owned());
        }
        stops.stop("tool", false).await;
        effects.fetch_add(1, Ordering::SeqCst);
        // Whoever was faster has noted the same.
        store.put(&key, body.clone().into(), Cond::Absent, None).await.ok();
        Ok::<_, stanchion_core::Error>(body)
    };
    act.await.map_or_else(|error| format!("nothing ran: {}", error.kind()), |by| format!("done by {by}"))
}

impl Calls {
    fn judge(&self, told: &[Told]) -> Option<Broken> {
        let effects = self.effects.load(Ordering::SeqCst);
        let done: Vec<_> = told.iter().flatten().filter(|said| said.starts_with("done by")).collect();
        if effects > 1 {
            return Some(("S4", format!("{effects} effects; they say {told:?}")));
        }
        if done.iter().any(|said| **said != *done[0]) {
            return Some(("S4", format!("one key, two answers: {told:?}")));
        }
        (effects == 0 && !done.is_empty()).then(|| ("S6", format!("told of a success that was none: {told:?}")))
    }

    /// Somebody who comes now.
    async fn newcomer(&self) -> String {
        let guard = guard(self.world.store.inner.clone());
        guarded(guard, self.how, "newcomer".to_owned(), Arc::clone(&self.effects), None).await
    }
}

impl Judge for Calls {
    fn clients(&mut self) -> Vec<Client> {
        let process = || guard(self.world.store.clone());
        let processes = [process(), process()];
        let client = |i: usize| -> Client {
            let (body, effects, stops) = (i.to_string(), Arc::clone(&self.effects), self.world.stops.clone());
            match self.how {
                How::CheckThenAct => Box::pin(check_then_act(self.world.store.clone(), body, effects, stops)),
                how => Box::pin(guarded(processes[i % 2].clone(), how, body, effects, Some(stops))),
            }
        };
        (0..self.world.clients).map(client).collect()
    }

    fn at_rest<'a>(&'a self, told: &'a [Told], calm: bool) -> Verdict<'a> {
        Box::pin(async move {
            let undisturbed = calm && told.iter().all(Option::is_some);
            let all_done = told.iter().flatten().all(|said| said.starts_with("done by"));
            let silent = undisturbed && !all_done;
            self.judge(told).or_else(|| silent.then(|| ("L1", format!("nothing went wrong, and they say {told:?}"))))
        })
    }

    fn in_the_end<'a>(&'a self, told: &'a [Told]) -> Verdict<'a> {
        Box::pin(async move {
            if self.how == How::CheckThenAct {
                return None;
            }
            let before = self.effects.load(Ordering::SeqCst);
            let newcomer = self.newcomer().await;
            let all: Vec<Told> = told.iter().cloned().chain([Some(newcomer.clone())]).collect();
            let stuck = newcomer.starts_with("nothing ran") || before == 0 && newcomer == "unknown" && calm_end(told);
            self.judge(&all).or_else(|| stuck.then(|| ("L1", format!("the key is stuck: {all:?}"))))
        })
    }
}

/// Nobody was cancelled and nobody was told that the outcome is unknown: so the key must not be unknown either.
fn calm_end(told: &[Told]) -> bool {
    told.iter().all(|said| said.as_ref().is_some_and(|said| said != "unknown"))
}
