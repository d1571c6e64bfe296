//! Classes: their methods, what belongs to all of them, and objects.

use std::rc::Rc;

use super::call::{Args, is_decorated, path_of};
use super::eval::is_javascript;
use super::name::word;
use super::table::Table;
use super::value::{Closure, Object, Origins, Shape, Value};
use super::{CALLS_DEEP, Engine, Frame, Site};
use crate::hir::{Class, ClassId, ExprKind, Function, FunctionId, Language, Span};

/// Classes that extend classes.
pub(super) const BASES_DEEP: u32 = 8;

/// An object that was made while files were loaded.
pub(super) struct MadeEarly {
    /// What its constructor was given.
    given: Vec<(Option<Rc<str>>, Rc<str>)>,
    fields: Table<Value>,
    /// Making it left something behind.
    lasting: bool,
}

impl Engine<'_> {
    /// A method of a class or of those it extends.
    pub(super) fn method(&mut self, file: usize, class: ClassId, name: &str, this: &Value) -> Option<Value> {
        let mut at = (file, class);
        for _ in 0..8 {
            let found = self.module(at.0).classes.get(at.1)?;
            if let Some(function) = self.own_method(at.0, at.1, name, false) {
                let scope = self.load(at.0);
                let decorators = self.module(at.0).functions.get(function).map(|f| f.decorators.as_slice());
                let is_property = decorators.is_some_and(|all| is_decorated(&self.words().properties, all))
                    || self.module(at.0).functions.get(function).is_some_and(|f| f.is_getter);
                let bound = match self.is_of_class(at.0, function) {
                    true => Value::of(Shape::Class(file, class), &*found.name),
                    false => this.clone(),
                };
                let closure = Closure { file: at.0, function, scope, this: Some(bound) };
                if is_property {
                    let site = Site { file: at.0, span: found.span };
                    return Some(self.call_closure(&Rc::new(closure), Vec::new(), site));
                }
                let plain = Value::member(Shape::Func(Rc::new(closure)), &this.name, name);
                let function = self.module(at.0).functions.get(function)?;
                return Some(self.wrapped_method(at.0, function, plain));
            }
            at = self.base(at.0, at.1)?;
        }
        None
    }

    /// A method that the class itself has, or what assigns to a field of that name.
    pub(super) fn own_method(&self, file: usize, class: ClassId, name: &str, sets: bool) -> Option<FunctionId> {
        let module = self.module(file);
        let mut named = module.classes.get(class)?.methods.iter().filter(|(method, _)| method == name);
        let is_setter = |function: FunctionId| module.functions.get(function).is_some_and(|f| f.is_setter);
        named.find(|(_, function)| is_setter(*function) == sets).map(|(_, function)| *function)
    }

    /// Calls what the class of an object, or one that it extends, does when this field is set; `false` if it does nothing.
    pub(super) fn calls_setter(&mut self, of: &Value, name: &str, value: &Value, span: Span) -> bool {
        let Some(mut at) = of.object().and_then(|object| object.class) else { return false };
        for _ in 0..BASES_DEEP {
            if let Some(function) = self.own_method(at.0, at.1, name, true) {
                let scope = self.load(at.0);
                let closure = Closure { file: at.0, function, scope, this: Some(of.clone()) };
                let site = self.site(span);
                self.call_closure(&Rc::new(closure), vec![(None, value.clone())], site);
                return true;
            }
            match self.base(at.0, at.1) {
                Some(base) => at = base,
                None => return false,
            }
        }
        false
    }

    /// An object of Go's interfaces: what its methods do stands somewhere else.
    pub(super) fn says_nothing(&self, object: &Object) -> bool {
        let Some((file, class)) = object.class else { return false };
        let is_empty = |class: &Class| class.methods.is_empty() && class.fields.is_empty();
        self.language(file) == Language::Go && self.module(file).classes.get(class).is_some_and(is_empty)
    }

    /// A class method's first parameter is the class it was taken from, not an object, and so is a static method's `this`.
    pub(super) fn is_of_class(&self, file: usize, function: usize) -> bool {
        let language = self.language(file);
        (language == Language::Python || is_javascript(language))
            && self.module(file).functions.get(function).is_some_and(|function| function.is_static)
    }

    pub(super) fn base(&mut self, file: usize, class: ClassId) -> Option<(usize, ClassId)> {
        let bases = &self.module(file).classes.get(class)?.bases;
        let scope = self.load(file);
        bases.iter().find_map(|base| match &base.kind {
            ExprKind::Name(name) => match self.find(&scope, name)?.0.value.shape {
                Shape::Class(file, class) => Some((file, class)),
                _ => None,
            },
            _ => None,
        })
    }

    /// An object: fields with what they begin with, then the constructor. Without arguments its parameters are symbols.
    pub(super) fn construct(
        &mut self,
        file: usize,
        class: ClassId,
        args: Option<Args>,
        name: &str,
        site: Site,
    ) -> Value {
        if self.module(file).classes.get(class).is_none() {
            return Value::unknown(name);
        }
        // What is made in a call is the call's own until it is stored.
        let mut object = Object::new(self.here.early);
        object.class = Some((file, class));
        self.objects.push(Rc::downgrade(&object.fields));
        object.api = self.api_base(file, class);
        let this = Value::of(object.clone().into(), name);
        if self.frames.len() >= CALLS_DEEP {
            return this;
        }
        let line = self.line(file, class);
        // Those of the class that others extend are there first.
        line.iter().rev().for_each(|class| self.begin_fields(*class, &object, &this, site));
        let constructor =
            |(file, class): &(usize, ClassId)| Some((*file, self.own_method(*file, *class, "constructor", false)?));
        if let Some((file, function)) = line.iter().find_map(constructor) {
            // MadeEarly while one of its kind is being made: that one tells what it is like.
            let same = |frame: &Frame| {
                let of = frame.this.as_ref().and_then(Value::object).and_then(|object| object.class);
                (frame.file, frame.function) == (file, function) && of == object.class
            };
            if self.frames.iter().any(same) {
                return this;
            }
            let args = args.unwrap_or_else(|| self.symbols(file, function, name));
            let scope = self.load(file);
            let closure = Closure { file, function, scope, this: Some(this.clone()) };
            if self.here.early {
                return self.made_before(this, closure, args, site);
            }
            self.call_closure(&Rc::new(closure), args, site);
            return this;
        }
        // Without a constructor, what is given are its fields: each tells by itself what it was read from. What is inside
        // of a field is told by the field as a whole, however deep it is.
        let fields =
            line.iter().rev().filter_map(|(file, class)| Some(&self.module(*file).classes.get(*class)?.fields));
        let mut names = fields.flatten().map(|field| field.name.as_str());
        let mut elsewhere = Origins::default();
        for (name, value) in args.unwrap_or_default() {
            let inside = value.deep_origins();
            match name.or_else(|| names.next().map(Into::into)) {
                Some(name) => drop(object.fields.borrow_mut().insert(name, value.from(&inside))),
                None => elsewhere = elsewhere.with(&inside),
            }
        }
        this.from(&elsewhere)
    }

    /// A class, and those that it extends.
    fn line(&mut self, file: usize, class: ClassId) -> Vec<(usize, ClassId)> {
        let mut line = vec![(file, class)];
        while let Some(&(file, class)) = line.last()
            && line.len() <= BASES_DEEP as usize
            && let Some(base) = self.base(file, class).filter(|base| !line.contains(base))
        {
            line.push(base);
        }
        line
    }

    /// What the fields of an object begin with, as far as one class says so.
    fn begin_fields(&mut self, (file, class): (usize, ClassId), object: &Object, this: &Value, site: Site) {
        let Some(found) = self.module(file).classes.get(class) else { return };
        let (language, scope) = (self.language(file), self.load(file));
        let statics = self.class_fields(file, class);
        let mut statics = statics.iter().peekable();
        let (guards, depth) = (self.here.guards.len(), self.here.depth);
        self.frames.push(Frame { guards, depth, ..Frame::new(file, 0, site, Some(this.clone())) });
        for (index, field) in found.fields.iter().enumerate() {
            let known = statics.next_if(|(known, _)| *known == index).map(|(_, value)| value.clone());
            let value = match (&field.value, field.type_text.as_deref()) {
                _ if known.is_some() => known,
                (Some(value), _) => {
                    // What a class says of its objects is there before any call.
                    let early = self.here.early;
                    self.here.early |= field.is_static || language == Language::Python;
                    let value = self.eval(value, &scope);
                    self.here.early = early;
                    Some(value)
                }
                (None, Some(text)) => match self.models.written(language, text) {
                    Some((kind, _)) => {
                        let name = format!("{}.{}", this.name, field.name);
                        Some(Value::of(Shape::Api(kind.name.as_str().into()), name))
                    }
                    // Only whoever makes the object knows what it is given; here it is one of a few.
                    None if matches!(language, Language::Go | Language::Rust) => self.typed(file, text),
                    None => None,
                },
                _ => None,
            };
            if let Some(value) = value {
                self.made.remove(&value.name);
                object.fields.borrow_mut().insert(word(&field.name), value);
            }
        }
        self.frames.pop();
    }

    /// Runs a constructor, unless it has run with the same arguments: many files make the same thing when they are loaded.
    fn made_before(&mut self, this: Value, closure: Closure, args: Args, site: Site) -> Value {
        let Some(object) = this.object().cloned() else { return this };
        let Some(class) = object.class else { return this };
        let given: Vec<_> = args.iter().map(|(name, value)| (name.clone(), Rc::clone(&value.name))).collect();
        if let Some(made) = self.made_early.get(&class).filter(|made| made.given == given) {
            let fields = made.fields.clone();
            if let Some(script) = self.frames.first().filter(|_| made.lasting) {
                self.scripts.insert(script.file);
            }
            // What it had is dropped only when nothing is borrowed any more.
            drop(object.fields.replace(fields));
            return this;
        }
        let first = self.early.len();
        self.call_closure(&Rc::new(closure), args, site);
        let lasting = self.early.get(first..).is_some_and(|new| new.iter().any(super::Event::is_lasting));
        let fields = object.fields.borrow().clone();
        self.made_early.insert(class, MadeEarly { given, fields, lasting });
        this
    }

    /// A function of an object literal: its `this` is the object that it is called on.
    pub(super) fn as_method(&self, found: Value, of: &Value) -> Value {
        let Shape::Func(closure) = &found.shape else { return found };
        let own = self.module(closure.file).functions.get(closure.function);
        let is_method = |function: &Function| function.class.is_none() && !function.is_arrow;
        if !is_javascript(self.language(closure.file)) || !own.is_some_and(is_method) {
            return found;
        }
        let Closure { file, function, ref scope, .. } = **closure;
        let closure = Closure { file, function, scope: Rc::clone(scope), this: Some(of.clone()) };
        Value { shape: Shape::Func(Rc::new(closure)), ..found }
    }

    /// The same, where the file exports nothing under this name.
    pub(super) fn whole_without(&mut self, file: usize, name: &str) -> Option<Value> {
        if !is_javascript(self.language(file)) || self.program.export(file, name).is_some() {
            return None;
        }
        self.whole(file)
    }

    /// What CommonJS exports as a whole: `module.exports = new Store()` is what `require` gives.
    pub(super) fn whole(&mut self, file: usize) -> Option<Value> {
        if !is_javascript(self.language(file)) || self.program.export(file, "default").is_none() {
            return None;
        }
        let whole = self.exported(file, "default");
        (!matches!(whole.shape, Shape::File(_))).then_some(whole)
    }

    /// The modelled type that a class extends, directly or through others.
    pub(super) fn api_base(&mut self, file: usize, class: ClassId) -> Option<Rc<str>> {
        if let Some(known) = self.bases.get(&(file, class)) {
            return known.clone();
        }
        let found = self.api_above(file, class, BASES_DEEP);
        // What it extends may be a variable that is still to come.
        if found.is_some() || self.loaded.contains(&file) {
            self.bases.insert((file, class), found.clone());
        }
        found
    }

    fn api_above(&mut self, file: usize, class: ClassId, depth: u32) -> Option<Rc<str>> {
        let depth = depth.checked_sub(1)?;
        let language = self.language(file);
        let scope = self.load(file);
        let bases = &self.module(file).classes.get(class)?.bases;
        bases.iter().find_map(|base| {
            let path = path_of(base)?;
            let value = self.find(&scope, path.split('.').next()?)?.0.value;
            match &value.shape {
                Shape::Package(package) => {
                    let full = path
                        .split_once('.')
                        .map_or_else(|| package.to_string(), |(_, rest)| format!("{package}.{rest}"));
                    let (head, last) = full.rsplit_once('.').unwrap_or(("", &full));
                    let usual = format!("{}.{last}", self.models.package(language, head));
                    let models = self.models;
                    let kind = models.made(language, &full).or_else(|| models.made(language, &usual))?;
                    Some(kind.name.as_str().into())
                }
                Shape::Api(kind) => {
                    let kind = self.models.of_type(language, kind)?;
                    let field = path.rsplit('.').next().and_then(|last| kind.fields.get(last));
                    Some(field.map_or(kind.name.as_str(), |field| field.trim_start_matches('=')).into())
                }
                Shape::Class(file, class) => self.api_above(*file, *class, depth),
                _ => None,
            }
        })
    }

    fn symbols(&self, file: usize, function: usize, name: &str) -> Args {
        let params = self.module(file).functions.get(function).map_or(&[][..], |f| &f.params[..]);
        let symbol = |param: &crate::hir::Param| match &param.pattern {
            crate::hir::Pattern::Name(param) => Value::unknown(format_args!("{name}.${param}")),
            _ => Value::unknown("$argument"),
        };
        params.iter().filter(|param| param.default.is_none()).map(|param| (None, symbol(param))).collect()
    }
}
