//! The judge sees what is planted, each as what it is.

use super::*;
use crate::real::journal::Outcome;
use crate::real::orders::Chain;
use crate::real::place::Seen;

const L: Chain = Chain::Locked(0);

fn tries(op: &str, saw: u64, who: &str) -> Line {
    let (op, who) = (op.to_owned(), who.to_owned());
    Line::Try { chain: L, op, saw, who, version: 0, token: 0, times: (0, 0) }
}

fn ends(op: &str, outcome: Outcome) -> Line {
    Line::End { chain: L, op: op.to_owned(), outcome, times: (0, 0) }
}

fn ok() -> Outcome {
    Outcome::Ok("0".into())
}

fn properties(lines: Vec<Line>, number: u64, who: &str) -> Vec<&'static str> {
    let end = Seen { number, who: who.to_owned(), version: 0 };
    let settled = Settled { ends: BTreeMap::from([(L, end)]), ..Settled::default() };
    let verdict = judged(&Facts { lines, effects: BTreeMap::new() }, &settled, None);
    verdict.broken.iter().map(|(property, _)| *property).collect()
}

#[test]
fn a_chain_without_faults_is_good() {
    let lines = vec![tries("a", 0, "-"), ends("a", ok()), tries("b", 1, "a"), ends("b", ok())];
    assert!(properties(lines, 2, "b").is_empty());
}

#[test]
fn an_unknown_write_may_be_there_or_not() {
    let maybe = Outcome::Maybe("OUTCOME_UNKNOWN".into());
    let lines = || vec![tries("a", 0, "-"), ends("a", maybe.clone()), tries("killed", 0, "-")];
    assert!(properties(lines(), 0, "-").is_empty());
    assert!(properties(lines(), 1, "a").is_empty());
    assert!(properties(lines(), 1, "killed").is_empty());
}

#[test]
fn a_lost_acknowledged_write_is_seen() {
    let lines = vec![tries("a", 0, "-"), ends("a", ok()), tries("b", 0, "-"), ends("b", ok())];
    assert_eq!(properties(lines, 1, "b"), ["S5"]);
}

#[test]
fn a_fork_is_seen() {
    let lines = vec![tries("a", 0, "-"), ends("a", ok()), tries("b", 0, "-"), ends("b", ok()), tries("c", 1, "a")];
    assert_eq!(properties(lines, 1, "b"), ["S2"]);
}

#[test]
fn a_failure_that_has_written_is_seen() {
    let lines = vec![tries("a", 0, "-"), ends("a", Outcome::No("CONFLICT".into()))];
    assert_eq!(properties(lines, 1, "a"), ["S6"]);
}

#[test]
fn a_value_that_went_back_is_seen() {
    let lines = vec![tries("a", 0, "-"), ends("a", ok()), tries("b", 1, "a")];
    assert_eq!(properties(lines, 0, "-"), ["S5"]);
}

fn call(op: &str, outcome: Option<Outcome>) -> Vec<Line> {
    let (key, op) = ("k".to_owned(), op.to_owned());
    let begun = Line::Call { key: key.clone(), op: op.clone() };
    let ended = outcome.map(|outcome| Line::Answer { key, op, outcome });
    [begun].into_iter().chain(ended).collect()
}

fn called(calls: &[Vec<Line>], effects: &[&str]) -> Vec<&'static str> {
    let effects = effects.iter().map(|op| (*op).to_owned()).collect();
    let facts = Facts { lines: calls.concat(), effects: BTreeMap::from([("k".to_owned(), effects)]) };
    let verdict = judged(&facts, &Settled::default(), None);
    verdict.broken.iter().map(|(property, _)| *property).collect()
}

#[test]
fn one_effect_and_one_answer_are_good() {
    let told = || Some(Outcome::Ok("a".into()));
    assert!(called(&[call("a", told()), call("b", told()), call("c", None)], &["a"]).is_empty());
    assert!(called(&[call("a", None)], &["a"]).is_empty());
    assert!(called(&[call("a", None)], &[]).is_empty());
}

#[test]
fn a_double_effect_another_answer_and_a_false_failure_are_seen() {
    let told = |body: &str| Some(Outcome::Ok(body.into()));
    assert_eq!(called(&[call("a", told("a")), call("b", None)], &["a", "b"]), ["S4"]);
    assert_eq!(called(&[call("a", told("a")), call("b", told("b"))], &["a"]), ["S4"]);
    assert_eq!(called(&[call("a", told("a"))], &[]), ["S4"]);
    let failed = || Some(Outcome::No("UNAVAILABLE".into()));
    assert_eq!(called(&[call("a", failed()), call("b", None)], &["a"]), ["S6"]);
    assert_eq!(called(&[call("a", failed())], &["b"]), ["S6"]);
}

#[test]
fn a_lower_token_that_came_later_is_seen() {
    let got = |op: &str, token, times| Line::Got { chain: L, op: op.to_owned(), token, times };
    let facts = Facts { lines: vec![got("a", 8, (0, 5)), got("b", 7, (6, 9))], effects: BTreeMap::new() };
    let verdict = judged(&facts, &Settled::default(), Some(0));
    assert_eq!(verdict.broken[0].0, "S3");
}

#[test]
fn a_write_that_was_done_twice_is_seen_unless_its_request_was_doubled() {
    let reads = |op: &str, saw, who: &str, version, token, times| Line::Try {
        chain: L,
        op: op.to_owned(),
        saw,
        who: who.to_owned(),
        version,
        token,
        times,
    };
    let wrote = |op: &str, version: u64, times| Line::End {
        chain: L,
        op: op.to_owned(),
        outcome: Outcome::Ok(version.to_string()),
        times,
    };
    let lines = vec![
        reads("a", 0, "-", 0, 1, (0, 1)),
        wrote("a", 5, (2, 3)),
        reads("b", 1, "a", 6, 2, (4, 5)),
        wrote("b", 7, (6, 7)),
    ];
    let end = Seen { number: 2, who: "b".to_owned(), version: 7 };
    let settled = Settled { ends: BTreeMap::from([(L, end)]), ..Settled::default() };
    let facts = Facts { lines, effects: BTreeMap::new() };
    let broken = |doubled| judged(&facts, &settled, Some(doubled)).broken;
    assert_eq!(broken(0)[0].0, "S5");
    assert!(broken(1).is_empty(), "{:?}", broken(1));
}
