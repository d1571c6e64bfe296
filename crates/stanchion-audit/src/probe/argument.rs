//! What a tool or route is given, as far as its schema is written down.

use crate::engine::path_of;
use crate::hir::{Call, Class, Expr, ExprKind, Module, Param, Pattern, StmtKind, Text, replaces};
use crate::program::{Meaning, Program};

/// Schemas inside schemas, and names for names.
const DEEP: usize = 16;

/// What a value has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
    Truth,
    /// One of these; only the first is kept.
    Word(String),
    List(Box<Shape>),
    Object(Vec<Argument>),
    Unknown,
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) needed: bool,
}

/// Where an expression stands, so that its names can be followed.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) program: &'a Program,
    pub(super) file: usize,
    deep: usize,
}

impl<'a> At<'a> {
    pub(super) const fn new(program: &'a Program, file: usize) -> Self {
        Self { program, file, deep: DEEP }
    }

    fn deeper(self) -> Option<Self> {
        Some(Self { deep: self.deep.checked_sub(1)?, ..self })
    }

    fn module(self) -> &'a Module {
        self.program.module(self.file)
    }

    /// What a name of the module stands for, here or where it is imported from.
    fn follow(self, name: &str) -> Option<(Self, &'a Expr)> {
        let top = self.module().functions.first()?;
        let own = top.body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Assign { to, value, op } if replaces(op.as_deref()) => {
                let is_it = |to: &Pattern| matches!(to, Pattern::Name(bound) if bound == name);
                to.iter().any(is_it).then_some(value)
            }
            _ => None,
        });
        if let Some(own) = own {
            return Some((self.deeper()?, own));
        }
        let (file, name) = self.imported(name)?;
        Self { file, ..self.deeper()? }.follow(&name)
    }

    fn imported(self, name: &str) -> Option<(usize, String)> {
        let at = self.module().imports.iter().position(|import| import.local == name)?;
        let outer = match &self.module().imports.get(at)?.what {
            crate::hir::Imported::Name(outer) => outer.clone(),
            _ => return None,
        };
        match self.program.import(self.file, at) {
            Meaning::In(file) => self.program.export(file, &outer).or(Some((file, outer))),
            _ => None,
        }
    }

    fn class(self, name: &str) -> Option<(Self, &'a Class)> {
        let own = self.module().classes.iter().find(|class| class.name == name);
        if let Some(own) = own {
            return Some((self.deeper()?, own));
        }
        let (file, name) = self.imported(name)?;
        Self { file, ..self.deeper()? }.class(&name)
    }
}

/// The arguments that a schema names: a zod shape or object, or JSON Schema. `None` if it is neither.
pub(super) fn schema(at: At<'_>, expr: &Expr) -> Option<Vec<Argument>> {
    match shape(at, expr)?.0 {
        Shape::Object(fields) => Some(fields),
        _ => None,
    }
}

/// A shape, and whether it is needed.
fn shape(at: At<'_>, expr: &Expr) -> Option<(Shape, bool)> {
    let at = at.deeper()?;
    match &expr.kind {
        ExprKind::Name(name) => {
            let (at, value) = at.follow(name)?;
            shape(at, value)
        }
        // `Schema.shape`
        ExprKind::Member { of, .. } => shape(at, of),
        ExprKind::Call(call) => Some(called(at, call)),
        ExprKind::Object { fields, .. } if field(fields, "type").is_some_and(is_text) => Some((json(at, fields), true)),
        ExprKind::Object { fields, .. } => {
            let named = fields.iter().filter_map(|(name, value)| {
                let (shape, needed) = shape(at, value).unwrap_or((Shape::Unknown, true));
                Some(Argument { name: name.as_ref()?.to_string(), shape, needed })
            });
            Some((Shape::Object(named.collect()), true))
        }
        ExprKind::Other(list) => list.iter().find_map(|expr| shape(at, expr)),
        _ => None,
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Str(_))
}

fn field<'a>(fields: &'a [(Option<Text>, Expr)], name: &str) -> Option<&'a Expr> {
    fields.iter().find(|(key, _)| key.as_deref() == Some(name)).map(|(_, value)| value)
}

/// `z.string().min(1).optional()`: the first word that says a type, from the inside.
fn called(at: At<'_>, call: &Call) -> (Shape, bool) {
    let ExprKind::Member { of, name } = &call.callee.kind else { return (Shape::Unknown, true) };
    if let ExprKind::Call(inner) = &of.kind {
        let (shape, needed) = called(at, inner);
        if shape != Shape::Unknown {
            return (shape, needed && !matches!(name.as_str(), "optional" | "default" | "nullish"));
        }
    }
    let first = call.args.first().map(|arg| &arg.value);
    let found = match name.as_str() {
        "string" | "uuid" | "email" | "url" => Shape::Text,
        "number" | "int" | "bigint" => Shape::Number,
        "boolean" => Shape::Truth,
        "enum" | "literal" => first.map_or(Shape::Unknown, word),
        "array" => {
            let inner = first.and_then(|first| shape(at, first)).map_or(Shape::Unknown, |(shape, _)| shape);
            Shape::List(Box::new(inner))
        }
        "object" | "strictObject" | "looseObject" => {
            first.and_then(|first| schema(at, first)).map_or(Shape::Unknown, Shape::Object)
        }
        "optional" => return (first.and_then(|first| shape(at, first)).map_or(Shape::Unknown, |(it, _)| it), false),
        _ => Shape::Unknown,
    };
    (found, true)
}

fn word(expr: &Expr) -> Shape {
    match &expr.kind {
        ExprKind::Str(word) => Shape::Word(word.clone()),
        ExprKind::List(words) => words.first().map_or(Shape::Unknown, word),
        _ => Shape::Unknown,
    }
}

/// `{ type: "object", properties: { … }, required: [ … ] }`
fn json(at: At<'_>, fields: &[(Option<Text>, Expr)]) -> Shape {
    if let Some(found) = field(fields, "enum").map(word).filter(|found| *found != Shape::Unknown) {
        return found;
    }
    let Some(Expr { kind: ExprKind::Str(kind), .. }) = field(fields, "type") else { return Shape::Unknown };
    match kind.as_str() {
        "string" => Shape::Text,
        "number" | "integer" => Shape::Number,
        "boolean" => Shape::Truth,
        "array" => {
            let inner = field(fields, "items").and_then(|items| shape(at, items));
            Shape::List(Box::new(inner.map_or(Shape::Unknown, |(shape, _)| shape)))
        }
        "object" => {
            let needed: Vec<&str> = match field(fields, "required").map(|it| &it.kind) {
                Some(ExprKind::List(list)) => list.iter().filter_map(text_of).collect(),
                _ => Vec::new(),
            };
            match field(fields, "properties").map(|it| &it.kind) {
                Some(ExprKind::Object { fields, .. }) => {
                    let named = fields.iter().filter_map(|(name, value)| {
                        let name = name.as_ref()?.to_string();
                        let (shape, _) = shape(at, value).unwrap_or((Shape::Unknown, true));
                        let needed = needed.contains(&name.as_str());
                        Some(Argument { name, shape, needed })
                    });
                    Shape::Object(named.collect())
                }
                _ => Shape::Object(Vec::new()),
            }
        }
        _ => Shape::Unknown,
    }
}

pub(super) fn text_of(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Str(text) => Some(text),
        _ => None,
    }
}

/// The arguments that a function's own parameters say: Python's tools, FastAPI's routes.
pub(super) fn params(at: At<'_>, params: &[Param]) -> Vec<Argument> {
    params.iter().filter(|param| !param.is_rest).filter_map(|param| one(at, param)).collect()
}

fn one(at: At<'_>, param: &Param) -> Option<Argument> {
    let Pattern::Name(name) = &param.pattern else { return None };
    let text = param.type_text.as_deref().unwrap_or_default();
    // What the framework hands in is no argument.
    if ["Context", "Request", "Response", "Depends", "Session"].iter().any(|given| text.contains(given)) {
        return None;
    }
    let by = param.default.as_ref().and_then(|default| match &default.kind {
        ExprKind::Call(call) => path_of(&call.callee).map(|path| (path, call)),
        _ => None,
    });
    if by.as_ref().is_some_and(|(path, _)| path.ends_with("Depends")) {
        return None;
    }
    // `Field(description="…")` says nothing of a value.
    let is_said = |call: &Call| {
        let says = |arg: &crate::hir::Arg| match arg.name.as_deref() {
            None => !matches!(arg.value.kind, ExprKind::Other(_)),
            Some(name) => name.starts_with("default"),
        };
        call.args.iter().any(says)
    };
    let has_default = param.default.is_some() && by.is_none_or(|(_, call)| is_said(call));
    let needed = !has_default && !text.contains("None") && !text.contains("Optional");
    Some(Argument { name: name.to_string(), shape: typed(at, text), needed })
}

fn typed(at: At<'_>, text: &str) -> Shape {
    let text = text.trim();
    let text = text.strip_prefix("Annotated[").and_then(|rest| rest.split(',').next()).unwrap_or(text);
    let text = text.strip_prefix("Optional[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let text = text.split('|').next().unwrap_or(text).trim();
    match text {
        "str" => return Shape::Text,
        "int" | "float" => return Shape::Number,
        "bool" => return Shape::Truth,
        "dict" => return Shape::Object(Vec::new()),
        "list" => return Shape::List(Box::new(Shape::Text)),
        _ => {}
    }
    let Some(at) = at.deeper() else { return Shape::Unknown };
    for list in ["list[", "List[", "Sequence["] {
        if let Some(inner) = text.strip_prefix(list).and_then(|rest| rest.strip_suffix(']')) {
            return Shape::List(Box::new(typed(at, inner)));
        }
    }
    let Some((at, class)) = at.class(text) else { return Shape::Unknown };
    let fields = class.fields.iter().filter(|field| !field.is_static || field.type_text.is_some()).map(|field| {
        let text = field.type_text.as_deref().unwrap_or_default();
        let needed = field.value.is_none() && !text.contains("None") && !text.contains("Optional");
        Argument { name: field.name.clone(), shape: typed(at, text), needed }
    });
    Shape::Object(fields.collect())
}
