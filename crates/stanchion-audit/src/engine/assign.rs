//! What is assigned to names, fields and places.

use std::rc::Rc;

use super::Engine;
use super::eval::is_javascript;
use super::name::joined;
use super::receiver::PROTOTYPE;
use super::value::{Scope as Vars, Shape, Value};
use crate::hir::{Expr, ExprKind, Language, Pattern, Span, replaces};

impl Engine<'_> {
    /// Whether an assignment makes a variable of the function, whatever has its name outside.
    pub(super) fn is_local(&self, name: &str) -> bool {
        let Some(frame) = self.frames.last().filter(|frame| frame.function != 0) else { return false };
        self.language(frame.file) == Language::Python
            && self.module(frame.file).functions.get(frame.function).is_some_and(|f| !f.outer.iter().any(|n| n == name))
    }

    /// The value of what is assigned to.
    pub(super) fn read_pattern(&mut self, pattern: &Pattern, scope: &Rc<Vars>) -> Value {
        match pattern {
            Pattern::Name(name) => self.variable(name, self.at, scope),
            Pattern::Place(place) => self.eval(place, scope),
            _ => Value::unknown("$"),
        }
    }

    /// `total += await price()`: JavaScript and Python read what is assigned to before the right side runs. Of `open &&= …` only
    /// whether there was something counts, and nothing of it is in what is put there.
    pub(super) fn read_before(&mut self, to: &Pattern, op: Option<&str>, at: Span, scope: &Rc<Vars>) -> Option<Value> {
        let language = self.language(self.file());
        if replaces(op) || op == Some("&&") || !(is_javascript(language) || language == Language::Python) {
            return None;
        }
        self.at = at;
        Some(self.read_pattern(to, scope))
    }

    /// An assignment as an expression.
    pub(super) fn assigned_here(
        &mut self,
        to: &Pattern,
        value: &Expr,
        op: Option<&str>,
        at: Span,
        scope: &Rc<Vars>,
    ) -> Value {
        let before = self.read_before(to, op, at, scope);
        let mut value = self.eval(value, scope);
        self.at = at;
        if let Some(op) = op {
            let old = before.unwrap_or_else(|| self.read_pattern(to, scope));
            value = self.computed(op, &old, &value, at);
        }
        self.at = at;
        self.assign(to, &value, scope, op.is_none());
        value
    }

    /// New variables of the block, whatever has their names outside; Python has no blocks.
    pub(super) fn bind(&mut self, pattern: &Pattern, value: &Value, scope: &Rc<Vars>) {
        if self.language(self.file()) != Language::Python {
            declare(pattern, scope, self.here.depth);
        }
        self.assign(pattern, value, scope, true);
    }

    /// `this.starting ??= this.start()`: it is looked at, and then something is put there or nothing happens.
    pub(super) fn fills_gap(&mut self, place: &Pattern, value: &Expr, at: Span, scope: &Rc<Vars>) -> Value {
        self.at = at;
        self.here.asking += 1;
        let old = self.read_pattern(place, scope);
        self.here.asking -= 1;
        let (guard, branch) = (old.deep_origins(), self.new_branch());
        let new = self.arm(branch, 0, &guard, |engine| {
            let held = engine.here.held.len();
            let new = engine.kept(value, scope);
            engine.at = at;
            engine.assign(place, &new, scope, true);
            engine.drop_temporary(held, Some(&new));
            new
        });
        // An object that has been put where others find it is theirs, too.
        let is_own = new.object().is_some_and(|object| object.class.is_some() && !object.shared);
        let new = if is_own && self.is_shared_place(place, scope) { new.shared() } else { new };
        new.join(&old).from(&guard)
    }

    /// Whether others can reach what is put there.
    fn is_shared_place(&mut self, place: &Pattern, scope: &Rc<Vars>) -> bool {
        self.here.asking += 1;
        let there = self.read_pattern(place, scope);
        self.here.asking -= 1;
        there.object().is_some_and(|object| object.shared)
    }

    pub(super) fn assign(&mut self, pattern: &Pattern, value: &Value, scope: &Rc<Vars>, declares: bool) {
        match pattern {
            Pattern::Nothing => {}
            Pattern::Name(name) => {
                let depth = self.here.depth;
                if let Some(frame) = self.frames.last_mut() {
                    frame.constants.retain(|constant| constant != name);
                }
                if self.is_local(name) {
                    if scope.vars.borrow().contains_key(name.as_str()) {
                        self.set_variable(scope, name, value);
                    } else {
                        // Wherever it is first assigned, it is one variable for all branches.
                        let base = self.frames.last().map_or(0, |frame| frame.depth);
                        scope.declare(name, value.clone(), base);
                    }
                    return;
                }
                let shared = scope.is_shared(name) == Some(true);
                let stored = if shared { value.shared() } else { value.clone() };
                if self.set_variable(scope, name, &stored) {
                    if shared && !self.here.early {
                        self.memory_written(&self.variable_name(name), value, self.at);
                    }
                } else if declares {
                    scope.declare(name, value.clone(), depth);
                }
            }
            Pattern::Place(place) => self.assign_place(place, value, scope),
            Pattern::Object(parts) => {
                for (name, pattern) in parts {
                    let part = self.member(value, name, self.at);
                    self.assign(pattern, &part, scope, declares);
                }
            }
            Pattern::List(parts) => {
                for (index, pattern) in parts.iter().enumerate() {
                    let part = match &value.shape {
                        Shape::List(items) => items.get(index).cloned(),
                        _ => None,
                    };
                    let part = part.unwrap_or_else(|| {
                        // The first of several results is the thing, the others are errors and the like.
                        match index {
                            0 => value.clone(),
                            _ => Value::unknown(format_args!("{}#{index}", value.name)).from(&value.origins),
                        }
                    });
                    self.assign(pattern, &part, scope, declares);
                }
            }
            Pattern::Rest(pattern) => self.assign(pattern, value, scope, declares),
        }
    }

    pub(super) fn assign_place(&mut self, place: &Expr, value: &Value, scope: &Rc<Vars>) {
        match &place.kind {
            ExprKind::Member { of, name } => {
                let found = self.eval(of, scope);
                self.set_field(&found, name, value, place.span);
                self.put_into(of, &found, value, scope);
            }
            ExprKind::Index { of, index } => {
                let found = self.eval(of, scope);
                let index = self.eval(index, scope);
                let item = vec![(None, index.clone()), (None, value.clone())];
                if self.item(&found, "[]=", item, place.span).is_some() {
                    return;
                }
                let field = index.as_text().map_or_else(|| format!("[{}]", index.name), ToOwned::to_owned);
                self.set_field(&found, &field, value, place.span);
                // Which entry it is may come from elsewhere.
                if index.as_text().is_some() {
                    self.put_into(of, &found, value, scope);
                }
            }
            ExprKind::Unary { of, op } if op == "*" && self.language(self.file()) == Language::Rust => {
                let target = self.eval(of, scope);
                match (&target.shape, &of.kind) {
                    (Shape::Lock(lock), _) => self.memory_written(&Rc::clone(lock), value, place.span),
                    (_, ExprKind::Name(name)) => self.assign(&Pattern::Name(name.clone()), value, scope, true),
                    (_, ExprKind::Member { .. } | ExprKind::Index { .. }) => self.assign_place(of, value, scope),
                    _ => {}
                }
            }
            ExprKind::Unary { of, .. } => self.assign_place(of, value, scope),
            ExprKind::Name(name) => self.assign(&Pattern::Name(name.clone()), value, scope, true),
            _ => {
                self.eval(place, scope);
            }
        }
    }

    /// `all.titles = titles`, where `all` was read: it is a part of what the call's variable holds from now on.
    fn put_into(&mut self, place: &Expr, found: &Value, value: &Value, scope: &Rc<Vars>) {
        let (mut root, given) = (place, value.deep_origins());
        while let ExprKind::Member { of, .. } = &root.kind {
            root = of;
        }
        if let ExprKind::Name(name) = &root.kind
            && !given.is_empty()
            && is_open(found)
            && let Some((binding, false)) = self.find(scope, name)
            && is_open(&binding.value)
            && self.is_stored(&binding.value.origins)
        {
            self.add_to_variable(scope, name, &binding.value.from(&given));
        }
    }

    /// `res.json = (body) => …`: a function that is put into what the caller gave is called by the caller later.
    fn put_into_unknown(&mut self, of: &Value, value: &Value) {
        let is_given = matches!(of.shape, Shape::Unknown) && of.name.starts_with('$');
        if is_given && !self.here.early && matches!(value.shape, Shape::Func(_)) {
            self.call_unknown(of, vec![(None, value.clone())], self.at);
        }
    }

    pub(super) fn set_field(&mut self, of: &Value, name: &str, value: &Value, span: Span) {
        self.tracked_set(of, name, value, span);
        if let Shape::Class(file, class) = of.shape {
            let statics = self.statics_of(file, class, &of.name);
            return self.set_field(&statics, name, value, span);
        }
        if let Shape::Either(several) = &of.shape {
            return several.iter().for_each(|one| self.set_field(one, name, value, span));
        }
        if let Some(part) = self.guarded(of, name) {
            return self.memory_written(&part, value, span);
        }
        if let (Shape::Func(maker), PROTOTYPE) = (&of.shape, name) {
            return self.set_prototype(maker, value);
        }
        if self.calls_setter(of, name, value, span) {
            return;
        }
        let Some(object) = of.object() else {
            self.note_assigned(of, name, value);
            self.put_into_unknown(of, value);
            if self.language(self.file()) == Language::Go {
                self.part_written(of, value, span);
            }
            if self.is_entry(of) {
                self.memory_written(&joined(&[&of.name, ".", name]), value, span);
            }
            return;
        };
        // An object's own lock is for whoever has the object.
        self.made.remove(&value.name);
        let value = &if object.shared { value.shared() } else { value.clone() };
        if object.shared && !self.here.early {
            self.memory_written(&joined(&[&of.name, ".", name]), value, span);
        }
        if self.language(self.file()) == Language::Go {
            self.note_field(object, name, value);
        }
        self.put_field(&object.fields, object.shared, name, value);
    }
}

/// Whether an assignment with this operator puts something only where nothing is.
pub(super) fn fills_only_a_gap(op: Option<&str>) -> bool {
    matches!(op, Some("??" | "||"))
}

/// Nothing is known of it but where it comes from.
fn is_open(value: &Value) -> bool {
    matches!(value.shape, Shape::Unknown | Shape::Method(..))
}

fn declare(pattern: &Pattern, scope: &Vars, depth: u32) {
    match pattern {
        Pattern::Name(name) => scope.declare(name, Value::null(), depth),
        Pattern::Object(parts) => parts.iter().for_each(|(_, part)| declare(part, scope, depth)),
        Pattern::List(parts) => parts.iter().for_each(|part| declare(part, scope, depth)),
        Pattern::Rest(part) => declare(part, scope, depth),
        Pattern::Place(_) | Pattern::Nothing => {}
    }
}
