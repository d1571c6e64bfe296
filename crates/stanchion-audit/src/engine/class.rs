//! Classes: their methods, what belongs to all of them, and objects.

use std::rc::Rc;

use super::call::{Args, is_decorated, path_of};
use super::eval::is_javascript;
use super::value::{Closure, Object, Origins, Shape, Value};
use super::{CALLS_DEEP, Engine, Frame, Site};
use crate::hir::{ClassId, ExprKind, Function, Language};

/// Classes that extend classes.
pub(super) const BASES_DEEP: u32 = 8;

impl Engine<'_> {
    /// A method of a class or of those it extends.
    pub(super) fn method(&mut self, file: usize, class: ClassId, name: &str, this: &Value) -> Option<Value> {
        let mut at = (file, class);
        for _ in 0..8 {
            let found = self.module(at.0).classes.get(at.1)?;
            if let Some((_, function)) = found.methods.iter().find(|(method, _)| method == name) {
                let scope = self.load(at.0);
                let decorators = self.module(at.0).functions.get(*function).map(|f| f.decorators.as_slice());
                let is_property = decorators.is_some_and(|all| is_decorated(&self.words().properties, all))
                    || self.module(at.0).functions.get(*function).is_some_and(|f| f.is_getter);
                let closure = Closure { file: at.0, function: *function, scope, this: Some(this.clone()) };
                if is_property {
                    let site = Site { file: at.0, span: found.span };
                    return Some(self.call_closure(&Rc::new(closure), Vec::new(), site));
                }
                let path = format!("{}.{name}", this.name);
                let plain = Value::of(Shape::Func(Rc::new(closure)), path);
                let function = self.module(at.0).functions.get(*function)?;
                return Some(self.wrapped_method(at.0, function, plain));
            }
            at = self.base(at.0, at.1)?;
        }
        None
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

    pub(super) fn static_member(&mut self, file: usize, class: ClassId, name: &str, of: &Value) -> Value {
        self.static_of(file, class, name, of, BASES_DEEP)
    }

    /// What a class has beside its methods, as an object.
    pub(super) fn statics_of(&mut self, file: usize, class: ClassId, name: &str) -> Value {
        if let Some(statics) = self.statics.get(&(file, class)) {
            return statics.clone();
        }
        let object = Object::new(true);
        self.objects.push(Rc::downgrade(&object.fields));
        let statics = Value::of(Shape::Object(object), name);
        self.statics.insert((file, class), statics.clone());
        statics
    }

    fn static_of(&mut self, file: usize, class: ClassId, name: &str, of: &Value, depth: u32) -> Value {
        let Some(depth) = depth.checked_sub(1) else { return Value::unknown(name) };
        let Some(found) = self.module(file).classes.get(class) else { return Value::unknown(name) };
        if let Some((_, function)) = found.methods.iter().find(|(method, _)| method == name) {
            let scope = self.load(file);
            let this = self.instances.get(&(file, class)).cloned();
            let closure = Closure { file, function: *function, scope, this };
            return Value::of(Shape::Func(Rc::new(closure)), format!("{}.{name}", of.name));
        }
        if let Some(statics) = self.statics.get(&(file, class)).cloned()
            && statics.option(name).is_some()
        {
            return self.member(&statics, name, self.at);
        }
        // A column of a table, not what the column is declared with.
        let columns = self
            .api_base(file, class, BASES_DEEP)
            .filter(|kind| self.models.of_type(self.language(file), kind).is_some_and(|kind| kind.members.is_some()));
        if let Some(kind) = columns {
            return self.member(&Value::of(Shape::Api(kind), &found.name), name, found.span);
        }
        let value = found.fields.iter().find(|field| field.name == name).and_then(|field| field.value.as_ref());
        match value {
            Some(value) => {
                let scope = self.load(file);
                let early = std::mem::replace(&mut self.here.early, true);
                let value = self.eval(value, &scope);
                self.here.early = early;
                value
            }
            None => {
                // Inherited: of the program, or of a modelled type.
                if let Some(kind) = self.api_base(file, class, BASES_DEEP) {
                    let base = Value::of(Shape::Api(kind), &found.name);
                    return self.member(&base, name, found.span);
                }
                match self.base(file, class) {
                    Some((file, class)) => self.static_of(file, class, name, of, depth),
                    None => Value::of(Shape::Method(Rc::new(of.clone()), name.into()), format!("{}.{name}", of.name)),
                }
            }
        }
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
        let Some(found) = self.module(file).classes.get(class) else { return Value::unknown(name) };
        let language = self.language(file);
        // What is made in a call is the call's own until it is stored.
        let mut object = Object::new(self.here.early);
        object.class = Some((file, class));
        self.objects.push(Rc::downgrade(&object.fields));
        let scope = self.load(file);
        object.api = self.api_base(file, class, BASES_DEEP);
        let this = Value::of(Shape::Object(object.clone()), name);
        let (guards, depth) = (self.here.guards.len(), self.here.depth);
        let frame = Frame { guards, depth, ..Frame::new(file, 0, site, Some(this.clone())) };
        if self.frames.len() >= CALLS_DEEP {
            return this;
        }
        self.frames.push(frame);
        for field in &found.fields {
            let value = match (&field.value, field.type_text.as_deref()) {
                (Some(value), _) => {
                    // What belongs to the class is there before any call.
                    let early = self.here.early;
                    self.here.early |= field.is_static || language == Language::Python;
                    let value = self.eval(value, &scope);
                    self.here.early = early;
                    Some(value)
                }
                (None, Some(text)) => self
                    .models
                    .written(language, text)
                    .map(|kind| Value::of(Shape::Api(kind.name.as_str().into()), format!("{name}.{}", field.name))),
                _ => None,
            };
            if let Some(value) = value {
                self.made.remove(&value.name);
                object.fields.borrow_mut().insert(field.name.as_str().into(), value);
            }
        }
        self.frames.pop();
        let own =
            found.methods.iter().find(|(method, _)| method == "constructor").map(|(_, function)| (file, *function));
        if let Some((file, function)) = own.or_else(|| self.base_constructor(file, class)) {
            let args = args.unwrap_or_else(|| self.symbols(file, function, name));
            let scope = self.load(file);
            let closure = Closure { file, function, scope, this: Some(this.clone()) };
            self.call_closure(&Rc::new(closure), args, site);
            return this;
        }
        // Without a constructor, what is given are its fields.
        let args = args.unwrap_or_default();
        let given = args.iter().fold(Origins::default(), |all, (_, arg)| all.with(&arg.deep_origins()));
        let mut names = found.fields.iter().map(|field| field.name.as_str());
        for (name, value) in args {
            if let Some(name) = name.or_else(|| names.next().map(Into::into)) {
                object.fields.borrow_mut().insert(name, value);
            }
        }
        this.from(&given)
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

    /// What CommonJS exports as a whole: `module.exports = new Store()` is what `require` gives.
    pub(super) fn whole(&mut self, file: usize) -> Option<Value> {
        if !is_javascript(self.language(file)) || self.program.export(file, "default").is_none() {
            return None;
        }
        let whole = self.exported(file, "default");
        (!matches!(whole.shape, Shape::File(_))).then_some(whole)
    }

    fn base_constructor(&mut self, file: usize, class: ClassId) -> Option<(usize, usize)> {
        let bases = &self.module(file).classes.get(class)?.bases;
        let scope = Rc::clone(self.modules.get(&file)?);
        let (file, class) = bases.iter().find_map(|base| match &base.kind {
            ExprKind::Name(name) => match self.find(&scope, name)?.0.value.shape {
                Shape::Class(file, class) => Some((file, class)),
                _ => None,
            },
            _ => None,
        })?;
        let found = self.module(file).classes.get(class)?;
        found.methods.iter().find(|(method, _)| method == "constructor").map(|(_, function)| (file, *function))
    }

    /// The modelled type that a class extends, directly or through others.
    pub(super) fn api_base(&mut self, file: usize, class: ClassId, depth: u32) -> Option<Rc<str>> {
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
                Shape::Class(file, class) => self.api_base(*file, *class, depth),
                _ => None,
            }
        })
    }

    fn symbols(&self, file: usize, function: usize, name: &str) -> Args {
        let params = self.module(file).functions.get(function).map_or(&[][..], |f| &f.params[..]);
        let symbol = |param: &crate::hir::Param| match &param.pattern {
            crate::hir::Pattern::Name(param) => Value::unknown(format!("{name}.${param}")),
            _ => Value::unknown("$argument"),
        };
        params.iter().filter(|param| param.default.is_none()).map(|param| (None, symbol(param))).collect()
    }
}
