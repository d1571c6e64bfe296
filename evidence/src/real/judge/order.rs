//! Tokens and versions in one order, which real time agrees with: judged by the race tester's own checker.

use std::collections::{BTreeSet, HashMap};

use stanchion_race::check::order::{self, Kind};
use stanchion_race::check::{Full, History, Input, Value};

use super::{Facts, Verdict};
use crate::real::journal::{Line, Outcome};

/// `doubled` requests came twice to the store. A write under a fence may then be done twice, with the same value under two
/// versions, of which its writer knows the first; there must not be more of these.
pub(super) fn judge(facts: &Facts, doubled: u64, verdict: &mut Verdict) {
    let (history, twice) = match history(facts, doubled) {
        Ok(history) => history,
        Err(e) => return verdict.broke("D2", || format!("the order was not checked: {e}")),
    };
    if twice > doubled {
        verdict.broke("S5", || format!("{twice} writes were done twice, and {doubled} requests were doubled"));
    }
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

fn history(facts: &Facts, doubled: u64) -> Result<(History, u64), Full> {
    let mut history = History::new();
    let second = if doubled > 0 { second_copies(facts) } else { BTreeSet::new() };
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
                    Outcome::Ok(version) => {
                        match version.parse() {
                            Ok(0) | Err(_) => history.open(client, key, times.0, input),
                            Ok(version) => history.done(client, key, *times, input, number(version)),
                        }
                        if second.contains(op.as_str()) {
                            history.open(client, key, times.0, input);
                        }
                    }
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
    Ok((history, second.len() as u64))
}

/// Writes that were seen under a later version than the one they were acknowledged as.
fn second_copies(facts: &Facts) -> BTreeSet<&str> {
    let mut given: HashMap<&str, u64> = HashMap::new();
    for line in &facts.lines {
        if let Line::End { op, outcome: Outcome::Ok(version), .. } = line {
            given.extend(version.parse().ok().map(|version| (op.as_str(), version)));
        }
    }
    let seen_later = |line| match line {
        &Line::Try { ref who, version, token, .. } if token > 0 => {
            given.get(who.as_str()).filter(|given| version > **given).map(|_| who.as_str())
        }
        _ => None,
    };
    facts.lines.iter().filter_map(seen_later).collect()
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
