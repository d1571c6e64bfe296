//! Runs the program in the abstract: every entry point once, calls followed, values known by where they come from. What
//! comes out is a trace of events, which the rules judge.

mod absent;
mod again;
mod alive;
mod apply;
mod arms;
mod assign;
mod attempt;
mod block;
mod bound;
mod bounds;
mod branch;
mod call;
mod caught;
mod class;
mod compared;
mod condition;
mod constants;
mod declare;
mod effect;
mod either;
mod eval;
mod event;
mod exec;
mod failed;
mod fields;
mod file;
mod frame;
mod given;
mod had;
mod hints;
mod import;
mod instead;
mod key;
mod known;
mod lifespan;
mod listed;
mod listing;
mod load;
mod lock;
mod looked;
mod made;
mod maps;
mod mark;
mod memory;
mod name;
mod nothing;
mod object;
mod outside;
mod params;
mod periodic;
mod promise;
mod query;
mod receiver;
mod returned;
mod row;
mod run;
mod site;
mod statics;
mod switch;
mod table;
mod trace;
mod undo;
mod value;
mod waiters;
mod with;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use self::bounds::{
    CALLS_DEEP, DEEP_MOST, FILE_STEPS, LINE_STEPS, PROGRAM_STEPS, QUIET_STEPS, SCRIPT_STEPS, STEPS_MOST, share,
};
pub(crate) use self::call::path_of;
pub(crate) use self::condition::is_identity;
use self::event::same_or_new;
pub(crate) use self::event::{Event, Held, Kind, Resource, Scope, Site, What, Write};
pub(crate) use self::fields::Made;
use self::frame::{AtYield, Chain, Frame, Tail};
pub(crate) use self::instead::Instead;
use self::listed::Named;
pub(crate) use self::mark::{Mark, plain};
use self::trace::EARLY;
pub(crate) use self::trace::{Entry, Root, Trace};
use self::undo::Undo;
pub(crate) use self::value::{EventId, Origins};
use self::value::{Fields, Scope as Vars, Value};
use crate::hir::{ClassId, FunctionId, Language, Module, Span};
use crate::models::Models;
use crate::program::Program;

/// Runs the entry points of a few files, one file after the other. What it has loaded for one is there for the next, as it
/// was loaded: files that stand together mostly import the same ones.
pub(crate) struct Engine<'p> {
    program: &'p Program,
    models: &'p Models,
    files: std::ops::Range<usize>,
    /// Functions know the variables around them, and those know the functions; objects know each other. What was made is
    /// known here, to be freed in the end.
    scopes: Vec<Weak<Vars>>,
    objects: Vec<Weak<Fields>>,
    modules: BTreeMap<usize, Rc<Vars>>,
    /// Files whose own code has run to its end.
    loaded: BTreeSet<usize>,
    instances: BTreeMap<(usize, ClassId), Value>,
    /// The last object of a class that was made while files were loaded.
    made_early: BTreeMap<(usize, ClassId), class::MadeEarly>,
    /// What belongs to a class from its declaration on.
    belongings: BTreeMap<(usize, ClassId), statics::Belongings>,
    /// The modelled type that a class extends.
    bases: BTreeMap<(usize, ClassId), Option<Rc<str>>>,
    /// What is set on classes themselves, and by the code of which files.
    statics: BTreeMap<(usize, ClassId), Value>,
    fields_set: BTreeMap<usize, statics::SetFields>,
    /// What functions give to the objects that they make, where that is set on them: `Maker.prototype`.
    prototypes: BTreeMap<(usize, FunctionId), Value>,
    roots: Vec<Root>,
    /// Files whose own code does lasting things.
    scripts: BTreeSet<usize>,
    /// What the present file's entry points have changed.
    undo: Vec<Undo>,
    visited: BTreeSet<(usize, FunctionId)>,
    events: Vec<Event>,
    early: Rc<Vec<Event>>,
    /// How many there were when the present load began, and when the present file's entry points did.
    early_from: usize,
    early_before: usize,
    steps: u32,
    /// How many of them the present entry point may take.
    steps_most: u32,
    /// And how many as soon as it does something outside of memory.
    steps_loud: u32,
    /// Steps and events that the calls around have left to those who called.
    spared: (u32, usize),
    /// A file's share of [`PROGRAM_STEPS`], and what is left of all shares for loading.
    file_steps: u32,
    early_left: u32,
    /// Expressions inside expressions, over all calls and files that are being loaded.
    deep: u32,
    work: u32,
    cut: bool,
    branches: u32,
    /// The present statement.
    at: Span,
    /// See [`Trace::made`].
    objects_made: Vec<Made>,
    /// Locks made in this trace, with how many calls were open then and by which function.
    made: BTreeMap<Rc<str>, (usize, FunctionId)>,
    /// Work that was put behind a promise: what it waits for, its events, and the mark of its result.
    chains: Vec<Chain>,
    /// Memory that promises are lined up in.
    tails: Vec<Tail>,
    /// The same where the next one waits for a promise of our own, with the write that put it there.
    turns: Vec<(Rc<str>, usize, EventId)>,
    /// What the last statement on a connection gave.
    results: BTreeMap<Rc<str>, Origins>,
    /// What the last call has given, if it could have given nothing as well.
    or_nothing: Option<Rc<str>>,
    /// What was assigned to fields of rows, by the reads of those.
    assigned: BTreeMap<EventId, query::Assigned>,
    /// Clients that repeat their calls by themselves.
    repeating: BTreeSet<Rc<str>>,
    /// Functions that promises were made with, and what they were given so far.
    resolved: BTreeMap<Rc<str>, Option<Value>>,
    /// What the arms that are open have assigned.
    changes: Vec<arms::Change>,
    /// What this trace has assigned to things that outlive it.
    kept: Vec<arms::Kept>,
    /// Which arguments of the call that comes next are constants.
    given: Option<constants::Given>,
    /// Where the call that comes next stands, if nobody uses its answer.
    told: Option<Span>,
    /// Which arms only some names of tools lead to.
    named: Named,
    /// What servers have opened for all of their calls, and the files that have made them.
    lifespans: Vec<(usize, Value)>,
    here: Here,
    frames: Vec<Frame>,
}

/// The circumstances of whatever happens next.
#[derive(Debug, Default)]
struct Here {
    path: Vec<(u32, u16)>,
    held: Vec<Held>,
    transaction: Option<EventId>,
    guards: Vec<Origins>,
    /// What they say.
    said: Vec<(compared::Says, Origins)>,
    compared: compared::Compared,
    /// What the conditions around look like.
    conditions: Vec<compared::Around>,
    loops: Vec<u32>,
    /// Conditions around the present statement.
    depth: u32,
    suspends: u32,
    always: u32,
    handler: u32,
    /// How many arms the path had when the innermost handler began.
    handler_from: usize,
    /// `try` blocks around.
    tries: Vec<attempt::Tried>,
    /// Calls around that nobody waits for.
    detached: u32,
    /// The statement that is such a call, and how deep it stands.
    dropped: Option<(Span, usize)>,
    /// The connection of the transaction.
    connection: Option<Rc<str>>,
    /// Loops around that try again.
    retries: u32,
    /// Conditions that are being looked at.
    asking: u32,
    /// Those of them that a branch depends on: no part of them is used as a value.
    deciding: u32,
    /// Calls around whose promise is only kept: whoever called goes on at their first pause.
    apart: u32,
    early: bool,
}

impl<'p> Engine<'p> {
    pub(crate) fn new(program: &'p Program, models: &'p Models, files: std::ops::Range<usize>) -> Self {
        let share = u32::try_from(PROGRAM_STEPS / program.len().max(1)).unwrap_or(u32::MAX);
        let file_steps = share.clamp(FILE_STEPS.0, FILE_STEPS.1);
        let early_left = file_steps.saturating_mul(u32::try_from(files.len()).unwrap_or(u32::MAX));
        Self {
            program,
            models,
            files,
            scopes: Vec::new(),
            objects: Vec::new(),
            modules: BTreeMap::new(),
            loaded: BTreeSet::new(),
            instances: BTreeMap::new(),
            made_early: BTreeMap::new(),
            belongings: BTreeMap::new(),
            bases: BTreeMap::new(),
            statics: BTreeMap::new(),
            fields_set: BTreeMap::new(),
            prototypes: BTreeMap::new(),
            roots: Vec::new(),
            scripts: BTreeSet::new(),
            undo: Vec::new(),
            visited: BTreeSet::new(),
            events: Vec::new(),
            early: Rc::default(),
            early_from: 0,
            early_before: 0,
            steps: 0,
            steps_most: STEPS_MOST,
            steps_loud: 0,
            spared: (0, 0),
            file_steps,
            early_left,
            deep: 0,
            work: 0,
            cut: false,
            branches: 0,
            at: Span::default(),
            objects_made: Vec::new(),
            made: BTreeMap::new(),
            chains: Vec::new(),
            tails: Vec::new(),
            turns: Vec::new(),
            results: BTreeMap::new(),
            or_nothing: None,
            assigned: BTreeMap::new(),
            repeating: BTreeSet::new(),
            resolved: BTreeMap::new(),
            changes: Vec::new(),
            kept: Vec::new(),
            given: None,
            told: None,
            named: Named::default(),
            lifespans: Vec::new(),
            here: Here::default(),
            frames: Vec::new(),
        }
    }

    fn module(&self, file: usize) -> &'p Module {
        self.program.module(file)
    }

    fn language(&self, file: usize) -> Language {
        self.module(file).language
    }

    fn event(&self, id: EventId) -> Option<&Event> {
        match id.checked_sub(EARLY) {
            Some(early) => self.early.get(early as usize),
            None => self.events.get(id as usize),
        }
    }

    /// What words mean to the libraries of the present file.
    fn words(&self) -> &'p crate::models::Words {
        self.models.words(self.language(self.file()))
    }

    fn file(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.file)
    }

    fn site(&self, span: Span) -> Site {
        Site { file: self.file(), span }
    }

    fn guards(&self) -> Origins {
        self.here.guards.iter().fold(Origins::default(), |all, one| all.with(one))
    }

    fn next_id(&self) -> EventId {
        let (first, list) = if self.here.early { (EARLY, &*self.early) } else { (0, &self.events) };
        first + EventId::try_from(list.len()).unwrap_or(0)
    }

    /// Something happens here.
    fn emit(&mut self, what: What, resource: Option<Resource>, deps: &Origins, span: Span) -> EventId {
        let (id, is_pause) = (self.next_id(), matches!(what, What::Suspend));
        if !matches!(what, What::List | What::Next | What::Opens | What::Given)
            && resource.as_ref().is_none_or(|resource| resource.kind != Kind::Memory)
        {
            self.steps_most = self.steps_most.max(self.steps_loud);
        }
        let here = &self.here;
        // Most happens where the last thing happened.
        let last = if here.early { self.early.last() } else { self.events.last() };
        let event = Event {
            id,
            what,
            resource,
            site: self.site(span),
            stack: self.frames.iter().skip(1).map(|frame| frame.site).collect(),
            path: same_or_new(last.map(|last| &last.path), &here.path),
            held: same_or_new(last.map(|last| &last.held), &here.held),
            transaction: here.transaction,
            deps: deps.clone(),
            guards: self.guards(),
            present: self.said(compared::Says::Present),
            equals: self.said(compared::Says::Equals),
            differs: self.said(compared::Says::Differs),
            own: self.said(compared::Says::Own),
            absent: self.said(compared::Says::Absent),
            anything: self.said(compared::Says::Anything),
            loops: same_or_new(last.map(|last| &last.loops), &here.loops),
            suspends: here.suspends,
            retried: here.retries > 0,
            always: here.always > 0,
            handler: here.handler > 0,
            told: here.handler > 0 && here.path.len() > here.handler_from,
            detached: here.detached > 0 || is_pause && here.apart > 0,
            swallowed: None,
            early: here.early,
            kept: false,
        };
        if here.early {
            if let Some(script) = self.frames.first().filter(|_| event.is_lasting()) {
                self.scripts.insert(script.file);
            }
            Rc::make_mut(&mut self.early)
        } else {
            &mut self.events
        }
        .push(event);
        id
    }

    /// Others may run here.
    fn suspend(&mut self, span: Span) {
        self.here.suspends += 1;
        if !self.here.early {
            self.emit(What::Suspend, None, &Origins::default(), span);
        }
    }
}
