//! The claim machine, one step at a time; all interleavings are in the models of `stanchion-evidence`.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use stanchion_core::claim::{
    Asked, Attempt, Body, Claim, Event, Gone, Note, Outcome, Refused, Response, Runner, State, Verdict, Wish, ask,
};
use stanchion_core::{CallKey, ClaimId, Effect, ErrorKind, Fingerprint, Owner, Scope};

const LEASE: Duration = Duration::from_secs(30);
const KEEP: Duration = Duration::from_secs(60);
const NAMES: [&str; 7] = ["claimed", "dispatched", "suspended", "done", "retryable", "unknown", "tombstone"];

fn wish() -> Wish {
    let (scope, key) = (Scope::new("alice", "billing", "send").unwrap(), CallKey::new("order-77").unwrap());
    let mut wish = Wish::new(scope, key, Fingerprint::of_bytes(b"one"));
    (wish.owner, wish.now_ms) = (Owner::from_bits(1), 1_000);
    wish
}

fn state(name: &str) -> State {
    let response = Response::new("200", "paid");
    match name {
        "claimed" => State::Claimed { lease: LEASE },
        "dispatched" => State::Dispatched { lease: LEASE },
        "suspended" => State::Suspended { response, keep: KEEP },
        "done" => State::Done { outcome: Outcome::Ok, response, keep: KEEP },
        "retryable" => State::Retryable { response: Some(response) },
        "unknown" => State::Unknown { reason: "timeout".into() },
        "tombstone" => State::Tombstone { outcome: Outcome::Ok, response: response.without_body() },
        other => panic!("no state {other}"),
    }
}

/// The claim of another caller with the same payload.
fn claim_in(state: State) -> Claim {
    let mut other = wish();
    (other.owner, other.now_ms) = (Owner::from_bits(2), 500);
    let Asked::Claim(mut claim) = ask(None, false, &other) else { panic!("the key is free") };
    claim.state = state;
    claim
}

fn note(at_ms: u64) -> Note {
    Note { at_ms, by: "ann".into(), text: "seen at the bank".into() }
}

fn event(name: &str, by: Attempt) -> Event {
    let response = Response::new("201", "done");
    let settle = |verdict| Event::Settle { verdict, note: note(7) };
    match name {
        "dispatch" => Event::Dispatch { by },
        "beat" => Event::Beat { by },
        "finish" => Event::Finish { by, outcome: Outcome::Failed, response, keep: KEEP },
        "no_effect" => Event::NoEffect { by, response: Some(response) },
        "suspend" => Event::Suspend { by, response, keep: KEEP },
        "doubt" => Event::Doubt { by, reason: "cut off".into() },
        "lapse" => Event::Lapse,
        "settle_done" => settle(Verdict::Done { outcome: Outcome::Ok, response, keep: KEEP }),
        "settle_not" => settle(Verdict::NotExecuted { gone: Gone::Exited }),
        other => panic!("no event {other}"),
    }
}

/// Specification 5.2 (and DESIGN 8 for SUSPENDED), for the present attempt. `-`: refused, nothing to do;
/// `stale`: refused, settled.
const TABLE: &str = "
              claimed     dispatched  suspended   done        retryable   unknown     tombstone
dispatch      dispatched  -           stale       stale       stale       -           stale
beat          claimed     dispatched  stale       stale       stale       -           stale
finish        -           done        stale       stale       stale       done        stale
no_effect     retryable   retryable   stale       stale       stale       retryable   stale
suspend       -           suspended   stale       stale       stale       suspended   stale
doubt         -           unknown     stale       stale       stale       -           stale
lapse         -           unknown     unknown     tombstone   -           -           -
settle_done   -           -           -           -           -           done        -
settle_not    -           -           -           -           -           retryable   -
";

#[test]
fn every_event_in_every_state_does_what_the_table_says() {
    let mut rows = TABLE.trim().lines();
    let states: Vec<_> = rows.next().unwrap().split_whitespace().collect();
    assert_eq!(states, NAMES, "void: the table does not cover every state");
    let mut cases = 0;
    for row in rows {
        let (name, expected) = row.split_once(' ').unwrap();
        for (from, expected) in states.iter().zip(expected.split_whitespace()) {
            let claim = claim_in(state(from));
            let got = claim.step(event(name, claim.attempt));
            let shown = match &got {
                Ok(next) => next.state.name(),
                Err(Refused::NotNow) => "-",
                Err(Refused::Stale) => "stale",
            };
            assert_eq!(shown, expected, "{name} in {from}");
            if let Ok(next) = got {
                assert_eq!(next.notes.len(), usize::from(name.starts_with("settle")), "{name} in {from}");
                let who = |claim: &Claim| {
                    let Claim { scope, key, fingerprint, effect, attempt, runner, first_seen_ms, .. } = claim.clone();
                    (scope, key, fingerprint, effect, attempt, runner, first_seen_ms)
                };
                assert_eq!(who(&next), who(&claim), "{name} in {from} changes neither the call nor the attempt");
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 9 * 7, "void: the table has holes");
}

#[test]
fn another_attempt_changes_nothing_in_any_state() {
    for from in NAMES {
        let claim = claim_in(state(from));
        let Attempt { epoch, owner } = claim.attempt;
        let others = [
            Attempt { epoch: epoch - 1, owner },
            Attempt { epoch: epoch + 1, owner },
            Attempt { epoch, owner: Owner::from_bits(3) },
        ];
        for by in others {
            for name in ["dispatch", "beat", "finish", "no_effect", "suspend", "doubt"] {
                assert_eq!(claim.step(event(name, by)), Err(Refused::Stale), "{name} by {by:?} in {from}");
            }
        }
    }
}

#[test]
fn what_was_answered_is_what_is_kept() {
    let sent = claim_in(state("dispatched"));
    let done = sent.step(event("finish", sent.attempt)).unwrap();
    let response = Response::new("201", "done");
    assert_eq!(done.state, State::Done { outcome: Outcome::Failed, response: response.clone(), keep: KEEP });
    let buried = done.step(Event::Lapse).unwrap();
    let left = Response { head: "201".into(), body: Body::Dropped { len: 4, digest: Fingerprint::of_bytes(b"done") } };
    assert_eq!(buried.state, State::Tombstone { outcome: Outcome::Failed, response: left });
    let refused = sent.step(event("no_effect", sent.attempt)).unwrap();
    assert_eq!(refused.state, State::Retryable { response: Some(response) });
}

#[test]
fn the_newest_sixteen_notes_are_kept() {
    let mut claim = claim_in(state("unknown"));
    claim.notes = (0..16).map(note).collect();
    let settled = claim.step(event("settle_not", claim.attempt)).unwrap();
    let times: Vec<_> = settled.notes.iter().map(|note| note.at_ms).collect();
    assert_eq!(times, (1..16).chain([7]).collect::<Vec<_>>());
}

/// What `ask` says, in a word; for a write, what it would write.
fn word(asked: &Asked) -> String {
    match asked {
        Asked::Claim(claim) => format!("{} {}", claim.state.name(), claim.attempt.epoch),
        Asked::Settle(claim) => format!("settle {}", claim.state.name()),
        Asked::InFlight => "in flight".into(),
        Asked::Done(outcome, response) => format!("{outcome:?} {}", response.head),
        Asked::Suspended(response) => format!("asks {}", response.head),
        Asked::Unknown(reason) => format!("unknown, {reason}"),
        Asked::OtherPayload => "other payload".into(),
        Asked::UsedUp(_) => "used up".into(),
    }
}

#[test]
fn every_state_has_its_answer() {
    let table = [
        ("claimed", "in flight", "claimed 2"),
        ("dispatched", "in flight", "settle unknown"),
        ("suspended", "asks 200", "settle unknown"),
        ("done", "Ok 200", "settle tombstone"),
        ("retryable", "claimed 2", "claimed 2"),
        ("unknown", "unknown, timeout", "unknown, timeout"),
        ("tombstone", "Ok 200", "Ok 200"),
    ];
    let effects =
        [Effect::ReadOnly, Effect::Transactional, Effect::Idempotent, Effect::Reconcilable, Effect::NonIdempotent];
    for ((name, early, late), lapsed) in table.into_iter().flat_map(|row| [(row, false), (row, true)]) {
        for (ran, asks) in effects.into_iter().flat_map(|ran| effects.map(|asks| (ran, asks))) {
            let mut claim = claim_in(state(name));
            claim.effect = ran;
            let mut same = wish();
            same.effect = asks;
            let repeats = name == "unknown" && (ran, asks) == (Effect::Idempotent, Effect::Idempotent);
            let expected = if repeats {
                "claimed 2"
            } else if lapsed {
                late
            } else {
                early
            };
            let got = word(&ask(Some(&claim), lapsed, &same));
            assert_eq!(got, expected, "{name}, lapsed: {lapsed}, ran as {ran}, asked as {asks}");
            let mut other = same.clone();
            other.fingerprint = Fingerprint::of_bytes(b"two");
            assert_eq!(ask(Some(&claim), lapsed, &other), Asked::OtherPayload, "{name}, lapsed: {lapsed}");
        }
    }
}

#[test]
fn a_new_attempt_is_the_callers_own_and_keeps_the_keys_past() {
    let mut claim = claim_in(state("retryable"));
    (claim.notes, claim.attempt.epoch) = (vec![note(3)], 5);
    let mut wish = wish();
    wish.effect = Effect::Reconcilable;
    wish.lease = Duration::from_secs(5);
    let Asked::Claim(next) = ask(Some(&claim), false, &wish) else { panic!("it may be tried again") };
    assert_eq!(next.attempt, Attempt { epoch: 6, owner: wish.owner });
    assert_eq!((next.runner, next.effect), (wish.runner, wish.effect));
    assert_eq!(next.state, State::Claimed { lease: Duration::from_secs(5) });
    assert_eq!((next.first_seen_ms, next.notes), (500, vec![note(3)]));
    let Asked::Claim(first) = ask(None, false, &self::wish()) else { panic!("the key is free") };
    assert_eq!((first.attempt.epoch, first.first_seen_ms, first.notes), (1, 1_000, Vec::new()));
}

#[test]
fn a_key_whose_attempts_are_used_up_is_not_tried_again() {
    let mut claim = claim_in(state("retryable"));
    let mut wish = wish();
    wish.attempts = 3;
    for (epoch, expected) in [(2, "claimed 3"), (3, "used up"), (4, "used up"), (u64::MAX, "used up")] {
        claim.attempt.epoch = epoch;
        assert_eq!(word(&ask(Some(&claim), false, &wish)), expected, "after attempt {epoch}");
    }
}

#[test]
fn a_stored_epoch_at_the_end_of_its_range_is_no_panic() {
    for name in NAMES {
        let mut claim = claim_in(state(name));
        claim.attempt.epoch = u64::MAX;
        for lapsed in [false, true] {
            let asked = ask(Some(&Claim::decode(&claim.encode()).unwrap()), lapsed, &wish());
            let Asked::Claim(next) = asked else { continue };
            assert!(next.attempt.epoch >= claim.attempt.epoch, "{name}: an epoch never falls");
        }
    }
}

#[test]
fn a_suspended_call_goes_on_with_new_input_only() {
    let given = |text: &[u8]| Some(Fingerprint::of_bytes(text));
    let mut claim = claim_in(state("suspended"));
    let mut wish = wish();
    assert_eq!(word(&ask(Some(&claim), false, &wish)), "asks 200", "the first round again");
    wish.round = given(b"yes");
    let Asked::Claim(next) = ask(Some(&claim), false, &wish) else { panic!("it has the input") };
    assert_eq!((next.round, next.attempt.epoch), (given(b"yes"), 2));
    claim.round = given(b"yes");
    assert_eq!(word(&ask(Some(&claim), false, &wish)), "asks 200", "this round has been asked already");
}

/// Two questions: what happens to an earlier round when a later one is under way.
fn suspended_twice() -> Claim {
    let round = |claim: Option<&Claim>, text: &[u8]| {
        let mut wish = wish();
        wish.round = (!text.is_empty()).then(|| Fingerprint::of_bytes(text));
        let Asked::Claim(claim) = ask(claim, false, &wish) else { panic!("a new round") };
        let sent = claim.step(Event::Dispatch { by: claim.attempt }).unwrap();
        sent.step(event("suspend", sent.attempt)).unwrap()
    };
    let first = round(None, b"");
    round(Some(&round(Some(&first), b"yes")), b"really")
}

#[test]
fn an_earlier_round_is_not_run_again() {
    let claim = suspended_twice();
    for text in [&b"yes"[..], b"really"] {
        let mut wish = wish();
        wish.round = Some(Fingerprint::of_bytes(text));
        assert_eq!(word(&ask(Some(&claim), false, &wish)), "asks 201");
    }
}

#[test]
fn a_round_that_had_no_effect_leaves_the_question_open() {
    let suspended = suspended_twice();
    let mut last = wish();
    last.round = Some(Fingerprint::of_bytes(b"sure"));
    let Asked::Claim(claim) = ask(Some(&suspended), false, &last) else { panic!("a new round") };
    // Given up, or silent for too long: either way nothing of this round was sent, and the earlier ones have run.
    let given_up = claim.step(event("no_effect", claim.attempt)).unwrap();
    let lapsed = match ask(Some(&claim), true, &wish()) {
        Asked::Settle(lapsed) => lapsed,
        other => panic!("the first round would run again: {}", word(&other)),
    };
    for claim in [given_up, lapsed] {
        assert_eq!(word(&ask(Some(&claim), false, &wish())), "asks 201", "the first round does not run again");
        assert!(matches!(ask(Some(&claim), false, &last), Asked::Claim(_)), "the round itself may be tried again");
        assert_eq!(Claim::decode(&claim.encode()).unwrap(), claim);
    }
    assert_eq!(Claim::decode(&claim.encode()).unwrap(), claim, "the question is kept while the round runs");
}

#[test]
fn an_attempt_without_effect_does_not_hide_an_earlier_one() {
    let mut ran = claim_in(state("unknown"));
    ran.effect = Effect::Idempotent;
    let mut repeats = wish();
    repeats.effect = Effect::Idempotent;
    let Asked::Claim(claim) = ask(Some(&ran), false, &repeats) else { panic!("it may be repeated") };
    let given_up = claim.step(event("no_effect", claim.attempt)).unwrap();
    assert_eq!(given_up.state.name(), "unknown", "the first attempt may have run");
    let lapsed = match ask(Some(&claim), true, &wish()) {
        Asked::Settle(lapsed) => lapsed,
        other => panic!("a caller that must not repeat it is told: {}", word(&other)),
    };
    assert_eq!(lapsed.state.name(), "unknown");
    assert!(matches!(ask(Some(&given_up), false, &repeats), Asked::Claim(_)), "who may repeat it still may");
}

#[test]
fn an_attempt_that_was_sent_and_had_no_effect_does_not_hide_an_earlier_one() {
    let mut ran = claim_in(state("unknown"));
    ran.effect = Effect::Idempotent;
    let mut repeats = wish();
    repeats.effect = Effect::Idempotent;
    let Asked::Claim(claim) = ask(Some(&ran), false, &repeats) else { panic!("it may be repeated") };
    let sent = claim.step(event("dispatch", claim.attempt)).unwrap();
    let in_doubt = sent.step(event("doubt", claim.attempt)).unwrap();
    for claim in [sent, in_doubt.clone()] {
        let refused = claim.step(event("no_effect", claim.attempt)).unwrap();
        assert_eq!(refused.state.name(), "unknown", "the first attempt may have run");
    }
    let settled = in_doubt.step(event("settle_not", in_doubt.attempt)).unwrap();
    assert_eq!(settled.state.name(), "retryable", "the verdict is on the call, not on its last attempt");
}

#[test]
fn an_attempt_whose_question_was_not_answered_cannot_take_back_that_it_ran() {
    let suspended = suspended_twice();
    let lapsed = suspended.step(Event::Lapse).unwrap();
    let late = lapsed.step(event("no_effect", lapsed.attempt)).unwrap();
    assert_eq!(late.state.name(), "unknown");
}

#[test]
fn not_executed_leaves_the_question_of_an_earlier_round_open() {
    let suspended = suspended_twice();
    let mut last = wish();
    last.round = Some(Fingerprint::of_bytes(b"sure"));
    let Asked::Claim(claim) = ask(Some(&suspended), false, &last) else { panic!("a new round") };
    let sent = claim.step(event("dispatch", claim.attempt)).unwrap();
    let in_doubt = sent.step(event("doubt", claim.attempt)).unwrap();
    let settled = in_doubt.step(event("settle_not", in_doubt.attempt)).unwrap();
    assert_eq!(word(&ask(Some(&settled), false, &wish())), "asks 201", "the earlier rounds have run");
}

#[test]
fn a_call_cannot_go_on_for_ever() {
    let mut claim = suspended_twice();
    let mut next = wish();
    next.round = Some(Fingerprint::of_bytes(b"once more"));
    for (rounds, goes_on) in [(20, true), (20_000, false)] {
        claim.earlier = vec![Fingerprint::of_bytes(b"earlier"); rounds];
        assert_eq!(matches!(ask(Some(&claim), false, &next), Asked::Claim(_)), goes_on, "after {rounds} rounds");
    }
}

#[test]
fn what_is_left_of_a_derived_key_after_its_window_stands_for_nothing() {
    let window = Duration::from_secs(5);
    let mut wish = wish();
    wish.key = CallKey::derived(wish.fingerprint, window).unwrap();
    let Asked::Claim(first) = ask(None, false, &wish) else { panic!("the key is free") };
    for name in NAMES {
        let mut claim = first.clone();
        (claim.state, claim.attempt.owner) = (state(name), Owner::from_bits(2));
        let runs_anew = |lapsed| match ask(Some(&claim), lapsed, &wish) {
            Asked::Claim(next) => next.before == stanchion_core::claim::Before::Nothing && next.attempt.epoch == 2,
            _ => false,
        };
        let over_at_once = matches!(name, "tombstone" | "retryable");
        assert_eq!(runs_anew(false), over_at_once, "{name}, before the end of the window");
        let over_late = !matches!(name, "dispatched" | "suspended");
        assert_eq!(runs_anew(true), over_late, "{name}, after it");
        let lapses = claim.lapses_after();
        assert_eq!(lapses == Some(window), name == "unknown", "{name} lapses after {lapses:?}");
    }
}

#[test]
fn what_may_still_run_has_no_end_by_itself_and_what_is_over_is_kept_as_long_as_its_key() {
    for name in NAMES {
        let claim = claim_in(state(name));
        let may_still_run = claim.ttl().is_none();
        assert_eq!(may_still_run, claim.state.is_open(), "{name}");
        assert_eq!(may_still_run, !matches!(name, "done" | "retryable" | "tombstone"), "{name}");
        assert!(may_still_run || claim.ttl() == Some(claim.keep.key), "{name}");
        let expected = match name {
            "claimed" | "dispatched" => Some(LEASE),
            "suspended" | "done" => Some(KEEP),
            _ => None,
        };
        assert_eq!(claim.lapses_after(), expected, "{name}");
    }
}

#[test]
fn refusals_say_why() {
    let [stale, not_now] = [Refused::Stale, Refused::NotNow].map(|refused| refused.to_string());
    assert!(stale.contains("taken over") && not_now.contains("state"), "{stale}; {not_now}");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just(String::new()), Just("\u{0}\"\\\n\u{1f600}".to_owned())]
}

fn name() -> impl Strategy<Value = String> {
    "[^\\p{C}]{1,60}"
}

fn a_response() -> impl Strategy<Value = Response> {
    let body = prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..300).prop_map(|bytes| Body::Kept(bytes.into())),
        1 => (any::<u64>(), any::<[u8; 4]>())
            .prop_map(|(len, of)| Body::Dropped { len, digest: Fingerprint::of_bytes(&of) }),
    ];
    (text(), body).prop_map(|(head, body)| Response { head, body })
}

fn a_state() -> impl Strategy<Value = State> {
    let time = || (0..=366 * 24 * 60 * 60 * 1000_u64).prop_map(Duration::from_millis);
    let outcome = || prop_oneof![Just(Outcome::Ok), Just(Outcome::Failed)];
    prop_oneof![
        time().prop_map(|lease| State::Claimed { lease }),
        time().prop_map(|lease| State::Dispatched { lease }),
        (a_response(), time()).prop_map(|(response, keep)| State::Suspended { response, keep }),
        (outcome(), a_response(), time()).prop_map(|(outcome, response, keep)| State::Done { outcome, response, keep }),
        prop::option::of(a_response()).prop_map(|response| State::Retryable { response }),
        text().prop_map(|reason| State::Unknown { reason }),
        (outcome(), a_response()).prop_map(|(outcome, response)| State::Tombstone { outcome, response }),
    ]
}

prop_compose! {
    fn a_claim()(
        state in a_state(),
        (principal, server, tool) in (name(), name(), name()),
        (key, sent) in (name(), prop::option::of(any::<u64>())),
        derived in any::<bool>(),
        (epoch, owner, first_seen_ms) in (any::<u64>(), any::<u128>(), any::<u64>()),
        round in prop::option::of(any::<[u8; 2]>()),
        notes in prop::collection::vec((any::<u64>(), text(), text()), 0..4),
        (host, pid, boot) in (text(), any::<u32>(), text()),
        effect in prop::sample::select(vec!["read_only", "transactional", "idempotent", "reconcilable", "non_idempotent"]),
    ) -> Claim {
        let mut claim = claim_in(state);
        claim.scope = Scope::new(principal, server, tool).unwrap();
        claim.key = match (derived, sent) {
            (true, _) => CallKey::derived(Fingerprint::of_bytes(key.as_bytes()), Duration::from_millis(1_500)).unwrap(),
            (false, Some(sent)) => CallKey::new(key).unwrap().first_sent(sent),
            (false, None) => CallKey::new(key).unwrap(),
        };
        claim.effect = effect.parse().unwrap();
        claim.attempt = Attempt { epoch, owner: Owner::from_bits(owner) };
        claim.round = round.map(|given| Fingerprint::of_bytes(&given));
        claim.first_seen_ms = first_seen_ms;
        claim.runner = std::sync::Arc::new(Runner { host, pid, boot, ..Runner::default() });
        claim.notes = notes.into_iter().map(|(at_ms, by, text)| Note { at_ms, by, text }).collect();
        claim
    }
}

/// What was read is a claim in its own right, or damage is reported. A panic in here fails the test.
fn reads(bytes: Vec<u8>) -> bool {
    match Claim::decode(&Bytes::from(bytes)) {
        Ok(claim) => {
            assert_eq!(Claim::decode(&claim.encode()).unwrap(), claim);
            for lapsed in [false, true] {
                if claim.attempt.epoch < u64::MAX {
                    let _asked = ask(Some(&claim), lapsed, &wish());
                }
            }
            true
        }
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Damaged);
            false
        }
    }
}

proptest! {
    #[test]
    fn a_claim_is_read_as_it_was_written(claim in a_claim()) {
        prop_assert_eq!(Claim::decode(&claim.encode()).unwrap(), claim);
    }

    #[test]
    fn any_bytes_are_a_claim_or_damaged(bytes in prop::collection::vec(any::<u8>(), 0..200), marked in any::<bool>()) {
        reads(if marked { [b"stc1".to_vec(), bytes].concat() } else { bytes });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_beginning_of_a_claim_is_damaged(claim in a_claim()) {
        let whole = claim.encode();
        for end in 0..whole.len() {
            prop_assert!(!reads(whole[..end].to_vec()), "{} of {} bytes", end, whole.len());
        }
    }
}

#[test]
fn every_changed_byte_is_another_claim_or_damaged() {
    let mut read = 0;
    for name in NAMES {
        let mut claim = claim_in(state(name));
        (claim.notes, claim.round) = (vec![note(3)], Some(Fingerprint::of_bytes(b"yes")));
        let whole = claim.encode();
        for at in 0..whole.len() {
            for bit in [1, 2, 16, 0x20, 0x80, 0xff] {
                let mut bytes = whole.to_vec();
                bytes[at] ^= bit;
                read += u32::from(reads(bytes));
            }
        }
    }
    assert!(read > 1_000, "void: only {read} changed claims could be read at all");
}

#[test]
fn bytes_after_a_claim_are_damage() {
    for name in ["claimed", "dispatched", "unknown", "tombstone"] {
        let longer = [claim_in(state(name)).encode().to_vec(), b"x".to_vec()].concat();
        assert_eq!(Claim::decode(&longer.into()).unwrap_err().kind(), ErrorKind::Damaged, "{name}");
    }
}

#[test]
fn keys_and_scopes_have_bounds() {
    for key in ["", "\n", "a\u{7f}", "a\u{85}b", &"k".repeat(256), &"é".repeat(128)] {
        assert_eq!(CallKey::new(key).unwrap_err().kind(), ErrorKind::Invalid, "{key:?}");
    }
    for key in ["k", " ", "ключ", "\u{1f600}", &"k".repeat(255), &"é".repeat(127)] {
        assert_eq!(CallKey::new(key).unwrap().as_str(), key);
    }
    for part in ["", "a\tb", "\u{0}", &"x".repeat(257)] {
        for at in 0..3 {
            let mut parts = ["a", "b", "c"];
            parts[at] = part;
            let e = Scope::new(parts[0], parts[1], parts[2]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Invalid, "{part:?} as part {at}");
        }
    }
    assert!(Scope::new("x".repeat(256), "é".repeat(128), "c").is_ok());
    let (day, ms) = (Duration::from_secs(24 * 60 * 60), Duration::from_millis(1));
    for (window, allowed) in [(Duration::ZERO, false), (ms, true), (30 * day, true), (30 * day + ms, false)] {
        assert_eq!(CallKey::derived(Fingerprint::of_bytes(b""), window).is_ok(), allowed, "{window:?}");
    }
}

#[test]
fn only_a_uuid_of_version_seven_carries_its_time() {
    let sent = |key: &str| CallKey::new(key).unwrap().sent_at();
    assert_eq!(sent("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"), Some(0x017f_22e2_79b0));
    assert_eq!(sent("017F22E2-79B0-7CC3-B8C4-DC0C0C07398F"), Some(0x017f_22e2_79b0));
    assert_eq!(sent("ffffffff-ffff-7000-8000-000000000000"), Some(0xffff_ffff_ffff));
    assert_eq!(sent("00000000-0000-7000-8000-000000000000"), Some(0));
    let others = [
        "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
        "017f22e279b07cc398c4dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
        "017f22e2-79b0-7cc3-98c4_dc0c0c07398f",
        "017f22eg-79b0-7cc3-98c4-dc0c0c07398f",
        "+17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "éééé22e2-79b0-7cc3-98c4-dc0c0c07",
    ];
    for key in others {
        assert_eq!(sent(key), None, "{key}");
    }
    assert_eq!(CallKey::new("017f22e2-79b0-7cc3-98c4-dc0c0c07398f").unwrap().first_sent(5).sent_at(), Some(5));
}

#[test]
fn a_text_of_another_variant_is_no_uuid_of_version_seven() {
    for variant in ["0", "7", "c", "f"] {
        let key = format!("017f22e2-79b0-7cc3-{variant}8c4-dc0c0c07398f");
        assert_eq!(CallKey::new(&key).unwrap().sent_at(), None, "{key}");
    }
}

#[test]
fn claims_of_different_scopes_or_keys_have_different_names() {
    let id = |principal: &str, server: &str, tool: &str, key: &str| {
        ClaimId::of(&Scope::new(principal, server, tool).unwrap(), &CallKey::new(key).unwrap()).to_string()
    };
    let all = [id("a", "b", "c", "k"), id("ab", "b", "c", "k"), id("a", "bb", "c", "k"), id("a", "b", "c", "kk")];
    let shifted = [id("ab", "c", "d", "k"), id("a", "bc", "d", "k"), id("a", "b", "cd", "k"), id("a", "b", "c", "dk")];
    let names: std::collections::BTreeSet<_> = all.iter().chain(&shifted).collect();
    assert_eq!(names.len(), 8);
    assert_eq!(id("a", "b", "c", "k"), all[0]);
}
