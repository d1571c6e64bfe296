//! Functions and classes as they are declared, with their decorators.

use std::rc::Rc;

use super::Engine;
use super::name::word;
use super::value::{Binding, Closure, Scope as Vars, Shape, Value};
use super::wrap::entry_of;
use crate::hir::{Expr, Function, Stmt, StmtKind};

impl Engine<'_> {
    /// Functions and classes of a block are there before its first statement.
    pub(super) fn hoist(&mut self, body: &[Stmt], scope: &Rc<Vars>) {
        let file = self.file();
        let depth = self.here.depth;
        for stmt in body {
            match &stmt.kind {
                StmtKind::Function(function) => {
                    let Some(found) = self.module(file).functions.get(*function) else { continue };
                    let value = self.function_value(file, *function, scope);
                    scope.declare(&found.name, value, depth);
                }
                StmtKind::Class(class) => {
                    let Some(found) = self.module(file).classes.get(*class) else { continue };
                    scope.declare(&found.name, Value::of(Shape::Class(file, *class), &found.name), depth);
                }
                _ => {}
            }
        }
    }

    pub(super) fn function_value(&mut self, file: usize, function: usize, scope: &Rc<Vars>) -> Value {
        if !self.scopes.last().is_some_and(|last| std::ptr::eq(last.as_ptr(), Rc::as_ptr(scope))) {
            self.scopes.push(Rc::downgrade(scope));
        }
        let this = self.frames.last().and_then(|frame| frame.this.clone());
        let name = self.module(file).functions.get(function).map_or("", |f| f.name.as_str());
        let closure = Closure { file, function, scope: Rc::clone(scope), this };
        Value::of(Shape::Func(Rc::new(closure)), format_args!("function {name}@{file}:{function}"))
    }

    /// A function declaration with its decorators.
    pub(super) fn decorated(&mut self, function: usize, scope: &Rc<Vars>) {
        let file = self.file();
        let Some(found) = self.module(file).functions.get(function) else { return };
        if found.decorators.is_empty() {
            return;
        }
        let mut value = self.function_value(file, function, scope);
        for decorator in found.decorators.iter().rev() {
            value = self.decorate(decorator, value, found, scope);
        }
        scope.vars.borrow_mut().insert(word(&found.name), Binding { value, depth: self.here.depth });
    }

    pub(super) fn decorate(&mut self, decorator: &Expr, value: Value, function: &Function, scope: &Rc<Vars>) -> Value {
        let with = self.eval(decorator, scope);
        if let Some(wrapped) = self.registered_by(decorator, &with, &value, function) {
            return wrapped;
        }
        match with.closure() {
            Some(closure) => {
                let site = self.site(decorator.span);
                let made = self.call_closure(&Rc::clone(closure), vec![(None, value.clone())], site);
                if made.closure().is_some() { made } else { value }
            }
            None => value,
        }
    }

    /// A class is declared: its decorators and those of its methods may register handlers.
    pub(super) fn class_made(&mut self, class: usize, scope: &Rc<Vars>) {
        let file = self.file();
        let Some(found) = self.module(file).classes.get(class) else { return };
        self.class_fields(file, class);
        self.handlers_of(file, class, scope);
        for (_, method) in &found.methods {
            let Some(function) = self.module(file).functions.get(*method) else { continue };
            if function.decorators.is_empty() {
                continue;
            }
            let this = self.instance(file, class);
            let closure = Closure { file, function: *method, scope: Rc::clone(scope), this: Some(this) };
            let mut value = Value::of(Shape::Func(Rc::new(closure)), &function.name);
            for decorator in function.decorators.iter().rev() {
                let with = self.eval(decorator, scope);
                if let Some(wrapped) = self.registered_by(decorator, &with, &value, function) {
                    value = wrapped;
                }
            }
        }
    }

    /// A class that a framework calls: some of its methods are entry points.
    pub(super) fn handlers_of(&mut self, file: usize, class: usize, scope: &Rc<Vars>) {
        let Some(kind) = self.api_base(file, class) else { return };
        let models = self.models;
        let Some(kind) = models.of_type(self.language(file), &kind).filter(|kind| !kind.methods.is_empty()) else {
            return;
        };
        let Some(found) = self.module(file).classes.get(class) else { return };
        for (name, method) in &found.methods {
            let Some(does) = kind.methods.get(name) else { continue };
            let this = self.instance(file, class);
            let closure = Closure { file, function: *method, scope: Rc::clone(scope), this: Some(this) };
            let value = Value::of(Shape::Func(Rc::new(closure)), name);
            let span = self.module(file).functions.get(*method).map_or(found.span, |function| function.span);
            self.register(entry_of(does), name, &value, Default::default(), None, span);
        }
    }
}
