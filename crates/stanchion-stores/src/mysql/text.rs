//! Values as they stand in a statement, and prefixes as ranges of an index.
//!
//! Statements are text, not prepared: several go out in one packet, and nothing is left on a connection that a pooler
//! could mix up.

use std::fmt::Write as _;

use stanchion_core::Page;

/// The server's clock when the statement began, in microseconds; the same value wherever it stands in one statement.
/// A statement that waits for a row judges by a time that has passed, which ends no lease early.
pub(super) const NOW: &str = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS UNSIGNED)";

/// A byte string. Our connections escape with `\`, and a byte that is no character stands for itself.
pub(super) fn bytes(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 16);
    out.extend_from_slice(b"_binary'");
    for byte in value {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(*byte),
        }
    }
    out.push(b'\'');
    out
}

/// Text of ours, as a byte string.
pub(super) fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 12);
    out.push_str("_binary'");
    for c in value.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\0' => out.push_str("\\0"),
            _ => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// `k` between `prefix` and what comes after everything that begins with it, and after the page's key.
pub(super) fn range(prefix: &str, page: &Page) -> String {
    // Stanchion's own keys begin with U+0001 and show only to those who ask for them.
    let mut sql = format!("k >= {}", text(if prefix.is_empty() { "\u{2}" } else { prefix }));
    if let Some(upper) = upper(prefix) {
        sql.push_str(" AND k < x'");
        for byte in upper {
            // Writing to a string cannot fail.
            write!(sql, "{byte:02x}").ok();
        }
        sql.push('\'');
    }
    if let Some(after) = &page.after {
        sql.push_str(" AND k > ");
        sql.push_str(&text(after.as_str()));
    }
    sql
}

/// The first bytes after everything that begins with `prefix`; `None` if there are none.
fn upper(prefix: &str) -> Option<Vec<u8>> {
    let mut bytes = prefix.as_bytes().to_vec();
    while let Some(last) = bytes.pop() {
        if last < u8::MAX {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

pub(super) fn limit(page: &Page) -> u64 {
    u64::try_from(page.limit).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use stanchion_core::{Key, Page};

    use super::*;

    #[test]
    fn nothing_ends_a_literal_from_within() {
        assert_eq!(text("it's"), r"_binary'it\'s'");
        assert_eq!(text(r"\' OR 1"), r"_binary'\\\' OR 1'");
        assert_eq!(bytes(b"\0'\xff\\"), b"_binary'\\0\\'\xff\\\\'");
    }

    #[test]
    fn a_range_ends_behind_its_prefix() {
        let page = Page::after(Key::new("ab7").unwrap(), 3);
        assert_eq!(range("ab", &page), "k >= _binary'ab' AND k < x'6163' AND k > _binary'ab7'");
        assert_eq!(range("", &Page::first(1)), "k >= _binary'\u{2}'");
    }
}
