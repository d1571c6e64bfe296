//! Calls that are claimed in a transaction of the application.

use std::fmt::Debug;
use std::time::Duration;

use stanchion_core::claim::{Asked, Claim, Outcome, Wish, ask};
use stanchion_core::{Call, CallKey, Effect, Fingerprint, Policy, Scope};
use stanchion_stores::InTransaction;

pub(crate) fn call(principal: &str, key: &str, payload: &str) -> Call {
    let scope = Scope::new(principal, "billing", "send_invoice").unwrap();
    let policy = Policy::default().effect(Effect::Transactional);
    Call::new(scope, policy).key(CallKey::new(key).unwrap(), Fingerprint::of_bytes(payload.as_bytes()))
}

pub(crate) fn run<T: Debug>(entered: InTransaction<T>) -> T {
    match entered {
        InTransaction::Run(claim) => claim,
        other @ InTransaction::Answer(..) => panic!("expected to run: {other:?}"),
    }
}

pub(crate) fn answer<T: Debug>(entered: InTransaction<T>) -> String {
    match entered {
        InTransaction::Answer(Outcome::Ok, response) => String::from_utf8(response.bytes().unwrap().to_vec()).unwrap(),
        other => panic!("expected an answer: {other:?}"),
    }
}

/// The claim of a call outside any transaction.
pub(crate) fn outside(call: &Call, lease: Duration) -> Claim {
    let (key, fingerprint) = call.key.clone().unwrap();
    let mut wish = Wish::new(call.scope.clone(), key, fingerprint);
    wish.lease = lease;
    match ask(None, false, &wish) {
        Asked::Claim(claim) => claim,
        other => panic!("{other:?}"),
    }
}
