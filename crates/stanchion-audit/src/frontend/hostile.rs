//! Input that nobody wrote to be read, for the front-ends' tests. Not to panic is the test.

use super::{Dialect, lower};
use crate::hir::Module;

/// Every beginning of a text.
pub(crate) fn prefixes(dialect: Dialect, text: &str) {
    for (end, _) in text.char_indices() {
        lower(dialect, &text[..end]).unwrap();
    }
}

/// Brackets, operators, calls, branches, as deep as long.
pub(crate) fn deep(dialect: Dialect, before: &str, open: &str, after: &str) {
    let parse = |middle: &str| -> Module { lower(dialect, &format!("{before}{open}{middle}{after}")).unwrap() };
    let (n, few) = (100_000, 5_000);
    parse(&"(".repeat(n));
    parse(&format!("{}1{}", "(".repeat(n), ")".repeat(n)));
    parse(&format!("1{}", " + 1".repeat(50_000)));
    parse(&format!("\"a\"{}", " + x".repeat(50_000)));
    parse(&format!("a{}", ".b()".repeat(n)));
    parse(&format!("{}1{}", "f(".repeat(few), ")".repeat(few)));
    parse(&format!("{}1", "!".repeat(n)));
    parse(&"[".repeat(few));
    parse(&"{".repeat(few));
    parse(&"if a {".repeat(few));
    parse(&"m![".repeat(few));
}

/// Bytes of the text exchanged, and bytes of nothing, by a fixed sequence.
pub(crate) fn noise(dialect: Dialect, text: &str) {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(most).unwrap()).unwrap()
    };
    for _ in 0..200 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..8 {
            let (to, from) = (next(bytes.len()), next(bytes.len()));
            bytes[to] = bytes[from];
        }
        lower(dialect, &String::from_utf8_lossy(&bytes)).unwrap();
        let bytes: Vec<_> = (0..400).map(|_| u8::try_from(next(256)).unwrap()).collect();
        lower(dialect, &String::from_utf8_lossy(&bytes)).unwrap();
    }
}
