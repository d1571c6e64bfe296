//! Calls: of functions of the program, of methods, of what models know, and of what nobody knows.

use std::rc::Rc;

use super::eval::is_javascript;
use super::event::{Scope, What};
use super::exec::Flow;
use super::listing::taken_out;
use super::name::{called, word};
use super::value::{Closure, Object, Origins, Scope as Vars, Shape, Value};
use super::{AtYield, CALLS_DEEP, Engine, Frame, Site};
use crate::hir::{Call, Expr, ExprKind, Language, Span};
use crate::models::Words;

/// Arguments with their keywords.
pub(super) type Args = Vec<(Option<Rc<str>>, Value)>;

impl Engine<'_> {
    /// The value of an expression that nobody waits for here.
    pub(super) fn kept(&mut self, expr: &Expr, scope: &Rc<Vars>) -> Value {
        match &expr.kind {
            ExprKind::Call(call) if is_javascript(self.language(self.file())) && self.step() => {
                self.call_kept(call, expr.span, scope, true)
            }
            _ => self.eval(expr, scope),
        }
    }

    pub(super) fn call(&mut self, call: &Call, span: Span, scope: &Rc<Vars>) -> Value {
        self.call_kept(call, span, scope, false)
    }

    fn call_kept(&mut self, call: &Call, span: Span, scope: &Rc<Vars>, kept: bool) -> Value {
        let is_told = self.told.take() == Some(span);
        // Arguments that are functions know what encloses them; they are called where the callee calls them.
        let callee = self.callee(&call.callee, scope);
        let spawns = u32::from(self.spawns(&callee));
        self.here.detached += spawns;
        let mut args: Args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            let value = self.kept(&arg.value, scope);
            if let (ExprKind::Spread(_), Shape::List(items)) = (&arg.value.kind, &value.shape) {
                args.extend(items.iter().map(|item| (None, item.clone())));
                // What else may be in it comes after what is known of it.
                if !value.origins.is_empty() {
                    args.push((None, Value { shape: Shape::List(Rc::default()), ..value }));
                }
                continue;
            }
            args.push((arg.name.as_deref().map(word), value));
        }
        self.here.detached -= spawns;
        if let (ExprKind::Member { of, .. }, Shape::Method(value, name)) = (&call.callee.kind, &callee.shape)
            && !self.append(of, value, name, &args, scope)
        {
            self.absorb(of, value, &args, is_told, scope);
        }
        if let (Shape::Package(path), Some(place)) = (&callee.shape, call.args.first())
            && Words::is_one(&self.words().fills, path)
        {
            self.fill_with(&place.value, &args, span, scope);
        }
        let given = args.iter().fold(callee.origins.clone(), |all, (_, arg)| all.with(&arg.origins));
        let path = self.here.path.len();
        if kept {
            let branch = self.new_branch();
            self.here.path.push((branch, 0));
            self.here.apart += 1;
        }
        self.given = matches!(callee.shape, Shape::Func(_)).then(|| self.constants_among(&call.args));
        let back = self.invoke(&callee, args, call.is_new, span);
        if kept {
            self.here.path.truncate(path);
            self.here.apart -= 1;
        }
        // What is given by reference may be filled: `json.Unmarshal(data, &items)`, `file.read_to_string(&mut text)`.
        let language = self.language(self.file());
        let of_file =
            matches!(&callee.shape, Shape::Method(of, _) if of.kind().is_some_and(|kind| kind.starts_with("file.")));
        for arg in &call.args {
            match &arg.value.kind {
                ExprKind::Unary { op, of } if op == "&" && language == Language::Go => {
                    self.fill(of, &given.with(&back.deep_origins()), scope);
                }
                ExprKind::Name(_) if of_file && language == Language::Rust => {
                    self.fill(&arg.value, &back.origins, scope);
                }
                _ => {}
            }
        }
        back
    }

    /// What is called. A method of what a lock protects is none of its fields.
    fn callee(&mut self, callee: &Expr, scope: &Rc<Vars>) -> Value {
        match &callee.kind {
            ExprKind::Member { of, name } if self.language(self.file()) == Language::Rust => {
                let of = self.kept(of, scope);
                self.member(&of, name, callee.span)
            }
            _ => self.eval(callee, scope),
        }
    }

    pub(super) fn invoke(&mut self, callee: &Value, args: Args, is_new: bool, span: Span) -> Value {
        let site = self.site(span);
        match &callee.shape {
            Shape::Func(closure) if is_new => self.filled_by(&Rc::clone(closure), &callee.name, args, site),
            Shape::Func(closure) => self.call_closure(&Rc::clone(closure), args, site),
            Shape::Class(file, class) => {
                let name = callee.name.to_string();
                self.construct(*file, *class, Some(args), &name, site)
            }
            Shape::Package(path) => {
                let path = Rc::clone(path);
                self.call_package(&path, args, is_new, span)
            }
            Shape::Method(of, name) => {
                let (of, name) = (Rc::clone(of), Rc::clone(name));
                self.call_method(&of, &name, args, span)
            }
            // A function that gives the lock back.
            Shape::Lock(lock) => {
                self.give_back(&Rc::clone(lock), true, span);
                Value::null()
            }
            Shape::File(file) => match self.whole(*file) {
                Some(whole) => self.invoke(&whole, args, is_new, span),
                None => self.call_unknown(callee, args, span),
            },
            Shape::Either(several) => self.call_one_of(&Rc::clone(several), &args, span),
            Shape::Wrapped(wrapped) => self.call_wrapped(&Rc::clone(wrapped), args, span),
            // A function of a modelled type: `knex("users")`, `limit(f)`.
            Shape::Api(_) | Shape::Query(_) => self.call_method(callee, "()", args, span),
            _ => self.call_unknown(callee, args, span),
        }
    }

    /// Runs an entry point.
    pub(super) fn call_handler(&mut self, handler: &Value, args: Args, site: Site) -> Value {
        if let Shape::Func(closure) = &handler.shape {
            let closure = Rc::clone(closure);
            let found = self.module(closure.file).functions.get(closure.function);
            // A context manager that a library enters: its block is not ours to see.
            if found.is_some_and(|found| found.is_generator && is_decorated(&self.words().managers, &found.decorators))
            {
                let (body, scope) = (Rc::from([]), Rc::clone(&closure.scope));
                let at_yield = self.at_yield(body, None, &scope);
                return self.call_generator(&closure, args, site, at_yield);
            }
            return self.call_closure(&closure, args, site);
        }
        let file = handler.closure().map_or(site.file, |closure| closure.file);
        self.frames.push(Frame::new(file, 0, site, None));
        let back = self.invoke(handler, args, false, site.span);
        self.frames.pop();
        back
    }

    /// Nobody knows what it does: what comes back may derive from all that was given, and functions that were given are
    /// called.
    pub(super) fn call_unknown(&mut self, callee: &Value, args: Args, span: Span) -> Value {
        if let Some(kept) = self.resolved.get_mut(&callee.name) {
            // The function that a promise's maker was given: its value is the promise's.
            let value = args.into_iter().next().map_or_else(Value::null, |(_, value)| value);
            *kept = Some(kept.as_ref().map_or_else(|| value.clone(), |old| old.join(&value)));
            return Value::null();
        }
        if let Some(made) = self.promise(callee, &args, span) {
            return made;
        }
        let mut origins = callee.deep_origins();
        for (_, arg) in &args {
            origins = origins.with(&arg.deep_origins());
        }
        self.may_fail(&origins);
        let before = origins.clone();
        // What a call gives that nobody knows may be nothing to wait for: it may wait for its callback itself.
        let detached = self.here.detached;
        let is_dropped = self.here.dropped == Some((span, self.frames.len()));
        self.here.detached = detached.saturating_sub(u32::from(is_dropped));
        for (_, arg) in &args {
            // Whoever has it now can share it.
            self.made.remove(&arg.name);
            if let Some(closure) = arg.closure() {
                let closure = Rc::clone(closure);
                let given = Value::joined(&[&callee.name, "[]"]).from(&before);
                let branch = self.new_branch();
                // Whoever is given it may call it later: only if the caller waits, its pauses are those of the caller.
                self.here.apart += 1;
                let back = self.arm(branch, 0, &Origins::default(), |engine| {
                    engine.call_closure(&closure, vec![(None, given.clone()), (None, given)], engine.site(span))
                });
                self.here.apart -= 1;
                origins = origins.with(&back.deep_origins());
            }
        }
        self.here.detached = detached;
        let again = self.done_twice(&callee.name).filter(|_| args.is_empty());
        let name = again.unwrap_or_else(|| called(&callee.name, args.iter().map(|(_, arg)| &*arg.name)));
        let value = Value { origins, shape: Shape::Unknown, name };
        let chosen = args.first().filter(|_| Words::is_one(&self.words().chooses, &callee.name));
        chosen.map(|(_, all)| taken_out(all, value.clone())).unwrap_or(value)
    }

    pub(super) fn call_closure(&mut self, closure: &Rc<Closure>, args: Args, site: Site) -> Value {
        self.call_with(closure, args, site, None)
    }

    pub(super) fn call_generator(&mut self, closure: &Rc<Closure>, args: Args, site: Site, at_yield: AtYield) -> Value {
        self.call_with(closure, args, site, Some(at_yield))
    }

    fn call_with(&mut self, closure: &Rc<Closure>, args: Args, site: Site, at_yield: Option<AtYield>) -> Value {
        let Closure { file, function, .. } = **closure;
        let given = self.given.take();
        let is_all = given.as_ref().is_some_and(|given| given.all);
        let Some(found) = self.module(file).functions.get(function) else { return Value::unknown("$") };
        let again = self.frames.iter().filter(|frame| (frame.file, frame.function) == (file, function)).count();
        if self.frames.len() >= CALLS_DEEP || again > 1 || !self.step() {
            let origins = args.iter().fold(Origins::default(), |all, (_, arg)| all.with(&arg.deep_origins()));
            return Value::joined(&[&found.name, "()"]).from(&origins);
        }
        // A context manager that is called outside of `with` does nothing yet.
        if at_yield.is_none() && found.is_generator && is_decorated(&self.words().managers, &found.decorators) {
            let object = Object::new(false);
            let list: Vec<Value> = args.into_iter().map(|(_, arg)| arg).collect();
            let mut fields = object.fields.borrow_mut();
            fields.insert("generator".into(), Value::of(Shape::Func(Rc::clone(closure)), "generator"));
            fields.insert("arguments".into(), Value::of(Shape::List(list.into()), "arguments"));
            drop(fields);
            return Value::of(object.into(), format_args!("with {}", found.name));
        }
        // What runs while a module is loaded runs again when others are there: a script's `main`.
        let is_new = !self.here.early && self.visited.insert((file, function));
        let scope = self.new_scope(&closure.scope);
        let (guards, depth) = (self.here.guards.len(), self.here.depth);
        let constants = Self::constants_of(found, &args, given);
        let frame =
            Frame { at_yield, guards, depth, constants, ..Frame::new(file, function, site, closure.this.clone()) };
        self.frames.push(frame);
        let said = self.here.said.len();
        let (conditions, asking) = (self.here.conditions.len(), std::mem::take(&mut self.here.asking));
        let deciding = std::mem::take(&mut self.here.deciding);
        let (path, guards, depth) = (self.here.path.len(), self.here.guards.len(), self.here.depth);
        self.bind_params(found, args, is_all, &scope);
        self.hoist(&found.body, &scope);
        let (held, first) = (self.here.held.len(), self.log().len());
        let spared = self.spare();
        let flow = self.run_block(&found.body, &scope);
        self.spared = spared;
        // Whoever comes to its end has not returned with what was tried before.
        if self.frames.last().is_some_and(|frame| frame.throws) {
            self.mark_had(first, |_| true);
        }
        if flow == Flow::Next && self.frames.last().is_none_or(|frame| !frame.unreached) {
            self.gives_back_having();
        }
        self.had_by_call(first);
        self.run_deferred();
        self.returned_empty(first, flow == Flow::Next);
        self.drop_guards(held);
        self.here.path.truncate(path);
        self.here.guards.truncate(guards);
        self.here.conditions.truncate(conditions);
        (self.here.asking, self.here.deciding) = (asking, deciding);
        self.here.said.truncate(said);
        self.here.depth = depth;
        self.turn_ends(site.span);
        let mut frame = self.frames.pop();
        // What the caller has left out is still to be seen.
        if is_new && frame.as_ref().is_some_and(|frame| frame.decided) {
            self.visited.remove(&(file, function));
        }
        self.left_behind(frame.as_mut(), &scope);
        self.gone_on(frame.as_ref());
        let nothing = frame.as_ref().is_some_and(|frame| frame.nothing);
        if let Some(at_yield) = frame.as_mut().and_then(|frame| frame.at_yield.take()).filter(|at| at.passed) {
            self.at_its_yield(&at_yield, Value::unknown("$yielded"));
        }
        let back = frame.and_then(|frame| match frame.yielded {
            Some(each) => Some(Value::of(Shape::List(Rc::from([each])), format_args!("{}()", found.name))),
            None => frame.returned,
        });
        self.or_nothing = back.as_ref().filter(|_| nothing).map(|back| Rc::clone(&back.name));
        back.unwrap_or_else(Value::null)
    }

    /// Rust's guards end with their block, unless they are given to the caller.
    pub(super) fn drop_guards(&mut self, held: usize) {
        let given = self.frames.last().and_then(|frame| frame.returned.as_ref());
        if self.language(self.file()) == Language::Rust
            && !given.is_some_and(|given| matches!(given.shape, Shape::Lock(_)))
        {
            self.here.held.truncate(held);
        }
    }

    /// And those that no variable keeps with their statement.
    pub(super) fn drop_temporary(&mut self, held: usize, kept: Option<&Value>) {
        let is_new = self.here.held.len() > held;
        if is_new && self.language(self.file()) == Language::Rust {
            let mut at = 0;
            self.here.held.retain(|lock| {
                at += 1;
                at <= held || lock.scope > Scope::Process || kept.is_some_and(|kept| kept.origins.contains(lock.region))
            });
        }
    }

    /// The call ends here: whoever holds something then has to have somebody else give it back.
    pub(super) fn leaves(&mut self, span: Span) {
        if !self.here.held.is_empty() && !self.here.early {
            self.emit(What::Leaves, None, &Origins::default(), span);
        }
    }

    fn run_deferred(&mut self) {
        let deferred = self.frames.last_mut().map(|frame| std::mem::take(&mut frame.deferred)).unwrap_or_default();
        self.here.always += 1;
        for (expr, scope) in deferred.into_iter().rev() {
            self.eval(&expr, &scope);
        }
        self.here.always -= 1;
    }

    /// `yield`: in a context manager, the block of the `with` runs here.
    pub(super) fn yields(&mut self, value: Value, span: Span) -> Value {
        if self.passes(span) {
            return Value::unknown("$sent");
        }
        let Some(at_yield) = self.frames.last_mut().and_then(|frame| frame.at_yield.take()) else {
            // A plain generator gives way to its own caller only.
            let is_async = self
                .frames
                .last()
                .is_some_and(|frame| self.module(frame.file).functions.get(frame.function).is_some_and(|f| f.is_async));
            if is_async {
                self.suspend(span);
            }
            // Whoever goes through what it gives has one of these.
            let value = self.beside_memory(value);
            if let Some(frame) = self.frames.last_mut() {
                let before = frame.yielded.take();
                frame.yielded = Some(before.map_or_else(|| value.clone(), |before| before.join(&value)));
            }
            return Value::unknown("$sent");
        };
        self.at_its_yield(&at_yield, value);
        Value::unknown("$sent")
    }
}

/// Whether one of these is among the decorators.
pub(super) fn is_decorated(words: &[String], decorators: &[Expr]) -> bool {
    decorators.iter().any(|decorator| path_of(decorator).is_some_and(|path| Words::is_last(words, &path)))
}

/// `a.b.c` as text.
pub(crate) fn path_of(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.to_string()),
        ExprKind::This => Some("this".to_owned()),
        ExprKind::Member { of, name } => Some(format!("{}.{name}", path_of(of)?)),
        ExprKind::Call(call) => path_of(&call.callee),
        _ => None,
    }
}
