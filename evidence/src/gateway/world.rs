//! One world: a few clients with a gateway and a server each, a store between the gateways, and somebody who kills.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use stanchion_core::MemoryStore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::fate::{Dice, Event};
use super::instance::{Heard, Instance, Shared, Way};
use super::line::Virtual;
use super::server::{Ledger, said};

/// How often a client asks again before it gives up.
const ATTEMPTS: u32 = 30;
/// Everything that was begun is over after this time.
const QUIET: Duration = Duration::from_secs(120);

/// What became of one world.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) calls: u64,
    pub(super) events: BTreeMap<Event, u64>,
    /// The promise, and how it was broken.
    pub(super) broken: Vec<(&'static str, String)>,
}

/// What a client was told of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Done(String),
    /// And why.
    NotRun(String),
    Unknown,
    /// Nothing yet: it runs, the connection ended, or the client became impatient.
    Nothing,
}

/// All that was told of each note.
type Journal = Arc<Mutex<BTreeMap<String, Vec<Told>>>>;

pub(super) fn play(seed: u64, way: Way) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(live(seed, way)),
        Err(e) => Outcome { broken: vec![("void", format!("no runtime: {e}"))], ..Outcome::default() },
    }
}

async fn live(seed: u64, way: Way) -> Outcome {
    let (begun, dice) = (Instant::now(), Dice::new(seed));
    let store = MemoryStore::with_clock(Arc::new(Virtual(begun)));
    let shared = Shared { way, store, begun, ledger: Ledger::default(), dice: dice.clone() };
    let (desks, journal) = (Arc::<Mutex<Vec<Arc<Instance>>>>::default(), Journal::default());
    let mut clients = JoinSet::new();
    let mut calls = 0;
    for client in 0..2 + dice.below(3) {
        let desk = Desk {
            shared: shared.clone(),
            all: Arc::clone(&desks),
            own: Arc::default(),
            journal: Arc::clone(&journal),
        };
        for call in 0..1 + dice.below(3) {
            // One in four is another client's call as well: the same key, at about the same time.
            let whose = if way == Way::Guarded && dice.below(4) == 0 { 0 } else { client };
            calls += 1;
            clients.spawn(desk.clone().call(format!("note-{whose}.{call}")));
        }
    }
    let kills = dice.below(5);
    let killer = tokio::spawn(nemesis(dice.clone(), Arc::clone(&desks), kills));
    while clients.join_next().await.is_some() {}
    killer.abort();
    sleep(QUIET).await;
    desks.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|instance| instance.end());
    let journal = journal.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let events = dice.seen();
    Outcome { calls, broken: judge(&shared.ledger, &journal, &events), events }
}

/// Kills somebody now and then.
async fn nemesis(dice: Dice, desks: Arc<Mutex<Vec<Arc<Instance>>>>, kills: u64) {
    for _ in 0..kills {
        sleep(dice.pause(Duration::from_secs(20))).await;
        let living: Vec<_> = {
            let all = desks.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().filter(|instance| !instance.is_over()).cloned().collect()
        };
        let how = [Event::BothKilled, Event::GatewayKilled, Event::ServerKilled];
        let how = how[usize::try_from(dice.below(3)).unwrap_or(0)];
        if !living.is_empty() {
            let at = usize::try_from(dice.below(living.len() as u64)).unwrap_or(0);
            living[at].kill(how);
        }
    }
}

/// A client, with the process that serves it now.
#[derive(Clone)]
struct Desk {
    shared: Shared,
    all: Arc<Mutex<Vec<Arc<Instance>>>>,
    own: Arc<Mutex<Option<Arc<Instance>>>>,
    journal: Journal,
}

impl Desk {
    /// Started again, if it has ended.
    fn instance(&self) -> Option<Arc<Instance>> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own.as_ref().is_none_or(|instance| instance.is_over()) {
            let started = Instance::start(&self.shared).ok()?;
            self.all.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&started));
            *own = Some(started);
        }
        own.clone()
    }

    /// Asks until it knows, as a good client does: with the same key.
    async fn call(self, note: String) {
        let dice = &self.shared.dice;
        for _ in 0..ATTEMPTS {
            sleep(dice.pause(Duration::from_secs(2))).await;
            let Some(instance) = self.instance() else { continue };
            let before = self.shared.ledger.has(&note);
            let patience = Duration::from_secs(10 + dice.below(80));
            let told = match instance.ask(&note, patience).await {
                Heard::Answer(frame) => read(&frame),
                Heard::Lost => Told::Nothing,
                Heard::Nothing => {
                    dice.saw(Event::Impatience);
                    Told::Nothing
                }
            };
            match &told {
                Told::Done(_) if before => dice.saw(Event::ToldAgain),
                Told::Unknown => dice.saw(Event::ToldUnknown),
                Told::NotRun(_) => dice.saw(Event::ToldNotRun),
                Told::Done(_) | Told::Nothing => {}
            }
            let ends = matches!(told, Told::Done(_) | Told::Unknown);
            self.journal.lock().unwrap_or_else(PoisonError::into_inner).entry(note.clone()).or_default().push(told);
            if ends {
                return;
            }
        }
    }
}

fn read(frame: &Value) -> Told {
    let problem = [&frame["error"]["data"], &frame["result"]["_meta"]["dev.stanchion/error"]];
    match problem.into_iter().find(|data| data.is_object()) {
        Some(data) if data["mayHaveExecuted"] == false => Told::NotRun(data["type"].to_string()),
        Some(data) if data["retryable"] == true => Told::Nothing,
        Some(_) => Told::Unknown,
        None => match frame["result"]["content"][0]["text"].as_str() {
            Some(text) => Told::Done(text.to_owned()),
            None => Told::Unknown,
        },
    }
}

fn judge(
    ledger: &Ledger,
    journal: &BTreeMap<String, Vec<Told>>,
    events: &BTreeMap<Event, u64>,
) -> Vec<(&'static str, String)> {
    let (book, mut broken) = (ledger.book(), Vec::new());
    let effects: usize = book.effects.values().map(Vec::len).sum();
    if book.number != effects as u64 {
        broken.push(("S2", format!("{effects} calls have each added one, and the number is {}", book.number)));
    }
    for (note, told) in journal {
        let made = book.effects.get(note).map_or(&[][..], Vec::as_slice);
        if made.len() > 1 {
            broken.push(("S4", format!("{note:?} happened {} times", made.len())));
        }
        for told in told {
            if let Told::Done(text) = told
                && !made.iter().any(|number| said(note, *number) == *text)
            {
                broken.push(("S6", format!("{note:?} was told {text:?}, and has made {made:?}")));
            }
        }
        if !made.is_empty() && told.iter().all(|told| matches!(told, Told::NotRun(_))) {
            broken.push(("S6", format!("{note:?} happened, and everybody was told that it did not")));
        }
        let calm = events.keys().all(|event| !event.is_fault());
        if calm && !told.iter().any(|told| matches!(told, Told::Done(_))) {
            broken.push(("L1", format!("{note:?} has no answer, and nothing went wrong: {:?}", told.last())));
        }
    }
    broken
}
