//! Functions inside of others: decorators, and calls that give a function back.

use std::rc::Rc;

use super::call::{Args, path_of};
use super::hints::{hints, written_hints};
use super::known::Known;
use super::value::{Shape, Value, Wrapped};
use super::{Engine, Entry, Frame};
use crate::hir::{Expr, ExprKind, Function, Span};
use crate::models::{Argument, Call, Which};

impl Engine<'_> {
    /// Runs a function inside of the call that it was given to.
    pub(super) fn call_wrapped(&mut self, wrapped: &Wrapped, args: Args, span: Span) -> Value {
        let language = self.language(self.file());
        let models = self.models;
        let Some(model) = models.call(language, &wrapped.on, &wrapped.name) else {
            return self.invoke(&wrapped.inner, args, false, span);
        };
        let mut given = wrapped.args.clone();
        // What was given before comes before what is given now.
        let before = given.iter().filter(|_| model.rest).cloned();
        let args: Args = before.chain(args).collect();
        given.insert(0, (None, wrapped.inner.clone()));
        let mut model = model.clone();
        model.callback = Argument(vec![Which::Position(0)]);
        model.how = model.how.filter(|how| how != "wraps").or_else(|| Some("result".to_owned()));
        let known = Known {
            model: &model,
            this: wrapped.this.as_ref(),
            args: &given,
            name: &wrapped.name,
            span,
            pass: Some(args),
        };
        self.does(&known)
    }

    pub(super) fn wrap(&mut self, known: &Known<'_>, on: &str) -> Value {
        let inner = known.get(&known.model.callback);
        let Some(inner) = inner.filter(|inner| known.model.rest || inner.closure().is_some()) else {
            return self.result(known);
        };
        // A class, or whatever it is, with a part of what it needs.
        if !known.runs(&inner) {
            return inner;
        }
        let name = Rc::clone(&inner.name);
        let args = if known.model.rest { known.after(&inner) } else { Vec::new() };
        let wrapped = Wrapped { on: on.into(), name: known.name.into(), this: known.this.cloned(), args, inner };
        Value::of(Shape::Wrapped(Rc::new(wrapped)), &*name)
    }

    /// `@mcp.tool()`, `@app.get("/x")`: what a decorator makes of a function.
    pub(super) fn registered_by(
        &mut self,
        decorator: &Expr,
        with: &Value,
        handler: &Value,
        function: &Function,
    ) -> Option<Value> {
        let (args, callee) = match &decorator.kind {
            ExprKind::Call(call) => (call.args.as_slice(), &call.callee),
            _ => (&[][..], decorator),
        };
        let path = path_of(callee)?;
        let name = path.rsplit('.').next().unwrap_or(&path);
        let at_name = format!("@{name}");
        let (on, model) = self.decorator_model(callee, with, &at_name)?;
        let (wraps, entry) = (is_wrapper(&model.does), entry_of(&model.does));
        let scope = self.load(self.file());
        let args: Args =
            args.iter().map(|arg| (arg.name.as_deref().map(Into::into), self.eval(&arg.value, &scope))).collect();
        if wraps {
            let this = match &with.shape {
                Shape::Method(of, _) => Some((**of).clone()),
                Shape::Api(_) => Some(with.clone()),
                _ => None,
            };
            let wrapped = Wrapped { on, name: at_name.into(), this, args, inner: handler.clone() };
            return Some(Value::of(Shape::Wrapped(Rc::new(wrapped)), &*handler.name));
        }
        let said = args.iter().find_map(|(_, value)| value.as_text().map(ToOwned::to_owned));
        let mut hints = hints(&args);
        written_hints(decorator, &mut hints);
        let (name, part) = (said.as_deref().unwrap_or(&function.name), self.server_part(&at_name));
        self.register(entry, name, handler, hints, part, function.span);
        None
    }

    /// A method with what its decorators put around it.
    pub(super) fn wrapped_method(&mut self, file: usize, function: &Function, method: Value) -> Value {
        if function.decorators.is_empty() {
            return method;
        }
        let scope = self.load(file);
        let early = std::mem::replace(&mut self.here.early, true);
        let (site, roots) = (self.site(function.span), self.roots.len());
        self.frames.push(Frame::new(file, 0, site, None));
        let wrapped = function.decorators.iter().rev().fold(method, |method, decorator| {
            let with = self.eval(decorator, &scope);
            self.registered_by(decorator, &with, &method, function).unwrap_or(method)
        });
        self.frames.pop();
        // Handlers were registered with the class.
        self.roots.truncate(roots);
        self.here.early = early;
        wrapped
    }

    /// The model of a decorator: by its package, by the type of what it is a method of, or by its name alone.
    fn decorator_model(&mut self, callee: &Expr, with: &Value, at_name: &str) -> Option<(Rc<str>, &'_ Call)> {
        let language = self.language(self.file());
        let scope = self.load(self.file());
        let models = self.models;
        let callee = self.eval(callee, &scope);
        let mut ons: Vec<String> = Vec::new();
        for value in [&callee, with] {
            match &value.shape {
                Shape::Method(of, _) => ons.extend(of.kind().map(ToString::to_string)),
                Shape::Api(kind) => ons.push(kind.to_string()),
                Shape::Package(path) => {
                    let package = path.rsplit_once('.').map_or(&**path, |(package, _)| package);
                    ons.push(models.package(language, package).to_owned());
                    // Under another name: `from x import retry as again`.
                    let own = path.rsplit('.').next().unwrap_or(path);
                    if let Some(model) = models.call(language, ons.last()?, &format!("@{own}")) {
                        return Some((ons.last()?.as_str().into(), model));
                    }
                }
                _ => {}
            }
        }
        ons.push("*".to_owned());
        ons.iter().find_map(|on| Some((on.as_str().into(), models.call(language, on, at_name)?)))
    }
}

pub(super) fn entry_of(does: &str) -> Entry {
    match does {
        "tool" => Entry::Tool,
        "route" => Entry::Route,
        "timer" => Entry::Timer,
        "hook" => Entry::Hook,
        _ => Entry::Consumer,
    }
}

/// What is put around a function, and does not call it from outside.
fn is_wrapper(does: &str) -> bool {
    matches!(does, "retry" | "call" | "sql.transaction" | "lock.with")
}
