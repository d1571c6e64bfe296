//! Tools of a low-level server: one handler lists them, with what they say of themselves, and another one does the work of
//! all of them by the name that it is given.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::call::Args;
use super::event::{Event, Site};
use super::hints::hints;
use super::value::{Shape, Value};
use super::{Engine, Root};
use crate::models::Words;

/// Tools of one server.
const TOOLS_MOST: usize = 256;
/// Lists inside of lists.
const LISTS_DEEP: u32 = 3;
/// Tables of handlers that one call is looked up in.
const TABLES_MOST: usize = 16;

/// Which of the two handlers it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Lists,
    Runs,
}

/// A tool that is listed.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) name: Rc<str>,
    /// The handler that lists it.
    pub(crate) site: Site,
    pub(crate) hints: BTreeMap<&'static str, bool>,
}

/// The arms of one handler that only some names lead to.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// How the name that it is given is called.
    given: Vec<Rc<str>>,
    arms: BTreeMap<(u32, u16), BTreeSet<Rc<str>>>,
    /// The tools are being listed: each of them is looked at.
    pub(super) lists: bool,
    tables: Vec<Chosen>,
}

/// Functions, or things that have some, of which one is chosen by a name. They are kept: their place in memory tells which
/// they are.
#[derive(Debug)]
struct Chosen {
    several: Rc<[Value]>,
    names: Vec<Rc<str>>,
}

impl Named {
    /// Whether something happens for this tool, and not for all of them.
    pub(super) fn is_of(&self, tool: &str, event: &Event) -> bool {
        let mut known = event.path.iter().filter_map(|arm| self.arms.get(arm)).peekable();
        known.peek().is_some() && known.all(|names| names.contains(tool))
    }

    fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| **given == *name)
    }

    /// The names for which a condition holds, or does not; nothing if it does not say.
    fn names(&self, cond: &str, holds: bool) -> Option<BTreeSet<Rc<str>>> {
        if let Some(rest) = cond.strip_prefix('!') {
            return self.names(rest, !holds);
        }
        for (op, all) in [("||", holds), ("&&", !holds)] {
            if cond.contains(op) {
                let mut parts = cond.split(op).map(|part| self.names(part, holds));
                return if all { parts.collect::<Option<Vec<_>>>().map(union) } else { parts.find_map(|names| names) };
            }
        }
        let one = |name: &str| BTreeSet::from([Rc::from(name)]);
        let inner = || cond.strip_prefix('(')?.strip_suffix(')');
        for op in if holds { ["===", "=="] } else { ["!==", "!="] } {
            if let Some((left, right)) = inner().and_then(|inner| inner.split_once(op)) {
                return match (self.is_given(left), self.is_given(right)) {
                    (true, false) => Some(one(right)),
                    (false, true) => Some(one(left)),
                    _ => None,
                };
            }
        }
        let (list, of) =
            inner().and_then(|inner| inner.split_once(" in ")).map(|(of, list)| (list, of)).or_else(|| {
                let (list, of) = cond.strip_suffix(')')?.split_once(".includes(")?;
                Some((list, of))
            })?;
        let list = list.strip_prefix('[')?.strip_suffix(']')?;
        (holds && self.is_given(of)).then(|| list.split(',').map(Rc::from).collect())
    }
}

fn union(all: Vec<BTreeSet<Rc<str>>>) -> BTreeSet<Rc<str>> {
    all.into_iter().flatten().collect()
}

impl Engine<'_> {
    /// What a handler is by what it is registered for.
    pub(super) fn server_part(&self, what: &str) -> Option<Part> {
        let words = self.words();
        if Words::is_last(&words.lists, what) {
            return Some(Part::Lists);
        }
        Words::is_last(&words.runs, what).then_some(Part::Runs)
    }

    /// What the server of this handler says of the tools that it runs.
    pub(super) fn tools_of(&mut self, root: &Root) -> Vec<Listed> {
        if root.part != Some(Part::Runs) {
            return Vec::new();
        }
        let lists = |other: &&Root| other.part == Some(Part::Lists) && other.by == root.by;
        let Some(list) = self.roots.iter().rev().find(lists).cloned() else { return Vec::new() };
        let site = list.site;
        let (_, given) = self.traced(list);
        let mut all = Vec::new();
        add(&given.option("tools").unwrap_or(given), site, LISTS_DEEP, &mut all);
        all
    }

    /// A handler is about to be called with this.
    pub(super) fn names_given(&mut self, root: &Root, args: &Args) {
        self.named = Named { lists: root.part == Some(Part::Lists), ..Named::default() };
        if let (Some(Part::Runs), Some((_, first))) = (root.part, args.first()) {
            self.named.given = vec![Rc::clone(&first.name), format!("{}.params.name", first.name).into()];
        }
    }

    /// Which names lead to the two arms of a condition.
    pub(super) fn names_arms(&mut self, cond: &str, branch: u32, first: u16) {
        if self.named.given.is_empty() {
            return;
        }
        for (arm, holds) in [(first, true), (1 - first, false)] {
            if let Some(names) = self.named.names(cond, holds) {
                self.named.arms.insert((branch, arm), names);
            }
        }
    }

    /// The same for an arm of a `switch`, with the names of those that fall through to it.
    pub(super) fn names_arm(&mut self, subject: &Value, branch: u32, arm: u16, names: &[Rc<str>]) {
        if self.named.is_given(&subject.name) && !names.is_empty() {
            self.named.arms.insert((branch, arm), names.iter().cloned().collect());
        }
    }

    /// One of these functions is chosen by a name.
    pub(super) fn names_table(&mut self, of: &Value, key: &Value, chosen: &Value) {
        let (Some(object), Shape::Either(all)) = (of.object(), &chosen.shape) else { return };
        if self.named.is_given(&key.name) {
            let names = object.fields.borrow().keys().take(all.len()).cloned().collect();
            self.choose(all, names);
        }
    }

    /// The same where a condition has looked for it among several things.
    pub(super) fn names_found(&mut self, several: &Rc<[Value]>, conditions: &[Rc<str>]) {
        let named = |cond: &Rc<str>| self.named.names(cond, true).filter(|names| names.len() == 1)?.pop_first();
        let names: Option<Vec<Rc<str>>> = conditions.iter().map(named).collect();
        if let Some(names) = names {
            self.choose(several, names);
        }
    }

    /// And where a function of each of them is taken.
    pub(super) fn names_parts(&mut self, several: &[Value], parts: &Rc<[Value]>) {
        if let Some(names) = self.names_of(several).map(<[Rc<str>]>::to_vec) {
            self.choose(parts, names);
        }
    }

    fn choose(&mut self, several: &Rc<[Value]>, names: Vec<Rc<str>>) {
        if self.named.tables.len() < TABLES_MOST {
            self.named.tables.push(Chosen { several: Rc::clone(several), names });
        }
    }

    fn names_of(&self, several: &[Value]) -> Option<&[Rc<str>]> {
        let chosen = self.named.tables.iter().find(|chosen| std::ptr::eq(&raw const *chosen.several, several));
        chosen.map(|chosen| &chosen.names[..])
    }

    /// The arm of a call of one of several functions.
    pub(super) fn names_chosen(&mut self, several: &[Value], branch: u32) {
        let names = self.names_of(several).unwrap_or_default().to_vec();
        for (index, name) in names.into_iter().enumerate() {
            let arm = u16::try_from(index).unwrap_or(u16::MAX);
            self.named.arms.insert((branch, arm), BTreeSet::from([name]));
        }
    }
}

/// The tools of a list.
fn add(value: &Value, site: Site, deep: u32, all: &mut Vec<Listed>) {
    match &value.shape {
        Shape::List(items) if deep > 0 => items.iter().for_each(|item| add(item, site, deep - 1, all)),
        Shape::Object(_) if all.len() < TOOLS_MOST => {
            let name = value.option("name").and_then(|name| name.as_text().map(Rc::from));
            let hints = hints(&vec![(None, value.clone())]);
            if let Some(name) = name.filter(|_| !hints.is_empty()) {
                all.push(Listed { name, site, hints });
            }
        }
        _ => {}
    }
}
