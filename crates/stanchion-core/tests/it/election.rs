//! `Election`: two may believe that they lead; only one of them can write.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::time::Duration;

use stanchion_core::{
    CasLock, Cond, Election, ErrorKind, Key, Leadership, Locks, LostReason, MemoryStore, RecordStore, Released, Result,
    Version, Wait,
};
use stanchion_testkit::eventually;

use crate::wire::{Log, PATIENCE, Wire};

const TTL: Duration = Duration::from_millis(400);

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn locks(store: impl RecordStore) -> Locks {
    Locks::new(CasLock::new(store))
}

fn election(locks: Locks) -> Election {
    Election::new(locks).ttl(TTL).unwrap()
}

/// The first leader reads, and is cut off past its ttl with a write in its hand; the second one leads, reads and
/// writes; then the first one's write arrives. Returns the plan at the end, and what became of the late write.
async fn two_leaders(fenced: bool) -> (String, Result<Version>) {
    let store = MemoryStore::new();
    let (name, plan) = (key("scheduler"), key("plan"));
    store.put(&plan, "nobody's".into(), Cond::Absent, None).await.unwrap();
    let wire = Wire::to(&store);

    let first = election(locks(wire.clone())).lead(&name).await.unwrap();
    let old = first.fence().unwrap().token();
    if fenced {
        store.touch(&plan, &old).await.unwrap();
    }
    wire.cut();
    let second = election(locks(store.clone())).lead(&name).await.unwrap();
    let new = second.fence().unwrap().token();
    assert!(new.number() > old.number());
    let late = if fenced {
        store.touch(&plan, &new).await.unwrap();
        store.put(&plan, "the second's".into(), Cond::Fence(new), None).await.unwrap();
        store.put(&plan, "the first's".into(), Cond::Fence(old), None).await
    } else {
        // Each writes over whatever is there.
        let read = store.get(&plan).await.unwrap().unwrap().version;
        let written = store.put(&plan, "the second's".into(), Cond::Version(read), None).await.unwrap();
        store.put(&plan, "the first's".into(), Cond::Version(written), None).await
    };
    wire.mend();
    assert_eq!(first.lost().await, LostReason::Expired);
    assert_eq!(first.fence().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(first.resign().await.unwrap(), Released::NotHeld);
    assert_eq!(second.resign().await.unwrap(), Released::Released);
    let plan = store.get(&plan).await.unwrap().unwrap().value;
    (String::from_utf8(plan.to_vec()).unwrap(), late)
}

#[tokio::test]
async fn of_two_leaders_the_stale_ones_write_is_refused() {
    let (plan, late) = two_leaders(true).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::FenceRejected);
    assert_eq!(plan, "the second's");
}

#[tokio::test]
async fn control_without_the_fence_the_newer_write_is_lost() {
    let (plan, late) = two_leaders(false).await;
    assert!(late.is_ok() && plan == "the first's", "void: the schedule proves nothing");
}

#[tokio::test]
async fn a_campaign_stands_again_with_a_higher_fence_after_a_lost_term() {
    let log = Log::default();
    let locks = locks(MemoryStore::new());
    let election = election(locks.clone());
    let campaign = tokio::spawn({
        let (election, log) = (election.clone(), log.clone());
        async move {
            let work = async move |leadership: &Leadership| {
                log.add(&leadership.fence().unwrap().token().number().to_string());
                if log.lines().len() < 3 {
                    std::future::pending::<()>().await;
                }
            };
            election.campaign(&key("scheduler"), work).await
        }
    });
    for terms in 1..=2 {
        eventually(PATIENCE, "the next term has begun", || async { log.lines().len() == terms }).await;
        assert_eq!(locks.backend().evict(&key("leader:scheduler")).await.unwrap(), Released::Released);
    }
    tokio::time::timeout(PATIENCE, campaign).await.unwrap().unwrap().unwrap();
    let terms: Vec<u64> = log.lines().iter().map(|number| number.parse().unwrap()).collect();
    assert!(terms.len() == 3 && terms[0] < terms[1] && terms[1] < terms[2], "{terms:?}");
    assert_eq!(election.leader(&key("scheduler")).await.unwrap(), None, "it resigned when the work was done");
}

#[tokio::test]
async fn work_that_is_done_after_its_term_has_ended_is_told_so() {
    let locks = locks(MemoryStore::new());
    let election = Election::new(locks.clone()); // with a ttl that leaves the end of the term unnoticed
    let work = async |_: &Leadership| locks.backend().evict(&key("leader:scheduler")).await.unwrap();
    let error = election.campaign(&key("scheduler"), work).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost);
}

#[tokio::test]
async fn a_campaign_outlasts_a_store_that_is_away_for_a_moment() {
    let wire = Wire::to(&MemoryStore::new());
    let election = election(locks(wire.clone()));
    wire.refuse(5);
    assert_eq!(election.lead(&key("scheduler")).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(election.campaign(&key("scheduler"), async |_| 7).await.unwrap(), 7);
}

#[tokio::test]
async fn the_leader_is_seen_and_no_namesake() {
    let election = election(locks(MemoryStore::new()));
    let longer = election.lead(&key("scheduler-2")).await.unwrap();
    assert_eq!(election.leader(&key("scheduler")).await.unwrap(), None);
    let leadership = election.lead(&key("scheduler")).await.unwrap();
    let seen = election.leader(&key("scheduler")).await.unwrap().unwrap();
    assert_eq!(seen.identity.pid, std::process::id());
    assert_eq!(seen.fence, Some(leadership.fence().unwrap().token()));
    leadership.resign().await.unwrap();
    assert_eq!(election.leader(&key("scheduler")).await.unwrap(), None);
    longer.resign().await.unwrap();
}

#[tokio::test]
async fn a_name_that_does_not_fit_is_refused() {
    let election = election(locks(MemoryStore::new())).wait(Wait::No);
    assert!(election.lead(&key(&"x".repeat(505))).await.is_ok());
    let long = key(&"x".repeat(506));
    assert_eq!(election.lead(&long).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(election.leader(&long).await.unwrap_err().kind(), ErrorKind::Invalid);
}
