//! What the arms of a branch assign: inside of an arm its new value counts, behind it either of the two.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Engine;
use super::absent::if_absent;
use super::compared::Says;
use super::event::{Event, Kind, What};
use super::exec::Flow;
use super::file::spelled;
use super::frame::Frame;
use super::memory::COLLECTION;
use super::name::word;
use super::undo::Undo;
use super::value::{Binding, EventId, Fields, Origins, Scope as Vars, Shape, Value};
use crate::hir::{Expr, ExprKind, Span};

/// Reads of one file's entry points that objects keep from one call to the next.
const KEPT_MOST: usize = 256;
/// Objects inside of objects.
const KEPT_DEEP: u32 = 2;
/// Blocks inside of blocks.
const SCOPES_DEEP: usize = 64;

/// A variable or a field.
#[derive(Debug, Clone)]
enum Spot {
    Var(Rc<Vars>, Rc<str>),
    Field(Rc<Fields>, Rc<str>),
}

impl Spot {
    /// The same for the same place.
    fn key(&self) -> (usize, &str) {
        match self {
            Self::Var(scope, name) => (Rc::as_ptr(scope).addr(), name),
            Self::Field(fields, name) => (Rc::as_ptr(fields).addr(), name),
        }
    }

    fn get(&self) -> Option<Value> {
        match self {
            Self::Var(scope, name) => scope.vars.borrow().get(name).map(|found| found.value.clone()),
            Self::Field(fields, name) => fields.borrow().get(name).cloned(),
        }
    }

    fn put(&self, value: Value) {
        match self {
            Self::Var(scope, name) => {
                if let Some(found) = scope.vars.borrow_mut().get_mut(name) {
                    found.value = value;
                }
            }
            Self::Field(fields, name) => drop(fields.borrow_mut().insert(Rc::clone(name), value)),
        }
    }

    /// It is not there any more: an object gets its fields one by one.
    fn take_away(&self) {
        if let Self::Field(fields, name) = self {
            // What was there is dropped only when nothing is borrowed any more.
            let gone = fields.borrow_mut().remove(name);
            drop(gone);
        }
    }

    /// A variable that the call alone has: of a block of its own, or of the function itself.
    fn is_of(&self, call: &Rc<Vars>) -> bool {
        let Self::Var(scope, _) = self else { return false };
        let around = std::iter::successors(Some(scope), |scope| scope.parent.as_ref());
        !scope.is_module && around.take(SCOPES_DEEP).any(|scope| Rc::ptr_eq(scope, call))
    }

    /// Whether it is older than the arms that are open now.
    fn outlives(&self, depth: u32) -> bool {
        match self {
            Self::Var(scope, name) => scope.vars.borrow().get(name).is_some_and(|found| depth > found.depth),
            Self::Field(..) => depth > 0,
        }
    }
}

/// An assignment in an arm to something that is older than the arm.
#[derive(Debug)]
pub(super) struct Change {
    spot: Spot,
    /// `None`: there was no such field.
    before: Option<Value>,
}

/// What one arm has assigned: the place, what was there, and what is there at its end.
pub(super) type Assigned = Vec<(Change, Value)>;

impl Engine<'_> {
    /// Runs `body` as one arm of a branch, which may be taken or not.
    pub(super) fn arm<T>(&mut self, branch: u32, arm: u16, guard: &Origins, body: impl FnOnce(&mut Self) -> T) -> T {
        let (done, made) = self.one_arm(branch, arm, guard, body);
        self.either_of([made], false);
        done
    }

    /// Runs `body` as one of several arms: the next one sees what was there before all of them.
    pub(super) fn one_arm<T>(
        &mut self,
        branch: u32,
        arm: u16,
        guard: &Origins,
        body: impl FnOnce(&mut Self) -> T,
    ) -> (T, Assigned) {
        let (path, guards) = (self.here.path.len(), self.here.guards.len());
        let (said, changes) = (self.here.said.len(), self.changes.len());
        self.here.path.push((branch, arm));
        self.here.guards.push(guard.clone());
        self.here.depth += 1;
        let done = body(self);
        self.here.depth -= 1;
        self.here.path.truncate(path);
        self.here.guards.truncate(guards);
        self.here.said.truncate(said);
        (done, self.taken_back(changes))
    }

    /// Assigns to the variable where it is declared; `false` if it is not.
    pub(super) fn set_variable(&mut self, scope: &Rc<Vars>, name: &str, value: &Value) -> bool {
        let mut at = scope;
        loop {
            if let Some((name, found)) = at.vars.borrow_mut().entry(name) {
                let before = std::mem::replace(&mut found.value, value.clone());
                if at.is_module && !self.here.early {
                    let old = Binding { value: before.clone(), depth: found.depth };
                    self.undo.push(Undo::Variable(Rc::clone(at), Rc::clone(name), old));
                    let known = better(&before, value);
                    self.kept.push(Kept(Spot::Var(Rc::clone(at), Rc::clone(name)), known));
                }
                if self.here.depth > found.depth {
                    self.changes.push(Change { spot: Spot::Var(Rc::clone(at), Rc::clone(name)), before: Some(before) });
                }
                return true;
            }
            match &at.parent {
                Some(parent) => at = parent,
                None => return false,
            }
        }
    }

    pub(super) fn put_field(&mut self, fields: &Rc<Fields>, shared: bool, name: &str, value: &Value) {
        let name = word(name);
        let before = fields.borrow_mut().insert(Rc::clone(&name), value.clone());
        let lasts = shared && !self.here.early;
        let known = before.as_ref().filter(|_| lasts).and_then(|before| better(before, value));
        if lasts {
            self.undo.push(Undo::Field(Rc::clone(fields), Rc::clone(&name), before.clone()));
        }
        if self.here.depth > 0 {
            self.changes.push(Change { spot: Spot::Field(Rc::clone(fields), Rc::clone(&name)), before });
        }
        if lasts {
            self.kept.push(Kept(Spot::Field(Rc::clone(fields), name), known));
        }
    }

    /// More is in a field that outlives the call.
    pub(super) fn field_grows(&mut self, fields: &Rc<Fields>, name: Rc<str>) {
        self.kept.push(Kept(Spot::Field(Rc::clone(fields), name), None));
    }

    /// What was assigned since then; what was there before is there again.
    pub(super) fn taken_back(&mut self, mark: usize) -> Assigned {
        let mut changes: Vec<Change> = self.changes.drain(mark.min(self.changes.len())..).collect();
        // The first of several knows what was there before the arm.
        changes.sort_by(|one, other| one.spot.key().cmp(&other.spot.key()));
        changes.dedup_by(|later, first| later.spot.key() == first.spot.key());
        let after = |change: Change| change.spot.get().map(|after| (change, after));
        let made: Assigned = changes.into_iter().filter_map(after).collect();
        for (Change { spot, before }, _) in &made {
            match before {
                Some(before) => spot.put(before.clone()),
                None => spot.take_away(),
            }
        }
        made
    }

    /// Behind the arms it is what one of them has assigned, or what was there before; `whole`: one of them was taken.
    pub(super) fn either_of(
        &mut self,
        arms: impl IntoIterator<Item = Assigned, IntoIter: ExactSizeIterator>,
        whole: bool,
    ) {
        let arms = arms.into_iter();
        let count = arms.len();
        let mut all: Assigned = arms.flatten().collect();
        all.sort_by(|(one, _), (other, _)| one.spot.key().cmp(&other.spot.key()));
        let mut all = all.into_iter().peekable();
        while let Some((Change { spot, before }, first)) = all.next() {
            let mut values = vec![first];
            while let Some((_, more)) = all.next_if(|(next, _)| next.spot.key() == spot.key()) {
                values.push(more);
            }
            let mut values = values.into_iter();
            let kept = before.clone().filter(|_| !whole || values.len() < count);
            let Some(first) = kept.or_else(|| values.next()) else { continue };
            spot.put(values.fold(first, |all, one| all.join(&one)));
            if spot.outlives(self.here.depth) {
                self.changes.push(Change { spot, before });
            }
        }
    }
}

impl Engine<'_> {
    /// A path that is taken gives way to another one: which of the two it is then, the look at the first has decided.
    pub(super) fn gives_way(&mut self, made: &mut Assigned, cond: &Expr, looks: &Origins) {
        if self.here.early || !is_if_there(cond) {
            return;
        }
        for (Change { before, .. }, after) in made {
            let look = before.as_ref().and_then(|before| self.file_looked_for(looks, before));
            if let Some(look) = look {
                *after = self.is_free(after.clone(), look, cond.span);
            }
        }
    }

    /// The question whether there is a file under this name.
    fn file_looked_for(&self, looks: &Origins, path: &Value) -> Option<EventId> {
        let path = spelled(&self.words().tidies, &path.name);
        let is_it = |event: &Event| {
            let file = event.resource.as_ref().filter(|r| r.kind == Kind::File && r.part.is_none());
            matches!(event.what, What::Check) && file.is_some_and(|r| r.name == path)
        };
        looks.iter().find(|id| self.event(*id).is_some_and(is_it))
    }

    /// `if (!exists(path)) return path`: a name that nobody had.
    pub(super) fn gives_free(&mut self, path: Value) -> Value {
        let looks = self.said(Says::Absent);
        if self.here.early || looks.is_empty() {
            return path;
        }
        match self.file_looked_for(&looks, &path) {
            Some(look) => self.is_free(path, look, self.at),
            None => path,
        }
    }

    fn is_free(&mut self, path: Value, look: EventId, span: Span) -> Value {
        let look = Origins::one(look);
        let next = self.emit(What::Next, None, &look, span);
        path.from(&look).from(&Origins::one(next))
    }
}

/// A condition that holds if what it asks for is there, or that and something else.
fn is_if_there(cond: &Expr) -> bool {
    match &cond.kind {
        ExprKind::Binary { op, left, right } if op == "&&" => is_if_there(left) || is_if_there(right),
        _ => if_absent(cond, true) == Some(false),
    }
}

/// Entries of maps that were put there, whatever their names are, are there again.
pub(super) fn put_entries(made: &Assigned) {
    for (Change { spot, before }, after) in made {
        if before.is_none() && matches!(spot, Spot::Field(_, name) if name.starts_with('[')) {
            spot.put(after.clone());
        }
    }
}

impl Engine<'_> {
    /// Behind the arms counts what those have assigned that go on. Whoever has left left it to the caller, and to nobody
    /// who comes before the end of the call.
    pub(super) fn behind(&mut self, arms: Vec<(Flow, Assigned)>, whole: bool) {
        let nobody = whole && arms.iter().all(|(flow, _)| *flow == Flow::Leaves);
        let (left, stays): (Vec<_>, Vec<_>) = arms.into_iter().partition(|(flow, _)| *flow == Flow::Leaves && !nobody);
        self.either_of(stays.into_iter().map(|(_, made)| made), whole);
        if let Some(frame) = self.frames.last_mut() {
            frame.left.extend(left.into_iter().flat_map(|(_, made)| made));
        }
    }

    /// The call ends, and with it those ways through it that have left before.
    pub(super) fn left_behind(&mut self, frame: Option<&mut Frame>, call: &Rc<Vars>) {
        let left = frame.map(|frame| std::mem::take(&mut frame.left)).unwrap_or_default();
        for (Change { spot, .. }, after) in left.into_iter().filter(|(change, _)| !change.spot.is_of(call)) {
            // An inner arm knows only what was there before itself; what has gone on since then is known already.
            let before = spot.get();
            spot.put(before.as_ref().map_or_else(|| after.clone(), |before| before.join(&after)));
            if spot.outlives(self.here.depth) {
                self.changes.push(Change { spot, before });
            }
        }
    }
}

/// Something that outlives the call, and was assigned in it; what it was, if that tells more.
#[derive(Debug)]
pub(super) struct Kept(Spot, Option<Value>);

/// What was there, where it is a part of a library and the new value is anything: others are given their own, for a
/// test or by choice, and the calls that come next mostly find the library.
fn better(before: &Value, value: &Value) -> Option<Value> {
    let library = match &before.shape {
        Shape::Package(_) => true,
        Shape::Api(kind) => &**kind != COLLECTION,
        _ => false,
    };
    (library && value.is_vague()).then(|| before.clone())
}

impl Engine<'_> {
    /// The next call finds what this one has left: reads of files are known to it as reads of an earlier time, other
    /// events mean nothing to it.
    pub(super) fn keep(&mut self) {
        let mut known: BTreeMap<EventId, Option<EventId>> = BTreeMap::new();
        for Kept(spot, known_as) in std::mem::take(&mut self.kept) {
            if let Some(now) = spot.get() {
                let value = match known_as.filter(|_| now.is_vague()) {
                    Some(known_as) => known_as.from(&now.origins),
                    None => now,
                };
                let mut value = self.lasting(&value, &mut known, KEPT_DEEP);
                // A promise that an earlier call has left is not the one that a call makes for itself.
                if self.is_turn(&value) {
                    value.name = format!("earlier {}", value.name).into();
                }
                spot.put(value);
            }
        }
    }

    fn lasting(&mut self, value: &Value, known: &mut BTreeMap<EventId, Option<EventId>>, deep: u32) -> Value {
        let mut origins = Origins::default();
        for id in value.origins.iter() {
            let lasting =
                if id >= super::EARLY { Some(id) } else { *known.entry(id).or_insert_with(|| self.early_id(id)) };
            origins = lasting.map_or_else(|| origins.clone(), |id| origins.with(&Origins::one(id)));
        }
        let mut shape = value.shape.clone();
        if let Some(deep) = deep.checked_sub(1) {
            match &mut shape {
                Shape::List(items) => *items = items.iter().map(|item| self.lasting(item, known, deep)).collect(),
                Shape::Object(object) => {
                    let names: Vec<Rc<str>> = object.fields.borrow().keys().cloned().collect();
                    for name in names {
                        // Whoever is reached by itself must not be borrowed meanwhile.
                        let field = object.fields.borrow().get(&name).cloned();
                        if let Some(field) = field.filter(|field| !field.deep_origins().is_empty()) {
                            let field = self.lasting(&field, known, deep);
                            object.fields.borrow_mut().insert(name, field);
                        }
                    }
                }
                _ => {}
            }
        }
        Value { origins, shape, name: Rc::clone(&value.name) }
    }

    /// A read of a file, as one that was before the entry points.
    fn early_id(&mut self, id: EventId) -> Option<EventId> {
        let event = self.events.get(id as usize)?;
        let resource = event.resource.as_ref().filter(|resource| resource.kind == Kind::File)?;
        if !matches!(event.what, What::Read { .. }) {
            return None;
        }
        let same = |old: &Event| old.site == event.site && old.resource.as_ref() == Some(resource);
        let lately = self.early.get(self.early_before..).unwrap_or_default();
        if let Some(old) = lately.iter().find(|old| same(old)) {
            return Some(old.id);
        }
        if lately.len() >= KEPT_MOST {
            return None;
        }
        let id = super::EARLY + EventId::try_from(self.early.len()).ok()?;
        let event = Event { id, early: true, kept: true, path: Rc::from([]), held: Rc::from([]), ..event.clone() };
        Rc::make_mut(&mut self.early).push(event);
        Some(id)
    }
}
