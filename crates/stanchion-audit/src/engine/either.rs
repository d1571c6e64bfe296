//! One of several objects: a factory that chooses, an interface with few classes.

use std::rc::Rc;

use super::Engine;
use super::call::Args;
use super::known::Known;
use super::value::{Object, Origins, Shape, Value};
use crate::hir::Span;

/// Classes of which one variable can be.
pub(super) const EITHER_MOST: usize = 4;

/// Objects of different classes, or of none and made by different code, if these are such; the later one of each counts.
pub(super) fn either(one: &Value, other: &Value) -> Option<Rc<[Value]>> {
    fn add(value: &Value, all: &mut Vec<Value>) -> bool {
        let made = |object: &Object| (object.class, object.place);
        match &value.shape {
            Shape::Object(object) if object.class.is_some() || object.place.is_some() => {
                match all.iter_mut().find(|old| old.object().map(made) == Some(made(object))) {
                    Some(old) => *old = value.clone(),
                    None => all.push(value.clone()),
                }
                true
            }
            Shape::Either(several) => several.iter().all(|value| add(value, all)),
            _ => false,
        }
    }
    let mut all = Vec::new();
    (add(one, &mut all) && add(other, &mut all) && (2..=EITHER_MOST).contains(&all.len())).then(|| all.into())
}

/// Functions that one table chooses from.
const TABLE_MOST: usize = 64;

/// Whether it has nothing but functions.
pub(super) fn is_table(of: &Value) -> bool {
    of.object().filter(|object| object.class.is_none()).is_some_and(|object| {
        let fields = object.fields.borrow();
        !fields.is_empty() && fields.values().all(|value| value.closure().is_some())
    })
}

/// Whether all of these are objects that can do something: they have functions, or a class.
fn can_do<'a>(mut all: impl Iterator<Item = &'a Value>) -> bool {
    all.all(|value| value.object().is_some_and(|object| object.class.is_some() || object.place.is_some()))
}

/// What is taken from an object of functions, or of objects with functions, by an unknown key: one of them.
pub(super) fn any_function(of: &Value, key: &Origins) -> Option<Value> {
    let is_shelf = |object: &&Object| {
        let fields = object.fields.borrow();
        object.class.is_none() && !fields.is_empty() && can_do(fields.values())
    };
    let object = of.object().filter(|object| is_table(of) || is_shelf(object))?;
    let all: Rc<[Value]> = object.fields.borrow().values().take(TABLE_MOST).cloned().collect();
    Some(Value::of(Shape::Either(all), format_args!("{}[]", of.name)).from(&of.origins).from(key))
}

impl Engine<'_> {
    /// `tools.find((tool) => tool.name === name)` of a list that is known: one of them.
    pub(super) fn one_of_list(&mut self, known: &Known<'_>) -> Option<Value> {
        let list = known.this.filter(|list| list.origins.iter().all(|id| self.is_of_memory(id)))?;
        let Shape::List(items) = &list.shape else { return None };
        if !(1..=TABLE_MOST).contains(&items.len()) || !can_do(items.iter()) {
            return None;
        }
        let asked = known.get(&known.model.callback).filter(|callback| callback.closure().is_some())?;
        let mut names = Vec::with_capacity(items.len());
        let mut origins = Origins::default();
        for item in items.iter() {
            let is_it = self.invoke(&asked, vec![(None, item.clone())], false, known.span);
            origins = origins.with(&is_it.deep_origins());
            names.push(is_it.name);
        }
        let one = Value::of(Shape::Either(Rc::clone(items)), format!("{}[]", list.name)).from(&origins);
        self.names_found(items, &names);
        Some(one)
    }

    /// A method of one of several objects.
    pub(super) fn call_one_of(&mut self, several: &[Value], args: &Args, span: Span) -> Value {
        let branch = self.new_branch();
        self.names_chosen(several, branch);
        let mut back: Option<Value> = None;
        for (index, one) in several.iter().enumerate() {
            let arm = u16::try_from(index).unwrap_or(u16::MAX);
            let given =
                self.arm(branch, arm, &Origins::default(), |engine| engine.invoke(one, args.clone(), false, span));
            back = Some(back.map_or_else(|| given.clone(), |all| all.join(&given)));
        }
        back.unwrap_or_else(Value::null)
    }

    /// A field or method of one of several objects.
    pub(super) fn member_of_one(&mut self, several: &[Value], of: &Value, name: &str, span: Span) -> Value {
        let parts: Vec<Value> = several.iter().map(|one| self.member(one, name, span)).collect();
        if parts.iter().all(|part| part.closure().is_some()) {
            let parts: Rc<[Value]> = parts.into();
            self.names_parts(several, &parts);
            return Value::of(Shape::Either(parts), format!("{}.{name}", of.name)).from(&of.origins);
        }
        let joined = parts.into_iter().reduce(|all, one| all.join(&one));
        joined.unwrap_or_else(Value::null).from(&of.origins)
    }
}
