//! Faults on demand: what each setting does, and that a seed repeats it.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{
    Acquire, CasLock, Chaos, ChaosLock, ChaosStore, Cond, ErrorKind, Key, LockBackend, MemoryStore, Owner, Ran,
    RecordStore, Released, Renewal,
};
use tokio::time::Instant;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn chaos(text: &str) -> Chaos {
    text.parse().unwrap()
}

async fn outcomes(setting: &str) -> Vec<Option<ErrorKind>> {
    let store = ChaosStore::new(MemoryStore::new(), chaos(setting));
    let mut outcomes = Vec::new();
    for n in 0..200 {
        let put = store.put(&key(&format!("k{n}")), Bytes::new(), Cond::Absent, None).await;
        outcomes.push(put.err().map(|e| e.kind()));
    }
    outcomes
}

#[tokio::test]
async fn the_same_seed_gives_the_same_faults_and_another_seed_others() {
    let first = outcomes("error=0.2,lost=0.2,seed=7").await;
    assert_eq!(first, outcomes("error=0.2,lost=0.2,seed=7").await);
    assert_ne!(first, outcomes("error=0.2,lost=0.2,seed=8").await);
}

#[tokio::test]
async fn faults_come_in_their_share() {
    let outcomes = outcomes("error=0.2,lost=0.3,seed=3").await;
    let count = |kind| outcomes.iter().filter(|outcome| **outcome == kind).count();
    let (refused, lost) = (count(Some(ErrorKind::Unavailable)), count(Some(ErrorKind::OutcomeUnknown)));
    assert!((20..60).contains(&refused), "a fifth of 200: {refused}");
    assert!((28..72).contains(&lost), "three tenths of the other 160: {lost}");
    assert_eq!(count(None) + refused + lost, 200, "no other kind of fault");
}

#[tokio::test]
async fn a_write_with_a_lost_answer_has_happened_and_a_refused_one_has_not() {
    let inner = MemoryStore::new();
    let lossy = ChaosStore::new(inner.clone(), chaos("lost=1"));
    let error = lossy.put(&key("a"), "x".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::OutcomeUnknown, Ran::Maybe));
    assert_eq!(inner.get(&key("a")).await.unwrap().unwrap().value, "x");

    let refusing = ChaosStore::new(inner.clone(), chaos("error=1"));
    let error = refusing.put(&key("b"), "x".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Unavailable, Ran::No));
    assert!(inner.get(&key("b")).await.unwrap().is_none());
}

#[tokio::test]
async fn reads_have_no_lost_answers() {
    let store = ChaosStore::new(MemoryStore::new(), chaos("lost=1"));
    assert!(store.get(&key("a")).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_at_most_what_was_asked_for() {
    let store = ChaosStore::new(MemoryStore::new(), chaos("delay=40ms,seed=5"));
    let (mut longest, mut total) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..100 {
        let started = Instant::now();
        store.get(&key("a")).await.unwrap();
        longest = longest.max(started.elapsed());
        total += started.elapsed();
    }
    assert!(longest <= Duration::from_millis(41), "{longest:?}: the timer rounds up to one millisecond");
    assert!(total >= Duration::from_millis(1_000), "and it does delay: {total:?}");
}

#[tokio::test]
async fn locks_behind_chaos_say_what_they_do_not_know() {
    let inner = std::sync::Arc::new(CasLock::new(MemoryStore::new())) as std::sync::Arc<dyn LockBackend>;
    let lossy = ChaosLock::new(std::sync::Arc::clone(&inner), chaos("lost=1"));
    let (request, owner) = (Acquire::new(key("a")), Owner::random());
    assert_eq!(lossy.try_acquire(&request, owner).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    let grant = inner.try_acquire(&request, owner).await.expect("the owner holds it, and asks again");
    assert!(matches!(lossy.renew(&grant, grant.ttl).await, Renewal::Unknown(_)));
    assert_eq!(lossy.release(&grant).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(inner.release(&grant).await.unwrap(), Released::NotHeld, "the release has happened");
}

#[test]
fn a_setting_prints_as_what_repeats_it() {
    for text in [
        "delay=20ms,error=0.05,lost=0.1,seed=7",
        "delay=1500ms,error=0,lost=0,seed=1",
        "delay=0ms,error=1,lost=1,seed=0",
    ] {
        let printed = chaos(text).to_string();
        assert_eq!(chaos(&printed).to_string(), printed);
        assert_eq!(delay_of(&printed), delay_of(text), "{text} was printed as {printed}");
    }
}

fn delay_of(setting: &str) -> Duration {
    let delay = setting.split(',').find_map(|part| part.strip_prefix("delay=")).unwrap();
    stanchion_core::text::parse_duration(delay).unwrap()
}
