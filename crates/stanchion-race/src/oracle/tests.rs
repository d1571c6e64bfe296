//! Planted ends: each oracle sees what it is for, and nothing else.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::recorder::Effect;
use crate::schedule::Schedule;

fn spec(expect: &str) -> Spec {
    let text = format!(
        "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"a\"\n[read]\ntool = \"b\"\n\
         select = \"/v/*\"\n[upstream]\n[expect]\n{expect}\n"
    );
    Spec::parse(&text, "p.toml").unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Calls 0, 1, … with ids a0, a1, …, which ended as the letters say: acknowledged, unknown, failed, and never run.
fn played(spec: &Spec, ends: &str, reads: &[Value], before: Option<Value>) -> Played {
    let answer = |json: &Value| Answer::new(json.to_string(), Some(json.clone()));
    let records = ends.chars().enumerate().map(|(n, letter)| Record {
        n,
        call: 0,
        instance: 0,
        id: format!("a{n}"),
        started_us: 0,
        ended_us: 1,
        disturbed_us: None,
        end: match letter {
            'a' => End::Acknowledged,
            'u' => End::Unknown,
            _ => End::Failed,
        },
        nothing_ran: letter == 'n',
        why: None,
        fault: None,
        answer: None,
        given: None,
        is_garbage: false,
    });
    Played {
        schedule: Schedule::control(spec, 1, 0),
        vars: Vars::default(),
        records: records.collect(),
        afterwards: Vec::new(),
        before: before.as_ref().map(answer),
        reads: reads.iter().map(|json| Ok(answer(json))).collect(),
        read_us: Vec::new(),
        effects: Vec::new(),
        upstream_faults: BTreeMap::new(),
        unclean: None,
    }
}

/// What is said of the ends and the values that are left.
fn said(expect: &str, ends: &str, left: Value) -> Vec<String> {
    let spec = spec(expect);
    let judged =
        judge(&spec, &played(&spec, ends, &[json!({"v": left, "n": left})], Some(json!({"v": [1, 2], "n": 2}))));
    judged.violations.into_iter().map(|it| format!("{}: {}", it.expectation, it.what)).chain(judged.undecided).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn every_acknowledged_value_must_be_there_and_others_may() {
    let every = "every = \"{id}\"";
    assert_eq!(said(every, "aau", json!(["a0", "a1"])), NOTHING);
    assert_eq!(said(every, "aau", json!(["a0", "a1", "a2", "z"])), NOTHING);
    assert_eq!(said(every, "aaa", json!(["a1"])), ["every: 3 acknowledged, 1 kept, 2 lost"]);
    assert_eq!(said(every, "aaa", json!("a0a1a2")), ["every: 3 acknowledged, 0 kept, 3 lost"]);
    assert_eq!(said("every = \"{n}\"", "aa", json!([0, 1])), NOTHING, "numbers are compared as they are written");
}

#[test]
fn once_means_neither_lost_nor_twice() {
    let once = "once = \"{id}\"";
    assert_eq!(said(once, "auf", json!(["a0", "a1"])), NOTHING);
    assert_eq!(said(once, "auf", json!(["a0", "a1", "a1"])), ["once: of 3 values 1 are there more than once, 0 lost"]);
    assert_eq!(said(once, "auf", json!([])), ["once: of 3 values 0 are there more than once, 1 lost"]);
    // All calls mean the same value: check-then-insert.
    assert_eq!(said("once = \"same\"", "aff", json!(["same"])), NOTHING);
    assert_eq!(
        said("once = \"same\"", "aaf", json!(["same", "same"])),
        ["once: of 1 values 1 are there more than once, 0 lost"]
    );
}

#[test]
fn unique_values_are_there_once() {
    assert_eq!(said("unique = true", "a", json!(["x", "y"])), NOTHING);
    assert_eq!(said("unique = true", "a", json!(["x", "y", "x"])), ["unique: 1 of 2 values are there more than once"]);
}

#[test]
fn a_count_allows_for_calls_that_may_have_run() {
    let count = "count = \"acknowledged\"";
    for (ends, left, holds) in [
        ("aa", 2, true),
        ("aa", 1, false),
        ("aa", 3, false),
        ("aau", 3, true),
        ("aau", 4, false),
        ("aaf", 3, true),
        ("aan", 3, false),
        ("aau", 1, false),
    ] {
        assert_eq!(said(count, ends, json!(vec!["x"; left])).is_empty(), holds, "{ends} {left}");
    }
    assert_eq!(said("count = \"before+acknowledged\"", "aa", json!(["x"; 4].to_vec())), NOTHING);
    assert_eq!(said("count = \"before+acknowledged\"", "aa", json!(["x"; 3].to_vec())).len(), 1);
    assert_eq!(said("count = 1", "aff", json!(["x"])), NOTHING);
    assert_eq!(said("count = 1", "aff", json!(["x", "y"])).len(), 1);
    assert_eq!(said("count = 3", "aaa", json!(["x", "y"])).len(), 1);
    assert_eq!(said("count = 3", "aau", json!(["x", "y"])), NOTHING, "the unknown call may not have run");
    assert_eq!(said("count = 3", "aau", json!(["x", "y", "z"])), NOTHING);
    assert_eq!(
        said("count = 1", "auu", json!(["x", "y"])).len(),
        1,
        "the number is that of all calls, answered or not"
    );
}

#[test]
fn a_sum_is_conserved_or_grows_with_each_acknowledged_call() {
    let grows = "sum = { select = \"/n\", is = \"before+acknowledged\" }";
    assert_eq!(said(grows, "aaa", json!(5)), NOTHING);
    assert_eq!(said(grows, "aaau", json!(6)), NOTHING);
    assert_eq!(said(grows, "aaa", json!(3)), ["sum: sum is 3 instead of 5 (3 acknowledged, 0 unknown)"]);
    assert_eq!(said("sum = { select = \"/n\", is = \"before\" }", "au", json!(2)), NOTHING);
    assert_eq!(said("sum = { select = \"/n\", is = \"before\" }", "au", json!(3)).len(), 1);
    assert_eq!(
        said("sum = { select = \"/v/*\", is = 0.3 }", "a", json!([0.1, 0.2])),
        NOTHING,
        "fractions are not exact"
    );
    let only = said("sum = { is = \"before+acknowledged\" }", "a", json!(3));
    assert!(only[0].contains("not exactly one number"), "the value is there twice: {only:?}");
    let undecided = said(grows, "a", json!("many"));
    assert!(undecided[0].contains("no number"), "{undecided:?}");
}

/// Two are there before.
#[test]
fn a_fixed_sum_may_be_on_its_way_where_calls_were_not_acknowledged() {
    let reached = "sum = { select = \"/n\", is = 5 }";
    for (ends, left, holds) in
        [("aaa", 5, true), ("aaa", 4, false), ("aau", 4, true), ("auf", 2, true), ("aau", 6, false), ("aau", 1, false)]
    {
        assert_eq!(said(reached, ends, json!(left)).is_empty(), holds, "{ends} {left}");
    }
    // What every call leaves as it is, is so whatever became of the calls.
    let conserved = "sum = { select = \"/n\", is = 2 }";
    assert_eq!(said(conserved, "au", json!(2)), NOTHING);
    assert_eq!(said(conserved, "au", json!(3)), ["sum: sum is 3 instead of 2 (1 acknowledged, 1 unknown)"]);
    let spec = spec(reached);
    let blind = |ends| judge(&spec, &played(&spec, ends, &[json!({"n": 4})], None));
    assert!(blind("aau").violations.is_empty() && blind("aau").undecided.is_some_and(|why| why.contains("1 calls")));
    assert_eq!(blind("aaa").violations.len(), 1);
}

#[test]
fn in_a_text_a_number_is_not_part_of_a_longer_one() {
    let text = |expect: &str, left: &str| {
        let text = format!(
            "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"a\"\n[read]\n\
             tool = \"b\"\n[expect]\n{expect}\n"
        );
        let spec = Spec::parse(&text, "p.toml").unwrap_or_else(|wrong| panic!("{wrong}"));
        let mut played = played(&spec, "aa", &[], None);
        played.reads = vec![Ok(Answer::new(left.into(), None))];
        judge(&spec, &played).violations.into_iter().map(|it| it.what).collect::<Vec<_>>()
    };
    assert_eq!(text("every = \"{n}\"", "0, 10"), ["2 acknowledged, 1 kept, 1 lost"]);
    assert_eq!(text("every = \"{n}\"", "n0, n1."), NOTHING);
    assert_eq!(text("once = \"note {n}\"", "note 0, note 1, note 10"), NOTHING);
    assert_eq!(text("every = \"{id}\"", "7a00 7a1"), NOTHING, "an id is no part of another one");
}

#[test]
fn a_read_that_fails_is_a_violation_only_if_reading_is_expected() {
    let failed = |expect| {
        let spec = spec(expect);
        let mut played = played(&spec, "a", &[], None);
        played.reads = vec![Err("torn".into())];
        judge(&spec, &played)
    };
    assert_eq!(failed("readable = true").violations[0].expectation, "readable");
    let undecided = failed("unique = true");
    assert!(undecided.violations.is_empty() && undecided.undecided.unwrap().contains("torn"));
}

#[test]
fn one_instance_that_shows_less_is_enough() {
    let spec = spec("every = \"{id}\"");
    let played = played(&spec, "aa", &[json!({"v": ["a0", "a1"]}), json!({"v": ["a0"]})], None);
    let violations = judge(&spec, &played).violations;
    assert_eq!(violations.iter().map(|it| it.instance).collect::<Vec<_>>(), [Some(1)]);
}

#[test]
fn a_violation_names_the_calls_that_it_is_about() {
    let about = |expect: &str, ends: &str, left: Value| {
        let spec = spec(expect);
        let violation = judge(&spec, &played(&spec, ends, &[json!({"v": left})], None)).violations.remove(0);
        (violation.missing, violation.doubled)
    };
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(about("every = \"{id}\"", "aua", json!(["a0"])), (ids(&["a2"]), ids(&[])));
    assert_eq!(about("once = \"{id}\"", "aau", json!(["a0", "a0", "a2", "a2"])), (ids(&["a1"]), ids(&["a0", "a2"])));
}

#[test]
fn effects_are_counted_by_id_or_else_by_number() {
    let effects = |ends: &str, texts: &[&str]| {
        let spec = spec("effects = \"once\"");
        let mut played = played(&spec, ends, &[], None);
        played.effects = texts.iter().map(|text| Effect { text: (*text).to_owned() }).collect();
        judge(&spec, &played).violations.into_iter().map(|it| it.what).collect::<Vec<_>>()
    };
    assert_eq!(effects("aau", &["pay a0", "pay a1"]), NOTHING);
    assert_eq!(
        effects("aau", &["pay a0", "pay a1", "pay a2", "pay a2"]),
        ["2 acknowledged, 1 done more than once, 0 not done"]
    );
    assert_eq!(effects("aa", &["pay a0"]), ["2 acknowledged, 0 done more than once, 1 not done"]);
    assert_eq!(effects("aau", &["pay", "pay", "pay"]), NOTHING);
    assert_eq!(effects("aan", &["pay", "pay", "pay"]), ["2 acknowledged, at most 2 allowed, 3 done"]);
    assert_eq!(effects("aa", &[]), ["2 acknowledged, 0 done more than once, 2 not done"]);
}
