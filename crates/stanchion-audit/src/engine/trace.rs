//! What the engine hands out: an entry point, and what it does.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::event::Site;
use super::listed::{Listed, Named, Part};
use super::value::{Closure, Origins, Value};
use super::{Event, EventId, Made};
use crate::hir::FunctionId;

/// How code comes to run concurrently with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    Tool,
    Route,
    Consumer,
    Timer,
    Hook,
    /// Nobody here calls it; others may.
    Loose,
}

/// A function that is run from outside.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) entry: Entry,
    /// The tool's or route's name.
    pub(crate) name: Rc<str>,
    pub(crate) site: Site,
    /// The file whose code registered it, whoever it has called for that.
    pub(super) by: usize,
    /// What its author says of it: `readOnlyHint` and so on.
    pub(crate) hints: BTreeMap<&'static str, bool>,
    pub(super) function: Rc<Closure>,
    /// What is called: the function, with what its decorators put around it.
    pub(super) handler: Value,
    /// Loading a file registers it, whoever looks at that file.
    pub(super) early: bool,
    /// One of the two handlers of a low-level server.
    pub(super) part: Option<Part>,
}

impl Root {
    /// The function that is run: its file, and which one there.
    pub(crate) fn handles(&self) -> (usize, FunctionId) {
        (self.function.file, self.function.function)
    }
}

/// What one entry point does.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) root: Root,
    pub(super) events: Vec<Event>,
    pub(super) early: Rc<Vec<Event>>,
    /// From here on functions run that it has given back.
    pub(super) call_end: EventId,
    /// What it gives derives from these.
    pub(crate) answer: Origins,
    /// Objects that it makes with all their fields.
    pub(crate) made: Vec<Made>,
    /// The tools that it is for, if another handler lists them.
    pub(crate) tools: Vec<Listed>,
    pub(super) named: Named,
    /// Something was left out because it was too much.
    pub(crate) cut: bool,
}

impl Trace {
    /// What the entry point does, in order.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What was done before any entry point ran, by all files that were loaded so far.
    pub(crate) fn loaded(&self) -> &[Event] {
        &self.early
    }

    pub(crate) fn event(&self, id: EventId) -> Option<&Event> {
        match id.checked_sub(EARLY) {
            Some(early) => self.early.get(early as usize),
            None => self.events.get(id as usize),
        }
    }

    /// Whether something happens for this tool only.
    pub(crate) fn is_of(&self, tool: &str, event: &Event) -> bool {
        self.named.is_of(tool, event)
    }

    /// Whether the first is of the call, and the other of a function that the call gave back, for somebody to call later.
    pub(crate) fn is_later(&self, first: &Event, other: &Event) -> bool {
        first.id < self.call_end && (self.call_end..EARLY).contains(&other.id)
    }
}

/// Events of loading are numbered from here: they belong to all traces.
pub(super) const EARLY: EventId = 1 << 30;
