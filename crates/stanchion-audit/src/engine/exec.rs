//! Statements.

use std::rc::Rc;

use super::Engine;
use super::again::{is_endless, is_retry};
use super::assign::fills_only_a_gap;
use super::caught::{drops_promise, ends};
use super::eval::is_javascript;
use super::listing::one_of;
use super::value::{Scope as Vars, Shape, Value};
use crate::hir::each::each;
use crate::hir::{DECLARES, Expr, ExprKind, Language, Loop, Pattern, Span, Stmt, StmtKind};

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// `break` and `continue`: the rest of the loop's body is not run.
    Skips,
    /// `return` and `throw`.
    Leaves,
}

/// Whether a statement makes something that is seen in its block only.
fn declares(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Assign { op, .. } => op.as_deref() == Some(DECLARES),
        StmtKind::Function(_) | StmtKind::Class(_) => true,
        _ => false,
    }
}

impl Engine<'_> {
    /// A block's own variables; Python has none.
    pub(super) fn inside(&self, scope: &Rc<Vars>) -> Rc<Vars> {
        match self.language(self.file()) {
            Language::Python => Rc::clone(scope),
            _ => self.new_scope(scope),
        }
    }

    /// What functions that were made before any call from outside share is there for all calls.
    pub(super) fn new_scope(&self, outer: &Rc<Vars>) -> Rc<Vars> {
        if self.here.early { Vars::lasting(outer) } else { Vars::inside(outer) }
    }

    /// A block with variables of its own.
    pub(super) fn block(&mut self, body: &[Stmt], scope: &Rc<Vars>) -> Flow {
        if body.is_empty() {
            return Flow::Next;
        }
        // Most blocks make nothing of their own. Only JavaScript says so.
        let plain = is_javascript(self.language(self.file())) && !body.iter().any(declares);
        let inner = if plain { Rc::clone(scope) } else { self.inside(scope) };
        self.hoist(body, &inner);
        let held = self.here.held.len();
        let flow = self.run_block(body, &inner);
        self.drop_guards(held);
        flow
    }

    pub(super) fn run_block(&mut self, body: &[Stmt], scope: &Rc<Vars>) -> Flow {
        for stmt in body {
            if !self.step() {
                return Flow::Leaves;
            }
            let flow = self.statement(stmt, scope);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    pub(super) fn statement(&mut self, stmt: &Stmt, scope: &Rc<Vars>) -> Flow {
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                // A call whose promise is dropped goes on by itself; what a file's own code starts, it starts once.
                let once = self.frames.last().is_some_and(|frame| frame.function == 0) && self.here.loops.is_empty();
                let dropped = u32::from(is_javascript(self.language(self.file())) && !once && drops_promise(expr));
                self.here.detached += dropped;
                // Statements of the functions that it calls are inside of it.
                let this = (dropped > 0).then_some((expr.span, self.frames.len()));
                let outer = std::mem::replace(&mut self.here.dropped, this);
                let (held, first) = (self.here.held.len(), self.log().len());
                self.told = told(expr);
                self.eval(expr, scope);
                self.unheard(first);
                if let Some(call) = told(expr).filter(|_| !calls_back(expr)) {
                    self.uncounted(first, call);
                }
                self.here.detached -= dropped;
                self.here.dropped = outer;
                self.drop_temporary(held, None);
                if ends(self.words(), expr) { Flow::Leaves } else { Flow::Next }
            }
            StmtKind::Assign { to, value, op } if fills_only_a_gap(op.as_deref()) && to.len() == 1 => {
                to.iter().for_each(|to| drop(self.fills_gap(to, value, stmt.span, scope)));
                Flow::Next
            }
            StmtKind::Assign { to, value, op } => {
                let held = self.here.held.len();
                let before = to.first().and_then(|to| self.read_before(to, op.as_deref(), stmt.span, scope));
                let mut found = self.kept(value, scope);
                self.drop_temporary(held, Some(&found).filter(|_| !matches!(to[..], [Pattern::Nothing])));
                self.at = stmt.span;
                for pattern in to {
                    if let (Pattern::Name(name), Some(frame)) = (pattern, self.frames.last_mut()) {
                        frame.asked.retain(|flag| flag.variable != *name);
                    }
                    if op.as_deref() == Some(DECLARES) {
                        self.bind(pattern, &found, scope);
                        continue;
                    }
                    if let Some(op) = op {
                        let old = before.clone().unwrap_or_else(|| self.read_pattern(pattern, scope));
                        found = self.computed(op, &old, &found, stmt.span);
                    }
                    // A flag of this call tells what it was set because of.
                    let flag = (op.is_none() && matches!(found.shape, Shape::Bool(_)) && is_own(pattern, scope))
                        .then(|| found.clone().from(&self.answers()));
                    self.assign(pattern, flag.as_ref().unwrap_or(&found), scope, op.is_none());
                }
                // A place that is written through its guard.
                self.drop_temporary(held, Some(&found));
                Flow::Next
            }
            StmtKind::Return(value) => {
                let mut value = value.as_ref().map_or_else(Value::null, |value| self.returned_value(value, scope));
                value = self.gives_free(value);
                // A statement that was put together is run by the promise that it becomes.
                if matches!(value.shape, Shape::Query(_)) && self.gives_promise() {
                    value = self.settled(value, stmt.span);
                }
                self.gives_now(Some(&value));
                if matches!(value.shape, Shape::Bool(_)) {
                    value = value.from(&self.answers());
                }
                value = value.from(&self.created());
                // What the fields of an object got on this way is taken back where the way has left, and is there again in the
                // end: until then the object itself tells of it.
                if self.frames.last().is_some_and(|frame| frame.depth < self.here.depth)
                    && value.object().is_some_and(|object| object.class.is_some() && !object.shared)
                {
                    let inside = value.deep_origins();
                    value = value.from(&inside);
                }
                if let Some(frame) = self.frames.last_mut() {
                    frame.nothing |= matches!(value.shape, Shape::Null);
                    frame.returned =
                        Some(frame.returned.as_ref().map_or_else(|| value.clone(), |old| old.join(&value)));
                }
                self.gives_back_having();
                self.round_left();
                self.leaves(stmt.span);
                Flow::Leaves
            }
            StmtKind::Throw(value) => {
                if let Some(value) = value {
                    self.eval(value, scope);
                }
                let depth = self.here.depth;
                if let Some(frame) = self.frames.last_mut().filter(|frame| frame.depth == depth) {
                    frame.throws = true;
                    let failed = std::mem::take(&mut frame.failed);
                    self.gives_error(&failed);
                }
                self.refuses();
                self.round_left();
                self.leaves(stmt.span);
                Flow::Leaves
            }
            StmtKind::If { cond, then, other } => match self.script_steps(cond) {
                Some(0) => Flow::Next,
                Some(most) => self.bounded(most, |engine| engine.branch(cond, then, other, scope)),
                None => self.branch(cond, then, other, scope),
            },
            StmtKind::Loop(found) => self.repeat(found, stmt.span, scope),
            StmtKind::Try { body, handlers, otherwise, finally } => {
                self.attempt(body, handlers, otherwise, finally, scope)
            }
            StmtKind::With { items, body, is_async } => {
                // Whoever enters may have to wait.
                if *is_async {
                    self.suspend(stmt.span);
                }
                self.with(items, body, scope)
            }
            StmtKind::Switch { subject, arms } => self.switch(subject, arms, scope),
            StmtKind::Defer(expr) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.deferred.push((expr.clone(), Rc::clone(scope)));
                }
                Flow::Next
            }
            StmtKind::Go(expr) => {
                // It runs by itself: what it does is not in our order, and holds none of our locks.
                let outer = std::mem::take(&mut self.here.held);
                self.here.detached += 1;
                self.eval(expr, scope);
                self.here.detached -= 1;
                self.here.held = outer;
                Flow::Next
            }
            StmtKind::Break => {
                self.breaks();
                self.round_broken();
                Flow::Skips
            }
            StmtKind::Continue => Flow::Skips,
            StmtKind::Function(function) => {
                self.decorated(*function, scope);
                Flow::Next
            }
            StmtKind::Class(class) => {
                self.class_made(*class, scope);
                Flow::Next
            }
            StmtKind::Block(body) => self.block(body, scope),
            StmtKind::Delete(expr) => {
                self.eval(expr, scope);
                Flow::Next
            }
        }
    }

    /// Whether the present function gives a promise, whatever it returns.
    fn gives_promise(&self) -> bool {
        let frame = self.frames.last().filter(|frame| is_javascript(self.language(frame.file)));
        let function = frame.and_then(|frame| self.module(frame.file).functions.get(frame.function));
        function.is_some_and(|function| function.is_async)
    }

    pub(super) fn new_branch(&mut self) -> u32 {
        self.branches += 1;
        self.branches
    }

    fn repeat(&mut self, found: &Loop, span: Span, scope: &Rc<Vars>) -> Flow {
        let inner = self.inside(scope);
        self.run_block(&found.init, &inner);
        let (id, pauses) = (self.new_branch(), self.here.suspends);
        let first = self.log().len();
        self.here.loops.push(id);
        let guard = found.cond.as_ref().map(|cond| self.eval(cond, &inner).deep_origins()).unwrap_or_default();
        if let Some((pattern, of)) = &found.each {
            let of = self.eval(of, &inner);
            // Whoever goes through the rows runs the statement.
            let of = self.settled(of, found.body.first().map_or_else(Default::default, |stmt| stmt.span));
            let of = self.gone_through(of, span);
            if found.is_async {
                self.suspend(found.body.first().map_or_else(Default::default, |stmt| stmt.span));
            }
            let item = one_of(&of);
            let item = match &of.shape {
                // Each of the rows that a session watches is such a row.
                Shape::Api(kind) if self.is_tracked(kind) => Value { shape: of.shape.clone(), ..item },
                _ => item,
            };
            self.bind(pattern, &item, &inner);
        }
        let retries = u32::from(is_retry(found));
        let endless = u32::from(is_endless(found));
        self.frames.last_mut().iter_mut().for_each(|frame| {
            frame.endless += endless;
            frame.ways.push(Vec::new());
        });
        self.here.retries += retries;
        self.round_begins();
        let (flow, mut made) = self.one_arm(id, 0, &guard, |engine| {
            let flow = engine.block(&found.body, &inner);
            engine.run_block(&found.step, &inner);
            flow
        });
        found.cond.iter().for_each(|cond| self.gives_way(&mut made, cond, &guard));
        self.behind(vec![(flow, made)], false);
        let ways = self.frames.last_mut().and_then(|frame| {
            frame.endless -= endless;
            frame.ways.pop()
        });
        self.here.retries -= retries;
        self.ticks_with(found, first);
        self.here.loops.pop();
        self.waited_until_free(found, &guard, pauses);
        let (left, missed) = self.round_ends();
        let guards = self.here.guards.len();
        self.here.guards.push(missed);
        let ends = self.block(&found.otherwise, &inner) == Flow::Next;
        self.here.guards.truncate(guards);
        if !left.is_empty() {
            self.here.guards.push(left);
        }
        self.had_behind(found, ways.unwrap_or_default(), &guard, ends, &inner);
        // A loop without a condition ends only by leaving.
        if flow == Flow::Leaves && found.cond.is_none() && found.each.is_none() { Flow::Leaves } else { Flow::Next }
    }
}

/// Where a call stands whose answer nobody uses.
fn told(expr: &Expr) -> Option<Span> {
    match &expr.kind {
        ExprKind::Await(of) => told(of),
        ExprKind::Unary { op, of } if op == "void" => told(of),
        ExprKind::Call(_) => Some(expr.span),
        _ => None,
    }
}

/// Whether a function is given to it, which may be told more than who calls it.
fn calls_back(expr: &Expr) -> bool {
    let mut found = false;
    each(expr, &mut |part| found |= matches!(part.kind, ExprKind::Function(_)));
    found
}

/// A variable that no other call sees.
fn is_own(pattern: &Pattern, scope: &Rc<Vars>) -> bool {
    matches!(pattern, Pattern::Name(name) if scope.is_shared(name) != Some(true))
}
