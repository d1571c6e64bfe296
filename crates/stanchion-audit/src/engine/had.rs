//! What may not be had, and is ours behind whatever asks for it until it is: `while not lock.acquire(timeout=1): …`.

use std::rc::Rc;

use super::Engine;
use super::absent::if_absent;
use super::again::is_endless;
use super::compared::Says;
use super::event::What;
use super::value::{EventId, Origins, Scope as Vars};
use crate::hir::{Expr, ExprKind, Loop};

/// Whether a condition holds when what it asks for was had; nothing if it does not say.
pub(super) fn if_had(cond: &Expr) -> Option<bool> {
    let (of, negated) = cond.negated();
    match &of.kind {
        ExprKind::Binary { op, right, .. } if matches!(op.as_str(), "==" | "!=") && is_yes(right) => {
            Some((op == "==") != negated)
        }
        _ => if_absent(cond, true).map(|absent| !absent),
    }
}

/// What a store says of something that was done: `true`, or `"OK"`.
fn is_yes(answer: &Expr) -> bool {
    match &answer.kind {
        ExprKind::Bool(is) => *is,
        ExprKind::Str(text) => !text.is_empty(),
        _ => false,
    }
}

fn both(one: &Origins, other: &Origins) -> Origins {
    one.iter().filter(|id| other.contains(*id)).fold(Origins::default(), |all, id| all.with(&Origins::one(id)))
}

impl Engine<'_> {
    /// Those of them that take something only if nobody has it.
    pub(super) fn taking(&self, of: &Origins) -> Origins {
        let takes = |id: &EventId| {
            self.event(*id).is_some_and(|event| match &event.what {
                What::Acquire(_) => true,
                What::Write(how) => how.creates,
                _ => false,
            })
        };
        of.iter().filter(takes).fold(Origins::default(), |all, id| all.with(&Origins::one(id)))
    }

    /// `break`: one way out of the innermost loop.
    pub(super) fn breaks(&mut self) {
        let had = self.said(Says::Had);
        if let Some(ways) = self.frames.last_mut().and_then(|frame| frame.ways.last_mut()) {
            ways.push(had);
        }
    }

    /// Behind a loop, what was had on every way out of it is ours; `ends`: it also ends by itself.
    pub(super) fn had_behind(
        &mut self,
        found: &Loop,
        mut ways: Vec<Origins>,
        asked: &Origins,
        ends: bool,
        scope: &Rc<Vars>,
    ) {
        if ends && !is_endless(found) {
            ways.push(self.had_in_the_end(found, asked, scope));
        }
        let depth = self.here.depth;
        if ways.is_empty()
            && let Some(frame) = self.frames.last_mut().filter(|frame| frame.depth == depth)
        {
            frame.unreached = true;
        }
        let had = ways.into_iter().reduce(|all, one| both(&all, &one)).filter(|had| !had.is_empty());
        if let Some(had) = had {
            self.here.guards.push(had.clone());
            self.here.said.push((Says::Had, had));
        }
    }

    /// The same, where its condition does not hold any more.
    fn had_in_the_end(&mut self, found: &Loop, asked: &Origins, scope: &Rc<Vars>) -> Origins {
        let cond = found.cond.as_ref().filter(|_| found.each.is_none());
        let Some(cond) = cond.filter(|cond| if_had(cond) == Some(false)) else { return Origins::default() };
        // A variable has by then what the last round has put there.
        let last = match &cond.negated().0.kind {
            ExprKind::Name(name) => self.find(scope, name).map(|(found, _)| found.value.deep_origins()),
            _ => None,
        };
        self.taking(&asked.with(&last.unwrap_or_default()))
    }

    /// One way on which a call gives back, and not an error.
    pub(super) fn gives_back_having(&mut self) {
        let had = self.said(Says::Had);
        if let Some(frame) = self.frames.last_mut() {
            frame.had = Some(frame.had.as_ref().map_or_else(|| had.clone(), |before| both(before, &had)));
        }
    }

    /// A call has ended: whoever goes on behind it has what was had on all these ways.
    pub(super) fn had_by_call(&mut self, first: usize) {
        let had = self.frames.last_mut().and_then(|frame| frame.had.take()).unwrap_or_default();
        if had.is_empty() {
            return;
        }
        self.mark_had(first, |event| had.contains(event.id) || event.deps.iter().any(|id| had.contains(id)));
    }
}
