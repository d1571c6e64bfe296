//! What must be true of effects, answers and records, whatever was done to the workers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use stanchion_core::claim::Claim;

use super::facts::{Facts, Told};
use super::faults::{Done, Outcome};
use super::log::Effect;
use super::profile::{ALICE, Plan, Says};
use super::report::{Invariant, Report, Violations};
use super::tool::shown;
use super::watch::{Id, Watch, remembers};
use super::{Design, Setup};

/// A fresh caller has its answer within this time, on a busy machine as well.
pub(super) const PROMPT: Duration = Duration::from_secs(10);

pub(super) fn judge(
    setup: &Setup,
    plan: &Plan,
    folder: &Path,
    done: &Done,
    claims: &BTreeMap<Id, Claim>,
    watch: Watch,
    asked: &[(usize, String, Duration)],
) -> Report {
    let facts = Facts::read(folder);
    let mut found = watch.violations;
    effects(&facts, &mut found);
    let collisions = collisions(&facts.effects);
    answers(&facts, &mut found);
    let mut bounds = (0, 0);
    if setup.design != Design::Seed {
        for (a, b) in &collisions {
            found.add(Invariant::Exclusion, format!("{a:?} and {b:?} drew the same number"));
        }
        records(&facts, claims, &mut found);
        protocol(&facts, done, &mut found);
        fresh_caller(claims, asked, &mut found);
        bounds = unknown(plan, &facts, done, claims, &mut found);
    }
    let mut kills = BTreeMap::new();
    for killed in &done.kills {
        *kills.entry(killed.point.name().unwrap_or("random").to_owned()).or_default() += 1;
    }
    let mut states = BTreeMap::new();
    for claim in claims.values() {
        *states.entry(claim.state.name().to_owned()).or_default() += 1;
    }
    let lost = |id: &&Id| id.0 == ALICE && plan.profile(id.1).says == Says::Nothing;
    Report {
        name: plan.name.clone(),
        seed: plan.seed,
        keys: asked.len(),
        pauses: done.pauses.len(),
        lost_answers: facts.affected().iter().filter(lost).count(),
        calls: facts.told.len(),
        effects: facts.effects.len(),
        states,
        unknown_bounds: bounds,
        late_writes: facts.late,
        fenced: facts.fenced,
        pending: facts.told.iter().filter(|told| told.kind == "pending").count(),
        collisions: collisions.len(),
        looks: watch.looks,
        void: void(setup, &facts, done, &kills, watch.looks),
        kills,
        violations: found,
        logs: None,
    }
}

/// I1.
fn effects(facts: &Facts, found: &mut Violations) {
    let mut by_call: BTreeMap<Id, Vec<String>> = BTreeMap::new();
    for effect in &facts.effects {
        let by = format!("{} epoch {}", effect.worker, effect.epoch);
        by_call.entry((effect.principal.clone(), effect.index)).or_default().push(by);
    }
    for (id, by) in by_call.iter().filter(|(_, by)| by.len() > 1) {
        found.add(Invariant::AtMostOnce, format!("{id:?} took effect {} times: {}", by.len(), by.join(", ")));
    }
}

/// Calls that read the same number under one lock.
pub(super) fn collisions(effects: &[Effect]) -> Vec<(Id, Id)> {
    let mut drawn: HashMap<(u64, u64), Id> = HashMap::new();
    let mut met = Vec::new();
    for effect in effects {
        let id = (effect.principal.clone(), effect.index);
        if let Some(other) = effect.drawn.and_then(|number| drawn.insert(number, id.clone())) {
            met.push((other, id));
        }
    }
    met
}

/// I3, I4 among the answers themselves, I9.
fn answers(facts: &Facts, found: &mut Violations) {
    let bodies: HashMap<&str, Id> =
        facts.effects.iter().map(|effect| (effect.body.as_str(), (effect.principal.clone(), effect.index))).collect();
    for told in facts.told.iter().filter(|told| told.how == "payload") {
        found.check(told.kind == "error", Invariant::Private, || format!("{told:?} asked for something else"));
    }
    let mut first: HashMap<&Id, &Told> = HashMap::new();
    for told in facts.told.iter().filter(|told| told.is_answer()) {
        let of = bodies.get(told.body.as_str());
        found.check(of.is_some(), Invariant::NoFalseSuccess, || format!("{told:?} speaks of no effect"));
        found.check(of.is_none_or(|of| *of == told.id), Invariant::Private, || format!("{told:?} got what {of:?} did"));
        let before = first.entry(&told.id).or_insert(told);
        let same = (&before.kind, &before.body) == (&told.kind, &told.body);
        found.check(same, Invariant::Agreement, || format!("{before:?} and {told:?} differ"));
    }
}

/// I2 and I4 at the end; an error means that nothing ran.
fn records(facts: &Facts, claims: &BTreeMap<Id, Claim>, found: &mut Violations) {
    let state = |id: &Id| claims.get(id).map_or_else(|| ("absent".to_owned(), "-".to_owned()), shown);
    for id in facts.affected() {
        let (state, _) = state(&id);
        found.check(remembers(&state), Invariant::NoAmnesia, || format!("{id:?} took effect, and is {state}"));
    }
    for told in facts.told.iter().filter(|told| told.is_answer() && told.recorded) {
        let (state, body) = state(&told.id);
        let same = state == "done" && body == told.body;
        found.check(same, Invariant::Agreement, || format!("{told:?}, and the record says {state} {body}"));
    }
    for (id, _, body) in &facts.finished {
        let (state, now) = state(id);
        let same = state == "done" && now == *body;
        found.check(same, Invariant::Agreement, || format!("{id:?} was recorded with {body}, and is {state} {now}"));
    }
    for effect in &facts.effects {
        let id = (effect.principal.clone(), effect.index);
        // Either this worker told somebody that it ran or may have run, or it died with the call.
        let mine = facts.told.iter().filter(|told| told.worker == effect.worker && told.id == id && !told.replayed);
        let honest = mine.clone().any(|told| told.is_answer() || told.kind == "unknown");
        let died = facts.unanswered.contains(&(effect.worker.clone(), id.clone()));
        found.check(honest || died, Invariant::HonestErrors, || {
            format!("{effect:?}, and its caller was told {:?}", mine.collect::<Vec<_>>())
        });
    }
    for told in facts.told.iter().filter(|told| told.kind == "error") {
        let known = ["IN_PROGRESS", "CONTENDED", "UNAVAILABLE", "KEY_REUSED"];
        let code = told.body.split(':').next().unwrap_or_default();
        found.check(code != "KEY_EXPIRED", Invariant::WrongClock, || format!("{told:?}: the key is new"));
        found.check(known.contains(&code), Invariant::HonestErrors, || format!("{told:?} is no answer to such a call"));
        let same = code == "KEY_REUSED" && told.how != "payload";
        found.check(!same, Invariant::Private, || format!("{told:?}: the payload was the same"));
    }
}

/// I5, I6, I10.
fn protocol(facts: &Facts, done: &Done, found: &mut Violations) {
    for effect in &facts.effects {
        let id = (effect.principal.clone(), effect.index);
        let seen = facts.marks.get(&(effect.worker.clone(), id, effect.epoch));
        let marked = match seen.map(|(state, epoch)| (state.as_str(), *epoch)) {
            Some(("dispatched" | "unknown", epoch)) => epoch == effect.epoch,
            // Nothing could be seen: only while the store is away.
            Some(("unseen", _)) => done.store_faults > 0,
            _ => false,
        };
        found.check(marked, Invariant::MarkBeforeSend, || format!("{effect:?} stood as {seen:?}"));
    }
    let mut winners: BTreeMap<&Id, BTreeSet<u64>> = BTreeMap::new();
    for (id, epoch, _) in &facts.finished {
        winners.entry(id).or_default().insert(*epoch);
    }
    for (id, epochs) in winners.iter().filter(|(_, epochs)| epochs.len() > 1) {
        found.add(Invariant::SingleWinner, format!("{id:?} was finished by the epochs {epochs:?}"));
    }
    let mut lapsed = HashSet::new();
    for lapse in &facts.lapses {
        lapsed.insert((lapse.id.clone(), lapse.epoch));
        found.check(lapse.age > lapse.limit, Invariant::ReaperKeepsOpen, || format!("{lapse:?}: its owner may live"));
    }
    for (id, epoch, state) in &facts.alive {
        let fine = state == "dispatched" || state == "unseen" || lapsed.contains(&(id.clone(), *epoch));
        found.check(fine, Invariant::ReaperKeepsOpen, || format!("{id:?} epoch {epoch} is at work, and {state}"));
    }
    for line in &facts.forbidden {
        found.add(Invariant::ReaperKeepsOpen, line.clone());
    }
}

/// I7.
fn fresh_caller(claims: &BTreeMap<Id, Claim>, asked: &[(usize, String, Duration)], found: &mut Violations) {
    for (index, kind, took) in asked {
        let definite = matches!(kind.as_str(), "ok" | "failed" | "unknown");
        found.check(definite && *took < PROMPT, Invariant::NoEternalProgress, || {
            format!("key {index}: {kind} after {took:?}")
        });
    }
    for (id, claim) in claims {
        let ended = match claim.state.name() {
            "done" | "unknown" => true,
            // Nobody has asked for these again, and everybody may.
            "retryable" | "claimed" => id.0 != ALICE,
            _ => false,
        };
        found.check(ended, Invariant::NoEternalProgress, || format!("{id:?} is {} for ever", claim.state.name()));
    }
}

/// I11, exactly: a lost answer and a death after the mark leave "unknown", a death in the middle of a write may, a lost lock
/// may, and nothing else does. Returns how many are unknown at least and at most.
fn unknown(
    plan: &Plan,
    facts: &Facts,
    done: &Done,
    claims: &BTreeMap<Id, Claim>,
    found: &mut Violations,
) -> (usize, usize) {
    let id = |open: &super::faults::Open| (open.principal.to_owned(), open.index);
    let affected = facts.affected();
    let lost = affected.iter().filter(|id| id.0 == ALICE && plan.profile(id.1).says == Says::Nothing);
    let mut must: BTreeSet<Id> = lost.cloned().collect();
    // A call that began when the store did not answer: it was not made, and that may not be recorded.
    let unheard = |id: &Id| facts.doubted.contains(id) || facts.unheard.contains(id);
    let mut may: BTreeSet<Id> = done.disturbed.iter().map(id).filter(unheard).collect();
    for killed in &done.kills {
        let Some(open) = &killed.open else { continue };
        match killed.point.outcome() {
            Outcome::Unknown => drop(must.insert(id(open))),
            Outcome::Either => drop(may.insert(id(open))),
            Outcome::Known => {}
        }
    }
    // The lock of a call that stood still for too long, or could not renew it in time, is given to another, and then nobody
    // can tell.
    let lost = |id: &&Id| plan.profile(id.1).locks.0.is_some() && facts.doubted.contains(*id);
    let paused: BTreeSet<Id> = done.pauses.iter().filter_map(|paused| Some(id(&paused.open?))).collect();
    may.extend(facts.stalled.union(&paused).filter(lost).cloned());
    may.extend(must.iter().cloned());
    let unknown: BTreeSet<Id> =
        claims.iter().filter(|(_, claim)| claim.state.name() == "unknown").map(|(id, _)| id.clone()).collect();
    for id in must.difference(&unknown) {
        let state = claims.get(id).map_or("absent", |claim| claim.state.name());
        found.add(Invariant::UnknownHasReason, format!("{id:?} cannot be known, and is {state}"));
    }
    for id in unknown.difference(&may) {
        found.add(Invariant::UnknownHasReason, format!("{id:?} is unknown without any fault: {:?}", claims[id].state));
    }
    (must.len(), may.len())
}

/// Why the run proves nothing, if so.
fn void(setup: &Setup, facts: &Facts, done: &Done, kills: &BTreeMap<String, usize>, looks: usize) -> Vec<String> {
    let mut void = Vec::new();
    let mut need = |holds: bool, what: &str| {
        if !holds {
            void.push(what.to_owned());
        }
    };
    let worked = |slot: &str| facts.effects.iter().any(|effect| effect.worker.starts_with(slot));
    need(worked("w0-") && worked("w1-"), "a worker with a wrong clock did nothing");
    need(done.store_faults == setup.store_faults, "the store was not disturbed");
    if setup.design == Design::Guard && setup.random_kills > 0 {
        need(kills.len() >= 14, "not every point was met by a kill");
        need(looks > 0, "nobody looked while the run went on");
        need(facts.told.iter().any(|told| told.how == "payload"), "nobody used a key for something else");
        need(facts.told.iter().any(|told| told.how == "mallory" && told.kind == "ok"), "nobody used a foreign key");
        need(done.pauses.len() >= 7, "too few pauses");
    }
    if setup.keys >= 400 {
        // With fewer pauses it is left to chance.
        need(facts.late > 0, "no write came too late");
        need(kills.values().sum::<usize>() >= 50, "too few kills");
    }
    void
}
