//! Which model a call is described by.

use std::rc::Rc;

use super::Engine;
use super::call::Args;
use super::either::any_function;
use super::event::What;
use super::fields::pairs;
use super::known::Known;
use super::listing::kept_alike;
use super::memory::COLLECTION;
use super::name::{joined, word};
use super::value::{Object, Origins, Shape, Value};
use crate::hir::{Language, Span};
use crate::models::{Argument, Which, Words};

impl Engine<'_> {
    pub(super) fn call_package(&mut self, path: &str, args: Args, is_new: bool, span: Span) -> Value {
        let language = self.language(self.file());
        let models = self.models;
        if let ([(None, of)], true) = (&args[..], Words::is_one(&self.words().pairs, path))
            && let Some(pairs) = pairs(of)
        {
            return pairs;
        }
        let usual = models.package(language, path);
        let (package, name) = usual.rsplit_once('.').unwrap_or(("", usual));
        let package = models.package(language, package);
        let made = models.made(language, path);
        if let Some(kind) = made.or_else(|| models.made(language, &joined(&[package, ".", name]))) {
            let kind_name: Rc<str> = kind.name.as_str().into();
            let made = self.made(&kind_name, path, &args, is_new, span);
            let all = args.first().filter(|_| *kind_name == *COLLECTION);
            return all.map(|(_, all)| kept_alike(all, made.clone().from(&all.origins))).unwrap_or(made);
        }
        // The package itself, or what it exports by default, is called.
        for (on, name) in [(usual, "()"), (package, name)] {
            for model in models.calls(language, on, name) {
                let known = Known { model, this: None, args: &args, name, span, pass: None };
                if known.has_needs() {
                    return self.apply(&known, on);
                }
            }
        }
        // Rust: `Trait::method(value, …)` is `value.method(…)`, and what a function gives is made of what it is given.
        if language == Language::Rust
            && let Some(((None, of), rest)) = args.split_first()
            && let Some(back) = self.known_method(of, name, &rest.to_vec(), span)
        {
            return back;
        }
        if !package.is_empty() {
            let this = Value::of(Shape::Package(word(package)), package);
            if let Some(back) = self.duck(&this, name, &args, span) {
                return back;
            }
        }
        let given = self.gives_path(path, &args, is_new, span);
        self.call_unknown(&Value::unknown(path).from(&given), args, span)
    }

    /// A new instance of a modelled type.
    fn made(&mut self, kind: &Rc<str>, path: &str, args: &Args, _is_new: bool, span: Span) -> Value {
        let language = self.language(self.file());
        let models = self.models;
        let mut kind = Rc::clone(kind);
        let found = models.of_type(language, &kind);
        for instead in found.map_or(&[][..], |found| &found.instead) {
            let option = option_of(args, &instead.option);
            let is = |text: &String| option.as_ref().is_some_and(|option| option.name.eq_ignore_ascii_case(text));
            if instead.is.as_ref().is_some_and(is) || instead.not.as_ref().is_some_and(|text| !is(text)) {
                kind = instead.kind.as_str().into();
                break;
            }
        }
        let found = models.of_type(language, &kind);
        let is_lock = found.is_some_and(|kind| kind.lock.is_some());
        let unique = format!("{path}@{}:{}:{}", self.program.path(self.file()), span.line, span.column);
        let name = args.first().map_or_else(|| path.to_owned(), |(_, arg)| arg.name.to_string());
        let says = |arg: &Value| arg.as_text().is_some() || matches!(arg.shape, Shape::Template(_) | Shape::Api(_));
        // A lock without a name is one of its own; one with a name is whatever has that name.
        let inside = found.and_then(|kind| kind.lock).is_some_and(|reach| reach.scope() <= super::Scope::Process);
        let named = |arg: &Value| says(arg) || !inside && arg.is_vague();
        let name = if is_lock && !args.iter().any(|(_, arg)| named(arg)) { unique } else { name };
        // In Rust a lock holds what it protects: only one that holds nothing is for something else.
        let holds = language == Language::Rust
            && !matches!(args.first(), Some((_, Value { shape: Shape::List(items), .. })) if items.is_empty());
        if is_lock
            && !holds
            && !self.here.early
            && let Some(function) = self.frames.last().map(|frame| frame.function)
        {
            self.made.insert(name.as_str().into(), (self.frames.len(), function));
        }
        let shape = if found.is_some_and(|kind| kind.keeps) {
            let mut object = Object::new(false);
            object.api = Some(Rc::clone(&kind));
            for (name, arg) in args {
                match (name, arg.object()) {
                    (Some(name), _) => drop(object.fields.borrow_mut().insert(Rc::clone(name), arg.clone())),
                    (None, Some(given)) => {
                        let copied = given.fields.borrow().clone();
                        object.fields.borrow_mut().extend(copied);
                    }
                    _ => {}
                }
            }
            object.into()
        } else {
            Shape::Api(Rc::clone(&kind))
        };
        let given = args.iter().fold(Origins::default(), |all, (_, arg)| all.with(&arg.deep_origins()));
        let value = Value::of(shape, name).from(&given);
        self.opens_with(args, span);
        // A constructor that is told what to run, such as a queue's worker.
        if let Some(model) = models.call(language, &kind, "new") {
            self.apply(&Known { model, this: Some(&value), args, name: "new", span, pass: None }, &kind);
        }
        value
    }

    pub(super) fn call_method(&mut self, of: &Value, name: &str, args: Args, span: Span) -> Value {
        let language = self.language(self.file());
        let models = self.models;
        if let Shape::Lock(lock) = &of.shape
            && Words::is_one(&self.words().releases, name)
        {
            self.give_back(&Rc::clone(lock), true, span);
            return Value::null();
        }
        if args.is_empty()
            && Words::is_one(&self.words().pairs, name)
            && let Some(pairs) = pairs(of)
        {
            return pairs;
        }
        if let Some(back) = self.of_function(of, name, &args, span) {
            return back;
        }
        // Only of an object of functions this is a method.
        if let ("get", Some((_, key))) = (name, args.first())
            && let Some(one) = any_function(of, &key.origins)
        {
            self.names_table(of, key, &one);
            return one;
        }
        if let Shape::Api(kind) = &of.shape
            && models.of_type(language, kind).is_some_and(|kind| kind.returns.iter().any(|method| method == name))
        {
            self.emit(What::GivenBack, None, &Origins::default(), span);
            if self.here.transaction.is_none() {
                return Value::null();
            }
        }
        if let Some(text) = self.joined_text(of, name, &args) {
            return text;
        }
        if let Some(back) = self.map_call(of, name, &args, span) {
            return back;
        }
        if let Some(back) = self.known_method(of, name, &args, span) {
            return back;
        }
        if let Some(is) = self.asks_names(of, name, args.first().map(|(_, arg)| arg), span) {
            return is;
        }
        let callee = Value::joined(&[&of.name, ".", name]).from(&of.deep_origins());
        self.call_unknown(&callee, args, span)
    }

    /// `store[key]` and `store[key] = value`, where the models know what that does.
    pub(super) fn item(&mut self, of: &Value, does: &str, args: Args, span: Span) -> Option<Value> {
        let (models, language) = (self.models, self.language(self.file()));
        let kind = of.kind()?;
        let model = models.call(language, kind, does)?;
        Some(self.apply(&Known { model, this: Some(of), args: &args, name: does, span, pass: None }, kind))
    }

    /// A method that a model describes, of the type of what it is called on or of anything.
    fn known_method(&mut self, of: &Value, name: &str, args: &Args, span: Span) -> Option<Value> {
        let language = self.language(self.file());
        let models = self.models;
        if let Some(kind) = of.kind() {
            for model in models.calls(language, kind, name) {
                let known = Known { model, this: Some(of), args, name, span, pass: None };
                if known.has_needs() {
                    return Some(self.apply(&known, kind));
                }
            }
            // A further step of a builder that nobody has described.
            if let Shape::Query(query) = &of.shape
                && query.text.is_none()
                && !models.has(language, "*", name)
            {
                return Some(of.clone());
            }
        }
        self.duck(of, name, args, span)
    }

    /// A method of something whose type is not known: only if the arguments look right.
    fn duck(&mut self, of: &Value, name: &str, args: &Args, span: Span) -> Option<Value> {
        let language = self.language(self.file());
        let models = self.models;
        for model in models.calls(language, "*", name) {
            let known = Known { model, this: Some(of), args, name, span, pass: None };
            let is_function = |which: &Argument| known.get(which).is_some_and(|f| known.runs(&f));
            let fits = known.has_needs()
                && match model.does.as_str() {
                    "sql" | "sql.prepare" => known.at().is_some_and(|text| crate::sql::looks_like_sql(&text.name)),
                    "file.handle" => known.at().is_some_and(|at| at.kind().is_some()),
                    _ if !model.handler.0.is_empty() => is_function(&model.handler),
                    _ if !model.callback.0.is_empty() => is_function(&model.callback),
                    _ => model.how.as_deref() == Some("any") || !model.needs.0.is_empty(),
                };
            if fits {
                return Some(self.apply(&known, "*"));
            }
        }
        None
    }
}

/// An option among arguments, before there is a call of a model.
fn option_of(args: &Args, which: &Argument) -> Option<Value> {
    which.0.iter().find_map(|which| match which {
        Which::Position(at) => args.iter().filter(|(name, _)| name.is_none()).nth(*at).map(|(_, value)| value.clone()),
        Which::Keyword(word) => {
            args.iter().find_map(
                |(name, value)| {
                    if name.as_deref() == Some(word) { Some(value.clone()) } else { value.option(word) }
                },
            )
        }
    })
}
