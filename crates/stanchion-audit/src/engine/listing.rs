//! What a folder holds, and names that are made of that.

use std::rc::Rc;

use super::Engine;
use super::event::{Kind, Resource, Scope, What};
use super::known::Known;
use super::name::joined;
use super::value::{Origins, Shape, Value};
use crate::hir::Span;
use crate::models::Words;

/// What a model says of a call that is given a pattern: the folder is what stands before the last `/` of what is fixed in it.
const PATTERN: &str = "pattern";
/// And of one that gives what it is called on itself: a path gives paths.
const ALIKE: &str = "alike";
/// And of one that goes through all folders inside: `rglob(name)` is `glob("**/" + name)`.
const DEEP: &str = "deep";

/// One of those that somebody goes through.
pub(super) fn one_of(all: &Value) -> Value {
    match &all.shape {
        Shape::List(items) if items.len() == 1 => items[0].clone(),
        _ => Value::joined(&[&all.name, "[]"]).from(&all.deep_origins()),
    }
}

/// What was taken out of a list of things that are alike, by its number or by a call that takes one, is one of them.
pub(super) fn taken_out(all: &Value, taken: Value) -> Value {
    match &all.shape {
        Shape::List(items)
            if items.len() == 1
                && (items[0].kind().is_some() || matches!(items[0].shape, Shape::List(_)))
                && matches!(taken.shape, Shape::Unknown) =>
        {
            Value { shape: items[0].shape.clone(), ..taken }
        }
        _ => taken,
    }
}

/// The same ones in another order, or in another kind of list.
pub(super) fn kept_alike(all: &Value, kept: Value) -> Value {
    match &all.shape {
        Shape::List(items) if items.len() == 1 && items[0].kind().is_some() => {
            Value { shape: all.shape.clone(), ..kept }
        }
        _ => kept,
    }
}

impl Engine<'_> {
    /// The names in a folder.
    pub(super) fn listed(&mut self, known: &Known<'_>, path: &Rc<str>) -> Value {
        let how = known.model.how.as_deref();
        let folder = match how {
            Some(PATTERN) => {
                let fixed = path.split('*').next().unwrap_or_default();
                fixed.rsplit_once('/').map_or_else(|| Rc::from("."), |(folder, _)| Rc::from(folder))
            }
            _ => Rc::clone(path),
        };
        let mut names = self.result(known);
        if how == Some(DEEP) {
            let pattern = known.args.first().filter(|_| known.this.is_some());
            names.name = joined(&[path, ".glob(**/", pattern.map_or("*", |(_, pattern)| &*pattern.name), ")"]);
        }
        // They are known by their name where somebody looks for one among them.
        let part = Some(Rc::clone(&names.name));
        let resource = Resource { kind: Kind::File, name: folder, part, scope: Scope::Host };
        let id = self.emit(What::List, Some(resource), &Origins::default(), known.span);
        let names = names.from(&Origins::one(id));
        match known.this.filter(|_| matches!(how, Some(ALIKE | DEEP))) {
            Some(this) => {
                let one = Value { shape: this.shape.clone(), ..one_of(&names) };
                Value { shape: Shape::List(Rc::from([one])), ..names }
            }
            None => names,
        }
    }

    /// What an operator gives. One more than what was found among the names in a folder is the next name there.
    pub(super) fn computed(&mut self, op: &str, left: &Value, right: &Value, span: Span) -> Value {
        let value = self.binary(op, left, right);
        let found = match (op, &left.shape, &right.shape) {
            ("+", _, Shape::Num(_)) if !left.origins.is_empty() => left,
            ("+", Shape::Num(_), _) if !right.origins.is_empty() => right,
            ("in", ..) if !right.origins.is_empty() => {
                let among = self.is_among(right, left, span);
                return among.unwrap_or_else(|| value.from(&self.asks_entry(right, left, span)));
            }
            _ => return value,
        };
        let is_list = |id: &u32| self.event(*id).is_some_and(|event| matches!(event.what, What::List));
        let lists = found.origins.iter().filter(is_list);
        let lists = lists.fold(Origins::default(), |all, id| all.with(&Origins::one(id)));
        if lists.is_empty() {
            return value;
        }
        let id = self.emit(What::Next, None, &lists, span);
        value.from(&Origins::one(id))
    }

    /// `names.includes(name)`: whether there is such a file in the folder.
    pub(super) fn asks_names(&mut self, of: &Value, method: &str, asked: Option<&Value>, span: Span) -> Option<Value> {
        if of.origins.is_empty() || !Words::is_one(&self.words().has, method) {
            return None;
        }
        self.is_among(of, asked?, span)
    }

    fn is_among(&mut self, names: &Value, asked: &Value, span: Span) -> Option<Value> {
        let listed = names.origins.iter().filter_map(|id| self.event(id)).find(|event| {
            let part = event.resource.as_ref().and_then(|resource| resource.part.as_ref());
            matches!(event.what, What::List) && part == Some(&names.name)
        })?;
        let (id, folder) = (listed.id, Rc::clone(&listed.resource.as_ref()?.name));
        let name = joined(&[&folder, "/", &asked.name]);
        let resource = Resource { kind: Kind::File, name: Rc::clone(&name), part: None, scope: Scope::Host };
        let id = self.emit(What::Check, Some(resource), &Origins::one(id), span);
        Some(Value::joined(&["listed(", &name, ")"]).from(&Origins::one(id)))
    }
}
