//! Objects, structs and lists as they are written.

use std::rc::Rc;
use std::slice::from_ref;

use super::Engine;
use super::name::{Joined, joined, named, word};
use super::value::{Object, Origins, Scope as Vars, Shape, Value};
use crate::hir::{Expr, Language, Span, Text};

/// Fields of an object that its name is made of: each is a character and a comma at least.
const NAMES_MOST: usize = 4 * super::name::NAME_MOST;

impl Engine<'_> {
    pub(super) fn object(
        &mut self,
        of: Option<&str>,
        fields: &[(Option<Text>, Expr)],
        span: Span,
        scope: &Rc<Vars>,
    ) -> Value {
        let language = self.language(self.file());
        let mut object = Object::new(self.here.early);
        let mut names: Vec<Rc<str>> = Vec::new();
        let mut origins = Origins::default();
        for (name, value) in fields {
            let value = self.eval(value, scope);
            match name {
                Some(name) => {
                    // A lock of a struct is for whoever has the struct.
                    if of.is_some() {
                        self.made.remove(&value.name);
                    }
                    // More than this is left out of a name anyway.
                    if names.len() < NAMES_MOST {
                        names.push(joined(&[name, ":", &value.name]));
                    }
                    object.fields.borrow_mut().insert(word(name), value);
                }
                None => {
                    // `...other`: its fields are ours now.
                    origins = origins.with(&value.deep_origins());
                    let several =
                        if let Shape::Either(several) = &value.shape { &several[..] } else { from_ref(&value) };
                    for other in several.iter().filter_map(Value::object) {
                        let copied = other.fields.borrow().clone();
                        object.fields.borrow_mut().extend(copied);
                    }
                }
            }
        }
        if let Some(of) = of {
            let path = self.spelled(of, scope);
            if let Some(kind) = self.models.made(language, &path).or_else(|| self.declared(self.file(), of)) {
                // Every lock is one of its own.
                let own = format!("{of}@{}:{}:{}", self.program.path(self.file()), span.line, span.column);
                if kind.lock.is_some()
                    && !self.here.early
                    && let Some(function) = self.frames.last().map(|frame| frame.function)
                {
                    self.made.insert(own.as_str().into(), (self.frames.len(), function));
                }
                let name = if kind.lock.is_some() { own.as_str() } else { of };
                return Value::of(Shape::Api(kind.name.as_str().into()), name);
            }
            object.class = self.class_named(of, scope);
            object.shared = object.class.is_some();
            self.add_locks(&object, of);
            self.note_made(&object);
        }
        if object.class.is_none() && object.fields.borrow().values().any(|field| field.closure().is_some()) {
            object.place = Some(self.site(span));
        }
        let shape = Shape::from(object);
        match of {
            Some(of) => Value::of(shape, of),
            None => Value::of(shape, format_args!("{{{}}}", Joined(names.iter().map(|name| &**name)))),
        }
        .from(&origins)
    }

    /// Go's locks need not be made: those that nobody mentions are there as well.
    fn add_locks(&self, object: &Object, of: &str) {
        let Some((file, class)) = object.class.filter(|(file, _)| self.language(*file) == Language::Go) else { return };
        let fields = self.module(file).classes.get(class).map_or(&[][..], |class| &class.fields);
        for field in fields.iter().filter(|field| !object.fields.borrow().contains_key(&field.name)) {
            let kind = field.type_text.as_deref().and_then(|text| self.models.written(Language::Go, text));
            if let Some((kind, _)) = kind.filter(|(kind, _)| kind.lock.is_some()) {
                let lock = Value::of(Shape::Api(kind.name.as_str().into()), format_args!("{of}.{}", field.name));
                object.fields.borrow_mut().insert(word(&field.name), lock);
            }
        }
    }

    /// A type's name with its package: `redis.Client` as `github.com/redis/go-redis/v9.Client`.
    fn spelled(&mut self, name: &str, scope: &Rc<Vars>) -> String {
        let parts = name.replace("::", ".");
        let (head, rest) = parts.split_once('.').unwrap_or((&parts, ""));
        let Some((found, _)) = self.find(scope, head) else { return parts };
        match &found.value.shape {
            Shape::Package(package) if rest.is_empty() => package.to_string(),
            Shape::Package(package) => format!("{package}.{rest}"),
            _ => parts,
        }
    }

    fn class_named(&mut self, name: &str, scope: &Rc<Vars>) -> Option<(usize, usize)> {
        match self.find(scope, name)?.0.value.shape {
            Shape::Class(file, class) => Some((file, class)),
            _ => None,
        }
    }
}

/// A list of these.
pub(super) fn list(items: Rc<[Value]>) -> Value {
    let name = named(&format_args!("[{}]", Joined(items.iter().map(|item| &*item.name))));
    Value::of(Shape::List(items), name)
}
