//! The lines by which a plan changes a file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::view::{Kind, Span, View};
use crate::{Entity, Plan, jsonl};

/// Lines that are added at the end.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    /// From the beginning of the batch.
    pub(super) spans: Vec<Span>,
}

impl Batch {
    /// Adds the lines of one mutation. Marked, they count only together, whatever a power cut leaves of them.
    pub(super) fn add(&mut self, plan: &Plan, marked: bool) {
        let mut left = plan.new_entities.len() + plan.new_relations.len();
        let mut line = |kind: Kind, write: &dyn Fn(&mut Vec<u8>, bool)| {
            left -= 1;
            let (start, continues) = (self.bytes.len(), marked && left > 0);
            write(&mut self.bytes, continues);
            let length = (self.bytes.len() - start) as u64;
            self.spans.push(Span { start: start as u64, length, kind, continues });
            self.bytes.push(b'\n');
        };
        for entity in &plan.new_entities {
            line(Kind::Entity, &|out, continues| jsonl::write_entity(out, entity, continues));
        }
        for relation in &plan.new_relations {
            line(Kind::Relation, &|out, continues| jsonl::write_relation(out, relation, continues));
        }
    }

    /// Moves it to where it will be in the file, behind a line that may have no end.
    pub(super) fn placed(mut self, size: u64, is_open: bool) -> Self {
        if is_open {
            self.bytes.insert(0, b'\n');
        }
        self.spans.iter_mut().for_each(|span| span.start += size + u64::from(is_open));
        self
    }
}

/// A piece of the next file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Lines as they stand in the present file, without the end of the last.
    Old(std::ops::Range<u64>),
    /// Lines, each with its end.
    New(Vec<u8>),
}

/// The next file: all of it, and where its lines will be.
#[derive(Debug, Default)]
pub(super) struct Next {
    pub(super) pieces: Vec<Piece>,
    pub(super) spans: Vec<Span>,
    pub(super) size: u64,
}

impl Next {
    /// What becomes of a file of lines. Damaged lines and blank ones are left out.
    pub(super) fn of(view: &View, old: &File, plan: &Plan) -> io::Result<Self> {
        let mut next = Self::default();
        let (mut entities, mut relations) = (0, 0);
        for span in &view.spans {
            let (gone, changed) = match span.kind {
                Kind::Entity => {
                    entities += 1;
                    (plan.gone_entities.contains(&(entities - 1)), plan.observations.get_key_value(&(entities - 1)))
                }
                Kind::Relation => {
                    relations += 1;
                    (plan.gone_relations.contains(&(relations - 1)), None)
                }
                Kind::Other => (false, None),
                Kind::Damaged => (true, None),
            };
            match changed {
                _ if gone => {}
                Some((at, observations)) => {
                    let new = jsonl::with_observations(&read(old, span)?, observations);
                    next.push_new(
                        span.kind,
                        new.unwrap_or_else(|| rewritten(&view.graph.entities()[*at], observations)),
                    );
                }
                None if span.continues => next.push_new(span.kind, jsonl::without_mark(&read(old, span)?)),
                None => next.push_old(span),
            }
        }
        next.push_added(plan);
        Ok(next)
    }

    /// A file of lines that is not made of one.
    pub(super) fn whole(view: &View, plan: &Plan) -> Self {
        let mut next = Self::default();
        let all = Plan {
            new_entities: view.graph.entities().to_vec(),
            new_relations: view.graph.relations().to_vec(),
            ..Plan::default()
        };
        next.push_added(&all);
        next.push_added(plan);
        next
    }

    fn push_added(&mut self, plan: &Plan) {
        let mut batch = Batch::default();
        batch.add(plan, false);
        let Batch { bytes, spans } = batch.placed(self.size, false);
        self.size += bytes.len() as u64;
        self.spans.extend(spans);
        self.push_bytes(&bytes);
    }

    fn push_new(&mut self, kind: Kind, mut line: Vec<u8>) {
        self.spans.push(Span { start: self.size, length: line.len() as u64, kind, continues: false });
        self.size += line.len() as u64 + 1;
        line.push(b'\n');
        self.push_bytes(&line);
    }

    fn push_old(&mut self, span: &Span) {
        self.spans.push(Span { start: self.size, ..*span });
        self.size += span.length + 1;
        match self.pieces.last_mut() {
            // Lines that stand together are copied together.
            Some(Piece::Old(range)) if range.end + 1 == span.start => range.end = span.end(),
            _ => self.pieces.push(Piece::Old(span.start..span.end())),
        }
    }

    /// Adds lines of our own to the last piece that is of those.
    fn push_bytes(&mut self, lines: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::New(bytes)) => bytes.extend_from_slice(lines),
            _ => self.pieces.push(Piece::New(lines.to_vec())),
        }
    }
}

fn rewritten(entity: &Entity, observations: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    let entity = Entity { observations: observations.to_vec(), ..entity.clone() };
    jsonl::write_entity(&mut out, &entity, false);
    out
}

/// A line of the present file.
fn read(mut file: &File, span: &Span) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(span.start))?;
    let mut line = Vec::new();
    file.take(span.length).read_to_end(&mut line)?;
    Ok(line)
}
