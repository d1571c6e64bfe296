//! Where things lie in etcd.

use stanchion_core::{Key, Owner};

/// The last byte of a lock's name in its entries. No key of a user contains a control character, so no lock's entries lie
/// among those of another, and all names sort as the keys do.
const ENTRY: u8 = b'\t';

/// The keys of one namespace.
///
/// | key | holds |
/// |---|---|
/// | `ns/r/KEY` | a record |
/// | `ns/f/KEY` | the highest token that has touched it; outlives the record |
/// | `ns/l/KEY⇥PLACE` | one who holds or waits; ends with its client's lease |
/// | `ns/lift` | what is added to all fences |
#[derive(Debug, Clone)]
pub(super) struct Names(String);

impl Names {
    pub(super) fn new(namespace: &str) -> Self {
        Self(namespace.to_owned())
    }

    pub(super) fn record(&self, key: &Key) -> Vec<u8> {
        format!("{}/r/{key}", self.0).into_bytes()
    }

    pub(super) fn floor(&self, key: &Key) -> Vec<u8> {
        format!("{}/f/{key}", self.0).into_bytes()
    }

    pub(super) fn lift(&self) -> Vec<u8> {
        format!("{}/lift", self.0).into_bytes()
    }

    /// A new name for an entry.
    pub(super) fn entry(&self, key: &Key) -> Vec<u8> {
        [&self.line(key).0[..], Owner::random().to_hex().as_bytes()].concat()
    }

    /// All entries of a lock, from and up to.
    pub(super) fn line(&self, key: &Key) -> (Vec<u8>, Vec<u8>) {
        let name = format!("{}/l/{key}", self.0).into_bytes();
        ([&name[..], &[ENTRY]].concat(), [&name[..], &[ENTRY + 1]].concat())
    }

    /// The records under a prefix, from and up to.
    pub(super) fn listed(&self, prefix: &str, after: Option<&Key>) -> (Vec<u8>, Vec<u8>) {
        between(&format!("{}/r/", self.0), prefix, after.map(|after| [after.as_str().as_bytes(), &[0]].concat()))
    }

    /// The entries of all locks under a prefix, from and up to.
    pub(super) fn lines(&self, prefix: &str, after: Option<&Key>) -> (Vec<u8>, Vec<u8>) {
        let after = after.map(|after| [after.as_str().as_bytes(), &[ENTRY + 1]].concat());
        between(&format!("{}/l/", self.0), prefix, after)
    }

    pub(super) fn key_of_record(&self, name: &[u8]) -> Option<Key> {
        let name = std::str::from_utf8(name).ok()?;
        Key::from_store(name.strip_prefix(self.0.as_str())?.strip_prefix("/r/")?).ok()
    }

    /// The lock of an entry.
    pub(super) fn key_of_entry(&self, name: &[u8]) -> Option<Key> {
        let name = std::str::from_utf8(name).ok()?.strip_prefix(self.0.as_str())?.strip_prefix("/l/")?;
        Key::from_store(name.rsplit_once(char::from(ENTRY))?.0).ok()
    }
}

fn between(folder: &str, prefix: &str, after: Option<Vec<u8>>) -> (Vec<u8>, Vec<u8>) {
    // Keys of users begin at the space or later; our own begin before it.
    let first = if prefix.is_empty() { b" ".to_vec() } else { prefix.as_bytes().to_vec() };
    let first = after.map_or(first.clone(), |after| after.max(first));
    // No key contains the byte 255, so this is just past the last one with the prefix.
    ([folder.as_bytes(), &first].concat(), [folder.as_bytes(), prefix.as_bytes(), &[255]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_lock_lies_among_the_entries_of_another() {
        let names = Names::new("ns");
        let [a, below, beside] = ["a", "a/b", "a b"].map(|text| Key::new(text).unwrap());
        let (from, to) = names.line(&a);
        let entry = names.entry(&a);
        assert!(from < entry && entry < to);
        assert_eq!(names.key_of_entry(&entry), Some(a.clone()));
        for other in [&below, &beside] {
            let entry = names.entry(other);
            assert!(entry < from || entry >= to, "{other}");
        }
        assert_eq!(names.key_of_record(&names.record(&below)), Some(below));
    }
}
