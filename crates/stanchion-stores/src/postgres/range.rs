//! Prefixes and pages as ranges of an index.

use stanchion_core::Page;

/// Where a listing of `prefix` begins. Stanchion's own keys begin with U+0001 and show only to those who ask for them:
/// see [`Key::is_listed_under`](stanchion_core::Key::is_listed_under).
pub(crate) fn lower(prefix: &str) -> &str {
    if prefix.is_empty() { "\u{2}" } else { prefix }
}

/// The first text, in byte order, after everything that begins with `prefix`; `None` if there is none.
pub(crate) fn upper(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // Surrogates are no characters: the next one after U+D7FF is U+E000.
        if let Some(next) = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

pub(crate) fn limit(page: &Page) -> i64 {
    i64::try_from(page.limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{lower, upper};

    #[test]
    fn a_listing_of_everything_begins_after_our_own_keys() {
        assert!(lower("") > "\u{1}lock/deploy" && lower("") < " ");
        assert_eq!(lower("\u{1}"), "\u{1}");
    }

    #[test]
    fn the_upper_end_is_the_next_text() {
        assert_eq!(upper("ab").as_deref(), Some("ac"));
        assert_eq!(upper("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(upper("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(upper(""), None);
    }
}
