//! Expressions.

use std::borrow::Cow;
use std::rc::Rc;

use super::assign::fills_only_a_gap;
use super::either::{any_function, is_table};
use super::fields::with_rest;
use super::listing::{one_of, taken_out};
use super::name::{joined, named, word};
use super::object::list;
use super::receiver::PROTOTYPE;
use super::value::{Origins, Scope as Vars, Shape, Value};
use super::{DEEP_MOST, Engine};
use crate::hir::{Expr, ExprKind, Language, Span};
use crate::models::Words;

impl Engine<'_> {
    pub(super) fn eval(&mut self, expr: &Expr, scope: &Rc<Vars>) -> Value {
        if self.deep >= DEEP_MOST || !self.step() {
            self.cut = true;
            return Value::unknown("$");
        }
        self.deep += 1;
        let value = self.evaluated(expr, scope);
        self.deep -= 1;
        value
    }

    fn evaluated(&mut self, expr: &Expr, scope: &Rc<Vars>) -> Value {
        match &expr.kind {
            ExprKind::Name(name) => self.variable(name, expr.span, scope),
            ExprKind::This => self.this(),
            ExprKind::Super => self.inherited("constructor"),
            ExprKind::Str(text) => Value::text(text),
            ExprKind::Template(parts) => {
                let parts: Vec<Value> = parts.iter().map(|part| self.eval(part, scope)).collect();
                template(&parts)
            }
            ExprKind::Num(text) => {
                let plain = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(&**text) };
                let number = plain.parse::<f64>();
                Value::of(number.map_or(Shape::Unknown, Shape::Num), text)
            }
            ExprKind::Bool(value) => Value::of(Shape::Bool(*value), if *value { "true" } else { "false" }),
            ExprKind::Null => Value::null(),
            ExprKind::Member { of, name } => {
                if matches!(of.kind, ExprKind::Super) {
                    return self.inherited(name);
                }
                let of = self.kept(of, scope);
                match self.guarded(&of, name) {
                    Some(part) => self.memory_read(&part, Value::joined(&[&part]), expr.span),
                    None => self.member(&of, name, expr.span),
                }
            }
            ExprKind::Index { of, index } => {
                let (of, index) = (self.eval(of, scope), self.eval(index, scope));
                if let Some(item) = self.item(&of, "[]", vec![(None, index.clone())], expr.span) {
                    return item;
                }
                if let Some(name) = index.as_text() {
                    return self.member(&of, name, expr.span);
                }
                match any_function(&of, &index.origins) {
                    Some(one) => {
                        self.names_table(&of, &index, &one);
                        one
                    }
                    None if index.name.parse::<i64>().is_ok() => {
                        let found = self.entry(&of, &index, expr.span);
                        taken_out(&of, found)
                    }
                    None => self.entry(&of, &index, expr.span),
                }
            }
            ExprKind::Call(call) => {
                let back = self.call(call, expr.span, scope);
                let said = matches!(back.shape, Shape::Null).then(|| self.promised(&call.callee, scope)).flatten();
                said.map(|said| said.from(&back.origins)).unwrap_or(back)
            }
            ExprKind::Await(of) => {
                let value = self.eval(of, scope);
                self.suspend(expr.span);
                let value = if self.language(self.file()) == Language::Go {
                    self.gone_through(value, expr.span)
                } else {
                    value
                };
                self.awaited(value, expr.span)
            }
            ExprKind::Yield(of) => {
                let value = of.as_ref().map_or_else(Value::null, |of| self.eval(of, scope));
                self.yields(value, expr.span)
            }
            ExprKind::Function(function) => self.function_value(self.file(), *function, scope),
            ExprKind::Class(class) => Value::of(Shape::Class(self.file(), *class), "class"),
            ExprKind::Object { of, fields } => self.object(of.as_deref(), fields, expr.span, scope),
            ExprKind::List(items) => {
                let items: Vec<Value> = items.iter().map(|item| self.eval(item, scope)).collect();
                list(items.into())
            }
            ExprKind::Binary { op, left, right } => self.binary_expr(op, left, right, scope),
            ExprKind::Unary { op, of } => {
                self.here.compared.negated ^= op == "!";
                let of = self.eval(of, scope);
                self.here.compared.negated ^= op == "!";
                match op.as_str() {
                    // What a guard points to is what the lock protects.
                    "*" if matches!(of.shape, Shape::Lock(_)) => self.protected(&of, expr.span),
                    // A reference or what it points to is the same thing.
                    "*" | "&" => of,
                    "!" => Value::of(Shape::Unknown, format_args!("!{}", of.name)).from(&of.deep_origins()),
                    _ => Value::unknown(format_args!("{op}{}", of.name)).from(&of.deep_origins()),
                }
            }
            ExprKind::Cond { test, then, other } => {
                if let Some(holds) = self.known_to_hold(test, scope) {
                    return self.eval(if holds { then } else { other }, scope);
                }
                let asked = self.asked(test, scope);
                // Two systems have two kinds of locks; a server runs on one of them.
                if Words::is_one(&self.words().elsewhere, &asked.name) {
                    return self.eval(other, scope);
                }
                let guard = asked.deep_origins();
                let branch = self.new_branch();
                self.names_arms(&asked.name, branch, 0);
                let first = self.arm(branch, 0, &guard, |engine| engine.eval(then, scope));
                let second = self.arm(branch, 1, &guard, |engine| engine.eval(other, scope));
                second.join(&first).from(&guard)
            }
            ExprKind::Assign { to, value, op } if fills_only_a_gap(op.as_deref()) => {
                self.fills_gap(to, value, expr.span, scope)
            }
            ExprKind::Assign { to, value, op } => self.assigned_here(to, value, op.as_deref(), expr.span, scope),
            ExprKind::Spread(of) | ExprKind::Try(of) => self.eval(of, scope),
            ExprKind::Comprehension { element, each, conds } => {
                let inner = Vars::inside(scope);
                let mut origins = Origins::default();
                for (pattern, of) in each {
                    let of = self.eval(of, &inner);
                    let of = self.gone_through(of, expr.span);
                    origins = origins.with(&of.deep_origins());
                    self.assign(pattern, &one_of(&of), &inner, true);
                }
                for cond in conds {
                    origins = origins.with(&self.eval(cond, &inner).deep_origins());
                }
                let element = self.eval(element, &inner);
                let name = named(&format_args!("each {}", element.name));
                match &element.shape {
                    // Rows: what is in which place counts.
                    Shape::List(_) | Shape::Api(_) => Value::of(Shape::List(Rc::from([element])), name).from(&origins),
                    _ => Value::unknown(name).from(&element.deep_origins()).from(&origins),
                }
            }
            ExprKind::Matches { of, binds } => {
                let of = self.eval(of, scope);
                self.assign(binds, &of, scope, true);
                Value::unknown(format_args!("is {}", of.name)).from(&of.deep_origins())
            }
            ExprKind::Block(body) => self.block_value(body, scope),
            ExprKind::Other(parts) => {
                let mut value = Value::unknown(format_args!("$other:{}:{}", expr.span.line, expr.span.column));
                for part in parts {
                    value = value.from(&self.eval(part, scope).deep_origins());
                }
                value
            }
        }
    }

    /// A function that says it gives an object, and gives nothing here: what it gives was put there by a call that we have not
    /// seen.
    fn promised(&mut self, callee: &Expr, scope: &Rc<Vars>) -> Option<Value> {
        let ExprKind::Name(name) = &callee.kind else { return None };
        let Shape::Func(closure) = self.find(scope, name)?.0.value.shape else { return None };
        if !matches!(self.language(closure.file), Language::Python | Language::TypeScript) {
            return None;
        }
        let text = self.module(closure.file).functions.get(closure.function)?.returns.as_deref()?;
        // Who may give nothing has given nothing.
        if text.contains(['|', '[', '<']) { None } else { self.typed(closure.file, text) }
    }

    pub(super) fn this(&self) -> Value {
        let this = self.frames.iter().rev().find_map(|frame| frame.this.clone());
        this.unwrap_or_else(|| Value::unknown("this"))
    }

    /// `super.name`: as the class above has it, with our object.
    fn inherited(&mut self, name: &str) -> Value {
        let this = self.this();
        let frame = self.frames.iter().rev().find_map(|frame| {
            let function = self.module(frame.file).functions.get(frame.function)?;
            Some((frame.file, function.class?))
        });
        let base = frame.and_then(|(file, class)| self.base(file, class));
        let method = base.and_then(|(file, class)| self.method(file, class, name, &this));
        method.unwrap_or_else(|| Value::unknown(format_args!("super.{name}")))
    }

    /// How a variable of the present module is called.
    pub(super) fn variable_name(&self, name: &str) -> Rc<str> {
        named(&format_args!("{}:{name}", self.program.path(self.file())))
    }

    pub(super) fn variable(&mut self, name: &str, span: Span, scope: &Rc<Vars>) -> Value {
        match self.find(scope, name) {
            Some((found, is_module)) => {
                if is_module && !self.here.early && self.is_read(&found.value) {
                    return self.memory_read(&self.variable_name(name), found.value, span);
                }
                found.value
            }
            // What is nowhere declared is the language's own.
            None => Value::of(Shape::Package(word(name)), name),
        }
    }

    pub(super) fn member(&mut self, of: &Value, name: &str, span: Span) -> Value {
        let language = self.language(self.file());
        if let Some(opened) = self.opened(name) {
            return opened;
        }
        match &of.shape {
            Shape::Object(object) => {
                let found = object.fields.borrow().get(name).cloned();
                if let Some(found) = found {
                    let found = self.as_method(found, of).from(&of.origins);
                    if object.shared && !self.here.early && self.is_read(&found) {
                        return self.memory_read(&joined(&[&of.name, ".", name]), found, span);
                    }
                    return found;
                }
                if let Some((file, class)) = object.class
                    && let Some(method) = self.method(file, class, name, of)
                {
                    return method;
                }
                if let Some(api) = &object.api {
                    let base = Value::of(Shape::Api(Rc::clone(api)), &of.name);
                    return Value::member(Shape::Method(Rc::new(base), word(name)), &of.name, name);
                }
                if name == "get" && is_table(of) || self.adds(object, name) || self.says_nothing(object) {
                    return Value::member(Shape::Method(Rc::new(of.clone()), word(name)), &of.name, name);
                }
                let unknown = Value::joined(&[&of.name, ".", name]).from(&of.deep_origins());
                if object.shared && !self.here.early {
                    let name = Rc::clone(&unknown.name);
                    return self.memory_read(&name, unknown, span);
                }
                unknown
            }
            Shape::File(file) => match self.whole_without(*file, name) {
                Some(whole) => self.member(&whole, name, span),
                None => self.exported(*file, name),
            },
            Shape::Either(several) => self.member_of_one(&Rc::clone(several), of, name, span),
            Shape::Class(file, class) => self.static_member((*file, *class), name, of, span),
            Shape::Package(package) => {
                let path = joined(&[package, ".", name]);
                if name == "default" && is_javascript(language) {
                    return of.clone();
                }
                self.constant(&path).unwrap_or_else(|| {
                    let usual = self.models.package(language, &path);
                    Value::of(Shape::Package(word(usual)), &path)
                })
            }
            Shape::Api(api) => {
                let path = joined(&[&of.name, ".", name]);
                let kind = self.models.of_type(language, api);
                if let Some(field) = kind.and_then(|kind| kind.fields.get(name)) {
                    return match field.strip_prefix('=') {
                        Some("") => of.clone(),
                        Some(kind) => Value::of(Shape::Api(kind.into()), &*of.name).from(&of.origins),
                        None => Value::of(Shape::Api(field.as_str().into()), path).from(&of.origins),
                    };
                }
                match kind.and_then(|kind| kind.members.clone()) {
                    Some(member) if !self.models.has(language, api, name) => {
                        let (kind, path) = member.strip_prefix('.').map_or((&*member, &*path), |kind| (kind, name));
                        Value::of(Shape::Api(kind.into()), path).from(&of.origins)
                    }
                    _ => Value::of(Shape::Method(Rc::new(of.clone()), word(name)), path).from(&of.origins),
                }
            }
            Shape::Func(maker) if name == PROTOTYPE && is_javascript(language) => self.prototype(maker),
            Shape::List(items) if name == "length" => {
                let origins = items.iter().fold(of.origins.clone(), |all, item| all.with(&item.deep_origins()));
                Value::joined(&[&of.name, ".length"]).from(&origins)
            }
            _ => {
                let method = Shape::Method(Rc::new(of.clone()), word(name));
                let found = Value::of(method, format_args!("{}.{name}", of.name)).from(&of.deep_origins());
                if self.is_entry(of) { self.memory_read(&Rc::clone(&found.name), found, span) } else { found }
            }
        }
    }

    fn binary_expr(&mut self, op: &str, left: &Expr, right: &Expr, scope: &Rc<Vars>) -> Value {
        let (chooses, written) = (matches!(op, "&&" | "||" | "??"), left);
        let left = if chooses { self.asked(left, scope) } else { self.eval(left, scope) };
        match op {
            "&&" | "||" | "??" => {
                // `exists and not overwrite`, where the caller has said to overwrite: nothing depends on it.
                if op == "&&" && self.here.asking > 0 && self.is_refused_by_caller(right, scope) {
                    return Value::of(Shape::Bool(false), "false");
                }
                if op != "&&" && self.is_left_out(written, &left) {
                    return self.eval(right, scope);
                }
                let guard = left.deep_origins();
                let branch = self.new_branch();
                if op != "&&" && !guard.is_empty() && self.is_nothing(right, scope) {
                    self.filled(&guard);
                }
                let right = self.arm(branch, 0, &guard, |engine| engine.eval(right, scope));
                let both = if op == "&&" { left.join(&right) } else { right.join(&left) };
                // Of a condition all parts are known.
                let name = (self.here.deciding > 0 && op != "??").then(|| format!("{}{op}{}", left.name, right.name));
                let both =
                    name.map_or_else(|| both.clone(), |name| Value::of(both.shape.clone(), name).from(&both.origins));
                both.from(&guard)
            }
            _ => {
                let (right, span) = (self.eval(right, scope), right.span);
                self.compares(op, &left, &right);
                self.computed(op, &left, &right, span)
            }
        }
    }

    pub(super) fn binary(&self, op: &str, left: &Value, right: &Value) -> Value {
        let origins = left.deep_origins().with(&right.deep_origins());
        let value = match (op, &left.shape, &right.shape) {
            ("+", Shape::Str(_) | Shape::Template(_), _) | ("+", _, Shape::Str(_) | Shape::Template(_)) => {
                template(&[left.clone(), right.clone()])
            }
            // pathlib's way to join: nothing else can be divided by a text.
            ("/", Shape::Unknown | Shape::Method(..), Shape::Str(_) | Shape::Template(_)) => {
                Value::of(Shape::Api("path".into()), format_args!("{}/{}", left.name, right.name))
            }
            ("/", _, Shape::Str(_)) | ("/", Shape::Str(_) | Shape::Api(_), _) => {
                Value::of(left.shape.clone(), format_args!("{}/{}", left.name, right.name))
            }
            ("+", Shape::List(_), _) | ("+", Shape::Api(_), Shape::List(_)) => with_rest(left, right),
            ("*", Shape::Num(a), Shape::Num(b)) => Value::of(Shape::Num(a * b), format_args!("{}", a * b)),
            ("+", Shape::Num(a), Shape::Num(b)) => Value::of(Shape::Num(a + b), format_args!("{}", a + b)),
            ("-", Shape::Num(a), Shape::Num(b)) => Value::of(Shape::Num(a - b), format_args!("{}", a - b)),
            ("in", _, _) => Value::joined(&["(", &left.name, " in ", &right.name, ")"]),
            ("|", _, _) => Value::unknown(format_args!("{}|{}", left.name, right.name)),
            _ => Value::joined(&["(", &left.name, op, &right.name, ")"]),
        };
        value.from(&origins)
    }
}

pub(super) fn is_javascript(language: Language) -> bool {
    matches!(language, Language::JavaScript | Language::TypeScript)
}

/// Text with holes: constant if all parts are.
pub(super) fn template(parts: &[Value]) -> Value {
    let mut name = String::new();
    let mut origins = Origins::default();
    let mut flat: Vec<Value> = Vec::with_capacity(parts.len());
    for part in parts {
        match &part.shape {
            Shape::Template(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(part.clone()),
        }
    }
    let mut constant = true;
    for part in &flat {
        origins = origins.with(&part.deep_origins());
        match &part.shape {
            Shape::Str(text) => name.push_str(text),
            Shape::Num(_) => name.push_str(&part.name),
            _ => {
                constant = false;
                name.push_str("${");
                name.push_str(&part.name);
                name.push('}');
            }
        }
    }
    if constant {
        return Value::text(&name).from(&origins);
    }
    flat.truncate(TEMPLATE_MOST);
    Value::long(Shape::Template(flat.into()), &name).from(&origins)
}

/// Parts of a text.
const TEMPLATE_MOST: usize = 256;
