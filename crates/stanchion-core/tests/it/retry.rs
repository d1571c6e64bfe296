//! Pauses, budget and deadline of the retry policy, on tokio's paused time.

use std::collections::HashSet;
use std::time::Duration;

use stanchion_core::RetryPolicy;
use tokio::time::Instant;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn a_pause_stays_below_its_doubling_bound_and_below_the_cap() {
    let policy = RetryPolicy::default().pauses(ms(2), ms(40)).unwrap();
    for n in 0..70 {
        let bound = ms(2).saturating_mul(1_u32.checked_shl(n).unwrap_or(u32::MAX)).min(ms(40));
        for _ in 0..50 {
            assert!(policy.pause(n) <= bound, "try {n}");
        }
    }
}

#[test]
fn pauses_use_the_whole_range() {
    let policy = RetryPolicy::default().pauses(ms(1), ms(64)).unwrap();
    let drawn: Vec<Duration> = (0..400).map(|_| policy.pause(20)).collect();
    assert!(drawn.iter().min() < Some(&ms(8)), "full jitter reaches down to zero");
    assert!(drawn.iter().max() > Some(&ms(56)), "and up to the cap");
    assert!(drawn.iter().collect::<HashSet<_>>().len() > 300, "losers of one race do not meet again");
}

#[tokio::test(start_paused = true)]
async fn the_budget_counts_repetitions() {
    let mut tries = RetryPolicy::default().budget(5).start();
    for n in 1..=5 {
        assert!(tries.again().await);
        assert_eq!(tries.used(), n);
    }
    assert!(!tries.again().await);
    assert_eq!(tries.used(), 5);
}

#[tokio::test(start_paused = true)]
async fn no_pause_reaches_beyond_the_deadline() {
    for _ in 0..20 {
        let policy = RetryPolicy::default().pauses(ms(10), ms(100)).unwrap().budget(u32::MAX).deadline(ms(500));
        let started = Instant::now();
        let mut tries = policy.start();
        while tries.again().await {
            assert!(started.elapsed() <= ms(501), "the timer rounds up to one millisecond, not more");
        }
        assert!(tries.used() > 3, "it did try again: {}", tries.used());
    }
}

#[tokio::test]
async fn a_deadline_without_end_is_no_overflow() {
    let mut tries = RetryPolicy::default().budget(1).deadline(Duration::MAX).start();
    assert!(tries.again().await);
}
