//! Where things are: every key is the name of one node.
//!
//! | node | holds |
//! |---|---|
//! | `BASE/locks/KEY/OWNER` | one who holds or waits; ends with its session. `KEY` is a container: the server removes it when it stood empty for a while |
//! | `BASE/records/KEY` | a record, a fence, or both |
//! | `BASE/lift` | what is added to every fence |
//! | `BASE/epoch` | changes whenever nodes of records are removed |
//! | `BASE/clock` | written to learn the engine's time |

use stanchion_core::{Key, Owner};

/// The paths of one store.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) base: String,
    pub(super) locks: String,
    pub(super) records: String,
    pub(super) lift: String,
    pub(super) epoch: String,
    pub(super) clock: String,
}

impl Names {
    pub(super) fn new(base: &str) -> Self {
        let under = |name: &str| format!("{base}/{name}");
        Self {
            base: base.to_owned(),
            locks: under("locks"),
            records: under("records"),
            lift: under("lift"),
            epoch: under("epoch"),
            clock: under("clock"),
        }
    }

    pub(super) fn record(&self, key: &Key) -> String {
        format!("{}/{}", self.records, escape(key.as_str()))
    }

    pub(super) fn line(&self, key: &Key) -> String {
        format!("{}/{}", self.locks, escape(key.as_str()))
    }

    pub(super) fn entry(&self, key: &Key, owner: Owner) -> String {
        format!("{}/{}", self.line(key), owner.to_hex())
    }
}

/// Letters, digits and a few signs stay; the rest becomes `%41`. A leading dot could make a name that ZooKeeper keeps
/// for itself.
fn escape(text: &str) -> String {
    let mut name = String::with_capacity(text.len() + 8);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b':' | b'@' => name.push(char::from(byte)),
            b'.' if at > 0 => name.push('.'),
            byte => name += &format!("%{byte:02X}"),
        }
    }
    name
}

/// `None` for what we have not written.
pub(super) fn key(name: &str) -> Option<Key> {
    let text = crate::url::percent_decode(name);
    Key::from_store(&text).ok().filter(|key| escape(key.as_str()) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_name_of_its_own_and_is_found_by_it() {
        for text in ["a", ".", "..", "a/b", "a%2Fb", "a b", "Ünïcode", "x.y:z@w-_", "a//b"] {
            let name = escape(text);
            assert!(!name.contains('/') && !name.starts_with('.'), "{name}");
            assert_eq!(key(&name).unwrap().as_str(), text);
        }
        assert_eq!(key("a b"), None, "not as we write it");
    }
}
