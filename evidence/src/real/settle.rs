//! After the faults: everything can be used again, everybody who asks is told something, and this is what is left.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::dice::Dice;
use super::engines::Ground;
use super::journal::{self, Line, Outcome};
use super::orders::{Chain, Orders};
use super::place::Seen;
use super::worker::Worker;
use super::{keyed, locked, optimistic};

/// What a busy machine may take longer than it should.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many ask at the same time.
const ASKING: u64 = 16;
/// Of the keys that were answered already, so many are asked for again.
const AGAIN: usize = 500;

/// What is left of one phase.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) ends: BTreeMap<Chain, Seen>,
    /// What could not be used any more.
    pub(super) stuck: Vec<String>,
}

enum Question {
    Chain(Chain),
    Key(String),
}

/// Reads what is left; with the guard on, everything has to be usable before that.
pub(super) async fn settle(ground: &Ground, orders: &Orders) -> Result<Settled> {
    let orders = Orders { url: ground.direct.clone(), name: "last".to_owned(), ..orders.clone() };
    let worker = Arc::new(Worker::open(orders).await?);
    let mut settled = Settled::default();
    if worker.orders.guarded {
        ask_everything(&worker, ground.takeover * 3 + PATIENCE, &mut settled).await?;
    }
    for chain in chains(&worker) {
        settled.ends.insert(chain, worker.place.read(&worker.orders, chain, None).await?);
    }
    if worker.records.is_some() && worker.orders.guarded {
        for chain in (0..worker.orders.chains).map(Chain::Optimistic) {
            settled.ends.insert(chain, optimistic::look(&worker, chain).await?);
        }
    }
    Ok(settled)
}

fn chains(worker: &Worker) -> impl Iterator<Item = Chain> {
    let bare = worker.records.is_some() && !worker.orders.guarded;
    let count = worker.orders.chains;
    (0..count).map(Chain::Locked).chain((0..count).filter(move |_| bare).map(Chain::Optimistic))
}

async fn ask_everything(worker: &Arc<Worker>, patience: Duration, settled: &mut Settled) -> Result<()> {
    let mut questions: VecDeque<Question> = (0..worker.orders.chains).map(Chain::Locked).map(Question::Chain).collect();
    if worker.records.is_some() {
        questions.extend((0..worker.orders.chains).map(Chain::Optimistic).map(Question::Chain));
        questions.extend(keys(worker)?.into_iter().map(Question::Key));
    }
    let questions = Arc::new(Mutex::new(questions));
    let mut asking = JoinSet::new();
    for number in 0..ASKING {
        let (worker, questions) = (Arc::clone(worker), Arc::clone(&questions));
        asking.spawn(async move { ask(&worker, number, &questions, patience).await });
    }
    while let Some(asked) = asking.join_next().await {
        let broken = |e| Error::new(ErrorKind::Unexpected, "one that asks at the end broke off").because(e);
        settled.stuck.extend(asked.map_err(broken)?);
    }
    Ok(())
}

/// All keys that nobody was told the answer of, and some of the others.
fn keys(worker: &Worker) -> Result<Vec<String>> {
    let broken = |e| Error::new(ErrorKind::Unexpected, "the journals cannot be read").because(e);
    let (mut all, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(worker.orders.journals()).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.extension().is_none_or(|end| end != "log") {
            continue;
        }
        for line in journal::read(&path).map_err(broken)? {
            match line {
                Line::Call { key, .. } => {
                    all.insert(key);
                }
                Line::Answer { key, outcome: Outcome::Ok(_), .. } => {
                    answered.insert(key);
                }
                _ => {}
            }
        }
    }
    Ok(all.difference(&answered).cloned().chain(answered.iter().take(AGAIN).cloned()).collect())
}

/// What has no answer.
async fn ask(worker: &Worker, number: u64, questions: &Mutex<VecDeque<Question>>, patience: Duration) -> Vec<String> {
    let mut dice = Dice::of(&[worker.orders.seed, number]);
    let (mut stuck, mut turn) = (Vec::new(), 0);
    let next = || questions.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    while let Some(question) = next() {
        let until = Instant::now() + patience;
        let mut floor = 0;
        loop {
            turn += 1;
            let op = format!("{}-{number}-{turn}", worker.orders.name);
            let ended = match (&question, &worker.records) {
                (Question::Chain(chain @ Chain::Optimistic(_)), Some((values, _))) => {
                    optimistic::update(worker, values, &mut dice, &op, *chain).await == 1
                }
                (Question::Chain(chain), _) => locked::increment(worker, &mut dice, &op, *chain, &mut floor).await == 1,
                (Question::Key(key), Some((_, guard))) => {
                    worker.journal.line(&Line::Call { key: key.clone(), op: op.clone() });
                    let outcome = keyed::told(&keyed::once(worker, guard, key, &op, Some(PATIENCE)).await);
                    let told = matches!(&outcome, Outcome::Ok(_) | Outcome::Maybe(_));
                    worker.journal.line(&Line::Answer { key: key.clone(), op, outcome });
                    told
                }
                (Question::Key(_), None) => true,
            };
            if ended {
                break;
            }
            if Instant::now() >= until {
                stuck.push(match &question {
                    Question::Chain(chain) => format!("{} cannot be used {patience:?} after the faults", chain.word()),
                    Question::Key(key) => format!("key {key} has no answer {patience:?} after the faults"),
                });
                break;
            }
        }
    }
    stuck
}
