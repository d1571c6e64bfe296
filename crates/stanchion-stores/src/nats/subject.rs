//! How a key is written as a subject.
//!
//! A `/` begins a new token, so that a listing of `jobs/` is a filter the server knows; only the first eight do, which
//! bounds the number of tokens. Letters, digits, `-` and `_` stand for themselves, every other byte is `=` and two hex
//! digits, and an empty token is a lone `=`. Whether the key is a user's or our own is the token in front.

use stanchion_core::Key;

const SPLITS: usize = 8;

/// The first character of our own keys, as the core makes them.
const OWN: char = '\u{1}';

/// The subjects of one bucket.
#[derive(Debug)]
pub(super) struct Subjects {
    /// `$KV.BUCKET.`
    root: String,
}

impl Subjects {
    pub(super) fn new(bucket: &str) -> Self {
        Self { root: format!("$KV.{bucket}.") }
    }

    /// All of them.
    pub(super) fn all(&self) -> String {
        format!("{}>", self.root)
    }

    pub(super) fn clock(&self) -> String {
        format!("{}clock", self.root)
    }

    pub(super) fn of(&self, key: &Key) -> String {
        let (class, text) = class(key.as_str());
        let mut subject = format!("{}{class}", self.root);
        for token in text.splitn(SPLITS + 1, '/') {
            subject.push('.');
            encode(token, &mut subject);
        }
        subject
    }

    /// A filter that lets every key with this prefix through, and as few others as it can.
    pub(super) fn filter(&self, prefix: &str) -> String {
        let (class, text) = class(prefix);
        let mut filter = format!("{}{class}", self.root);
        let tokens: Vec<&str> = text.splitn(SPLITS + 1, '/').collect();
        // The last token may go on.
        for token in &tokens[..tokens.len() - 1] {
            filter.push('.');
            encode(token, &mut filter);
        }
        filter + ".>"
    }

    /// The key, if the subject is one that we make.
    pub(super) fn key(&self, subject: &str) -> Option<Key> {
        let rest = subject.strip_prefix(&self.root)?;
        let (class, tokens) = rest.split_once('.')?;
        let mut bytes = match class {
            "u" => Vec::new(),
            "o" => vec![OWN as u8],
            _ => return None,
        };
        for (number, token) in tokens.split('.').enumerate() {
            if number > 0 {
                bytes.push(b'/');
            }
            decode(token, &mut bytes)?;
        }
        let key = Key::from_store(&String::from_utf8(bytes).ok()?).ok()?;
        // One key has one subject.
        (self.of(&key) == subject).then_some(key)
    }
}

fn class(text: &str) -> (&'static str, &str) {
    text.strip_prefix(OWN).map_or(("u", text), |rest| ("o", rest))
}

fn encode(token: &str, out: &mut String) {
    if token.is_empty() {
        out.push('=');
    }
    for byte in token.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(byte)),
            _ => {
                out.push('=');
                for digit in [byte >> 4, byte & 15] {
                    out.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
                }
            }
        }
    }
}

fn decode(token: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = token;
    if rest == "=" {
        return Some(());
    }
    while let Some(first) = rest.chars().next() {
        if first == '=' {
            out.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
            rest = &rest[3..];
        } else {
            out.push(u8::try_from(first).ok()?);
            rest = &rest[1..];
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects() -> Subjects {
        Subjects::new("b")
    }

    #[test]
    fn a_key_comes_back_as_it_was() {
        for text in ["a", "a/b", "/", "//", "a//b/", "Zoë *>.=%", "a.b c", &"/".repeat(512), &"é".repeat(256)] {
            let key = Key::new(text).unwrap();
            let subject = subjects().of(&key);
            assert!(subject.len() < 2_000 && subject.split('.').count() <= 3 + 9, "{subject}");
            assert!(subject.split('.').all(|token| !token.is_empty() && token.is_ascii()), "{subject}");
            assert_eq!(subjects().key(&subject), Some(key), "{subject}");
        }
        let own = Key::from_store("\u{1}lock/deploy/7").unwrap();
        assert_eq!(subjects().of(&own), "$KV.b.o.lock.deploy.7");
        assert_eq!(subjects().key("$KV.b.o.lock.deploy.7"), Some(own));
    }

    #[test]
    fn what_others_wrote_is_no_key() {
        for subject in ["$KV.b.clock", "$KV.c.u.a", "$KV.b.x.a", "$KV.b.u.=2", "$KV.b.u.=61", "$KV.b.u", "$KV.b.u.=FF"]
        {
            assert_eq!(subjects().key(subject), None, "{subject}");
        }
    }

    #[test]
    fn a_filter_lets_every_key_with_the_prefix_through() {
        let deep = "a/".repeat(12);
        for (prefix, filter) in [
            ("", "$KV.b.u.>"),
            ("jo", "$KV.b.u.>"),
            ("jobs/", "$KV.b.u.jobs.>"),
            ("jobs/a b/c", "$KV.b.u.jobs.a=20b.>"),
            ("\u{1}lock/", "$KV.b.o.lock.>"),
            (deep.as_str(), "$KV.b.u.a.a.a.a.a.a.a.a.>"),
        ] {
            assert_eq!(subjects().filter(prefix), filter, "{prefix}");
            let key = Key::from_store(&format!("{prefix}x")).unwrap();
            assert!(subjects().of(&key).starts_with(filter.trim_end_matches('>')), "{prefix}");
        }
    }
}
