//! A configuration file as a tree whose leaves know where they stand, whatever the format. Edits are made in the text
//! itself, at these places, so that every other byte stays.

use std::ops::Range;

/// Bytes of the text.
pub(super) type Span = Range<usize>;

#[derive(Debug)]
pub(super) enum Node {
    Text(Word),
    List(List),
    Map(Map),
    /// Numbers, booleans, dates, null.
    Other,
}

/// A text with its quotes.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) span: Span,
    pub(super) value: String,
}

#[derive(Debug)]
pub(super) struct List {
    /// With its brackets.
    pub(super) span: Span,
    pub(super) items: Vec<Node>,
}

#[derive(Debug)]
pub(super) struct Map {
    pub(super) layout: Layout,
    pub(super) members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) key: Span,
    pub(super) value: Node,
}

/// How a further member is written beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `"name": value`, behind a comma
    Json,
    /// `name = value`, on a line of its own
    TomlLines,
    /// `name = value`, behind a comma
    TomlInline,
}

impl Map {
    pub(super) fn get(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Whether the name stands there more than once: which of them counts is for the client to say.
    pub(super) fn is_ambiguous(&self, name: &str) -> bool {
        self.members.iter().filter(|member| member.name == name).count() > 1
    }
}
