//! Locks against a plain list of holders.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use stanchion_core::{ErrorKind, Grant, Key, Mode, Owner, Released, Renewal};

use super::super::sequences::{compare, same};
use super::super::support::{LONG, Names};
use super::super::{Outcome, StoreFactory};
use super::{Locks, in_mode};

const OWNERS: usize = 3;

#[derive(Debug, Clone, Copy)]
enum What {
    Acquire,
    /// Asks to share it with others.
    Share,
    Release,
    Renew,
    /// With the grant of an acquisition that is over.
    ReleaseAgain,
    RenewAgain,
}

/// Which of the owners, and what it does.
type Step = (usize, bool, What);

/// One who asks; a new owner for each acquisition.
#[derive(Debug)]
struct Asker {
    owner: Owner,
    held: Option<Grant>,
    before: Option<Grant>,
}

fn steps() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        Just(What::Acquire),
        Just(What::Acquire),
        Just(What::Share),
        Just(What::Release),
        Just(What::Release),
        Just(What::Renew),
        Just(What::ReleaseAgain),
        Just(What::RenewAgain),
    ];
    (0..OWNERS, any::<bool>(), what)
}

/// Whatever some owners do one after the other, each answer is that of a plain list of holders. `STANCHION_SEQUENCES`
/// says how many sequences are tried.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::locks::any_sequence_is_answered_as_one_holder_list_would;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(any_sequence_is_answered_as_one_holder_list_would(&memory()).await, Outcome::Passed);
/// # }
/// ```
pub async fn any_sequence_is_answered_as_one_holder_list_would(store: &StoreFactory) -> Outcome {
    // An owner stays with its client: some engines hold a lock for a connection.
    let clients = [store.locks().await, store.locks().await, store.locks().await];
    compare(steps(), |steps| run(clients.clone(), steps)).await;
    Outcome::Passed
}

async fn run(clients: [Locks; OWNERS], steps: Vec<Step>) -> Result<(), String> {
    let names = Names::fresh();
    let keys = [names.key("a"), names.key("b")];
    let mut askers: [[Asker; OWNERS]; 2] =
        std::array::from_fn(|_| std::array::from_fn(|_| Asker { owner: Owner::random(), held: None, before: None }));
    let mut highest = [0; 2];
    let mut ran = Ok(());
    for (number, (i, second, what)) in steps.into_iter().enumerate() {
        let at = usize::from(second);
        let answered = step(&clients[i], &keys[at], &mut askers[at], i, &mut highest[at], what).await;
        ran = answered.map_err(|difference| format!("step {number}, {what:?} by {i}: {difference}"));
        if ran.is_err() {
            break;
        }
    }
    for (i, asker) in askers.iter().flat_map(|askers| askers.iter().enumerate()) {
        if let Some(grant) = &asker.held {
            // What it says was compared before; here it is only given back.
            clients[i].release(grant).await.ok();
        }
    }
    ran
}

async fn step(
    locks: &Locks,
    key: &Key,
    askers: &mut [Asker; OWNERS],
    i: usize,
    highest: &mut u64,
    what: What,
) -> Result<(), String> {
    let held: Vec<Mode> = askers.iter().filter_map(|asker| Some(asker.held.as_ref()?.mode)).collect();
    let asker = &mut askers[i];
    match what {
        What::Acquire | What::Share => {
            let wanted = if matches!(what, What::Share) { Mode::Shared } else { Mode::Exclusive };
            // Whoever holds it asks again as it asked before.
            let mode = asker.held.as_ref().map_or(wanted, |grant| grant.mode);
            let free = held.is_empty() || mode == Mode::Shared && held.iter().all(|mode| *mode == Mode::Shared);
            match (locks.try_acquire(&in_mode(key, mode), asker.owner).await, &asker.held) {
                (Ok(grant), Some(before)) => same("the fence of a holder that asks again", &grant.fence, &before.fence),
                (Ok(grant), None) if free && grant.fence.number() > *highest => {
                    *highest = grant.fence.number();
                    asker.held = Some(grant);
                    Ok(())
                }
                (Ok(grant), None) if free => Err(format!("fence {} after {highest}", grant.fence.number())),
                (Ok(_), None) => Err(format!("granted, while it is held: {held:?}")),
                (Err(e), None) if e.kind() == ErrorKind::Contended && !free => Ok(()),
                // Not every engine lets holders share.
                (Err(e), None) if e.kind() == ErrorKind::Unsupported && mode == Mode::Shared => Ok(()),
                (Err(e), _) => Err(format!("refused: {e}")),
            }
        }
        What::Release => {
            let Some(grant) = asker.held.take() else { return Ok(()) };
            let released = locks.release(&grant).await;
            (asker.owner, asker.before) = (Owner::random(), Some(grant));
            same("a release", &released.ok(), &Some(Released::Released))
        }
        What::Renew => match &asker.held {
            Some(grant) => renewed(locks.renew(grant, LONG).await, true),
            None => Ok(()),
        },
        What::ReleaseAgain => match &asker.before {
            Some(grant) => same("a second release", &locks.release(grant).await.ok(), &Some(Released::NotHeld)),
            None => Ok(()),
        },
        What::RenewAgain => match &asker.before {
            Some(grant) => renewed(locks.renew(grant, LONG).await, false),
            None => Ok(()),
        },
    }
}

fn renewed(answer: Renewal, expected: bool) -> Result<(), String> {
    match (answer, expected) {
        (Renewal::Renewed, true) | (Renewal::Lost, false) => Ok(()),
        (answer, _) => Err(format!("a renewal says {answer:?}")),
    }
}
