//! Histories as JSON lines.

use proptest::prelude::*;
use stanchion_race::check::{History, Input, Operation, Value};

#[test]
fn every_kind_of_operation_comes_back_as_it_was() {
    let mut history = History::new();
    let key = history.key("a \"key\"\n").unwrap();
    let text = history.text("x").unwrap();
    let inputs = [
        Input::Read,
        Input::Write(text),
        Input::Cas { from: Value::None, to: Value::Bool(true) },
        Input::Add(-3),
        Input::Get,
        Input::Insert(text),
        Input::Remove(Value::Int(i64::MIN)),
        Input::Contains(text),
        Input::Acquire,
        Input::Release,
        Input::Push(text),
        Input::Pop,
        Input::Store { token: 3, base: Some(0) },
        Input::Store { token: 0, base: None },
        Input::Load { token: 4 },
    ];
    for (at, input) in (0u64..).zip(inputs) {
        history.done(1, key, (at, at + 5), input, Value::Int(i64::MAX));
        history.open(2, key, at, input);
    }
    let again = History::parse(&history.lines()).unwrap();
    assert_eq!(again, history);
    let inputs =
        |history: &History| history.operations().iter().map(|one| (one.input, one.ret, one.output)).collect::<Vec<_>>();
    assert_eq!(inputs(&again), inputs(&history));
    assert_eq!(history.lines().lines().count(), 30);
}

#[test]
fn a_bad_line_is_named_with_its_reason() {
    let good = r#"{"client":1,"key":"a","call":0,"return":4,"do":"read"}"#;
    for (bad, why) in [
        ("{", "EOF"),
        (r#"{"client":1,"key":"a","call":0,"do":"fly"}"#, "unknown operation \"fly\""),
        (r#"{"client":1,"key":"a","call":0,"do":"add","value":"x"}"#, "whole number"),
        (r#"{"client":1,"key":"a","call":0,"do":"read","colour":1}"#, "unknown field"),
        (r#"{"client":1,"key":"a","call":7,"return":2,"do":"read"}"#, "before it was called"),
        (r#"{"client":1,"key":"a","call":7,"return":18446744073709551615,"do":"read"}"#, "no time"),
        (r#"{"client":-1,"key":"a","call":7,"do":"read"}"#, "invalid value"),
    ] {
        let found = History::parse(&format!("{good}\n\n{bad}\n")).unwrap_err();
        assert_eq!(found.line, 3, "{bad}");
        assert!(found.to_string().contains(why), "{found}");
    }
}

#[test]
fn any_json_value_can_be_compared() {
    let line = |value: &str| format!(r#"{{"client":1,"key":"a","call":0,"do":"write","value":{value}}}"#);
    let history = History::parse(&[line(r#"{"a":[1]}"#), line(r#"{ "a": [1] }"#), line("1.5")].join("\n")).unwrap();
    let values: Vec<Input> = history.operations().iter().map(|one: &Operation| one.input).collect();
    assert_eq!(values[0], values[1]);
    assert_ne!(values[0], values[2]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_makes_the_reader_panic(text in r#"(\{|\}|"client"|"do"|:|,|1|"read"|[a-z"\\]|\n){0,40}"#) {
        drop(History::parse(&text));
    }
}
