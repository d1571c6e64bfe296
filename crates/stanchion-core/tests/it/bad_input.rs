//! Input outside its range is refused in words: what it was, what is allowed, and that nothing ran.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{
    Acquire, CasLock, Chaos, Error, ErrorKind, FencingToken, Key, LockBackend, Locks, MemoryStore, Mode, Owner, Ran,
    RetryPolicy, Wait, text,
};

/// Is it `Invalid`, does the message name the value, and does message or hint name the range?
#[track_caller]
fn refused(error: &Error, value: &str, range: &str) {
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Invalid, Ran::No), "{error}");
    let message = error.to_string();
    assert!(message.contains(value), "the message {message:?} does not name the value {value:?}");
    let all = format!("{message} {}", error.next_step().unwrap_or_default());
    assert!(all.contains(range), "{all:?} does not name the allowed range {range:?}");
}

fn request() -> Acquire {
    Acquire::new(Key::new("a").unwrap())
}

#[test]
fn an_empty_key_is_refused() {
    refused(&Key::new("").unwrap_err(), "\"\"", "1 to 512 bytes");
}

#[test]
fn a_key_of_513_bytes_is_refused_and_one_of_512_is_not() {
    assert!(Key::new("x".repeat(512)).is_ok());
    refused(&Key::new("x".repeat(513)).unwrap_err(), "xxxx", "1 to 512 bytes");
    assert!(Key::new("é".repeat(256)).is_ok());
    refused(&Key::new("é".repeat(257)).unwrap_err(), "éééé", "1 to 512 bytes");
}

#[test]
fn control_characters_in_a_key_are_refused_and_escaped_in_the_message() {
    for (bad, shown) in
        [("a\nb", "\\n"), ("a\0b", "\\0"), ("a\u{7f}", "\\u{7f}"), ("a\u{9b}b", "\\u{9b}"), ("\u{1}lock/a", "\\u{1}")]
    {
        let error = Key::new(bad).unwrap_err();
        refused(&error, shown, "without control characters");
        assert!(!error.to_string().chars().any(char::is_control), "a terminal would act on it");
    }
}

#[test]
fn a_ttl_outside_50ms_to_24h_is_refused_and_the_ends_are_not() {
    let day = Duration::from_secs(24 * 3600);
    for (ttl, shown) in [
        (Duration::ZERO, "0ns"),
        (Duration::from_millis(49), "49ms"),
        (Duration::from_secs(25 * 3600), "90000s"),
        (day + Duration::from_nanos(1), "86400"),
        (Duration::MAX, "18446744073709551615"),
    ] {
        refused(&request().ttl(ttl).unwrap_err(), shown, "50ms to 24h");
    }
    assert!(request().ttl(Duration::from_millis(50)).is_ok() && request().ttl(day).is_ok());
}

#[test]
fn slots_outside_1_to_1024_are_refused_and_the_ends_are_not() {
    for n in [0, 1025, u32::MAX] {
        refused(&request().mode(Mode::Slots(n)).unwrap_err(), &n.to_string(), "1 to 1024");
    }
    assert!(request().mode(Mode::Slots(1)).is_ok() && request().mode(Mode::Slots(1024)).is_ok());
}

#[test]
fn durations_without_unit_sign_or_sense_are_refused() {
    for bad in [
        "",
        "10",
        "-3s",
        "1.5s",
        "5 s",
        "s",
        "3x",
        "ms",
        "1h30",
        "٣s",
        "99999999999999999999s",
        "18446744073709551615d",
    ] {
        refused(&text::parse_duration(bad).unwrap_err(), &format!("{bad:?}"), "a whole number and a unit");
    }
}

#[test]
fn what_a_duration_prints_is_read_back() {
    for secs in [0, 1, 59, 60, 61, 200, 3600, 7_500] {
        let d = Duration::from_secs(secs);
        assert_eq!(text::parse_duration(&text::duration(d)).unwrap(), d, "{d:?}");
    }
}

#[test]
fn chaos_outside_its_range_is_refused() {
    for bad in [
        "lost=2",
        "lost=-0.1",
        "error=NaN",
        "error=inf",
        "lost=",
        "seed=-1",
        "seed=x",
        "loss=0.1",
        "lost",
        "=1",
        " lost=0.1",
    ] {
        refused(&bad.parse::<Chaos>().unwrap_err(), &format!("{bad:?}"), "shares are from 0 to 1");
    }
    refused(&"delay=5".parse::<Chaos>().unwrap_err(), "\"5\"", "a whole number and a unit");
    assert!("".parse::<Chaos>().is_ok() && "lost=0,error=1".parse::<Chaos>().is_ok());
}

#[test]
fn pauses_of_zero_or_upside_down_are_refused() {
    let ms = Duration::from_millis;
    refused(&RetryPolicy::default().pauses(ms(0), ms(9)).unwrap_err(), "0ns", "above zero");
    refused(&RetryPolicy::default().pauses(ms(10), ms(9)).unwrap_err(), "10ms", "not above the longest");
}

#[test]
fn owners_and_tokens_of_another_shape_are_refused() {
    for bad in ["", "12", &"g".repeat(32), &"0".repeat(33), &format!("+{}", "0".repeat(31))] {
        assert_eq!(bad.parse::<Owner>().map_err(|e| e.kind()), Err(ErrorKind::Invalid), "{bad:?}");
    }
    for bad in
        ["", "7", "7-", "-0000000000000001", "7-1", "x-0000000000000001", "7-+000000000000001", "+7-0000000000000001"]
    {
        assert_eq!(bad.parse::<FencingToken>().map_err(|e| e.kind()), Err(ErrorKind::Invalid), "{bad:?}");
    }
}

#[tokio::test]
async fn slots_that_disagree_are_refused_by_the_lock() {
    let backend = CasLock::new(MemoryStore::new());
    let slots = |n| request().mode(Mode::Slots(n)).unwrap();
    backend.try_acquire(&slots(2), Owner::random()).await.unwrap();
    refused(&backend.try_acquire(&slots(3), Owner::random()).await.unwrap_err(), "asked: 3", "held: 2");
}

#[tokio::test]
async fn a_wait_without_end_is_no_overflow() {
    let locks = Locks::new(CasLock::new(MemoryStore::new()));
    let endless = request().wait(Wait::For(Duration::MAX)).max_hold(Duration::MAX).unwrap();
    let lease = locks.acquire(&endless).await.unwrap();
    lease.release().await.unwrap();
    locks.acquire_all(&[endless]).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_floor_that_nothing_can_be_above_is_refused_and_harms_nobody() {
    let backend = Arc::new(CasLock::new(MemoryStore::new()));
    let (asked, greedy) = (Arc::clone(&backend), request().floor(u64::MAX));
    let answer = tokio::spawn(async move { asked.try_acquire(&greedy, Owner::random()).await }).await;
    let error = answer.expect("no panic").expect_err("there is no number above the floor");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    backend.try_acquire(&request(), Owner::random()).await.expect("the key is as usable as before");
}
