//! What is empty: a state that nothing was put into, or that has only what stands in the code.

use std::rc::Rc;

use super::Engine;
use super::call::path_of;
use super::value::{Scope as Vars, Shape, Value};
use crate::hir::{ClassId, Expr, ExprKind, Stmt, StmtKind};
use crate::models::Words;

/// Fields of fields of what is filled later.
const FORM_DEEP: u32 = 4;
/// Functions that call functions that give something empty.
const GIVES_DEEP: u32 = 2;

impl Engine<'_> {
    /// An empty map or list, and no error beside it.
    pub(super) fn is_nothing(&mut self, value: &Expr, scope: &Rc<Vars>) -> bool {
        self.nothing(value, scope, GIVES_DEEP)
    }

    fn nothing(&mut self, value: &Expr, scope: &Rc<Vars>, deep: u32) -> bool {
        match &value.kind {
            ExprKind::List(results) if results.len() > 1 => {
                let is_error =
                    results.last().is_some_and(|last| !matches!(last.kind, ExprKind::Null | ExprKind::Bool(_)));
                !is_error && results.first().is_some_and(|first| self.nothing(first, scope, deep))
            }
            ExprKind::List(items) => items.is_empty(),
            ExprKind::Object { fields, .. } => fields.iter().all(|(name, value)| {
                self.is_default(value, scope, deep) || name.is_none() && self.is_form(value, scope)
            }),
            ExprKind::Str(text) => matches!(text.trim(), "[]" | "{}" | ""),
            ExprKind::Unary { of, .. } => self.nothing(of, scope, deep),
            ExprKind::Name(name) => self.find(scope, name).is_some_and(|(found, _)| is_new(&found.value)),
            // `this.fallback`, which the object was made with.
            ExprKind::Member { of, name } if matches!(of.kind, ExprKind::This) => {
                self.this().option(name).is_some_and(|found| is_new(&found))
            }
            ExprKind::Call(call) if call.args.is_empty() => {
                self.makes_nothing(&call.callee, scope, deep)
                    || matches!(&call.callee.kind, ExprKind::Member { of, name }
                        if Words::is_one(&self.words().copies, name) && self.is_form(of, scope))
            }
            ExprKind::Call(call) if self.makes_own(&call.callee, scope) => {
                call.args.iter().all(|arg| self.is_default(&arg.value, scope, deep))
            }
            ExprKind::Call(call) => match (&call.args[..], path_of(&call.callee)) {
                ([of], Some(path)) if Words::is_one(&self.words().copies, &path) => {
                    self.nothing(&of.value, scope, deep) || self.is_form(&of.value, scope)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// What stands in the code, or only says what time it is: nothing of what was stored.
    fn is_default(&mut self, value: &Expr, scope: &Rc<Vars>, deep: u32) -> bool {
        match &value.kind {
            ExprKind::List(items) => items.iter().all(|item| self.is_default(item, scope, deep)),
            _ => value.is_literal() || self.is_clock(value, scope) || self.nothing(value, scope, deep),
        }
    }

    /// `new Date().toISOString()`, `time.time()`.
    fn is_clock(&mut self, value: &Expr, scope: &Rc<Vars>) -> bool {
        let ExprKind::Call(call) = &value.kind else { return false };
        let Some(path) = path_of(&call.callee) else { return false };
        let of = path.split('.').next().unwrap_or_default();
        let is_library = self.find(scope, of).is_none_or(|(found, _)| matches!(found.value.shape, Shape::Package(_)));
        is_library && Words::is_one(&self.words().clocks, of)
    }

    /// A class of the program.
    fn makes_own(&mut self, callee: &Expr, scope: &Rc<Vars>) -> bool {
        let ExprKind::Name(name) = &callee.kind else { return false };
        self.find(scope, name).is_some_and(|(found, _)| matches!(found.value.shape, Shape::Class(..)))
    }

    /// A constant of the module that is copied, because it is filled later: its fields are empty, or constants.
    fn is_form(&mut self, value: &Expr, scope: &Rc<Vars>) -> bool {
        let value = if let ExprKind::Spread(of) = &value.kind { of } else { value };
        let ExprKind::Name(name) = &value.kind else { return false };
        scope.is_shared(name) == Some(true)
            && self.find(scope, name).is_some_and(|(found, _)| is_form(&found.value, FORM_DEEP))
    }

    /// What makes something empty: a container's constructor, a class, or a function of the program that does nothing else.
    /// What somebody else's object gives when it is asked may be anything.
    fn makes_nothing(&mut self, callee: &Expr, scope: &Rc<Vars>, deep: u32) -> bool {
        let containers = &self.words().containers;
        match &callee.kind {
            ExprKind::Name(name) => match self.find(scope, name).map(|(found, _)| found.value) {
                None => Words::is_one(containers, name),
                Some(value) => match &value.shape {
                    Shape::Package(path) => Words::is_last(containers, path),
                    _ => self.gives_nothing(&value, deep),
                },
            },
            ExprKind::Member { of, name } => match &of.kind {
                ExprKind::This => self.gives_nothing_itself(name, deep),
                ExprKind::Name(of) => match self.find(scope, of).map(|(found, _)| found.value.shape) {
                    None | Some(Shape::Package(_)) => Words::is_one(containers, name),
                    Some(Shape::Class(file, class)) => self.method_gives_nothing(file, class, name, deep),
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        }
    }

    fn gives_nothing(&mut self, callee: &Value, deep: u32) -> bool {
        match &callee.shape {
            Shape::Class(..) => true,
            Shape::Func(closure) => self.function_gives_nothing(closure.file, closure.function, &closure.scope, deep),
            _ => false,
        }
    }

    /// The same of a method of the present object.
    fn gives_nothing_itself(&mut self, name: &str, deep: u32) -> bool {
        let frame = self.frames.iter().rev().find(|frame| frame.this.is_some());
        let class = frame.and_then(|frame| frame.this.as_ref()?.object()?.class);
        class.is_some_and(|(file, class)| self.method_gives_nothing(file, class, name, deep))
    }

    fn method_gives_nothing(&mut self, file: usize, class: ClassId, name: &str, deep: u32) -> bool {
        let method = self.module(file).classes.get(class).and_then(|found| {
            let (_, function) = found.methods.iter().find(|(method, _)| method == name)?;
            Some((file, *function, Rc::clone(self.modules.get(&file)?)))
        });
        method.is_some_and(|(file, function, scope)| self.function_gives_nothing(file, function, &scope, deep))
    }

    fn function_gives_nothing(&mut self, file: usize, function: usize, scope: &Rc<Vars>, deep: u32) -> bool {
        let Some(deep) = deep.checked_sub(1) else { return false };
        let body = self.module(file).functions.get(function).map_or(&[][..], |function| &function.body);
        matches!(body, [Stmt { kind: StmtKind::Return(Some(value)), .. }] if self.nothing(value, scope, deep))
    }
}

/// An object or list that nothing was put into.
fn is_new(value: &Value) -> bool {
    let is_empty = match &value.shape {
        Shape::Object(object) => object.class.is_none() && object.fields.borrow().is_empty(),
        Shape::List(items) => items.is_empty(),
        _ => false,
    };
    is_empty && value.origins.is_empty()
}

fn is_form(value: &Value, deep: u32) -> bool {
    let Some(deep) = deep.checked_sub(1) else { return false };
    let is_plain = match &value.shape {
        Shape::Object(object) => {
            object.class.is_none() && object.fields.borrow().values().all(|field| is_form(field, deep))
        }
        Shape::List(items) => items.is_empty(),
        Shape::Str(_) | Shape::Num(_) | Shape::Bool(_) | Shape::Null => deep + 1 < FORM_DEEP,
        // When the program was started, and the like.
        Shape::Unknown => deep + 1 < FORM_DEEP,
        _ => false,
    };
    is_plain && value.origins.is_empty()
}
