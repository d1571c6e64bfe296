//! Keys as file names: readable, safe on every file system, and never two keys for one name.

use stanchion_core::Key;

/// The longest stem. 255 bytes is the common limit of a name; suffixes need the rest.
const STEM_MAX: usize = 180;

/// How much of a long key stays readable before its hash.
const HEAD: usize = 120;

/// The name of a key's files, without suffix.
///
/// Upper case becomes `+` and lower case, because some file systems ignore case; everything outside
/// `a-z 0-9 . _ -` becomes `%xx`. A long key keeps its head and gets `~` and a hash; `~` never comes out
/// of the encoding itself, so the two forms cannot meet. A hashed name does not prove its key: the lock
/// file holds the whole key and is compared when it is opened.
pub(super) fn stem(key: &Key) -> String {
    let mut out = String::with_capacity(key.as_str().len() + 8);
    for (i, byte) in key.as_str().bytes().enumerate() {
        match byte {
            // A leading dot would hide the file.
            b'.' if i == 0 => out.push_str("%2e"),
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => out.push(char::from(byte)),
            b'A'..=b'Z' => {
                out.push('+');
                out.push(char::from(byte.to_ascii_lowercase()));
            }
            other => out.push_str(&format!("%{other:02x}")),
        }
    }
    if out.len() > STEM_MAX {
        out.truncate(HEAD);
        out.push_str(&format!("~{:032x}", hash128(key.as_str().as_bytes())));
    }
    out
}

/// Whether this stem holds a hash, so that its key must be read from the file.
pub(super) fn is_hashed(stem: &str) -> bool {
    stem.contains('~')
}

/// Reads a stem back. `None` for a hashed stem and for names that are not ours.
pub(super) fn key_of(stem: &str) -> Option<Key> {
    let mut bytes = Vec::with_capacity(stem.len());
    let mut rest = stem.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(rest.next()?.to_ascii_uppercase()),
            b'%' => {
                let pair = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
            }
            b'~' => return None,
            other => bytes.push(other),
        }
    }
    let key = Key::from_store(std::str::from_utf8(&bytes).ok()?).ok()?;
    // A stranger's file can decode to a key whose own file it is not.
    (self::stem(&key) == stem).then_some(key)
}

/// FNV-1a, 128 bits: well spread and a few lines. Safety does not rest on it; see [`stem`].
fn hash128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_readable_and_read_back() {
        for (text, name) in [
            ("deploy", "deploy"),
            ("Deploy", "+deploy"),
            (".hidden", "%2ehidden"),
            ("budget:42/é", "budget%3a42%2f%c3%a9"),
            ("a~b", "a%7eb"),
        ] {
            let key = Key::new(text).unwrap();
            assert_eq!(stem(&key), name);
            assert_eq!(key_of(name), Some(key));
        }
    }

    #[test]
    fn long_keys_differ_in_their_hash_and_fit_a_file_name() {
        let (a, b) = ("x".repeat(500), format!("{}y", "x".repeat(499)));
        let (a, b) = (stem(&Key::new(a).unwrap()), stem(&Key::new(b).unwrap()));
        assert_ne!(a, b);
        assert!(a.len() < 200 && is_hashed(&a) && key_of(&a).is_none());
    }

    #[test]
    fn a_strangers_file_is_not_a_key() {
        assert_eq!(key_of("README.MD"), None);
        assert_eq!(key_of("a%"), None);
    }
}
