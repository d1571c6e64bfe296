//! Entry points, one after the other.

use std::collections::BTreeMap;
use std::rc::Rc;

use foldhash::HashSet;

use super::call::Args;
use super::eval::is_javascript;
use super::event::{Site, What};
use super::listed::Part;
use super::receiver::has_method;
use super::value::{Closure, Scope as Vars, Shape, Value};
use super::{Engine, Entry, Frame, LINE_STEPS, QUIET_STEPS, Root, STEPS_MOST, Trace, share};
use crate::hir::each::each_in;
use crate::hir::{Expr, ExprKind, Function, FunctionId, Language, Module, Span};
use crate::program::Program;

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
        part: Option<Part>,
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
        let early = self.here.early;
        let by = self.frames.first().map_or(site.file, |frame| frame.file);
        // Others run those of files that are not ours.
        if !early || [site.file, function.file, by].iter().any(|file| self.files.contains(file)) {
            let (name, handler) = (name.into(), handler.clone());
            self.roots.push(Root { entry, name, site, by, hints, function, handler, early, part });
        }
    }

    /// The traces of all entry points of a file: those that it registers, and then every function that none of them
    /// has reached.
    /// One after the other, because all together would need too much memory.
    pub(crate) fn run(&mut self, file: usize, each: &mut dyn FnMut(Trace)) {
        let scope = self.load(file);
        self.early_before = self.early.len();
        let mut next = 0;
        let is_script = |root: &Root| (root.function.file, root.function.function) == (file, 0);
        // What a script does when it is loaded is what it is for.
        if self.scripts.contains(&file) && !self.roots.iter().any(is_script) {
            let site = Site { file, span: Span::default() };
            let function = Rc::new(Closure { file, function: 0, scope, this: None });
            let handler = Value::of(Shape::Func(Rc::clone(&function)), "script");
            let (entry, name, hints) = (Entry::Hook, "main".into(), BTreeMap::new());
            let (early, part) = (false, None);
            each(self.trace(Root { entry, name, site, by: file, hints, function, handler, early, part }));
        }
        // What this file gives to a function of another one is known only here.
        let is_ours = |root: &Root| [root.function.file, root.site.file, root.by].contains(&file);
        while let Some(root) = self.roots.get(next).cloned() {
            next += 1;
            if is_ours(&root) {
                each(self.trace(root));
            }
        }
        let mut left = self.file_steps.saturating_add(self.module(file).lines.saturating_mul(LINE_STEPS));
        for function in by_callers(self.program, self.module(file)) {
            if self.visited.contains(&(file, function)) {
                continue;
            }
            if let Some(root) = self.loose(file, function) {
                self.steps_loud = share(left);
                self.steps_most = self.steps_loud.min(QUIET_STEPS);
                let trace = self.trace(root);
                left = left.saturating_sub(self.steps);
                (self.steps_most, self.steps_loud) = (STEPS_MOST, 0);
                each(trace);
                // What it registers belongs to it.
                while let Some(root) = self.roots.get(next).cloned() {
                    next += 1;
                    if !root.early || is_ours(&root) {
                        each(self.trace(root));
                    }
                }
            }
        }
        self.take_back();
        self.roots.retain(|root| root.early);
        self.visited.clear();
        self.work = 0;
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
            Some(class) if self.is_of_class(file, function) => {
                let name = module.classes.get(class).map_or("class", |class| class.name.as_str());
                Some(Value::of(Shape::Class(file, class), name))
            }
            None if is_javascript(module.language) && !found.is_arrow => {
                holder(&scope, file, function).or_else(|| self.prototype_with(file, function))
            }
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
        let (entry, hints, early, part) = (Entry::Loose, BTreeMap::new(), false, None);
        Some(Root { entry, name, site, by: file, hints, function, handler, early, part })
    }

    fn trace(&mut self, root: Root) -> Trace {
        let tools = self.tools_of(&root);
        Trace { tools, ..self.traced(root).0 }
    }

    /// And what it gives back.
    pub(super) fn traced(&mut self, root: Root) -> (Trace, Value) {
        let outer = std::mem::take(&mut self.here);
        self.events.clear();
        self.steps = 0;
        self.cut = false;
        self.made.clear();
        self.objects_made.clear();
        self.chains.clear();
        self.tails.clear();
        self.turns.clear();
        self.changes.clear();
        self.kept.clear();
        self.results.clear();
        self.assigned.clear();
        let args = self.unknown_arguments(root.function.file, root.function.function);
        self.names_given(&root, &args);
        let frames = std::mem::take(&mut self.frames);
        let back = self.call_handler(&root.handler.clone(), args, root.site);
        self.frames.push(Frame::new(root.function.file, root.function.function, root.site, None));
        let back = self.settled(back, root.site.span);
        self.own_locks(0);
        let (call_end, answer) = (self.next_id(), back.deep_origins());
        if root.entry == Entry::Loose {
            // What the call has made is for all functions that it gives back.
            self.made.clear();
            self.call_returned(&back, root.site);
            self.own_locks(call_end as usize);
        }
        self.frames = frames;
        self.lock_files();
        self.waited_in_line();
        self.keep();
        self.here = outer;
        self.scopes.retain(|scope| scope.strong_count() > 0);
        self.objects.retain(|fields| fields.strong_count() > 0);
        let made = std::mem::take(&mut self.objects_made);
        let (events, early) = (std::mem::take(&mut self.events), Rc::clone(&self.early));
        let named = std::mem::take(&mut self.named);
        (Trace { root, events, early, call_end, answer, made, tools: Vec::new(), named, cut: self.cut }, back)
    }

    /// A lock that was handed on after it was taken is not the call's own.
    fn own_locks(&mut self, from: usize) {
        for event in self.events.iter_mut().skip(from) {
            if let What::Acquire(lock) = &mut event.what {
                lock.fresh &= self.made.contains_key(&lock.lock);
            }
        }
    }

    /// Symbols for the parameters of a function that is called from outside.
    pub(super) fn unknown_arguments(&mut self, file: usize, function: FunctionId) -> Args {
        let function = self.module(file).functions.get(function);
        let params = function.map_or(&[][..], |function| &function.params[..]);
        let mut symbol = |param: &crate::hir::Param| match &param.pattern {
            crate::hir::Pattern::Name(name) => {
                let mut value = Value::joined(&["$", name]);
                if let Some(kind) = param.type_text.as_deref().and_then(|text| self.declared(file, text)) {
                    value.shape = Shape::Api(kind.name.as_str().into());
                }
                value
            }
            _ => Value::unknown("$args"),
        };
        params.iter().map(|param| (None, symbol(param))).collect()
    }
}

/// The object of the module that a function is a method of.
fn holder(scope: &Vars, file: usize, function: FunctionId) -> Option<Value> {
    let has = |value: &&Value| has_method(value, file, function);
    scope.vars.borrow().values().map(|found| &found.value).find(has).cloned()
}

/// All functions; those that only others of the file can call come last: what they do depends on who calls them.
fn by_callers(program: &Program, module: &Module) -> Vec<FunctionId> {
    let mut all: Vec<FunctionId> = (1..module.functions.len()).collect();
    if !is_javascript(module.language) {
        return all;
    }
    let [mut outside, mut inside, mut own_methods, mut waited]: [HashSet<&str>; 4] = Default::default();
    for (index, function) in module.functions.iter().enumerate() {
        let own = function.name.as_str();
        let names = if index == 0 { &mut outside } else { &mut inside };
        each_in(&function.body, &mut |expr| {
            // A method that the class itself calls, and nobody else in the program.
            if let ExprKind::Member { of, name } = &expr.kind
                && matches!(of.kind, ExprKind::This)
                && name != own
            {
                own_methods.insert(name);
            }
            if let ExprKind::Await(of) = &expr.kind
                && let ExprKind::Call(call) = &of.kind
                && let ExprKind::Member { of, name } = &call.callee.kind
                && matches!(of.kind, ExprKind::This)
            {
                waited.insert(name);
            }
            if let ExprKind::Name(name) = &expr.kind
                && name != own
            {
                names.insert(name);
            }
        });
    }
    outside.extend(module.exports.iter().map(|export| export.local.as_str()));
    let is_inner = |function: &Function| match function.class {
        Some(_) => {
            let name = function.name.as_str();
            // Whose promise the class keeps is asked for through that; others of its name are another class's.
            let is_kept = function.is_async && !waited.contains(name) && program.is_common(name);
            function.is_private || own_methods.contains(name) && (is_kept || !program.is_asked(name))
        }
        None => inside.contains(function.name.as_str()) && !outside.contains(function.name.as_str()),
    };
    // Sorting keeps the order of those that are equal.
    all.sort_by_key(|function| module.functions.get(*function).is_some_and(is_inner));
    all
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
