//! The lease machine under random events and times, against what an observer knows about its renewals.

use std::time::Duration;

use proptest::prelude::*;
use stanchion_core::{BootTime, LeaseAction, LeaseEvent, LeaseMachine, LostReason};

const START: BootTime = BootTime::from_boot(Duration::from_secs(100));

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The life of a lease as its invariant says it: the ttl minus 1 % for clocks of different speed and 2 ms for rounding.
fn life(ttl: Duration) -> Duration {
    ttl.saturating_sub(ttl / 100 + ms(2))
}

#[derive(Debug, Clone, Copy)]
enum Happens {
    Time(u64),
    Tick,
    Progress,
    Renewed,
    Refused,
    Unanswered(u64),
    Check,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => (0_u64..700).prop_map(Happens::Time),
        6 => Just(Happens::Tick),
        3 => Just(Happens::Progress),
        5 => Just(Happens::Renewed),
        1 => Just(Happens::Refused),
        2 => (0_u64..300).prop_map(Happens::Unanswered),
        2 => Just(Happens::Check),
    ]
}

/// What an observer knows.
struct Observer {
    ttl: Duration,
    limit: Option<BootTime>,
    ends: bool,
    confirmed: BootTime,
    in_flight: Option<BootTime>,
    progressed: bool,
    signals: u32,
    lost: Option<LostReason>,
}

impl Observer {
    fn deadline(&self) -> BootTime {
        let by_ttl = if self.ends { self.confirmed + life(self.ttl) } else { BootTime::from_boot(Duration::MAX) };
        self.limit.map_or(by_ttl, |limit| by_ttl.min(limit))
    }

    fn lose(&mut self, reason: LostReason) {
        self.signals += 1;
        self.lost = Some(reason);
    }
}

fn run(
    ttl: u64,
    max_hold: Option<u64>,
    needs_progress: bool,
    ends: bool,
    events: &[Happens],
) -> Result<(), TestCaseError> {
    let (ttl, max_hold) = (ms(ttl), max_hold.map(ms));
    let mut lease = match ends {
        true => LeaseMachine::new(START, ttl, max_hold, needs_progress),
        false => LeaseMachine::held(START, ttl, max_hold),
    };
    let needs_progress = needs_progress && ends;
    let mut seen = Observer {
        ttl,
        limit: max_hold.map(|limit| START + limit),
        ends,
        confirmed: START,
        in_flight: None,
        progressed: false,
        signals: 0,
        lost: None,
    };
    let mut now = START;
    for event in events {
        let late = now >= seen.deadline();
        let event = match *event {
            Happens::Time(by) => {
                now = now + ms(by);
                continue;
            }
            Happens::Check => {
                if let Some(reason) = lease.expire(now) {
                    seen.lose(reason);
                }
                None
            }
            Happens::Tick => Some(LeaseEvent::Tick),
            Happens::Progress => Some(LeaseEvent::Progress),
            Happens::Renewed => Some(LeaseEvent::Renewed),
            Happens::Refused => Some(LeaseEvent::RenewalLost),
            // No answer can be missing if nothing was asked.
            Happens::Unanswered(_) if seen.in_flight.is_none() => continue,
            Happens::Unanswered(pause) => Some(LeaseEvent::RenewalUnknown { retry_in: ms(pause) }),
        };
        if let Some(event) = event {
            let was_lost = seen.lost.is_some();
            // The observer's own book-keeping: an answer counts only for a lease that is not over.
            if !was_lost && !late {
                match event {
                    LeaseEvent::Progress => seen.progressed = true,
                    LeaseEvent::Renewed => {
                        if let Some(sent) = seen.in_flight.take() {
                            (seen.confirmed, seen.progressed) = (sent, false);
                        }
                    }
                    LeaseEvent::RenewalUnknown { .. } => seen.in_flight = None,
                    LeaseEvent::Tick | LeaseEvent::RenewalLost => {}
                }
            }
            match lease.step(event, now) {
                LeaseAction::SignalLost(reason) => {
                    prop_assert!(!was_lost, "told twice");
                    prop_assert!(
                        late || event == LeaseEvent::RenewalLost || now >= seen.deadline(),
                        "told without a reason"
                    );
                    seen.lose(reason);
                }
                LeaseAction::Renew => {
                    prop_assert!(seen.in_flight.is_none(), "two renewals in flight");
                    prop_assert!(seen.progressed || !needs_progress, "renewed without progress");
                    prop_assert!(now >= seen.confirmed + ttl / 3, "renewed before a third of the ttl");
                    seen.in_flight = Some(now);
                }
                LeaseAction::WaitUntil(time) => {
                    prop_assert!(time > now, "asked to come back at once, for ever");
                    prop_assert!(time <= seen.deadline(), "would sleep through the deadline");
                }
                LeaseAction::Nothing => prop_assert!(was_lost, "a living lease always waits for something"),
            }
        }
        prop_assert!(seen.signals <= 1);
        prop_assert_eq!(lease.lost(), seen.lost);
        match lease.deadline() {
            Some(deadline) => prop_assert_eq!(deadline, seen.deadline()),
            None => {
                prop_assert_eq!(seen.signals, 1, "lost without a word");
                prop_assert!(!lease.is_valid(START) && !lease.is_valid(now), "valid after lost");
            }
        }
        prop_assert_eq!(lease.is_valid(now), seen.lost.is_none() && now < seen.deadline());
    }
    // Whatever happened: told exactly once when asked after the end, unless there is no end.
    let end = BootTime::from_boot(Duration::MAX - Duration::from_secs(1));
    if ends || max_hold.is_some() {
        seen.signals += u32::from(matches!(lease.step(LeaseEvent::Tick, end), LeaseAction::SignalLost(_)));
        prop_assert_eq!(seen.signals, 1);
        prop_assert_eq!(lease.step(LeaseEvent::Renewed, end), LeaseAction::Nothing);
    } else if seen.lost.is_none() {
        prop_assert!(lease.is_valid(end), "a held lock never expires");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_deadline_is_the_last_confirmed_renewal_plus_ttl_minus_drift(
        ttl in 50_u64..3_000,
        max_hold in prop::option::of(0_u64..6_000),
        needs_progress: bool,
        events in prop::collection::vec(happens(), 1..60),
    ) {
        run(ttl, max_hold, needs_progress, true, &events)?;
    }

    #[test]
    fn a_held_lock_ends_only_by_max_hold_or_by_the_store(
        check in 50_u64..3_000,
        max_hold in prop::option::of(0_u64..6_000),
        events in prop::collection::vec(happens(), 1..60),
    ) {
        run(check, max_hold, false, false, &events)?;
    }

    #[test]
    fn a_renewal_answered_after_the_deadline_never_revives(
        ttl in 50_u64..86_400_000,
        sent in 0_u64..1_000,
        late in 0_u64..100_000,
    ) {
        let ttl = ms(ttl);
        let mut lease = LeaseMachine::new(START, ttl, None, false);
        let deadline = lease.deadline().unwrap();
        // Somewhere between the first third and the deadline.
        let sent = START + ttl / 3 + (life(ttl) - ttl / 3).mul_f64(f64::from(u32::try_from(sent).unwrap()) / 1_001.0);
        prop_assert_eq!(lease.step(LeaseEvent::Tick, sent), LeaseAction::Renew);
        let answered = deadline + ms(late);
        prop_assert_eq!(lease.step(LeaseEvent::Renewed, answered), LeaseAction::SignalLost(LostReason::Expired));
        prop_assert!(!lease.is_valid(sent) && lease.deadline().is_none());
        prop_assert_eq!(lease.step(LeaseEvent::Renewed, sent), LeaseAction::Nothing);
    }

    #[test]
    fn max_hold_ends_a_lease_whose_renewals_all_succeed(ttl in 50_u64..60_000, hold in 0_u64..20_000) {
        let mut lease = LeaseMachine::new(START, ms(ttl), Some(ms(hold)), false);
        let (mut now, mut renewals) = (START, 0_u32);
        let reason = loop {
            match lease.step(LeaseEvent::Tick, now) {
                LeaseAction::Renew => {
                    renewals += 1;
                    lease.step(LeaseEvent::Renewed, now);
                }
                LeaseAction::WaitUntil(next) => now = next,
                LeaseAction::SignalLost(reason) => break reason,
                LeaseAction::Nothing => prop_assert!(false, "ended without a word"),
            }
            prop_assert!(renewals < 5_000, "never ends");
        };
        prop_assert_eq!(reason, LostReason::MaxHold);
        prop_assert_eq!(now, START + ms(hold));
    }

    #[test]
    fn a_lease_whose_renewals_are_answered_at_once_lives_on(ttl in 50_u64..60_000) {
        let mut lease = LeaseMachine::new(START, ms(ttl), None, false);
        let (mut now, mut renewals) = (START, 0_u32);
        for _ in 0..300 {
            match lease.step(LeaseEvent::Tick, now) {
                LeaseAction::Renew => {
                    renewals += 1;
                    lease.step(LeaseEvent::Renewed, now);
                }
                LeaseAction::WaitUntil(next) => now = next,
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert!(lease.is_valid(now) && renewals >= 100);
        prop_assert!(now - START >= ms(ttl) * (renewals - 1) / 3, "renewed more often than three times a ttl");
    }
}

#[test]
fn without_progress_there_is_no_renewal_and_with_it_there_is_one() {
    let ttl = ms(900);
    let mut lease = LeaseMachine::new(START, ttl, None, true);
    let deadline = lease.deadline().unwrap();
    assert_eq!(lease.step(LeaseEvent::Tick, START + ttl / 3), LeaseAction::WaitUntil(deadline));
    assert_eq!(lease.step(LeaseEvent::Progress, START + ttl / 2), LeaseAction::Renew);
    let renewed_from = START + ttl / 2;
    lease.step(LeaseEvent::Renewed, START + ttl / 2 + ms(5));
    let second = lease.deadline().unwrap();
    assert_eq!(second, renewed_from + life(ttl));
    // The old progress is spent.
    assert_eq!(lease.step(LeaseEvent::Tick, renewed_from + ttl / 3), LeaseAction::WaitUntil(second));
    assert_eq!(lease.step(LeaseEvent::Tick, second), LeaseAction::SignalLost(LostReason::Expired));
}

#[test]
fn an_unanswered_renewal_is_sent_again_and_counts_from_its_own_sending() {
    let ttl = ms(900);
    let mut lease = LeaseMachine::new(START, ttl, None, false);
    assert_eq!(lease.step(LeaseEvent::Tick, START + ms(300)), LeaseAction::Renew);
    let wait = lease.step(LeaseEvent::RenewalUnknown { retry_in: ms(50) }, START + ms(400));
    assert_eq!(wait, LeaseAction::WaitUntil(START + ms(450)));
    assert_eq!(lease.step(LeaseEvent::Tick, START + ms(450)), LeaseAction::Renew);
    lease.step(LeaseEvent::Renewed, START + ms(500));
    assert_eq!(lease.deadline(), Some(START + ms(450) + life(ttl)));
}

#[test]
fn at_its_deadline_a_lease_is_over() {
    let nanosecond = Duration::from_nanos(1);
    for (max_hold, reason) in [(None, LostReason::Expired), (Some(ms(500)), LostReason::MaxHold)] {
        let mut lease = LeaseMachine::new(START, ms(1_000), max_hold, false);
        let life = max_hold.unwrap_or(life(ms(1_000)));
        let (last, end) = (START + (life - nanosecond), START + life);
        assert!(lease.is_valid(last) && lease.expire(last).is_none(), "{reason:?}");
        assert!(!lease.is_valid(end), "{reason:?}: others may take it from here on");
        assert_eq!(lease.expire(end), Some(reason));
        assert_eq!(lease.expire(end), None, "{reason:?} is said once");
    }
}

#[test]
fn reasons_have_names_of_their_own() {
    let names = [LostReason::Expired, LostReason::Taken, LostReason::MaxHold].map(LostReason::as_str);
    assert_eq!(names, ["expired", "taken", "max_hold"], "logs and metrics are searched for these");
}
