//! What people and programs read.

use serde_json::Value;

use super::*;
use crate::oracle::Violation;
use crate::schedule::Fault;

fn spec() -> Spec {
    let text = "version = 1\nname = \"RC101 src/index.ts:109\"\n[origin]\ncode = \"RC101\"\nread = \"src/index.ts:54\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n\
                [[call]]\ntool = \"a\"\n[expect]\nanswers = true\n";
    Spec::parse(text, "p.toml").unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn record(n: usize, fault: Option<Fault>) -> Record {
    let us = u64::try_from(n).unwrap() * 100;
    Record {
        n,
        call: 0,
        instance: n % 2,
        id: format!("{n:016x}"),
        started_us: us,
        ended_us: us + 5000,
        disturbed_us: matches!(fault, Some(Fault::Kill { .. })).then_some((2000, 202_000)),
        end: End::Acknowledged,
        nothing_ran: false,
        why: None,
        fault,
        answer: Some("done".into()),
        given: None,
        is_garbage: false,
    }
}

fn violation(calls: usize) -> Violation {
    Violation {
        expectation: "every",
        instance: Some(0),
        what: format!("{calls} acknowledged, 1 kept, {} lost", calls - 1),
        examples: vec!["0000000000000001 of call 1".into()],
        missing: (1..calls).map(|n| format!("{n:016x}")).collect(),
        doubled: Vec::new(),
        conflicting: Vec::new(),
        conflicting_reads: Vec::new(),
    }
}

/// All but the first of so many calls are lost, and the last one meets a kill.
pub(super) fn race_verdict(calls: usize) -> Verdict {
    let spec = spec();
    let schedule = Schedule::generate(&spec, 17, 0);
    let kill = Fault::Kill { after_us: 1, restart_ms: 0 };
    let mut history: Vec<Record> = (0..calls - 1).map(|n| record(n, None)).collect();
    history.push(record(calls - 1, Some(kill)));
    let read = ReadBack { instance: 0, started_us: 5500, ended_us: 5600, values: Some(1), answer: None, why: None };
    let ends = Ends { acknowledged: calls, failed: 0, unknown: 0 };
    let mut verdict = Verdict::new(&spec, 17);
    verdict.expect = vec!["every", "unique"];
    let minimal = Minimal {
        calls: 2,
        instances: 1,
        faults: 0,
        upstream: BTreeMap::new(),
        fixed: None,
        is_complete: true,
        violations: vec![violation(2)],
        schedule: schedule.clone(),
        history: vec![record(0, None), record(1, None)],
        afterwards: Vec::new(),
        reads: vec![read.clone()],
    };
    let (violations, reads, afterwards) = (vec![violation(calls)], vec![read], Vec::new());
    verdict.found(Found { round: 0, violations, calls: ends, schedule, history, afterwards, reads }, minimal);
    verdict.calls = ends;
    verdict
}

pub(super) fn sound_verdict() -> Verdict {
    let mut verdict = race_verdict(2);
    (verdict.outcome, verdict.rounds, verdict.calls.acknowledged) = (Outcome::NothingFound, 20, 400);
    (verdict.sound, verdict.minimal) = (verdict.found.take(), None);
    if let Some(sound) = &mut verdict.sound {
        sound.violations.clear();
    }
    verdict
}

#[test]
fn a_race_is_told_on_one_screen() {
    let verdict = race_verdict(200);
    let expected = "\
race found: RC101 src/index.ts:109
RC101, reads at src/index.ts:54
200 acknowledged, 1 kept, 199 lost · minimal: 2 calls, 1 instance · replay: --seed 17
found in round 0 (200 acknowledged)
  every, read on instance 0: 200 acknowledged, 1 kept, 199 lost
    0000000000000001 of call 1
the smallest schedule, over 5.1 ms:
  call 0 on instance 0  [======================= ]  acknowledged, kept
  call 1 on instance 1  [========================]  acknowledged, lost
";
    assert_eq!(verdict.to_string(), expected);
    let json: Value = serde_json::from_str(&verdict.to_json()).unwrap();
    assert_eq!((&json["outcome"], &json["seed"], &json["minimal"]["calls"]), (&"race".into(), &17.into(), &2.into()));
    assert_eq!(json["found"]["violations"][0]["expectation"], "every");
    assert_eq!(json["found"]["violations"][0]["missing"].as_array().map(Vec::len), Some(199));
    assert_eq!(json["origin"]["code"], "RC101");
}

#[test]
fn the_faults_of_the_smallest_schedule_are_told_also_those_at_the_recorder() {
    let mut verdict = race_verdict(2);
    if let Some(minimal) = &mut verdict.minimal {
        minimal.upstream.insert("lost-reply", 1);
        minimal.fixed = Some("count");
        minimal.schedule.steps[1].fault = Some(Fault::LostReply);
        minimal.faults = 1;
    }
    let text = verdict.to_string();
    assert!(text.contains("· minimal: 2 calls, 1 instance, 1 fault, 1 fault at the recorder ·"), "{text}");
    assert!(text.contains("over 5.1 ms, with 1 lost-reply, 1 lost-reply at the recorder:\n"), "{text}");
    assert!(text.ends_with("  no call was dropped: `count` is a fixed number for all of them together\n"), "{text}");
}

#[test]
fn nothing_found_is_never_called_safe() {
    let mut verdict = sound_verdict();
    verdict.faults.insert("kill", 3);
    let expected = "\
nothing found: RC101 src/index.ts:109
RC101, reads at src/index.ts:54
400 acknowledged in 20 schedules, with 3 kill · again: --seed 17
0 violations in 20 schedules: the next shows one with p < 3/20 (15 %), at 95 %.
A race that was not found is not refuted: the schedules may have missed it.
";
    assert_eq!(verdict.to_string(), expected);
    verdict.void = 2;
    assert!(verdict.to_string().contains("20 schedules (2 others without an acknowledged call left out), with"));
    verdict.rounds = 1000;
    assert!(verdict.to_string().contains("p < 3/1000 (0.3 %), at 95 %"), "{verdict}");
    verdict.rounds = 7;
    assert!(verdict.to_string().contains("p < 3/7 (43 %), at 95 %"), "{verdict}");
    verdict.rounds = 10_000;
    assert!(verdict.to_string().contains("p < 3/10000 (0.03 %), at 95 %"), "{verdict}");
    verdict.rounds = 1;
    assert!(verdict.to_string().contains("0 violations in 1 schedule: too few to say how rare one is."), "{verdict}");
}

#[test]
fn a_schedule_of_a_file_is_not_played_again_by_a_seed() {
    let mut verdict = race_verdict(2);
    verdict.is_replayed = true;
    assert!(verdict.to_string().contains("· replay: the same --schedule\n"), "{verdict}");
}

#[test]
fn both_sides_are_told_on_one_screen_and_the_guarded_one_decides() {
    let guard = Guarding {
        by: "stanchion wrap, lock mcp:race".into(),
        calls: 44,
        locked: 42,
        refused: 0,
        longest_wait_us: 12_000,
        is_complete: true,
    };
    let mut both = Comparison { bare: race_verdict(2), guarded: sound_verdict(), guard };
    let expected = "\
the guard holds: RC101 src/index.ts:109
bare: 2 acknowledged, 1 kept, 1 lost · guarded: 2 acknowledged, 2 kept

           bare                            guarded
verdict    race found                      nothing found
every      2 acknowledged, 1 kept, 1 lost  holds
unique     holds                           holds
schedules  1                               20
calls      2 acknowledged                  400 acknowledged
faults     none                            none
minimal    2 calls, 1 instance             -
took       0 µs                            0 µs

guard: stanchion wrap, lock mcp:race; in its log 42 of 44 calls under a lock, longest wait 12 ms
What raced without the guard held with it, in the same schedules and others.
0 violations in 20 schedules: the next shows one with p < 3/20 (15 %), at 95 %.
again: --seed 17 --through-guard
without the guard, the smallest schedule, over 5.1 ms:
  call 0 on instance 0  [======================= ]  acknowledged, kept
  call 1 on instance 1  [========================]  acknowledged, lost
";
    assert_eq!(both.to_string(), expected);
    assert_eq!(both.outcome(), Outcome::NothingFound);
    let json: Value = serde_json::from_str(&both.to_json()).unwrap();
    assert_eq!((&json["outcome"], &json["guard"]["locked"]), (&"nothing-found".into(), &42.into()));
    assert_eq!(
        (&json["bare"]["outcome"], &json["guarded"]["sound"]["calls"]["acknowledged"]),
        (&"race".into(), &2.into())
    );
    // What the guard does not do, and what was not shown, is said.
    both.bare = sound_verdict();
    assert!(both.says().contains("says nothing about what the guard is good for"));
    both.guarded = race_verdict(2);
    assert!(both.outcome() == Outcome::Race && both.says().contains("stanchion serve"));
    both.guard.locked = 0;
    assert!(both.says().contains("took no lock") && both.says().contains("--policy FILE"));
    // Of a log that has not all of it, a 0 says nothing.
    both.guard.is_complete = false;
    assert!(both.says().contains("took a lock is not known") && !both.says().contains("--policy"), "{}", both.says());
    assert!(both.to_string().contains("longest wait 12 ms; the log is not complete"), "{both}");
    both.guarded.inconclusive("it ended".into());
    assert!(both.to_string().starts_with("inconclusive: ") && both.says().ends_with("nothing can be said: it ended"));
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
