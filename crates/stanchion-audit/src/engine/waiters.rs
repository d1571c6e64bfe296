//! Locks that are a flag and a list of those who wait: whoever finds the flag set lines up, and is called when it is his turn.

use std::rc::Rc;

use super::event::{Event, Held, Kind, Scope, What};
use super::{Engine, EventId};

/// Flags of one entry point that are looked at as such.
const FLAGS_MOST: usize = 64;

fn memory(event: &Event) -> Option<&Rc<str>> {
    event.resource.as_ref().filter(|r| r.kind == Kind::Memory).map(|r| &r.name)
}

fn is_flag(event: &Event) -> bool {
    matches!(&event.what, What::Write(how) if how.whole && how.constant)
}

impl Engine<'_> {
    /// What is done between the flag and its end has the lock, in whichever way it was had.
    pub(super) fn waited_in_line(&mut self) {
        let flags = self.events.iter().filter(|event| is_flag(event) && !event.guards.is_empty());
        let flags = flags.filter_map(|taken| Some((taken, self.look_at(taken)?))).take(FLAGS_MOST);
        let regions = flags.filter_map(|(taken, look)| self.region_of(taken, look));
        let regions: Vec<(Rc<str>, EventId, EventId)> = regions.collect();
        for (flag, region, last) in regions {
            let held = Held { lock: format!("turns of {flag}").into(), scope: Scope::Process, region };
            for event in self.events.iter_mut().filter(|event| event.id > region && event.id < last) {
                event.held = event.held.iter().cloned().chain([held.clone()]).collect();
            }
        }
    }

    /// The look after which a flag was set before others could run.
    fn look_at(&self, taken: &Event) -> Option<&Event> {
        let flag = memory(taken)?;
        taken.guards.iter().filter_map(|id| self.event(id)).find(|look| {
            matches!(look.what, What::Read { .. }) && memory(look) == Some(flag) && look.suspends == taken.suspends
        })
    }

    fn region_of(&self, taken: &Event, look: &Event) -> Option<(Rc<str>, EventId, EventId)> {
        let flag = memory(taken)?;
        // Where it is set already, one goes to the others who wait.
        let waits = self.events.iter().skip_while(|event| event.id <= look.id).find(|event| {
            matches!(event.what, What::Read { .. })
                && event.guards.contains(look.id)
                && !event.meets(taken)
                && memory(event).is_some_and(|line| line != flag)
                && event.stack.starts_with(&look.stack)
        })?;
        // Who gives it back looks for the next one, and without one the flag is not set any more.
        let from = taken.id.max(waits.id);
        let mut after = self.events.iter().skip_while(|event| event.id <= from);
        let next = |event: &Event| matches!(event.what, What::Read { .. }) && memory(event) == memory(waits);
        let next = after.find(|event| next(event) && event.meets(taken))?;
        let end = after.find(|event| is_flag(event) && memory(event) == Some(flag))?;
        end.stack.starts_with(&next.stack).then(|| (Rc::clone(flag), from, next.id))
    }
}
