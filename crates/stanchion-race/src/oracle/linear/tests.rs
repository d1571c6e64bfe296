//! Planted rounds: what was acknowledged is ordered, what is unknown may have happened, what had no effect did not.

use serde_json::{Value, json};

use super::super::{Judged, judge};
use crate::run::{End, Played, Record};
use crate::schedule::Schedule;
use crate::spec::{Spec, Vars};
use crate::target::Answer;

fn spec(model: &str, operations: &[&str], read: &str) -> Spec {
    let calls: String =
        operations.iter().map(|it| format!("[[call]]\ntool = \"a\"\noperation = {{ {it} }}\n")).collect();
    let read =
        if read.is_empty() { String::new() } else { format!("[read]\ntool = \"b\"\noperation = {{ {read} }}\n") };
    let text = format!(
        "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n{calls}{read}[expect]\nlinearizable = \"{model}\"\n"
    );
    Spec::parse(&text, "p.toml").unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn answer(json: &Value) -> Answer {
    Answer::new(json.to_string(), Some(json.clone()))
}

/// Kind of call, times, how it ended (acknowledged, unknown, failed, never run), and what it gave.
type Row = (usize, u64, u64, char, Value);

fn judged(spec: &Spec, rows: &[Row], before: Option<Value>, after: Option<Value>) -> Judged {
    let records = rows.iter().enumerate().map(|(n, (call, started_us, ended_us, letter, given))| Record {
        n,
        call: *call,
        instance: 0,
        id: format!("a{n}"),
        started_us: *started_us,
        ended_us: *ended_us,
        disturbed_us: None,
        end: match letter {
            'a' => End::Acknowledged,
            'u' => End::Unknown,
            _ => End::Failed,
        },
        nothing_ran: *letter == 'n',
        why: None,
        fault: None,
        answer: None,
        given: (*letter == 'a').then(|| answer(given)),
        is_garbage: false,
    });
    let played = Played {
        schedule: Schedule::control(spec, 1, 0),
        vars: Vars::default(),
        records: records.collect(),
        afterwards: Vec::new(),
        before: before.as_ref().map(answer),
        reads: after.iter().map(|json| Ok(answer(json))).collect(),
        read_us: after.iter().map(|_| (0, 0)).collect(),
        effects: Vec::new(),
        upstream_faults: std::collections::BTreeMap::new(),
        unclean: None,
    };
    judge(spec, &played)
}

fn holds(spec: &Spec, rows: &[Row]) -> bool {
    let judged = judged(spec, rows, None, None);
    assert_eq!(judged.undecided, None);
    judged.violations.is_empty()
}

const WRITE: &str = r#"do = "write", value = "{id}""#;
const READ: &str = r#"do = "read", gives = "/v""#;

#[test]
fn an_acknowledged_write_is_seen_by_every_later_read() {
    let spec = spec("register", &[WRITE, READ], "");
    let rows = |end: char, seen: Value| [(0, 0, 5, end, json!({})), (1, 6, 9, 'a', json!({"v": seen}))];
    assert!(holds(&spec, &rows('a', json!("a0"))));
    assert!(!holds(&spec, &rows('a', json!(null))));
    assert!(holds(&spec, &rows('u', json!(null))), "it may never have happened");
    assert!(holds(&spec, &rows('u', json!("a0"))), "it may have happened");
    assert!(holds(&spec, &rows('f', json!("a0"))), "an error may have run");
    assert!(holds(&spec, &rows('n', json!(null))));
}

#[test]
fn an_unknown_write_may_come_late_but_not_twice() {
    let spec = spec("register", &[WRITE, READ], "");
    let see = |at: u64, value: &str| (1, at, at + 1, 'a', json!({"v": value}));
    let writes = [(0, 0, 5, 'u', json!({})), (0, 6, 7, 'a', json!({}))];
    assert!(holds(&spec, &[writes[0].clone(), writes[1].clone(), see(8, "a1"), see(10, "a0")]));
    assert!(!holds(&spec, &[writes[0].clone(), writes[1].clone(), see(8, "a0"), see(10, "a1"), see(12, "a0")]));
}

#[test]
fn a_value_that_nobody_wrote_was_there_before_once() {
    let spec = spec("register", &[WRITE, READ], "");
    let see = |at: u64, value: &str| (1, at, at + 1, 'a', json!({"v": value}));
    assert!(holds(&spec, &[see(1, "old"), see(3, "old"), (0, 5, 6, 'a', json!({})), see(8, "a2")]));
    assert!(!holds(&spec, &[see(1, "old"), see(3, "older")]));
    assert!(!holds(&spec, &[(0, 1, 2, 'a', json!({})), see(4, "old")]));
}

#[test]
fn a_counter_starts_where_the_read_before_says() {
    let spec = spec("counter", &[r#"do = "add", gives = "/v""#], r#"do = "get", gives = "/v""#);
    let add = |from: u64, to: u64, end: char, sum: i64| (0, from, to, end, json!({"v": sum}));
    let said = |rows: &[Row], after: i64| {
        judged(&spec, rows, Some(json!({"v": "3"})), Some(json!({"v": after}))).violations.len()
    };
    assert_eq!(said(&[add(0, 9, 'a', 5), add(1, 8, 'a', 4)], 5), 0);
    assert_eq!(said(&[add(0, 9, 'a', 4), add(1, 8, 'a', 4)], 5), 1, "one number for two");
    assert_eq!(said(&[add(0, 9, 'a', 5), add(1, 8, 'a', 4)], 4), 1, "one is lost afterwards");
    assert_eq!(said(&[add(0, 9, 'a', 4), add(1, 8, 'u', 0)], 5), 0);
    assert_eq!(said(&[add(0, 9, 'a', 4), add(1, 8, 'n', 0)], 5), 1);
}

#[test]
fn a_listing_says_of_every_element_whether_it_is_there() {
    let spec = spec("set", &[r#"do = "insert", value = "{id}""#, r#"do = "list", gives = "/v/*""#], "");
    let list = |at: u64, all: Value| (1, at, at + 1, 'a', json!({"v": all}));
    let insert = |from: u64, to: u64, end: char| (0, from, to, end, json!({}));
    assert!(holds(&spec, &[insert(0, 2, 'a'), list(3, json!(["a0", "others"]))]));
    assert!(!holds(&spec, &[insert(0, 2, 'a'), list(3, json!(["others"]))]));
    assert!(holds(&spec, &[insert(0, 2, 'u'), list(3, json!([])), list(5, json!(["a0"]))]));
    assert!(!holds(&spec, &[insert(0, 2, 'u'), list(3, json!(["a0"])), list(5, json!([]))]));
}

#[test]
fn two_cannot_have_a_lock_and_an_error_can_mean_no() {
    let acquire = r#"do = "acquire", client = "{n}", error = "no""#;
    let spec = spec("mutex", &[acquire, r#"do = "release", client = "0""#], "");
    let take = |from: u64, to: u64, end: char| (0, from, to, end, json!({}));
    assert!(!holds(&spec, &[take(0, 5, 'a'), take(1, 6, 'a')]));
    assert!(holds(&spec, &[take(0, 5, 'a'), take(1, 6, 'f')]));
    assert!(!holds(&spec, &[take(0, 5, 'f')]), "refused, and nobody had it");
    assert!(holds(&spec, &[take(0, 5, 'a'), (1, 6, 7, 'a', json!({})), take(8, 9, 'a')]));
    assert!(!holds(&spec, &[take(0, 5, 'a'), (1, 12, 13, 'a', json!({})), take(8, 9, 'a')]));
}

#[test]
fn what_cannot_be_ordered_is_told_in_the_words_of_the_timeline() {
    let spec = spec("set", &[r#"do = "insert", value = "{id}""#], r#"do = "list", gives = "/v/*""#);
    let all = |all: Value| Some(json!({"v": all}));
    let judged = judged(&spec, &[(0, 249, 4430, 'a', json!({}))], all(json!([])), all(json!([])));
    let violation = &judged.violations[0];
    assert_eq!(violation.what, "no order of the calls explains all answers");
    let expected = [
        "call 0 on instance 0 from 249 µs to 4.4 ms: insert \"a0\" -> done",
        "the read-back of instance 0 from 0 µs to 0 µs: contains \"a0\" -> no   <- no place for this answer",
        "before: the element is not there; 1 operation that returned earlier can be ordered",
    ];
    assert_eq!(violation.examples, expected);
    assert_eq!((&violation.conflicting, &violation.conflicting_reads), (&vec!["a0".to_owned()], &vec![0]));
}

#[test]
fn keys_do_not_meet() {
    let write = r#"do = "write", key = "{n}", value = "{id}""#;
    let read = r#"do = "read", key = "0", gives = "/v""#;
    let spec = spec("register", &[write, read], "");
    let rows = [(0, 0, 1, 'a', json!({})), (0, 2, 3, 'a', json!({})), (1, 4, 5, 'a', json!({"v": "a0"}))];
    assert!(holds(&spec, &rows), "the second write was to another key");
}

#[test]
fn an_answer_that_is_none_is_undecided() {
    let spec = spec("counter", &[r#"do = "get", gives = "/v""#], "");
    let judged = judged(&spec, &[(0, 0, 1, 'a', json!({"v": "many"}))], None, None);
    assert!(judged.violations.is_empty());
    let why = judged.undecided.unwrap();
    assert!(why.contains("call 0: \"many\" is no whole number"), "{why}");
}
