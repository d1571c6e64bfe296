//! Runs real futures in one order of their steps, and drops some of them on the way.
//!
//! The runtime has one thread and a clock that stands still while anybody can go on: when the explorer's own nap ends,
//! everybody stands at a stop, waits for somebody else, or has ended. The store's clock moves only in the end, past
//! every lease.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{ManualClock, MemoryStore};
use tokio::task::JoinHandle;

use super::choose::Chooser;
use super::stops::{Fate, Stepped, Stops};

/// Longer than any pause between two tries: whoever is about to try again stands at its stop by then.
const NAP: Duration = Duration::from_millis(300);
/// Nobody waits so long without a reason.
const PATIENCE: usize = 200;
/// Past every lease, and before any key is forgotten.
const LONG: Duration = Duration::from_secs(2 * 60 * 60);

/// What a client says of itself; `None` if it was cancelled.
pub(super) type Told = Option<String>;
pub(super) type Client = Pin<Box<dyn Future<Output = String> + Send>>;
/// The property that did not hold, and what was seen.
pub(super) type Broken = (&'static str, String);
pub(super) type Verdict<'a> = Pin<Box<dyn Future<Output = Option<Broken>> + 'a>>;

/// The world that clients of one run share.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) store: Stepped,
    pub(super) stops: Stops,
    pub(super) clients: usize,
}

/// Clients that do something, and what must be true of it.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) clients: usize,
    pub(super) run: fn(World) -> Box<dyn Judge>,
}

pub(super) trait Judge {
    fn clients(&mut self) -> Vec<Client>;
    /// After the last step, before any lease has lapsed. `calm`: no operation of the store failed.
    fn at_rest<'a>(&'a self, told: &'a [Told], calm: bool) -> Verdict<'a>;
    /// After every lease has lapsed.
    fn in_the_end<'a>(&'a self, told: &'a [Told]) -> Verdict<'a>;
}

/// How much may go wrong in one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) cancels: usize,
    pub(super) faults: usize,
    /// Of both together.
    pub(super) both: usize,
}

/// What one run came to.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) trace: Vec<String>,
    pub(super) cancels: usize,
    pub(super) faults: usize,
    pub(super) problem: Option<Broken>,
}

enum Choice {
    Decide(u64, &'static str, Fate),
    Cancel(usize),
}

pub(super) fn run(scenario: &Scenario, limits: Limits, chooser: &mut Chooser) -> Ran {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(steps(scenario, limits, chooser)),
        Err(error) => Ran { problem: Some(("L1", format!("no runtime: {error}"))), ..Ran::default() },
    }
}

async fn steps(scenario: &Scenario, limits: Limits, chooser: &mut Chooser) -> Ran {
    let (clock, stops) = (Arc::new(ManualClock::default()), Stops::default());
    let store = Stepped { inner: MemoryStore::with_clock(clock.clone()), stops: stops.clone() };
    let world = World { store, stops: stops.clone(), clients: scenario.clients };
    let mut judge = (scenario.run)(world);
    let mut clients: Vec<Option<JoinHandle<String>>> =
        judge.clients().into_iter().map(|client| Some(tokio::spawn(client))).collect();
    let mut ran = Ran::default();
    let (mut idle, mut waited_for_a_lapse) = (0, false);
    loop {
        tokio::time::sleep(NAP).await;
        let alive = |client: &Option<JoinHandle<String>>| client.as_ref().is_some_and(|task| !task.is_finished());
        let choices = choices(&stops, &clients, limits, &ran);
        if choices.is_empty() {
            idle += 1;
            match (clients.iter().any(alive), idle) {
                (false, 4..) => break,
                (true, PATIENCE) if !waited_for_a_lapse => {
                    (idle, waited_for_a_lapse) = (0, true);
                    ran.trace.push("every lease lapses".to_owned());
                    clock.advance(LONG);
                    tokio::time::sleep(LONG).await;
                }
                (true, PATIENCE..) => {
                    ran.problem = Some(("L1", "a caller waits for ever".to_owned()));
                    return ran;
                }
                _ => {}
            }
            continue;
        }
        // In the end nothing is left to choose but the order of what goes on by itself.
        idle = 0;
        let chosen = chooser.choose(choices.len());
        match choices.into_iter().nth(chosen) {
            Some(Choice::Decide(number, what, fate)) => {
                ran.faults += usize::from(matches!(fate, Fate::AnswerLost | Fate::Refused));
                ran.trace.push(format!("{what} {number} {fate:?}"));
                stops.decide(number, fate);
            }
            Some(Choice::Cancel(i)) => {
                ran.cancels += 1;
                ran.trace.push(format!("cancel {i}"));
                if let Some(task) = clients[i].take() {
                    task.abort();
                }
            }
            None => {}
        }
    }
    let mut told = Vec::new();
    for client in clients {
        told.push(match client {
            Some(task) => match task.await {
                Ok(said) => Some(said),
                Err(error) => {
                    ran.problem = Some(("L1", format!("a client panicked: {error}")));
                    return ran;
                }
            },
            None => None,
        });
    }
    if waited_for_a_lapse && ran.faults == 0 {
        let what = "a caller had to wait until a lease lapsed, though no operation failed";
        ran.problem = Some(("S7", what.to_owned()));
        return ran;
    }
    ran.problem = judge.at_rest(&told, ran.faults == 0).await;
    if ran.problem.is_none() {
        clock.advance(LONG);
        ran.problem = judge.in_the_end(&told).await;
    }
    ran
}

/// What can happen next. The harmless choices come first: so the first path is the undisturbed one.
fn choices(stops: &Stops, clients: &[Option<JoinHandle<String>>], limits: Limits, ran: &Ran) -> Vec<Choice> {
    let standing = stops.standing();
    let mut all: Vec<_> = standing.iter().map(|(number, what, _)| Choice::Decide(*number, what, Fate::GoOn)).collect();
    if all.is_empty() {
        return all;
    }
    let disturbed = ran.cancels + ran.faults;
    let may_cancel = ran.cancels < limits.cancels && disturbed < limits.both;
    for (number, what, _) in standing.iter().filter(|(_, _, writes)| *writes) {
        if may_cancel {
            all.push(Choice::Decide(*number, what, Fate::AnswerLater));
        }
        if ran.faults < limits.faults && disturbed < limits.both {
            all.extend([Fate::AnswerLost, Fate::Refused].map(|fate| Choice::Decide(*number, what, fate)));
        }
    }
    if may_cancel {
        let alive = clients.iter().enumerate().filter(|(_, task)| task.as_ref().is_some_and(|t| !t.is_finished()));
        all.extend(alive.map(|(i, _)| Choice::Cancel(i)));
    }
    all
}
