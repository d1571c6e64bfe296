//! Where things are: names that Consul's HTTP paths carry unchanged.
//!
//! Consul redirects paths with `//` and `..` and refuses what cannot be printed, so a key is written with escapes. The escape of a byte
//! depends on nothing behind it: a prefix of keys is a prefix of names. `~` is always escaped and ends each key, so the
//! names under `…KEY~` are those of this key alone.

use stanchion_core::{Key, Result};

use crate::url::percent_decode;

/// The places of one namespace.
#[derive(Debug, Clone)]
pub(super) struct Names {
    namespace: String,
}

impl Names {
    pub(super) const fn new(namespace: String) -> Self {
        Self { namespace }
    }

    /// The record of a key.
    pub(super) fn record(&self, key: &Key) -> String {
        format!("{}/r/{}~", self.namespace, escape(key.as_str()))
    }

    /// The highest token that has touched a key.
    pub(super) fn fence(&self, key: &Key) -> String {
        format!("{}/f/{}~", self.namespace, escape(key.as_str()))
    }

    /// What remembers that a record has a longer time to live than a session can have.
    pub(super) fn lap(&self, key: &Key) -> String {
        format!("{}/t/{}~", self.namespace, escape(key.as_str()))
    }

    /// All laps.
    pub(super) fn laps(&self) -> String {
        format!("{}/t/", self.namespace)
    }

    /// All who hold or wait for a lock.
    pub(super) fn line(&self, key: &Key) -> String {
        format!("{}/l/{}~/", self.namespace, escape(key.as_str()))
    }

    /// What is added to all orders.
    pub(super) fn lift(&self) -> String {
        format!("{}/lift~", self.namespace)
    }

    /// Nobody writes this one.
    pub(super) fn nothing(&self) -> String {
        format!("{}/r/~", self.namespace)
    }

    /// What the names of all records under `prefix` begin with.
    pub(super) fn records(&self, prefix: &str) -> String {
        format!("{}/r/{}", self.namespace, escape(prefix))
    }

    /// What the names of all lines under `prefix` begin with.
    pub(super) fn lines(&self, prefix: &str) -> String {
        format!("{}/l/{}", self.namespace, escape(prefix))
    }

    /// The key of a name in the space `kind`, up to its `~`.
    pub(super) fn key(&self, kind: char, name: &str) -> Option<Result<Key>> {
        let rest = name.strip_prefix(&self.namespace)?.strip_prefix('/')?.strip_prefix(kind)?.strip_prefix('/')?;
        let escaped = rest.split('~').next().filter(|escaped| !escaped.is_empty())?;
        Some(Key::from_store(&percent_decode(escaped)))
    }
}

fn escape(key: &str) -> String {
    let (mut out, mut before) = (String::with_capacity(key.len() + 8), b'/');
    for byte in key.bytes() {
        let plain = match byte {
            b'/' | b'.' => before != b'/',
            b'-' | b'_' | b':' | b'@' | b'+' | b'=' | b',' => true,
            _ => byte.is_ascii_alphanumeric(),
        };
        push(&mut out, byte, plain);
        before = byte;
    }
    out
}

/// A name as part of a path.
pub(super) fn in_path(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 16);
    for byte in name.bytes() {
        push(&mut out, byte, byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte));
    }
    out
}

fn push(out: &mut String, byte: u8, plain: bool) {
    if plain {
        out.push(char::from(byte));
    } else {
        out.push_str(&format!("%{byte:02X}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_path_and_give_the_key_back() {
        let names = Names::new("ns".to_owned());
        for text in ["deploy", "a/b.c", "/a//b", "../x", "a/./b", "a~b", "%41", "üñ 鍵", "a b'c\"d\\e%f_g*h?[i]{j}:k"]
        {
            let key = Key::new(text).unwrap();
            let name = names.record(&key);
            assert_eq!(names.key('r', &name).unwrap().unwrap(), key, "{name}");
            assert!(!name.contains("//") && !name.contains("/."), "{name}");
            assert_eq!(name.matches('~').count(), 1, "{name}");
            let line = format!("{}0123", names.line(&key));
            assert_eq!(names.key('l', &line).unwrap().unwrap(), key, "{line}");
        }
        assert_eq!(in_path("a%20~/b"), "a%2520~/b");
    }

    #[test]
    fn a_prefix_of_keys_is_a_prefix_of_names() {
        let key = "a//b/../c~d é";
        for (at, _) in key.char_indices() {
            assert!(escape(key).starts_with(&escape(&key[..at])), "{at}");
        }
    }
}
