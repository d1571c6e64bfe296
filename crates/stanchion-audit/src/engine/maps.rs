//! Python's maps. Where others can reach one, each of its entries is a thing of its own, whatever it is asked by.

use std::rc::Rc;

use super::Engine;
use super::call::Args;
use super::event::What;
use super::fields::put_there;
use super::given::INSIDE;
use super::known::Known;
use super::name::{called, joined, word};
use super::value::{Object, Origins, Shape, Value};
use crate::hir::{ExprKind, Language, Span, Stmt, StmtKind};
use crate::models::Words;

/// What a model says of an object that each thread has for itself.
const OWN: &str = "own";

/// A map that others can reach.
fn is_shared_map(of: &Value) -> bool {
    of.object().is_some_and(|object| object.shared && object.class.is_none() && object.api.is_none())
}

impl Engine<'_> {
    /// The same, in a language in which `of[index]` is an entry of it.
    pub(super) fn has_entries(&self, of: &Value) -> bool {
        is_shared_map(of) && self.language(self.file()) == Language::Python
    }

    /// An object with the fields that it is given.
    pub(super) fn object_call(&mut self, known: &Known<'_>) -> Value {
        let own = known.model.how.as_deref() == Some(OWN);
        let object = Object::new(self.here.early && !own);
        for (name, arg) in known.args {
            match (name, arg.object()) {
                (Some(name), _) => drop(object.fields.borrow_mut().insert(Rc::clone(name), arg.clone())),
                (None, Some(other)) => {
                    let copied = other.fields.borrow().clone();
                    object.fields.borrow_mut().extend(copied);
                }
                // `defaultdict(asyncio.Lock)`: there is one, whatever is asked for.
                (None, None) => {
                    let lock = self.lock_made_by(arg);
                    lock.into_iter().for_each(|lock| drop(object.fields.borrow_mut().insert(word(INSIDE), lock)));
                }
            }
        }
        let name = called(known.name, known.args.iter().map(|(_, arg)| &*arg.name));
        Value::of(object.into(), name).from(&known.origins())
    }

    /// `asyncio.Lock`, `lambda: asyncio.Lock()`.
    fn lock_made_by(&mut self, maker: &Value) -> Option<Value> {
        let called = match maker.closure().cloned() {
            Some(closure) => {
                let function = self.module(closure.file).functions.get(closure.function)?;
                let [Stmt { kind: StmtKind::Return(Some(value)), .. }] = &function.body[..] else { return None };
                let ExprKind::Call(call) = &value.kind else { return None };
                if !call.args.is_empty() {
                    return None;
                }
                self.eval(&call.callee, &closure.scope)
            }
            None => maker.clone(),
        };
        let Shape::Package(path) = &called.shape else { return None };
        let kind = self.models.made(self.language(self.file()), path).filter(|kind| kind.lock.is_some())?;
        Some(Value::of(Shape::Api(kind.name.as_str().into()), path))
    }

    /// `of[index]`. In Python that is the entry of a map: others can reach it if they can reach the map. Whoever only asks
    /// whether there is one fills a gap.
    pub(super) fn entry(&mut self, of: &Value, index: &Value, span: Span) -> Value {
        // `Annotated[T, …]` is `T`.
        if let (Shape::Package(path), Shape::List(items)) = (&of.shape, &index.shape)
            && let Some(first) = items.first().filter(|_| Words::is_last(&self.words().annotates, path))
        {
            return first.clone();
        }
        let found = put_there(of, index);
        if !self.has_entries(of) || self.here.early || self.here.asking > 0 {
            return found;
        }
        self.memory_read(&joined(&[&of.name, ".[", &index.name, "]"]), found, span)
    }

    /// `index in of`: whether there is such an entry.
    pub(super) fn asks_entry(&mut self, of: &Value, index: &Value, span: Span) -> Origins {
        if !self.has_entries(of) || self.here.early {
            return Origins::default();
        }
        let name = match index.as_text() {
            Some(field) => joined(&[&of.name, ".", field]),
            None => joined(&[&of.name, ".[", &index.name, "]"]),
        };
        Origins::one(self.memory_event(What::Check, &name, &Origins::default(), span))
    }

    /// `map.get(key)`, `map.setdefault(key, new)`, `map.update(key=value)`.
    pub(super) fn map_call(&mut self, of: &Value, method: &str, args: &Args, span: Span) -> Option<Value> {
        if !self.has_entries(of) {
            return None;
        }
        let words = self.words();
        if Words::is_one(&words.entries, method) {
            let ((None, key), rest) = args.split_first()? else { return None };
            let found = match key.as_text() {
                Some(field) => self.member(of, field, span),
                None => self.entry(of, key, span),
            };
            let Some((_, new)) = rest.first() else { return Some(found) };
            // A lock that is put there is the one that others find there.
            let is_lock = self.reach(new).is_some();
            let shape = if is_lock { new.shape.clone() } else { found.shape.clone() };
            return Some(Value { shape, ..found }.from(&new.deep_origins()));
        }
        if !Words::is_one(&words.adds, method) {
            return None;
        }
        let mut all: Vec<(Rc<str>, Value)> = Vec::new();
        for (name, arg) in args {
            match (name, arg.object()) {
                (Some(name), _) => all.push((Rc::clone(name), arg.clone())),
                (None, Some(other)) => {
                    all.extend(other.fields.borrow().iter().map(|(name, value)| (Rc::clone(name), value.clone())));
                }
                (None, None) => {}
            }
        }
        all.iter().for_each(|(name, value)| self.set_field(of, name, value, span));
        (!all.is_empty()).then(Value::null)
    }
}
