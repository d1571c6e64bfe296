//! Signatures of webhooks.
//!
//! All signatures here were made once with the `hmac` module of Python 3, except the one that is marked as published.

mod standard;
mod stripe;

use http::{HeaderMap, HeaderName, HeaderValue};

/// When everything here was signed.
const SIGNED: u64 = 1_700_000_000;

/// Not UTF-8, with a zero and a line end.
const BINARY: &[u8] = &[0, 255, 0xc3, 0x28, b'\n'];

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| (name.parse::<HeaderName>().expect("a header name"), bytes(value.as_bytes())))
        .collect()
}

fn bytes(value: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(value).expect("a header value")
}

/// The same text with the byte at `at` (modulo its length) replaced by another one.
fn changed(text: &[u8], at: usize, by: u8) -> Vec<u8> {
    let mut text = text.to_vec();
    let at = at % text.len();
    text[at] ^= by;
    text
}
