//! A unified diff, made from the edits themselves: there is nothing to search for.

use std::fmt::Write as _;

use super::splice::{Splice, apply};
use super::tree::Span;

/// Lines shown around a change.
const CONTEXT: usize = 2;

/// The longest line that is shown: minified files are one line of megabytes.
const WIDTH: usize = 200;

/// What a line, or several that one edit joins, was and becomes.
struct Block {
    old: Vec<String>,
    new: Vec<String>,
    changed: bool,
}

/// What the edits change in `source`, with everything in `hidden` replaced.
pub(super) fn unified(path: &str, source: &str, edits: &[Splice], hidden: &[Splice]) -> String {
    let blocks = blocks(source, edits, hidden);
    let mut out = format!("--- {path}\n+++ {path}\n");
    let (mut old_line, mut new_line, mut at) = (1, 1, 0);
    while at < blocks.len() {
        let near = |from: usize, far: usize| blocks[from..blocks.len().min(from + far)].iter().position(|b| b.changed);
        if near(at, CONTEXT + 1).is_none() {
            old_line += blocks[at].old.len();
            new_line += blocks[at].new.len();
            at += 1;
            continue;
        }
        let start = at;
        // A gap of more than twice the context parts two hunks.
        let mut end = at;
        while let Some(next) = near(end, if end == at { CONTEXT + 1 } else { 2 * CONTEXT + 1 }) {
            end += next + 1;
        }
        at = blocks.len().min(end + CONTEXT);
        let hunk = &blocks[start..at];
        let (old, new): (usize, usize) =
            (hunk.iter().map(|b| b.old.len()).sum(), hunk.iter().map(|b| b.new.len()).sum());
        writeln!(out, "@@ -{old_line},{old} +{new_line},{new} @@").unwrap_or_default();
        hunk.iter().for_each(|block| block.write(&mut out));
        old_line += old;
        new_line += new;
    }
    out
}

impl Block {
    fn write(&self, out: &mut String) {
        let mut line = |sign: char, text: &str| writeln!(out, "{sign}{text}").unwrap_or_default();
        let most = self.old.len().min(self.new.len());
        let head = (0..most).take_while(|at| self.old[*at] == self.new[*at]).count();
        let same = |back: &usize| self.old[self.old.len() - 1 - back] == self.new[self.new.len() - 1 - back];
        let tail = (0..most - head).take_while(same).count();
        let ends = (self.old.len() - tail, self.new.len() - tail);
        self.old[..head].iter().for_each(|text| line(' ', &shown(text, text)));
        for (at, text) in self.old[head..ends.0].iter().enumerate() {
            line('-', &shown(text, self.new.get(head + at).unwrap_or(text)));
        }
        for (at, text) in self.new[head..ends.1].iter().enumerate() {
            line('+', &shown(text, self.old.get(head + at).unwrap_or(text)));
        }
        self.old[ends.0..].iter().for_each(|text| line(' ', &shown(text, text)));
    }
}

/// The lines of the source, joined where an edit reaches over their end.
fn blocks(source: &str, edits: &[Splice], hidden: &[Splice]) -> Vec<Block> {
    // A hidden text that is edited is shown as the edit has it.
    let overlaps = |a: &Span, b: &Span| a.start < b.end && b.start < a.end;
    let hidden: Vec<&Splice> =
        hidden.iter().filter(|one| !edits.iter().any(|edit| overlaps(&edit.span, &one.span))).collect();
    let mut all: Vec<(&Splice, bool)> = hidden.into_iter().map(|one| (one, false)).collect();
    all.extend(edits.iter().map(|edit| (edit, true)));
    all.sort_by_key(|(splice, _)| splice.span.start);
    let (mut out, mut at, mut next) = (Vec::<Block>::new(), 0, 0);
    while at < source.len() {
        let line_end = |from: usize| source[from..].find('\n').map_or(source.len(), |found| from + found + 1);
        let (first, mut end) = (next, line_end(at));
        while let Some((splice, _)) = all.get(next)
            && (splice.span.start < end || end == source.len())
        {
            if splice.span.end > end {
                end = line_end(splice.span.end - 1).max(splice.span.end);
            }
            next += 1;
        }
        let here = |edited: bool| -> Vec<Splice> {
            let moved = |splice: &Splice| Splice {
                span: splice.span.start - at..splice.span.end - at,
                text: splice.text.clone(),
            };
            all[first..next].iter().filter(|(_, edit)| edited || !edit).map(|(splice, _)| moved(splice)).collect()
        };
        let text = &source[at..end];
        let lines =
            |edited: bool| -> Vec<String> { apply(text, &here(edited)).lines().map(ToOwned::to_owned).collect() };
        let changed = all[first..next].iter().any(|(_, edit)| *edit);
        let block = Block { old: lines(false), new: lines(true), changed };
        match out.last_mut() {
            // What is removed comes before what is added, over all of a change.
            Some(Block { old, new, changed: true }) if changed => {
                old.extend(block.old);
                new.extend(block.new);
            }
            _ => out.push(block),
        }
        at = end;
    }
    out
}

/// A line for the terminal: nothing in it steers it, and of a long one only the surroundings of what differs.
fn shown(line: &str, other: &str) -> String {
    let count = line.chars().count();
    let same = line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = if count <= WIDTH || same == count { 0 } else { same.saturating_sub(WIDTH / 4).min(count - WIDTH) };
    let mut out = String::new();
    if from > 0 {
        out.push('…');
    }
    for c in line.chars().skip(from).take(WIDTH) {
        if c.is_control() && c != '\t' { out.extend(c.escape_default()) } else { out.push(c) }
    }
    if count > from + WIDTH {
        out.push('…');
    }
    out
}
