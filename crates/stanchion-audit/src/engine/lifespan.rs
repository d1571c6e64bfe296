//! What a server's life span gives to all of its calls: `FastMCP("notes", lifespan=opened)`, and in a tool
//! `ctx.request_context.lifespan_context`.

use std::rc::Rc;

use super::Engine;
use super::call::Args;
use super::value::{Scope as Vars, Value};
use crate::hir::{Pattern, Span};
use crate::models::Words;

/// The variable that it is bound to.
const GIVEN: &str = "given";
/// Servers of the files that stand together.
const SERVERS_MOST: usize = 64;

impl Engine<'_> {
    /// A server is made: the function that opens what it works with runs before any call.
    pub(super) fn opens_with(&mut self, args: &Args, span: Span) {
        let named =
            |name: &Option<Rc<str>>| name.as_deref().is_some_and(|name| Words::is_one(&self.words().opens, name));
        let opens = args.iter().find_map(|(name, arg)| arg.closure().filter(|_| named(name)).cloned());
        let Some(opens) = opens.filter(|_| self.lifespans.len() < SERVERS_MOST) else { return };
        let (scope, site) = (Vars::module(), self.site(span));
        let bind = Some(Pattern::Name(GIVEN.into()));
        let at_yield = self.at_yield(Rc::from([]), bind, &scope);
        let early = std::mem::replace(&mut self.here.early, true);
        self.call_generator(&opens, vec![(None, Value::unknown("$server"))], site, at_yield);
        self.here.early = early;
        if let Some((found, _)) = scope.find(GIVEN) {
            let by = self.frames.first().map_or(site.file, |frame| frame.file);
            self.lifespans.push((by, found.value.shared()));
        }
    }

    /// What the server of the present call has opened: the one of its file, or the only one that is known.
    pub(super) fn opened(&self, field: &str) -> Option<Value> {
        if !Words::is_one(&self.words().opened, field) {
            return None;
        }
        let by = self.frames.first().map(|frame| frame.file);
        let own = self.lifespans.iter().rev().find(|(file, _)| Some(*file) == by);
        let found = own.or_else(|| self.lifespans.first().filter(|_| self.lifespans.len() == 1));
        found.map(|(_, given)| given.clone())
    }
}
