//! Redlock: some clients and three nodes, every order of requests and time, with the real `Attempt` on the clients' side.
//!
//! A request takes any time; its answer comes at once, which loses nothing: only their sum is seen. Each rule is left
//! out once, and the checker must find what it is for.

mod system;

pub(super) use self::system::{CLEAN, FENCES, ONE};
use self::system::{Fault, System};
use super::check::{Case, Control};

pub(super) fn cases() -> Vec<Case> {
    let case = |name, clients, least, make: fn() -> System| Case::new("redlock, 3 nodes", name, clients, least, make);
    vec![
        case("leases end by themselves, fences are agreed", 2, 10_000, || System::new(Fault::Sound)),
        case("locks are given back", 2, 10_000, || System::new(Fault::Tidy)),
        case("a node gains time, and the drift allows for it", 2, 1_000, || {
            System::new(Fault::FastNode { allowed_for: true })
        }),
        case("a node forgets, and is in quarantine", 2, 1_000, || System::new(Fault::Amnesia { quarantined: true })),
        case("leases end by themselves, fences are agreed, more time", 2, 10_000, || System {
            end: 3,
            ..System::new(Fault::Sound)
        })
        .long(),
        case("locks are given back, more time", 2, 10_000, || System { end: 5, ..System::new(Fault::Tidy) }).long(),
        case("a node gains time, and the drift allows for it", 3, 100_000, || System {
            clients: 3,
            ..System::new(Fault::FastNode { allowed_for: true })
        })
        .long(),
        case("a node forgets, and is in quarantine", 3, 100_000, || System {
            clients: 3,
            ..System::new(Fault::Amnesia { quarantined: true })
        })
        .long(),
    ]
}

pub(super) fn controls() -> Vec<Control> {
    let control = |name, property, make: fn() -> System| Control::new("redlock, 3 nodes", name, property, make);
    vec![
        control("the lease counts from its grant", ONE, || System::new(Fault::FromGrant)),
        control("a node gains time, without drift", ONE, || System::new(Fault::FastNode { allowed_for: false })),
        control("a node forgets, without quarantine", ONE, || System::new(Fault::Amnesia { quarantined: false })),
        control("a late yes is kept", CLEAN, || System::new(Fault::KeepsLateYes)),
        control("a release to a minority", CLEAN, || System::new(Fault::ReleasesMinority)),
    ]
}
