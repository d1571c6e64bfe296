//! Parameters: what the caller gave, what the function says of the rest.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Engine;
use super::call::Args;
use super::value::{Scope as Vars, Shape, Value};
use crate::hir::{Function, Pattern, Span};

impl Engine<'_> {
    /// What a function was given, under the names that it has for it; `all`: it was given nothing else.
    pub(super) fn bind_params(&mut self, function: &Function, args: Args, all: bool, scope: &Rc<Vars>) {
        let depth = self.here.depth;
        self.at = Span { end_line: function.span.line, ..function.span };
        let mut rest: Vec<Value> = Vec::new();
        let (mut named, mut positional): (BTreeMap<Rc<str>, Value>, Vec<Value>) = Default::default();
        for (name, value) in args {
            match name {
                Some(name) => drop(named.insert(name, value)),
                None => positional.push(value),
            }
        }
        let mut positional = positional.into_iter();
        for param in &function.params {
            if param.is_rest {
                rest.extend(positional.by_ref());
                rest.extend(std::mem::take(&mut named).into_values());
                let list = Value::of(Shape::List(std::mem::take(&mut rest).into()), "$rest");
                self.assign(&param.pattern, &list, scope, true);
                continue;
            }
            let by_name = match &param.pattern {
                Pattern::Name(name) => named.remove(name.as_str()),
                _ => None,
            };
            let given = by_name.or_else(|| positional.next());
            let mut value = match (given, &param.default) {
                (Some(given), _) => given,
                (None, Some(default)) => self.eval(default, scope),
                (None, None) if all => Value::null(),
                (None, None) => match &param.pattern {
                    Pattern::Name(name) => Value::joined(&["$", name]),
                    _ => Value::unknown("$argument"),
                },
            };
            if matches!(value.shape, Shape::Unknown)
                && let Some(object) = param.type_text.as_deref().and_then(|text| self.typed(self.file(), text))
            {
                value = object.from(&value.origins);
            }
            if matches!(value.shape, Shape::Unknown)
                && let Some(kind) = param.type_text.as_deref().and_then(|text| self.declared(self.file(), text))
            {
                value.shape = Shape::Api(kind.name.as_str().into());
            }
            match &param.pattern {
                // A parameter hides what has its name outside.
                Pattern::Name(name) => scope.declare(name, value, depth),
                pattern => self.bind(pattern, &value, scope),
            }
        }
    }
}
