//! Unique keys that the program itself declares: SQL in its strings, and the classes of object mappers.

use std::borrow::Cow;

use super::Schema;
use crate::hir::each::{each, each_in};
use crate::hir::{Arg, Call, Class, Expr, ExprKind, Module};

/// Longer texts are data, not statements.
const TEXT_MOST: usize = 256 * 1024;
/// Mappers name the columns of a key as arguments of one of these.
const KEY_CALLS: [&str; 3] = ["UniqueConstraint", "PrimaryKeyConstraint", "unique_together"];

impl Schema {
    /// Adds the keys that a module declares.
    pub(crate) fn add_code(&mut self, module: &Module) {
        let mut look = |expr: &Expr| {
            if let Some(text) = text_of(expr).filter(|text| text.len() < TEXT_MOST && declares(text)) {
                self.add_sql(&text);
            }
        };
        for function in &module.functions {
            each_in(&function.body, &mut look);
        }
        let values = module.classes.iter().flat_map(|class| &class.fields).filter_map(|field| field.value.as_ref());
        values.for_each(|value| each(value, &mut look));
        for class in &module.classes {
            self.add_class(module, class);
        }
        self.add_mappers(module);
    }

    /// `slug = Column(String, unique=True)`, under the name of the class and of its table.
    fn add_class(&mut self, module: &Module, class: &Class) {
        let mut keys: Vec<Vec<String>> = Vec::new();
        let mut names = vec![class.name.to_lowercase()];
        for field in &class.fields {
            let Some(value) = &field.value else { continue };
            match (&*field.name, &value.kind) {
                ("__tablename__", ExprKind::Str(name)) => names.push(name.to_lowercase()),
                ("unique_together", _) => keys.extend(together(value)),
                (_, ExprKind::Call(call)) if is_key(call) => keys.push(vec![field.name.to_lowercase()]),
                // Django's `class Meta`.
                (_, ExprKind::Class(inner)) => {
                    let fields = module.classes.get(*inner).map_or(&[][..], |inner| &inner.fields[..]);
                    for (name, value) in fields.iter().filter_map(|field| Some((&field.name, field.value.as_ref()?))) {
                        match (name.as_str(), &value.kind) {
                            ("unique_together", _) => keys.extend(together(value)),
                            ("db_table", ExprKind::Str(name)) => names.push(name.to_lowercase()),
                            _ => each(value, &mut |expr| keys.extend(key_call(expr))),
                        }
                    }
                }
                _ => each(value, &mut |expr| keys.extend(key_call(expr))),
            }
        }
        for name in &names {
            keys.iter().for_each(|key| self.add(name, key.clone()));
        }
    }
}

fn declares(text: &str) -> bool {
    // Most texts are words.
    if text.len() < "alter table".len() {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    lower.contains("create table") || lower.contains("unique index") || lower.contains("alter table")
}

/// A text; what is put into it does not matter for its keys.
fn text_of(expr: &Expr) -> Option<Cow<'_, str>> {
    match &expr.kind {
        ExprKind::Str(text) => Some(text.into()),
        ExprKind::Template(parts) => {
            let part = |part: &Expr| if let ExprKind::Str(text) = &part.kind { text.clone() } else { "_hole".into() };
            Some(parts.iter().map(part).collect())
        }
        _ => None,
    }
}

fn is_key(call: &Call) -> bool {
    let set = |arg: &Arg| {
        matches!(arg.name.as_deref(), Some("unique" | "primary_key")) && matches!(arg.value.kind, ExprKind::Bool(true))
    };
    call.args.iter().any(set)
}

/// `UniqueConstraint("a", "b")`, `UniqueConstraint(fields=["a", "b"])`.
fn key_call(expr: &Expr) -> Option<Vec<String>> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let name = match &call.callee.kind {
        ExprKind::Name(name) | ExprKind::Member { name, .. } => name,
        _ => return None,
    };
    // With a condition it says nothing about the other rows.
    if !KEY_CALLS.contains(&name.as_str()) || call.args.iter().any(|arg| arg.name.as_deref() == Some("condition")) {
        return None;
    }
    let given = call.args.iter().filter(|arg| matches!(arg.name.as_deref(), None | Some("fields")));
    let columns: Vec<String> = given.flat_map(|arg| words(&arg.value)).collect();
    (!columns.is_empty()).then_some(columns)
}

pub(super) fn words(expr: &Expr) -> Vec<String> {
    match &expr.kind {
        ExprKind::Str(text) => vec![text.to_lowercase()],
        ExprKind::List(items) => items.iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

/// `("a", "b")`, or several of them.
fn together(expr: &Expr) -> Vec<Vec<String>> {
    let ExprKind::List(items) = &expr.kind else { return Vec::new() };
    if items.iter().any(|item| matches!(item.kind, ExprKind::List(_))) {
        return items.iter().map(words).filter(|key| !key.is_empty()).collect();
    }
    vec![words(expr)]
}
