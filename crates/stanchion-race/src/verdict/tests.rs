//! What people and programs read.

use serde_json::Value;

use super::*;
use crate::oracle::Violation;

fn spec() -> Spec {
    let text = "version = 1\nname = \"RC101 src/index.ts:109\"\n[origin]\ncode = \"RC101\"\nread = \"src/index.ts:54\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n\
                [[call]]\ntool = \"a\"\n[expect]\nanswers = true\n";
    Spec::parse(text, "p.toml").unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn minimal(schedule: Schedule) -> Minimal {
    Minimal {
        calls: 2,
        instances: 1,
        faults: 0,
        is_complete: true,
        violations: Vec::new(),
        schedule,
        history: Vec::new(),
    }
}

#[test]
fn a_race_is_told_on_one_line_with_its_smallest_form_and_its_seed() {
    let spec = spec();
    let schedule = Schedule::generate(&spec, 17, 0);
    let what = "200 acknowledged, 1 kept, 199 lost".to_owned();
    let violations =
        vec![Violation { expectation: "every", instance: Some(0), what, examples: vec!["x of call 3".into()] }];
    let calls = Ends { acknowledged: 200, failed: 0, unknown: 0 };
    let mut verdict = Verdict::new(&spec, 17);
    verdict.found(
        Found { round: 0, violations, calls, schedule: schedule.clone(), history: Vec::new() },
        minimal(schedule),
    );
    let text = verdict.to_string();
    let expected = "race found: RC101 src/index.ts:109\n\
                    RC101, reads at src/index.ts:54\n\
                    200 acknowledged, 1 kept, 199 lost · minimal: 2 calls, 1 instance · replay: --seed 17\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.lines().count() <= 24, "{text}");
    let json: Value = serde_json::from_str(&verdict.to_json()).unwrap();
    assert_eq!((&json["outcome"], &json["seed"], &json["minimal"]["calls"]), (&"race".into(), &17.into(), &2.into()));
    assert_eq!(json["found"]["violations"][0]["expectation"], "every");
    assert_eq!(json["origin"]["code"], "RC101");
}

#[test]
fn nothing_found_is_never_called_safe() {
    let mut verdict = Verdict::new(&spec(), 17);
    (verdict.outcome, verdict.rounds, verdict.calls.acknowledged) = (Outcome::NothingFound, 20, 400);
    verdict.faults.insert("kill", 3);
    let text = verdict.to_string();
    assert!(text.contains("400 acknowledged in 20 schedules, with 3 kill · again: --seed 17"), "{text}");
    assert!(text.contains("is not refuted") && !text.contains("safe"), "{text}");
}

#[test]
fn every_outcome_has_its_exit_code() {
    let codes = [Outcome::NothingFound, Outcome::Race, Outcome::Inconclusive].map(Outcome::exit_code);
    assert_eq!(codes, [0, 1, 3]);
    let mut verdict = Verdict::new(&spec(), 17);
    verdict.inconclusive("the target does not start".into());
    assert_eq!(
        verdict.to_string(),
        "inconclusive: RC101 src/index.ts:109\nRC101, reads at src/index.ts:54\nthe target does not start\n"
    );
}
