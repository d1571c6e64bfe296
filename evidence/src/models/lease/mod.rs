//! Lease and fence: every interleaving of a few clients, with the real `LeaseMachine` on the holder's side and the real
//! `FencingToken::supersedes` on the store's side.
//!
//! A client acquires, reads, writes what it read plus one, releases. Requests and answers may be late or lost, a
//! client may stand still between any two steps, and (in [`Time::Free`]) the lock service may end a lease whenever
//! it likes: no assumption on time is left. A crash is a client that takes no further step, so every prefix
//! covers one.

mod system;
mod world;

pub(super) use self::system::{BELIEF, LOST_UPDATE, ONE_GRANT, TOKENS};
use self::system::{Planted, System, Time};
use self::world::Check;
use super::check::{Case, Control};

pub(super) fn cases() -> Vec<Case> {
    let case = |name, clients, least, make: fn() -> System| Case::new("lease and fence", name, clients, least, make);
    vec![
        case("first touch, lost answers", 2, 1_000, || System { losses: true, ..System::new(2, Check::FirstTouch) }),
        case("first touch", 3, 10_000, || System::new(3, Check::FirstTouch)),
        case("first touch, renewals", 2, 10_000, || System { renewing: 1, ..System::new(2, Check::FirstTouch) }),
        case("first touch, 2 sessions each", 2, 5_000, || System { sessions: 2, ..System::new(2, Check::FirstTouch) }),
        case("first touch, the counter is lost, 2 sessions each", 2, 5_000, || System {
            sessions: 2,
            counter_is_lost: true,
            ..System::new(2, Check::FirstTouch)
        }),
        case("version, lost answers", 2, 1_000, || System { losses: true, ..System::new(2, Check::VersionCas) }),
        case("version", 3, 10_000, || System::new(3, Check::VersionCas)),
        case("version, renewals", 2, 10_000, || System { renewing: 1, ..System::new(2, Check::VersionCas) }),
        case("common clock, renewals", 2, 10_000, || System {
            time: Time::Common,
            renewing: 1,
            ..System::new(2, Check::FirstTouch)
        }),
        case("first touch", 4, 1_000_000, || System::new(4, Check::FirstTouch)).long(),
        case("version", 4, 1_000_000, || System::new(4, Check::VersionCas)).long(),
        case("first touch, lost answers", 3, 100_000, || System { losses: true, ..System::new(3, Check::FirstTouch) })
            .long(),
        case("first touch, 2 sessions each, both renew", 2, 100_000, || System {
            sessions: 2,
            renewing: 2,
            ..System::new(2, Check::FirstTouch)
        })
        .long(),
        case("first touch, the counter is lost, 3 sessions each", 2, 10_000, || System {
            sessions: 3,
            counter_is_lost: true,
            ..System::new(2, Check::FirstTouch)
        })
        .long(),
        case("common clock, both renew", 2, 100_000, || System {
            time: Time::Common,
            renewing: 2,
            ..System::new(2, Check::FirstTouch)
        })
        .long(),
    ]
}

pub(super) fn controls() -> Vec<Control> {
    let control = |name, property, make: fn() -> System| Control::new("lease and fence", name, property, make);
    vec![
        control("the textbook fence on writes", LOST_UPDATE, || System::new(2, Check::WriteOnly)),
        control("no fence", LOST_UPDATE, || System::new(2, Check::Nothing)),
        control("the counter is lost, and numbers alone are compared", LOST_UPDATE, || System {
            counter_is_lost: true,
            ..System::new(2, Check::NumberOnly)
        }),
        control("a deadline counted from the answer", BELIEF, || System {
            time: Time::Common,
            renewing: 1,
            planted: Planted::DeadlineFromAnswer,
            ..System::new(2, Check::FirstTouch)
        }),
        control("a release by anybody", ONE_GRANT, || System {
            planted: Planted::ReleaseByAnybody,
            ..System::new(3, Check::FirstTouch)
        }),
        control("a forgotten counter", TOKENS, || System {
            planted: Planted::CounterReset,
            ..System::new(2, Check::FirstTouch)
        }),
    ]
}
