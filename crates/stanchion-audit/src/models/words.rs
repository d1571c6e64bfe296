//! Words that mean something wherever a library's calls are given them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `[words]` of a model file. Names of constants, texts and keywords of arguments, unless said otherwise.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Words {
    /// A lock is let go and not taken.
    pub(crate) unlocks: Vec<String>,
    /// The rows of a query are locked.
    pub(crate) locks: Vec<String>,
    /// A file is written only if it is not there.
    pub(crate) creates: Vec<String>,
    /// A file is written at its end.
    pub(crate) appends: Vec<String>,
    /// A file is read, and written at its end.
    pub(crate) extends: Vec<String>,
    /// A key is set only if it is not there.
    pub(crate) only_new: Vec<String>,
    /// A key goes away by itself.
    pub(crate) expires: Vec<String>,
    /// A transaction is serializable.
    pub(crate) serializable: Vec<String>,
    /// A transaction takes the write lock when it begins.
    pub(crate) immediate: Vec<String>,
    /// Calls whose names end so are done when they return.
    pub(crate) at_once: Vec<String>,
    /// Conditions with this in them look at a column by its number.
    pub(crate) cells: Vec<String>,
    /// Constants of packages that no other process has, such as its number.
    pub(crate) unique: Vec<String>,
    /// Methods that let go of what stands for a lock.
    pub(crate) releases: Vec<String>,
    /// Options of a query that lock its rows.
    pub(crate) lock_options: Vec<String>,
    /// A file that is opened with this is read.
    pub(crate) reads: Vec<String>,
    /// And written, from its beginning.
    pub(crate) writes: Vec<String>,
    /// It is read and written.
    pub(crate) updates: Vec<String>,
    /// Errors by which databases say that there is one already.
    pub(crate) refused: Vec<String>,
    /// Errors with this in their names say that something is not there.
    pub(crate) absent: Vec<String>,
    /// Errors with this in their names, codes or texts leave open whether the call has run.
    pub(crate) unsure: Vec<String>,
    /// Unless they have this in them, too: then it has not.
    pub(crate) unsent: Vec<String>,
    /// Classes of errors of any kind.
    pub(crate) any_error: Vec<String>,
    /// Functions that tell whether something is of a class: their second argument.
    pub(crate) is_of: Vec<String>,
    /// Functions that tell how many processors there are.
    pub(crate) processors: Vec<String>,
    /// Classes of threads that get their work by messages.
    pub(crate) threads: Vec<String>,
    /// What makes something empty if it is given nothing.
    pub(crate) containers: Vec<String>,
    /// What makes a copy of what it is given, or of what it is a method of.
    pub(crate) copies: Vec<String>,
    /// Libraries and classes that say what time it is.
    pub(crate) clocks: Vec<String>,
    /// What the present process is known by, as functions and constants are called.
    pub(crate) owners: Vec<String>,
    /// Functions that end the program.
    pub(crate) ends: Vec<String>,
    /// Conditions that must all hold stand in it.
    pub(crate) both: Vec<String>,
    /// Operators of conditions that say what a column is.
    pub(crate) equals: Vec<String>,
    /// Other operators.
    pub(crate) operators: Vec<String>,
    /// Operators of writes that hold columns.
    pub(crate) sets: Vec<String>,
    /// Operators of writes by which the store changes what it has.
    pub(crate) computes: Vec<String>,
    /// The same, in place of the value of a column.
    pub(crate) computes_field: Vec<String>,
    /// And in the text of an expression.
    pub(crate) computes_text: Vec<String>,
    /// Decorators that make a context manager of a generator.
    pub(crate) managers: Vec<String>,
    /// What a class says by to have its mapper compare a version with each change.
    pub(crate) versions: Vec<String>,
    /// What says something about a type, which stands first in its brackets.
    pub(crate) annotates: Vec<String>,
    /// Context managers that catch the errors they are given.
    pub(crate) suppresses: Vec<String>,
    /// Decorators of methods that are read like fields.
    pub(crate) properties: Vec<String>,
    /// What is made by these is waited for: whoever puts one in the place of another and waits for that has his turn.
    pub(crate) turns: Vec<String>,
    /// Methods of lists that put what they are given at the end.
    pub(crate) adds_last: Vec<String>,
    /// Methods that make one text of a list of texts, with another one between them.
    pub(crate) joins: Vec<String>,
    /// Methods of maps that put what they are given into them.
    pub(crate) adds: Vec<String>,
    /// Methods of maps that give the entry that they are asked for.
    pub(crate) entries: Vec<String>,
    /// What gives the keys of a map with their values: methods, and functions by their paths.
    pub(crate) pairs: Vec<String>,
    /// Functions that put all that they are given into the first of it.
    pub(crate) fills: Vec<String>,
    /// Methods that tell whether something is among what they are called on.
    pub(crate) has: Vec<String>,
    /// Methods that change nothing any more if they are called again.
    pub(crate) settles: Vec<String>,
    /// What classes inherit from libraries: it makes an object of the class out of text, or of what a text has been parsed to.
    pub(crate) parses: Vec<String>,
    /// Functions that give one of those that they are given.
    pub(crate) chooses: Vec<String>,
    /// Calls that tidy a path up, as they are named: for every name that a file can have they give the same file.
    pub(crate) tidies: Vec<String>,
    /// Ends of addresses that are posted to because the question is long.
    pub(crate) asks: Vec<String>,
    /// Conditions, as they are named, that hold on another system than a server's.
    pub(crate) elsewhere: Vec<String>,
    /// Methods of functions: one with its receiver, and a call with one.
    pub(crate) binds: Vec<String>,
    pub(crate) calls: Vec<String>,
    /// What a low-level server lists its tools for, and what it runs them for.
    pub(crate) lists: Vec<String>,
    pub(crate) runs: Vec<String>,
    /// Methods that tell whether the end was asked for.
    pub(crate) stops: Vec<String>,
    /// What a server is told to open for all of its calls, and the field by which they have it.
    pub(crate) opens: Vec<String>,
    pub(crate) opened: Vec<String>,
    /// Packages that come with the language: what they do is described, or has nothing to do with files.
    pub(crate) standard: Vec<String>,
    /// What begins the name of no package: of another file of the program that is not found, or of what is standard.
    pub(crate) own: Vec<String>,
    /// Words in the names of functions that give what is in a file whose path they are given.
    pub(crate) loads: Vec<String>,
    /// Units of time, in seconds.
    pub(crate) units: BTreeMap<String, f64>,
}

impl Words {
    /// With those of another file.
    pub(super) fn add(&mut self, more: &Self) {
        let lists = [
            (&mut self.unlocks, &more.unlocks),
            (&mut self.locks, &more.locks),
            (&mut self.creates, &more.creates),
            (&mut self.appends, &more.appends),
            (&mut self.extends, &more.extends),
            (&mut self.only_new, &more.only_new),
            (&mut self.expires, &more.expires),
            (&mut self.serializable, &more.serializable),
            (&mut self.immediate, &more.immediate),
            (&mut self.at_once, &more.at_once),
            (&mut self.cells, &more.cells),
            (&mut self.unique, &more.unique),
            (&mut self.releases, &more.releases),
            (&mut self.lock_options, &more.lock_options),
            (&mut self.reads, &more.reads),
            (&mut self.writes, &more.writes),
            (&mut self.updates, &more.updates),
            (&mut self.refused, &more.refused),
            (&mut self.absent, &more.absent),
            (&mut self.unsure, &more.unsure),
            (&mut self.unsent, &more.unsent),
            (&mut self.any_error, &more.any_error),
            (&mut self.is_of, &more.is_of),
            (&mut self.processors, &more.processors),
            (&mut self.threads, &more.threads),
            (&mut self.containers, &more.containers),
            (&mut self.copies, &more.copies),
            (&mut self.clocks, &more.clocks),
            (&mut self.owners, &more.owners),
            (&mut self.ends, &more.ends),
            (&mut self.both, &more.both),
            (&mut self.equals, &more.equals),
            (&mut self.operators, &more.operators),
            (&mut self.sets, &more.sets),
            (&mut self.computes, &more.computes),
            (&mut self.computes_field, &more.computes_field),
            (&mut self.computes_text, &more.computes_text),
            (&mut self.managers, &more.managers),
            (&mut self.versions, &more.versions),
            (&mut self.annotates, &more.annotates),
            (&mut self.suppresses, &more.suppresses),
            (&mut self.properties, &more.properties),
            (&mut self.turns, &more.turns),
            (&mut self.adds_last, &more.adds_last),
            (&mut self.joins, &more.joins),
            (&mut self.adds, &more.adds),
            (&mut self.entries, &more.entries),
            (&mut self.pairs, &more.pairs),
            (&mut self.fills, &more.fills),
            (&mut self.has, &more.has),
            (&mut self.settles, &more.settles),
            (&mut self.parses, &more.parses),
            (&mut self.chooses, &more.chooses),
            (&mut self.tidies, &more.tidies),
            (&mut self.asks, &more.asks),
            (&mut self.elsewhere, &more.elsewhere),
            (&mut self.binds, &more.binds),
            (&mut self.calls, &more.calls),
            (&mut self.lists, &more.lists),
            (&mut self.runs, &more.runs),
            (&mut self.stops, &more.stops),
            (&mut self.opens, &more.opens),
            (&mut self.opened, &more.opened),
            (&mut self.standard, &more.standard),
            (&mut self.own, &more.own),
            (&mut self.loads, &more.loads),
        ];
        for (own, more) in lists {
            own.extend(more.iter().cloned());
        }
        self.units.extend(more.units.iter().map(|(name, seconds)| (name.clone(), *seconds)));
    }

    /// Whether it is one of these.
    pub(crate) fn is_one(words: &[String], text: &str) -> bool {
        words.iter().any(|word| word == text)
    }

    /// Whether the last name of a path is one of these.
    pub(crate) fn is_last(words: &[String], path: &str) -> bool {
        Self::is_one(words, path.rsplit('.').next().unwrap_or(path))
    }

    /// Whether the text has one of these in it.
    pub(crate) fn is_in(words: &[String], text: &str) -> bool {
        words.iter().any(|word| text.contains(word.as_str()))
    }
}
