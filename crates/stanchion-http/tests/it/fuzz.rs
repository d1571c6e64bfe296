//! Mutated headers: a key is what was meant, or refused with its place.

use http::{HeaderMap, HeaderValue};
use stanchion_http::key::{BadKey, IDEMPOTENCY_KEY, IdempotencyKey, KEY_CHARS_MAX, KeyRules};
use stanchion_testkit::fuzz::Target;

const SEEDS: &[&str] = &[
    "8e03978e-40d5-43dd-bc93-6894a57f9324",
    "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"",
    "  \"a\\\"b\\\\c\"  ; a=1;b=?1; c=\"x\\\"y\";d=:YWJj:;*e",
    "\"a\";q=0.5",
    "a, b",
    "\"a\", \"b\"",
    "\"\"",
];

fn quoted(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
}

fn place(bad: &BadKey) -> Option<usize> {
    match bad {
        BadKey::BadCharacter { at } | BadKey::BadEscape { at } | BadKey::AfterTheKey { at } => Some(*at),
        _ => None,
    }
}

#[test]
fn mutated_keys_are_read_as_they_are_meant_or_refused() {
    Target::text("key", SEEDS.iter().copied()).run(|input| {
        // What cannot be in a header never gets here.
        let Ok(value) = HeaderValue::from_bytes(input) else { return Ok(()) };
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, value);
        let key = match KeyRules::required().read(&headers) {
            Ok(Some(key)) => key,
            Ok(None) => return Err("a required key is missing, and nobody says so".to_owned()),
            Err(bad) if place(&bad).is_some_and(|at| at >= input.len()) => {
                return Err(format!("{bad:?} is behind the end"));
            }
            Err(bad) if bad.to_string().is_empty() => return Err("it does not say why".to_owned()),
            Err(_) => return Ok(()),
        };
        let text = key.as_str();
        if text.len() > KEY_CHARS_MAX || text.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
            return Err(format!("no key: {text:?}"));
        }
        // The other way of writing it is the same key.
        match quoted(text).parse::<IdempotencyKey>() {
            Ok(again) if again == key => {}
            other => return Err(format!("{text:?} is {other:?} in quotes")),
        }
        let bare = input.trim_ascii();
        if !bare.starts_with(b"\"") && bare != text.as_bytes() {
            return Err(format!("a bare key was changed to {text:?}"));
        }
        // Nobody can make two keys of it.
        if !bare.starts_with(b"\"") && text.contains(',') {
            return Err("a list was taken for a key".to_owned());
        }
        Ok(())
    });
}
