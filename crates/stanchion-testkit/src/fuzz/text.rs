//! Texts made of other texts, by a fixed sequence of numbers.

use super::Random;

/// What opens, what closes it, and what is in between.
const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("f(", ")"),
    ("if (a) {", "}"),
    ("async () => {", "}"),
    ("${`", "`}"),
    ("<a>", "</a>"),
    ("lambda: ", ""),
    ("await ", ""),
    ("not ", ""),
    ("!", ""),
    ("&", ""),
    ("a.", "b"),
    ("a?.b(", ")"),
    ("x = ", ""),
    ("try { ", "} finally {}"),
    ("with a:\n ", ""),
    ("SELECT (", ")"),
    ("json!({\"a\": ", "})"),
    ("match x { _ => ", "}"),
    ("Vec<", ">"),
    ("{{", "}}"),
    ("- ", ""),
    ("a: {", "}"),
];

/// Characters and words that begin or end something, or count for more than one.
const WORDS: &[&str] = &[
    "\u{feff}",
    "\u{202e}",
    "\u{1f468}\u{200d}\u{1f469}",
    "İ",
    "ß",
    "\u{0301}",
    "\u{2028}",
    "\r",
    "\r\n",
    "\t",
    "\u{b}",
    "\\",
    "\\u{",
    "\\x",
    "\"",
    "'",
    "`",
    "\"\"\"",
    "'''",
    "r#\"",
    "b'",
    "f\"{",
    "/*",
    "*/",
    "//",
    "#",
    "--",
    "$$",
    "<!--",
    "${",
    "%s",
    "{}",
    "{0!r:>{1}}",
    "?",
    "$1",
    ":a",
    "@a",
    "0x",
    "1e999",
    "99999999999999999999999999",
    "-0",
    "1_",
    "..",
    "...",
    "=>",
    "->",
    "::",
    ":=",
    "?.",
    "??=",
    "**",
    "<<",
    "&&",
    ";",
    ",",
    "\n",
    "\n\n",
    "    ",
    "async ",
    "await ",
    "yield ",
    "return ",
    "break ",
    "continue ",
    "finally ",
    "else ",
    "class A extends A ",
    "import * as a from './a'\n",
    "from . import *\n",
    "from .a import b as a\n",
    "export * from './a';\n",
    "use super::*;\n",
    "defer ",
    "go ",
    "select ",
    "this.",
    "self.",
    "super()",
    "new ",
    "static ",
    "get ",
    "where 1=1 or ",
    "FOR UPDATE",
    "BEGIN;",
    "ON CONFLICT",
    "// stanchion-audit: ignore RC101 -- why\n",
    "# stanchion-audit: ignore-file RC101,RC999\n",
    "*a",
    "<<: *a\n",
    "&a ",
    "__proto__",
    "constructor",
    "9223372036854775808",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
];

/// Words, blanks and signs.
fn tokens(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        '_' | '$' => 0,
        c if c.is_alphanumeric() => 0,
        ' ' | '\t' => 1,
        _ => 2,
    };
    let (mut tokens, mut start, mut last) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        let now = class(c);
        if last.is_some_and(|last| last != now || now == 2) {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = Some(now);
    }
    tokens.push(&text[start..]);
    tokens
}

/// A part of something `long`, usually short.
fn part(random: &mut Random, long: usize) -> std::ops::Range<usize> {
    let start = random.below(long);
    let most = if random.once_in(4) { long } else { 12 };
    start..(start + 1 + random.below(most)).min(long)
}

/// At most this much; larger texts only make every run slower.
const MOST: usize = 200_000;

fn repeated(random: &mut Random, text: &str) -> usize {
    let times = match random.below(8) {
        0 => 3_000,
        1 | 2 => 300,
        _ => 12,
    };
    (1 + random.below(times)).min(MOST / text.len().max(1))
}

/// Changes a text in some places; `other` is what parts may be taken from.
///
/// ```
/// use stanchion_testkit::fuzz::{Random, mutate};
/// let (one, two) = (mutate(&mut Random::new(7), "a(b)", "c"), mutate(&mut Random::new(7), "a(b)", "c"));
/// assert_eq!(one, two);
/// ```
pub fn mutate(random: &mut Random, text: &str, other: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..1 + random.below(6) {
        text = changed(random, &text, other);
        if text.len() > MOST {
            text.truncate(text.floor_char_boundary(MOST));
        }
    }
    text
}

fn changed(random: &mut Random, text: &str, other: &str) -> String {
    let all = tokens(text);
    let span = part(random, all.len());
    let (before, inside, after) = (all[..span.start].concat(), all[span.clone()].concat(), all[span.end..].concat());
    match random.below(13) {
        // Less of it.
        0 => before + &after,
        1 => before,
        2 => after,
        // More of it.
        3 => {
            let times = repeated(random, &inside);
            before + &inside.repeat(times) + &after
        }
        4 => before + &inside + random.pick(WORDS) + &after,
        5 | 6 => {
            let more = tokens(other);
            let taken = part(random, more.len());
            before + &more[taken].concat() + &after
        }
        7 => before + &other[other.floor_char_boundary(random.below(other.len()))..],
        // Deeper.
        8 => {
            let (open, close) = NESTS[random.below(NESTS.len())];
            let times = repeated(random, &format!("{open}{close}"));
            // Sometimes never closed.
            let closed = if random.once_in(3) { random.below(times) } else { times };
            before + &open.repeat(times) + &inside + &close.repeat(closed) + &after
        }
        // The same names in other places: calls that go in circles.
        9 => renamed(random, &all),
        // Elsewhere.
        10 => {
            let at = all[..span.start].len() / 2;
            all[..at].concat() + &inside + &all[at..span.start].concat() + &after
        }
        11 => lines(random, text),
        _ => noise(random, text),
    }
}

fn renamed(random: &mut Random, all: &[&str]) -> String {
    let names: Vec<&str> = all.iter().copied().filter(|token| token.starts_with(char::is_alphabetic)).collect();
    if names.is_empty() {
        return all.concat();
    }
    let (from, to) = (random.pick(&names), random.pick(&names));
    all.iter().map(|token| if *token == from { to } else { token }).collect()
}

/// Lines that change places or how far they are moved in.
fn lines(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    for _ in 0..1 + random.below(4) {
        let (a, b) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(4) {
            0 => lines.swap(a, b),
            1 => lines[a] = format!("{}{}", " ".repeat(random.below(9)), lines[a].trim_start()),
            2 => lines[a] = lines[a].trim_start().to_owned(),
            _ => lines.insert(a, lines[b].clone()),
        }
    }
    lines.join("\n")
}

/// Bytes that are exchanged, or that nobody wrote.
fn noise(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if random.once_in(6) {
        let ascii = random.once_in(2);
        bytes = (0..random.below(3_000))
            .map(|_| (if ascii { 32 + random.below(95) } else { 1 + random.below(255) }) as u8)
            .collect();
    } else if !bytes.is_empty() {
        for _ in 0..1 + random.below(16) {
            let (to, from) = (random.below(bytes.len()), random.below(bytes.len()));
            bytes[to] = bytes[from];
        }
    }
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
