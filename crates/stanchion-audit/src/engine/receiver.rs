//! Functions with a receiver that somebody else has chosen: `method.bind(object)`, `new Maker()`.

use std::rc::Rc;

use super::call::Args;
use super::value::{Closure, Object, Origins, Shape, Value};
use super::{Engine, Site};
use crate::hir::{ClassId, FunctionId, Span};
use crate::models::Words;

/// Where a function of JavaScript has what its objects have.
pub(super) const PROTOTYPE: &str = "prototype";

impl Engine<'_> {
    /// A method of a function: `of.bind(receiver)`, `of.call(receiver, …)`.
    pub(super) fn of_function(&mut self, of: &Value, name: &str, args: &Args, span: Span) -> Option<Value> {
        let words = self.words();
        if let Shape::Class(file, class) = of.shape
            && Words::is_one(&words.parses, name)
        {
            return Some(self.parsed((file, class), args, span));
        }
        let (binds, calls) = (Words::is_one(&words.binds, name), Words::is_one(&words.calls, name));
        let (_, receiver) = args.first().filter(|_| binds || calls)?;
        let bound = self.on_receiver(of, receiver, span)?;
        if calls {
            return Some(self.invoke(&bound, args.get(1..).unwrap_or_default().to_vec(), false, span));
        }
        // With some of its arguments it is another function.
        (args.len() == 1).then_some(bound)
    }

    /// `Settings.model_validate_json(text)`: an object of the class, of which all comes from what was given.
    fn parsed(&mut self, (file, class): (usize, ClassId), args: &Args, span: Span) -> Value {
        let given = args.iter().fold(Origins::default(), |all, (_, arg)| all.with(&arg.deep_origins()));
        self.may_fail(&given);
        let name = self.module(file).classes.get(class).map_or("", |found| found.name.as_str());
        let made = self.construct(file, class, Some(Vec::new()), name, self.site(span));
        for (field, value) in made.object().into_iter().flat_map(|object| object.fields.borrow().clone()) {
            let shape = if value.kind().is_some() { value.shape } else { Shape::Unknown };
            let value = Value::member(shape, name, &field).from(&given);
            made.object()
                .into_iter()
                .for_each(|object| drop(object.fields.borrow_mut().insert(Rc::clone(&field), value.clone())));
        }
        made.from(&given)
    }

    fn on_receiver(&mut self, of: &Value, receiver: &Value, span: Span) -> Option<Value> {
        match &of.shape {
            // The same member of the other one, if that is what it is taken from.
            Shape::Method(_, name) if receiver.kind().is_some() => Some(self.member(receiver, name, span)),
            // A function is no receiver: this is a method of that name of something else, and runs or keeps what it is given.
            Shape::Method(..) if receiver.closure().is_none() => Some(of.clone()),
            Shape::Func(closure) => {
                let function = self.module(closure.file).functions.get(closure.function)?;
                let Closure { file, function: id, ref scope, .. } = **closure;
                let this = if function.is_arrow { closure.this.clone() } else { Some(receiver.clone()) };
                let bound = Closure { file, function: id, scope: Rc::clone(scope), this };
                Some(Value { shape: Shape::Func(Rc::new(bound)), ..of.clone() })
            }
            // What a class does with an object that somebody else has made.
            Shape::Class(file, class) => self.method(*file, *class, "constructor", receiver),
            _ => None,
        }
    }

    /// `Maker.prototype`: what all objects have that the function makes.
    pub(super) fn prototype(&mut self, maker: &Closure) -> Value {
        let key = (maker.file, maker.function);
        if let Some(known) = self.prototypes.get(&key) {
            return known.clone();
        }
        let object = Object::new(true);
        self.objects.push(Rc::downgrade(&object.fields));
        let name = self.module(maker.file).functions.get(maker.function).map_or("", |found| found.name.as_str());
        let made = Value::of(object.into(), name);
        self.prototypes.insert(key, made.clone());
        made
    }

    /// `Maker.prototype = { … }`.
    pub(super) fn set_prototype(&mut self, maker: &Closure, methods: &Value) {
        let (prototype, methods) =
            (self.prototype(maker), methods.object().map(|object| object.fields.borrow().clone()));
        let Some(object) = prototype.object() else { return };
        for (name, method) in methods.into_iter().flatten() {
            self.put_field(&object.fields, true, &name, &method);
        }
    }

    /// The prototype that a function is a method of.
    pub(super) fn prototype_with(&self, file: usize, function: FunctionId) -> Option<Value> {
        self.prototypes.values().find(|prototype| has_method(prototype, file, function)).cloned()
    }

    /// `new Maker()`, where that is a function: the object that it fills.
    pub(super) fn filled_by(&mut self, maker: &Rc<Closure>, name: &str, args: Args, site: Site) -> Value {
        let mut object = Object::new(self.here.early);
        object.place = self
            .module(maker.file)
            .functions
            .get(maker.function)
            .map(|found| Site { file: maker.file, span: found.span });
        let methods = self.prototypes.get(&(maker.file, maker.function)).and_then(Value::object);
        if let Some(methods) = methods {
            object.fields.borrow_mut().extend(methods.fields.borrow().clone());
        }
        self.objects.push(Rc::downgrade(&object.fields));
        let this = Value::of(object.into(), name);
        let Closure { file, function, ref scope, .. } = **maker;
        let closure = Closure { file, function, scope: Rc::clone(scope), this: Some(this.clone()) };
        let back = self.call_closure(&Rc::new(closure), args, site);
        if back.object().is_some() { back } else { this }
    }
}

/// Whether an object without a class has this function.
pub(super) fn has_method(of: &Value, file: usize, function: FunctionId) -> bool {
    of.object().filter(|object| object.class.is_none()).is_some_and(|object| {
        let fields = object.fields.borrow();
        let mut methods = fields.values().filter_map(Value::closure);
        methods.any(|method| (method.file, method.function) == (file, function))
    })
}
