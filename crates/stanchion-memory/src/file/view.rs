//! The file as this process last read it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Instant;

use super::record::Stamp;
use crate::jsonl::{self, Item, Line};
use crate::{Damaged, Graph, Selection};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a line of the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The next one of [`Graph::entities`].
    Entity,
    /// The next one of [`Graph::relations`].
    Relation,
    Other,
    Damaged,
}

/// One line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) kind: Kind,
    /// It is marked as the part of a mutation that goes on.
    pub(super) continues: bool,
}

impl Span {
    pub(super) const fn end(&self) -> u64 {
        self.start + self.length
    }
}

#[derive(Debug, Default)]
pub(super) struct View {
    /// Kept open, so that its number is not given to another file while we compare by it.
    pub(super) file: Option<File>,
    /// `None`: there is no file.
    pub(super) stamp: Option<Stamp>,
    /// By which number a record vouched for it.
    pub(super) chain: Option<u64>,
    pub(super) graph: Graph,
    /// All lines that are not blank, in their order.
    pub(super) spans: Vec<Span>,
    /// How far the file was understood: behind the last whole mutation.
    pub(super) end: u64,
    /// The last line has no end.
    pub(super) is_open: bool,
    /// What is no part of the graph: lines, and what is behind `end`.
    pub(super) damaged: Vec<Damaged>,
    /// It is one document, not lines.
    pub(super) is_document: bool,
    /// It begins with a byte order mark, which the official server cannot read.
    pub(super) has_mark: bool,
    /// When it was read as a whole.
    pub(super) since: Option<Instant>,
    /// Lines begun, also blank ones: for people.
    pub(super) lines: usize,
}

impl View {
    /// Reads the file, at most `limit` bytes of it. An empty view without a stamp if there is none.
    pub(super) fn load(path: &Path, limit: Option<u64>) -> io::Result<Self> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(e),
        };
        let mut stamp = Stamp::of(&file.metadata()?);
        stamp.size = limit.map_or(stamp.size, |limit| limit.min(stamp.size));
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0));
        file.by_ref().take(stamp.size).read_to_end(&mut bytes)?;
        let mut view = Self { stamp: Some(stamp), ..Self::default() };
        match jsonl::read_document(&bytes) {
            Some((Selection { entities, relations }, damaged)) => {
                view.graph = Graph::new(entities, relations);
                (view.damaged, view.is_document, view.end) = (damaged, true, stamp.size);
            }
            None => view.take(&bytes),
        }
        (view.file, view.since) = (Some(file), Some(Instant::now()));
        Ok(view)
    }

    /// Reads what was added since, up to the size of `now`.
    pub(super) fn extend(&mut self, now: Stamp) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(self.end))?;
        let mut bytes = Vec::new();
        file.take(now.size.saturating_sub(self.end)).read_to_end(&mut bytes)?;
        self.take(&bytes);
        self.stamp = Some(now);
        Ok(())
    }

    /// Understands what is in the file behind `end`.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        // Lines of a mutation whose last line has not come yet.
        let mut open: Vec<(Span, Item)> = Vec::new();
        let (mut start, base) = (0, self.end);
        if base == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
            (start, self.has_mark) = (BYTE_ORDER_MARK.len(), true);
        }
        while start < bytes.len() {
            let stop = memchr::memchr(b'\n', &bytes[start..]).map(|at| start + at);
            let line = &bytes[start..stop.unwrap_or(bytes.len())];
            let next = stop.map_or(bytes.len(), |stop| stop + 1);
            let span =
                Span { start: base + start as u64, length: line.len() as u64, kind: Kind::Other, continues: false };
            self.lines += 1;
            match jsonl::read_line(line) {
                None if open.is_empty() => self.end = base + next as u64,
                None => {}
                // Perhaps somebody is still writing it.
                Some(Err(reason)) if stop.is_none() => {
                    self.unfinished(open, reason, bytes, base);
                    return;
                }
                Some(Err(reason)) => {
                    open.drain(..)
                        .for_each(|(span, _)| self.spoil(span, "a part of a mutation that was cut off", bytes, base));
                    self.spoil(span, &reason, bytes, base);
                    self.end = base + next as u64;
                }
                Some(Ok(Line { item, continues })) => {
                    open.push((Span { continues, ..span }, item));
                    if !continues {
                        open.drain(..).for_each(|(span, item)| self.accept(span, item));
                        self.end = base + next as u64;
                    }
                }
            }
            // A blank at the end is no line that has to be ended.
            self.is_open = stop.is_none() && self.spans.last().is_some_and(|last| last.end() == self.end);
            start = next;
        }
        if !open.is_empty() {
            self.unfinished(open, "a mutation that was cut off".into(), bytes, base);
        }
    }

    fn accept(&mut self, span: Span, item: Item) {
        let kind = match item {
            Item::Entity(entity) => {
                self.graph.push_entity(entity);
                Kind::Entity
            }
            Item::Relation(relation) => {
                self.graph.push_relation(relation);
                Kind::Relation
            }
            Item::Other => Kind::Other,
        };
        self.spans.push(Span { kind, ..span });
    }

    fn spoil(&mut self, span: Span, reason: &str, bytes: &[u8], base: u64) {
        let at = usize::try_from(span.start - base).unwrap_or(usize::MAX);
        let line = bytes.get(at..).and_then(|rest| rest.get(..usize::try_from(span.length).unwrap_or(usize::MAX)));
        self.damaged.push(Damaged {
            line: self.lines,
            reason: reason.into(),
            bytes: line.unwrap_or_default().to_vec(),
        });
        self.spans.push(Span { kind: Kind::Damaged, ..span });
    }

    /// Everything behind `end` is one piece that does not count.
    fn unfinished(&mut self, open: Vec<(Span, Item)>, reason: String, bytes: &[u8], base: u64) {
        let line = self.lines - open.len().min(self.lines.saturating_sub(1));
        let at = usize::try_from(self.end - base).unwrap_or(usize::MAX);
        self.damaged.push(Damaged { line, reason, bytes: bytes.get(at..).unwrap_or_default().to_vec() });
    }

    /// Whether it is this file at an earlier point of the same chain: then only what is behind its end is new.
    pub(super) fn is_at(&self, chain: u64, size: u64) -> bool {
        // There may have been no file yet.
        self.file.is_some() && self.chain == Some(chain) && self.end <= size
    }

    /// Whether there is something behind `end` that does not count.
    pub(super) fn has_tail(&self) -> bool {
        !self.is_document && self.stamp.is_some_and(|stamp| stamp.size > self.end)
    }

    /// Whether something before its end is damaged.
    pub(super) fn has_spoilt(&self) -> bool {
        !self.damaged.is_empty() && (self.is_document || self.spans.iter().any(|span| span.kind == Kind::Damaged))
    }

    /// Whether something has to be set right before anything is written.
    pub(super) fn needs_care(&self) -> bool {
        self.is_document || self.has_mark || !self.damaged.is_empty() || self.has_tail()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(name: &str, mark: &str) -> String {
        format!(r#"{{"type":"entity","name":"{name}","entityType":"t","observations":[]{mark}}}"#)
    }

    fn view(text: &str) -> View {
        let mut view = View { stamp: Some(Stamp { size: text.len() as u64, ..Stamp::default() }), ..View::default() };
        view.take(text.as_bytes());
        view
    }

    fn names(view: &View) -> Vec<&str> {
        view.graph.entities().iter().map(|one| &*one.name).collect()
    }

    #[test]
    fn every_prefix_of_a_file_is_whole_mutations_and_a_tail() {
        let mark = r#","dev.stanchion/continues":true"#;
        let text = [entity("a", ""), entity("b", mark), entity("c", mark), entity("d", ""), entity("e", "")].join("\n");
        for cut in 0..=text.len() {
            let view = view(&text[..cut]);
            let all = ["a", "b", "c", "d", "e"];
            let whole = names(&view);
            assert!([0, 1, 4, 5].contains(&whole.len()) && all.starts_with(&whole), "{cut}: {whole:?}");
            assert!(view.end <= cut as u64);
            let rest = text[usize::try_from(view.end).unwrap()..cut].trim();
            assert_eq!(view.has_tail(), !rest.is_empty(), "{cut}: {rest}");
            // What comes later is understood as if all had come at once.
            let mut view = view;
            view.damaged.clear();
            let rest = &text[usize::try_from(view.end).unwrap()..];
            view.take(rest.as_bytes());
            assert_eq!(names(&view), all, "{cut}");
        }
    }

    #[test]
    fn a_damaged_line_in_the_middle_spoils_only_the_mutation_it_is_in() {
        let mark = r#","dev.stanchion/continues":true"#;
        let view = view(&[&entity("a", ""), "", &entity("b", mark), "{oops", &entity("c", ""), "\n"].join("\n"));
        assert_eq!(names(&view), ["a", "c"]);
        assert_eq!(view.damaged.len(), 2);
        assert!(view.has_spoilt() && !view.has_tail() && !view.is_open);
    }
}
