//! What happens, in the order in which it happens.

use std::rc::Rc;

use super::effect::Effect;
use super::instead::Swallowed;
use super::mark::Mark;
pub(crate) use super::site::Site;
use super::value::{EventId, Origins};

/// How far something is shared, or how far a lock reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    /// One task: nobody else.
    Task,
    /// The tasks of one thread.
    Thread,
    /// One process.
    Process,
    /// All processes of a machine.
    Host,
    /// All machines.
    Cluster,
}

/// What kind of thing is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    File,
    Table,
    Key,
    Document,
    Memory,
    Remote,
}

/// Something that is read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) kind: Kind,
    /// A path, a table, a key; equal names mean the same thing.
    pub(crate) name: Rc<str>,
    /// The row or entry inside, if it is known.
    pub(crate) part: Option<Rc<str>>,
    pub(crate) scope: Scope,
}

impl Resource {
    /// Whether both can be the same thing.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.name == other.name
            && match (&self.part, &other.part) {
                (Some(one), Some(other)) => one == other || agree(one, other),
                // What has just got a name that nobody can know is none of those that were there.
                (Some(part), None) | (None, Some(part)) => !Mark::Random.is_in(part),
                (None, None) => true,
            }
    }
}

/// Whether two rows can be the same one: columns that both know have the same values, and there are such columns.
fn agree(one: &str, other: &str) -> bool {
    let known = |part: &str| -> Vec<(String, String)> {
        let pairs = part.split(',').filter_map(|pair| pair.split_once('='));
        pairs.map(|(column, value)| (column.to_owned(), value.to_owned())).collect()
    };
    let (one, other) = (known(one), known(other));
    let mut both = one.iter().filter_map(|(column, value)| Some((value, &other.iter().find(|(c, _)| c == column)?.1)));
    let first = both.next();
    first.is_some_and(|(a, b)| a == b) && both.all(|(a, b)| a == b)
}

/// A lock that is held, from one acquisition on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) lock: Rc<str>,
    pub(crate) scope: Scope,
    pub(crate) region: EventId,
}

/// What happens.
#[derive(Debug, Clone)]
pub(crate) enum What {
    Read {
        locks: bool,
        /// Whoever cannot have the locks at once is told so.
        tries: bool,
        /// Columns that it asks for by their values.
        by: Vec<Rc<str>>,
        /// Columns that have nothing in the rows it asks for.
        empty: Vec<Rc<str>>,
        /// Fields of other rows by which it was looked for, and the reads that those came from.
        through: Vec<(Rc<str>, Origins)>,
        /// The highest value of this column, and nothing else.
        highest: Option<Rc<str>>,
        /// Columns that are to be less than something: a time that is over.
        within: Vec<Rc<str>>,
        /// All that it gives of a row; empty: everything, or nobody knows.
        columns: Vec<Rc<str>>,
    },
    /// Only whether it is there.
    Check,
    /// A library that nobody has described is given the path: what comes back may be what is in the file.
    Given,
    /// A database is opened: what is stored in it from now on stands in this file.
    Opens,
    /// The names in a folder.
    List,
    /// One more than what was found among them.
    Next,
    Write(Write),
    Acquire(Acquire),
    Release {
        lock: Rc<str>,
        checked: bool,
    },
    Renew {
        lock: Rc<str>,
        checked: bool,
    },
    Begin {
        immediate: bool,
        serializable: bool,
    },
    End,
    Suspend,
    Effect(Effect),
    Sleep {
        growing: bool,
        random: bool,
    },
    /// A function is given away to run by itself, again and again.
    Starts,
    /// The loop around goes on when a clock says so.
    Ticks,
    /// A call ends early, with what it holds.
    Leaves,
    /// A connection goes back into its pool.
    GivenBack,
    /// A process whose number this is gets a signal, which ends it or only asks whether it lives.
    Tells {
        ends: bool,
    },
    /// What was read cannot be understood, and something else takes its place.
    Misread,
}

impl What {
    /// The whole of something is read.
    pub(crate) const READ: Self = Self::Read {
        locks: false,
        tries: false,
        by: Vec::new(),
        empty: Vec::new(),
        through: Vec::new(),
        highest: None,
        within: Vec::new(),
        columns: Vec::new(),
    };
}

/// How something is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Write {
    /// The old content is replaced, not added to.
    pub(crate) whole: bool,
    /// Only if it is as expected.
    pub(crate) compares: bool,
    /// Only if these columns are as they were read, unless they only say which row it is.
    pub(crate) expected: Vec<Rc<str>>,
    /// A row that was read is written back by its mapper.
    pub(crate) saves: bool,
    /// Computed by the store from its own value.
    pub(crate) relative: bool,
    /// Fails if it is there.
    pub(crate) creates: bool,
    pub(crate) inserts: bool,
    pub(crate) deletes: bool,
    /// The columns that say which rows are changed or removed.
    pub(crate) asks: Rc<[Rc<str>]>,
    /// Fields that conditions around have compared, and the reads that those asked.
    pub(crate) looks: Rc<[(Rc<str>, Origins)]>,
    /// The columns by whose values rows are removed, if nothing else says which.
    pub(crate) removes: Option<Rc<[Rc<str>]>>,
    /// Moved into place: readers see the old or the new, never half.
    pub(crate) publishes: bool,
    /// The same whatever was read.
    pub(crate) constant: bool,
    /// Its ttl in seconds, if it is known.
    pub(crate) ttl: Option<f64>,
    /// A new row has the number after the highest one, which was read there.
    pub(crate) numbered: Option<EventId>,
    /// Only if a column is as it was given, which is raised by the same statement.
    pub(crate) by_version: bool,
    /// Nobody looks at how many rows it has changed.
    pub(crate) uncounted: bool,
    /// Which rows it is about, by their keys, derives from these.
    pub(crate) which: Origins,
    /// Columns of an update.
    pub(crate) columns: Vec<Rc<str>>,
    /// Those of them that get what another caller would not put there.
    pub(crate) own: Vec<Rc<str>>,
    /// Those of them that become one more than they were.
    pub(crate) raised: Vec<Rc<str>>,
    /// Columns of a new row into which another caller would put the same.
    pub(crate) given: Vec<Rc<str>>,
    /// The columns of a new row that takes the place of one with its key.
    pub(crate) replaces: Option<Vec<Rc<str>>>,
    /// Fields of what was given that conditions around have looked for among many.
    pub(crate) looked_for: Vec<Rc<str>>,
    /// A condition around it looked at one of the columns.
    pub(crate) decided: bool,
    /// It says which process has written it.
    pub(crate) owner: bool,
    /// It has in it what nobody else would put there: an identity, a secret.
    pub(crate) random: bool,
    /// What was there is dropped, and nothing is put in its place.
    pub(crate) clears: bool,
    /// Reads of which conditions have only asked whether what is written is there already.
    pub(crate) skips: Origins,
    /// It says only when that was.
    pub(crate) stamp: bool,
    /// Whoever cannot make it goes on all the same, from this event on.
    pub(crate) open: Option<EventId>,
    /// No thing that somebody has to give back: a record, or what is fetched anew after some time.
    pub(crate) data: bool,
    /// Nothing in the store refuses a second one like it.
    pub(crate) keyless: bool,
    /// The file was opened as it was: nothing was gone before this.
    pub(crate) keeps: bool,
    /// Nothing is left in an open file: what is written to its end then is all of it.
    pub(crate) empties: bool,
    /// Another file that is moved here.
    pub(crate) from: Option<Rc<str>>,
    /// The file's name, or which rows it is, derives from these.
    pub(crate) named: Origins,
}

impl Write {
    /// A file is replaced by something that is always the same.
    pub(crate) fn is_same(&self) -> bool {
        self.whole && self.constant && self.from.is_none()
    }
}

/// How a lock is taken.
#[derive(Debug, Clone)]
pub(crate) struct Acquire {
    pub(crate) lock: Rc<str>,
    pub(crate) scope: Scope,
    pub(crate) ttl: bool,
    /// A block or callback gives it back in any case.
    pub(crate) structured: bool,
    /// Made in the same call.
    pub(crate) fresh: bool,
    /// Of a connection that comes from a pool.
    pub(crate) pooled: bool,
    /// It may not be had, and then the caller is told so.
    pub(crate) tries: bool,
    /// But whoever goes on has it: without it there is only an error, or another try.
    pub(crate) had: bool,
    /// Of a database's session.
    pub(crate) session: bool,
    /// If it cannot be had, the error is caught, and all goes on without it, from this event on.
    pub(crate) open: Option<EventId>,
}

impl Acquire {
    /// A lock that nobody can fail to get.
    pub(crate) fn of(lock: Rc<str>) -> Self {
        let scope = Scope::Process;
        Self {
            lock,
            scope,
            ttl: true,
            structured: false,
            fresh: false,
            pooled: false,
            tries: false,
            had: false,
            session: false,
            open: None,
        }
    }
}

/// Something that happens, and under which circumstances.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: EventId,
    pub(crate) what: What,
    pub(crate) resource: Option<Resource>,
    pub(crate) site: Site,
    /// The calls that led here, outermost first.
    pub(crate) stack: Rc<[Site]>,
    /// Which arms of which branches were taken.
    pub(crate) path: Rc<[(u32, u16)]>,
    pub(crate) held: Rc<[Held]>,
    pub(crate) transaction: Option<EventId>,
    /// What is written derives from these reads.
    pub(crate) deps: Origins,
    /// Whether it happens at all depends on these.
    pub(crate) guards: Origins,
    /// Those of them that have found something.
    pub(crate) present: Origins,
    /// Those that are something fixed.
    pub(crate) equals: Origins,
    /// And those that are anything but that, or a flag that is not set.
    pub(crate) differs: Origins,
    /// Those that have found the number of the present process.
    pub(crate) own: Origins,
    /// And those that have found nothing.
    pub(crate) absent: Origins,
    /// And those that it does not need: only what was asked behind them has let nobody through.
    pub(crate) anything: Origins,
    /// Enclosing loops, outermost first.
    pub(crate) loops: Rc<[u32]>,
    /// Points before it at which others could run.
    pub(crate) suspends: u32,
    /// In something that is tried again when it fails.
    pub(crate) retried: bool,
    /// In a `finally`, a `defer`, or the end of a `with`.
    pub(crate) always: bool,
    /// In a handler of an exception.
    pub(crate) handler: bool,
    /// In a handler, and only for some errors.
    pub(crate) told: bool,
    /// Nobody waits for it.
    pub(crate) detached: bool,
    /// If it fails, something else takes its place.
    pub(crate) swallowed: Option<Swallowed>,
    /// Before the entry point ran: while the module was loaded or the object made.
    pub(crate) early: bool,
    /// In an earlier call: what it gave was kept.
    pub(crate) kept: bool,
}

impl Event {
    /// A file is made, if there is none.
    pub(crate) fn is_made_file(&self) -> bool {
        let is_file = self.resource.as_ref().is_some_and(|r| r.kind == Kind::File);
        is_file && matches!(&self.what, What::Write(how) if how.creates && how.from.is_none())
    }

    /// Whether one execution can contain both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        meet(&self.path, &other.path)
    }

    /// A lock that is held without a break from the one to the other, and reaches at least so far.
    pub(crate) fn covered_with(&self, other: &Self, scope: Scope) -> bool {
        self.held.iter().any(|held| held.scope >= scope && other.held.iter().any(|h| h.region == held.region))
    }

    /// It leaves something behind, in or outside of the program.
    pub(super) fn is_lasting(&self) -> bool {
        match &self.what {
            What::Write(_) => self.resource.as_ref().is_some_and(|resource| resource.kind != Kind::Memory),
            What::Effect(effect) => !effect.safe,
            _ => false,
        }
    }
}

/// Whether no branch is taken in different ways.
fn meet(one: &[(u32, u16)], other: &[(u32, u16)]) -> bool {
    let in_order = |path: &[(u32, u16)]| path.is_sorted_by(|(a, _), (b, _)| a < b);
    // They nearly always are, and handlers inside of handlers make them long.
    if !in_order(one) || !in_order(other) {
        return one.iter().all(|(branch, arm)| other.iter().all(|(b, a)| b != branch || a == arm));
    }
    let mut rest = other.iter().peekable();
    one.iter().all(|(branch, arm)| {
        while rest.next_if(|(b, _)| b < branch).is_some() {}
        rest.peek().is_none_or(|(b, a)| b != branch || a == arm)
    })
}

/// The same list as before, if nothing has changed.
pub(super) fn same_or_new<T: Clone + PartialEq>(last: Option<&Rc<[T]>>, now: &[T]) -> Rc<[T]> {
    last.filter(|last| ***last == *now).map_or_else(|| now.into(), Rc::clone)
}

#[cfg(test)]
mod tests {
    use super::meet;

    #[test]
    fn two_paths_meet_unless_they_part_at_a_branch() {
        let plain = |one: &[(u32, u16)], other: &[(u32, u16)]| {
            one.iter().all(|(branch, arm)| other.iter().all(|(b, a)| b != branch || a == arm))
        };
        let steps = [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)];
        let paths: Vec<Vec<(u32, u16)>> = (0..200_usize)
            .map(|n| (0..n % 4).map(|at| steps[(n / 4 + at * (n % 7 + 1)) % steps.len()]).collect())
            .collect();
        for one in &paths {
            for other in &paths {
                let (mut a, mut b) = (one.clone(), other.clone());
                assert_eq!(meet(&a, &b), plain(&a, &b), "{a:?} {b:?}");
                a.sort_unstable();
                b.sort_unstable();
                assert_eq!(meet(&a, &b), plain(&a, &b), "{a:?} {b:?}");
            }
        }
    }
}
