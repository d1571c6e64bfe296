//! Entry points, one after the other.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::event::{Event, Kind, Site, What};
use super::value::{Closure, Shape, Value};
use super::{Engine, Entry, Frame, LINE_STEPS, Root, STEPS_MOST, Trace, share};
use crate::hir::{Expr, ExprKind, Function, FunctionId, Language, Module, Span};

/// Handlers of one program, and those that one line registers.
const ROOTS_MOST: usize = 4_000;
const SAME_ROOTS_MOST: usize = 64;

impl Engine<'_> {
    /// A handler that runs whenever somebody outside wants it to.
    pub(super) fn register(
        &mut self,
        entry: Entry,
        name: &str,
        handler: &Value,
        hints: BTreeMap<&'static str, bool>,
        span: Span,
    ) {
        let Some(function) = handler.closure().cloned() else { return };
        let site = self.site(span);
        // One helper can register many handlers; a handler that registers itself again does so without end.
        let same = |root: &&Root| {
            root.site == site && (root.function.file, root.function.function) == (function.file, function.function)
        };
        let most = if self.here.early { SAME_ROOTS_MOST } else { 1 };
        if self.roots.len() >= ROOTS_MOST || self.roots.iter().filter(same).count() >= most {
            return;
        }
        // A script that is run again as an entry point has registered everything already.
        if !self.here.early && self.frames.iter().any(|frame| frame.function == 0) {
            return;
        }
        self.roots.push(Root { entry, name: name.into(), site, hints, function, handler: handler.clone() });
    }

    /// The traces of all entry points of a file: those that it registers, and then every function that none of them
    /// has reached.
    /// One after the other, because all together would need too much memory.
    pub(crate) fn run(&mut self, file: usize, each: &mut dyn FnMut(Trace)) {
        let scope = self.load(file);
        let mut next = 0;
        // A script: what it does when it is loaded is what it is for.
        let lasting = |event: &Event| match &event.what {
            What::Write(_) => event.resource.as_ref().is_some_and(|r| r.kind != Kind::Memory),
            What::Effect(effect) => !effect.safe,
            _ => false,
        };
        let is_script = |root: &Root| (root.function.file, root.function.function) == (file, 0);
        if self.early.iter().any(lasting) && !self.roots.iter().any(is_script) {
            let site = Site { file, span: Span::default() };
            let function = Rc::new(Closure { file, function: 0, scope, this: None });
            let handler = Value::of(Shape::Func(Rc::clone(&function)), "script");
            let (entry, name, hints) = (Entry::Hook, "main".into(), BTreeMap::new());
            each(self.trace(Root { entry, name, site, hints, function, handler }));
        }
        while let Some(root) = self.roots.get(next).cloned() {
            next += 1;
            if root.function.file == file || root.site.file == file {
                each(self.trace(root));
            }
        }
        let mut left = self.file_steps.saturating_add(self.module(file).lines.saturating_mul(LINE_STEPS));
        for function in 1..self.module(file).functions.len() {
            if self.visited.contains(&(file, function)) {
                continue;
            }
            if let Some(root) = self.loose(file, function) {
                self.steps_most = share(left);
                let trace = self.trace(root);
                left = left.saturating_sub(self.steps);
                self.steps_most = STEPS_MOST;
                each(trace);
                // What it registers belongs to it.
                while let Some(root) = self.roots.get(next).cloned() {
                    next += 1;
                    each(self.trace(root));
                }
            }
        }
    }

    fn loose(&mut self, file: usize, function: FunctionId) -> Option<Root> {
        let module = self.module(file);
        let found = module.functions.get(function)?;
        // Lambdas and inner functions run where they stand.
        if found.parent.is_some_and(|parent| parent != 0) || is_test(module, found) {
            return None;
        }
        let scope = self.load(file);
        let this = match found.class {
            Some(class) if !found.is_static => Some(self.instance(file, class)),
            _ => None,
        };
        let name: Rc<str> = found.name.as_str().into();
        let site = Site { file, span: found.span };
        let function = Rc::new(Closure { file, function, scope: Rc::clone(&scope), this });
        let plain = Value::of(Shape::Func(Rc::clone(&function)), &name);
        // With what is put around it, where that is a variable of the module.
        let wraps = |value: &Value| {
            matches!(value.shape, Shape::Wrapped(_))
                && value.closure().is_some_and(|inner| (inner.file, inner.function) == (file, function.function))
        };
        let vars = scope.vars.borrow();
        let bound = vars.values().map(|found| &found.value).find(|value| wraps(value)).cloned();
        drop(vars);
        let handler = match bound {
            Some(bound) => bound,
            None => self.wrapped_method(file, found, plain),
        };
        Some(Root { entry: Entry::Loose, name, site, hints: BTreeMap::new(), function, handler })
    }

    fn trace(&mut self, root: Root) -> Trace {
        let outer = std::mem::take(&mut self.here);
        self.events.clear();
        self.steps = 0;
        self.cut = false;
        self.made.clear();
        self.objects_made.clear();
        self.chains.clear();
        self.tails.clear();
        self.results.clear();
        let args = self.arguments_of(&root);
        let frames = std::mem::take(&mut self.frames);
        let back = self.call_handler(&root.handler.clone(), args, root.site);
        self.frames.push(Frame::new(root.function.file, root.function.function, root.site, None));
        self.settled(back, root.site.span);
        self.frames = frames;
        self.lock_files();
        // A lock that was handed on after it was taken is not the call's own.
        for event in &mut self.events {
            if let What::Acquire(lock) = &mut event.what {
                lock.fresh &= self.made.contains_key(&lock.lock);
            }
        }
        self.here = outer;
        self.scopes.retain(|scope| scope.strong_count() > 0);
        self.objects.retain(|fields| fields.strong_count() > 0);
        let made = std::mem::take(&mut self.objects_made);
        Trace { root, events: std::mem::take(&mut self.events), early: Rc::clone(&self.early), made, cut: self.cut }
    }

    /// Symbols for the parameters of an entry point.
    fn arguments_of(&mut self, root: &Root) -> Vec<(Option<Rc<str>>, Value)> {
        let function = self.module(root.function.file).functions.get(root.function.function);
        let params = function.map_or(&[][..], |function| &function.params[..]);
        let mut symbol = |param: &crate::hir::Param| match &param.pattern {
            crate::hir::Pattern::Name(name) => {
                let mut value = Value::unknown(format!("${name}"));
                if let Some(kind) = param.type_text.as_deref().and_then(|text| self.declared(root.function.file, text))
                {
                    value.shape = Shape::Api(kind.name.as_str().into());
                }
                value
            }
            _ => Value::unknown("$args"),
        };
        params.iter().map(|param| (None, symbol(param))).collect()
    }
}

/// Rust has its tests beside the code, in modules that only they are compiled with.
fn is_test(module: &Module, function: &Function) -> bool {
    let is = |expr: &Expr| super::call::path_of(expr).is_some_and(|path| path.rsplit('.').next() == Some("test"));
    let says = |decorator: &Expr| match &decorator.kind {
        ExprKind::Call(call) if super::call::path_of(&call.callee).as_deref() == Some("cfg") => {
            call.args.iter().any(|arg| is(&arg.value))
        }
        _ => is(decorator),
    };
    let inside = |span: &Span| span.line <= function.span.line && function.span.end_line <= span.end_line;
    let mut around = module.classes.iter().filter(|class| inside(&class.span)).flat_map(|class| &class.decorators);
    module.language == Language::Rust && (function.decorators.iter().any(says) || around.any(says))
}
