//! Fencing tokens: which may follow which, and their text.

use stanchion_core::{FencingToken, Version};

#[test]
fn a_token_is_followed_by_higher_numbers_and_by_itself_only() {
    let seen = FencingToken::from_parts(5, 7);
    let table = [((4, 7), false), ((4, 9), false), ((5, 7), true), ((5, 8), false), ((6, 7), true), ((6, 1), true)];
    for ((number, nonce), may) in table {
        let token = FencingToken::from_parts(number, nonce);
        assert_eq!(token.supersedes(Some(&seen)), may, "{token} after {seen}");
        assert!(token.supersedes(None), "{token} is the first");
    }
}

#[test]
fn a_token_is_read_as_it_was_written_and_nothing_else_is_a_token() {
    for (number, nonce) in [(0, 0), (1, u64::MAX), (u64::MAX, 1), (1_830_000_000_000_001, 0xabc)] {
        let token = FencingToken::from_parts(number, nonce);
        assert_eq!(token.to_string().parse::<FencingToken>().unwrap(), token);
        assert_eq!((token.number(), token.nonce()), (number, nonce));
        assert_eq!(token.to_string(), format!("{number}-{}", token.lease_id()), "a lease is found by its token");
    }
    for text in [
        "",
        "7",
        "7-",
        "7-abc",
        "-0000000000000001",
        "+7-0000000000000001",
        "7-+000000000000001",
        "7-00000000000000001",
        "7-000000000000000g",
        "x-0000000000000001",
        "18446744073709551616-0000000000000001",
    ] {
        assert!(text.parse::<FencingToken>().is_err(), "{text:?}");
    }
}

#[test]
fn a_version_shows_its_number() {
    assert_eq!((Version::new(41).get(), Version::new(41).to_string()), (41, "41".to_owned()));
}
