//! Tokens and versions in one order, which real time agrees with: judged by the race tester's own checker.

use std::collections::HashMap;

use stanchion_race::check::order::{self, Kind};
use stanchion_race::check::{Full, History, Input, Value};

use super::{Facts, Verdict};
use crate::real::journal::{Line, Outcome};

pub(super) fn judge(facts: &Facts, verdict: &mut Verdict) {
    let history = match history(facts) {
        Ok(history) => history,
        Err(e) => return verdict.broke("D2", || format!("the order was not checked: {e}")),
    };
    let checked = order::check(&history);
    for found in &checked.violations {
        verdict.broke(property(found.kind), || found.story(&history).trim().to_owned());
    }
    verdict.violations += checked.count.saturating_sub(checked.violations.len()) as u64;
}

const fn property(kind: Kind) -> &'static str {
    match kind {
        Kind::TokenTwice | Kind::TokenOrder => "S3",
        Kind::BelowFence | Kind::LostUpdate => "S2",
        Kind::VersionTwice | Kind::VersionOrder | Kind::StaleRead | Kind::FutureRead | Kind::NobodysVersion => "S5",
    }
}

fn history(facts: &Facts) -> Result<History, Full> {
    let mut history = History::new();
    let mut clients: HashMap<&str, u32> = HashMap::new();
    // What each write was based on, and when it was about to be sent.
    let mut based: HashMap<&str, (u32, u64, u64, u64)> = HashMap::new();
    let mut ended: HashMap<&str, ()> = HashMap::new();
    for line in &facts.lines {
        match line {
            Line::Got { chain, op, token, times } => {
                let (key, client) = (history.key(&chain.word())?, client(&mut clients, op));
                history.done(client, key, *times, Input::Acquire, number(*token));
            }
            // Versions of a read inside `Versioned::update` are its own affair.
            Line::Try { chain, op, version, token, times, .. } if *token > 0 => {
                let (key, client) = (history.key(&chain.word())?, client(&mut clients, op));
                history.done(client, key, *times, Input::Load { token: *token }, number(*version));
                based.insert(op, (key, *token, *version, times.1));
            }
            Line::Try { .. } | Line::Call { .. } | Line::Answer { .. } => {}
            Line::End { chain, op, outcome, times } => {
                ended.insert(op, ());
                let (key, client) = (history.key(&chain.word())?, client(&mut clients, op));
                let input = match based.get(op.as_str()) {
                    Some((_, token, version, _)) => Input::Store { token: *token, base: Some(*version) },
                    None => Input::Store { token: 0, base: None },
                };
                match outcome {
                    Outcome::Ok(version) => match version.parse() {
                        Ok(0) | Err(_) => history.open(client, key, times.0, input),
                        Ok(version) => history.done(client, key, *times, input, number(version)),
                    },
                    Outcome::Maybe(_) => history.open(client, key, times.0, input),
                    Outcome::No(_) => {}
                }
            }
        }
    }
    let mut killed: Vec<_> = based.iter().filter(|(op, _)| !ended.contains_key(*op)).collect();
    killed.sort_unstable();
    for (op, (key, token, version, since)) in killed {
        let input = Input::Store { token: *token, base: Some(*version) };
        history.open(client(&mut clients, op), *key, *since, input);
    }
    Ok(history)
}

/// One for each task of each process.
fn client<'a>(clients: &mut HashMap<&'a str, u32>, op: &'a str) -> u32 {
    let task = op.rsplit_once('-').map_or(op, |(task, _)| task);
    let next = u32::try_from(clients.len()).unwrap_or(u32::MAX);
    *clients.entry(task).or_insert(next)
}

fn number(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
