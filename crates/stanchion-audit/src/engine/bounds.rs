//! How much is done at most, and what is freed in the end.

use std::rc::Weak;

use super::Engine;

/// Expressions inside expressions, through calls into calls and files that load files: what the stack has room for.
pub(super) const DEEP_MOST: u32 = 3_000;
/// Calls inside calls.
pub(super) const CALLS_DEEP: usize = 12;
/// Expressions and statements of one entry point.
pub(super) const STEPS_MOST: u32 = 60_000;
/// The same of what a script does, while it is loaded.
pub(super) const SCRIPT_STEPS: u32 = 6_000;
/// All files together may take so many for what is no entry point: for functions that nobody here calls, of which
/// libraries consist and of which each leads through most of the library; and as many for loading files and making objects.
/// Each file has its share, at least and at most so much, and each function may take a quarter of what is left of that.
pub(super) const PROGRAM_STEPS: usize = 40_000_000;
pub(super) const FILE_STEPS: (u32, u32) = (6_000, 240_000);
/// So many more for each line of the file.
pub(super) const LINE_STEPS: u32 = 16;
/// And so many in any case.
const STEPS_LEAST: u32 = 400;
/// A function that nobody calls, and that has done nothing yet but change memory, takes no more than so many.
pub(super) const QUIET_STEPS: u32 = 1_500;
/// The same of all entry points of a file together: handlers inside of handlers are entry points each.
const WORK_MOST: u32 = 3_000_000;
/// Events of one entry point.
const EVENTS_MOST: usize = 4_000;

/// A call leaves this part of what an entry point has left to whoever called: if it leads to too much, what comes after it is
/// still seen.
const SPARED: u32 = 8;

/// How many steps one may take of what is left for all.
pub(super) fn share(left: u32) -> u32 {
    (left / 4).clamp(STEPS_LEAST, STEPS_MOST)
}

impl Engine<'_> {
    /// Whether there is time for one more.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        self.work = self.work.saturating_add(1);
        let (steps, events) = if self.here.early {
            (self.steps, self.early.len().saturating_sub(self.early_from))
        } else {
            (self.steps.saturating_add(self.spared.0), self.events.len().saturating_add(self.spared.1))
        };
        let go = steps < self.steps_most && self.work < WORK_MOST && events < EVENTS_MOST;
        self.cut |= !go;
        go
    }

    /// A call begins: gives what was spared before, to be put back at its end.
    pub(super) fn spare(&mut self) -> (u32, usize) {
        let before = self.spared;
        // Functions that nothing calls have little enough.
        if !self.here.early && self.steps_loud == 0 {
            let (steps, events) = &mut self.spared;
            *steps += self.steps_most.saturating_sub(self.steps.saturating_add(*steps)) / SPARED;
            *events += EVENTS_MOST.saturating_sub(self.events.len().saturating_add(*events)) / SPARED as usize;
        }
        before
    }
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        let scopes = self.scopes.iter().filter_map(Weak::upgrade).chain(self.modules.values().cloned());
        // What it held is dropped only when nothing is borrowed any more.
        scopes.for_each(|scope| drop(scope.vars.take()));
        self.objects.iter().filter_map(Weak::upgrade).for_each(|fields| drop(fields.take()));
        super::name::forget();
    }
}
