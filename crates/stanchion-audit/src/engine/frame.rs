//! Calls that are being followed.

use std::rc::Rc;

use super::arms::Assigned;
use super::event::Site;
use super::looked::Round;
use super::value::{EventId, Origins, Scope as Vars, Value};
use crate::hir::{Expr, FunctionId, Pattern, Stmt, Text};

/// A call that is being followed.
pub(super) struct Frame {
    pub(super) file: usize,
    pub(super) function: FunctionId,
    /// Where it was called.
    pub(super) site: Site,
    /// Conditions around the call.
    pub(super) guards: usize,
    pub(super) depth: u32,
    /// A lock that is held until it ends.
    pub(super) lock: Option<Rc<str>>,
    /// What a loop has asked for until nobody had it, and the pauses up to then.
    pub(super) free: Option<(Origins, u32)>,
    /// Lock files that it may go on without, and from where on.
    pub(super) untaken: Vec<(EventId, EventId)>,
    /// What has failed in a `try` that gives a value: what is given instead is known when it returns.
    pub(super) failed: Vec<EventId>,
    /// It ends with an exception, wherever it did not return before.
    pub(super) throws: bool,
    /// Loops around that end only by leaving.
    pub(super) endless: u32,
    /// For each loop around, what was had at every `break` out of it.
    pub(super) ways: Vec<Vec<Origins>>,
    /// Loops around, as far as they look for something.
    pub(super) rounds: Vec<Round>,
    /// What was had wherever it has given back.
    pub(super) had: Option<Origins>,
    /// Its end is behind a loop that nobody leaves but by returning.
    pub(super) unreached: bool,
    pub(super) this: Option<Value>,
    pub(super) returned: Option<Value>,
    /// What a generator gives one after the other.
    pub(super) yielded: Option<Value>,
    /// One way through it gives nothing.
    pub(super) nothing: bool,
    /// What was assigned by ways through it that have left already.
    pub(super) left: Assigned,
    pub(super) deferred: Vec<(Expr, Rc<Vars>)>,
    /// Parameters that are constants in this call, and whether a condition was decided by them.
    pub(super) constants: Vec<Text>,
    pub(super) decided: bool,
    /// Variables that conditions have asked for, and nobody has assigned since then.
    pub(super) asked: Vec<Flag>,
    /// For a context manager: what runs at its `yield`.
    pub(super) at_yield: Option<AtYield>,
}

/// A variable that decides more than one condition.
pub(super) struct Flag {
    pub(super) variable: Text,
    pub(super) value: Value,
    pub(super) branch: u32,
    /// The first arm is for the variable that is not set.
    pub(super) negated: bool,
}

/// See [`Engine::chains`].
pub(super) struct Chain {
    pub(super) behind: Origins,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) mark: EventId,
}

/// Memory that a call has lined up promises in.
pub(super) struct Tail {
    pub(super) memory: Rc<str>,
    /// How many calls are open in the one that has done so.
    pub(super) depth: usize,
    /// They do something themselves, and do not only wait.
    pub(super) works: bool,
}

pub(super) struct AtYield {
    pub(super) body: Rc<[Stmt]>,
    pub(super) bind: Option<Pattern>,
    pub(super) scope: Rc<Vars>,
    pub(super) frame: usize,
    /// How much had happened before, and in how many arms that is.
    pub(super) first: usize,
    pub(super) arms: usize,
    /// A way was left out that takes none.
    pub(super) passed: bool,
}

impl Frame {
    pub(super) fn new(file: usize, function: usize, site: Site, this: Option<Value>) -> Self {
        Self {
            file,
            function,
            site,
            guards: 0,
            depth: 0,
            lock: None,
            free: None,
            untaken: Vec::new(),
            failed: Vec::new(),
            throws: false,
            endless: 0,
            ways: Vec::new(),
            rounds: Vec::new(),
            had: None,
            unreached: false,
            this,
            returned: None,
            yielded: None,
            nothing: false,
            left: Vec::new(),
            deferred: Vec::new(),
            constants: Vec::new(),
            decided: false,
            asked: Vec::new(),
            at_yield: None,
        }
    }
}
