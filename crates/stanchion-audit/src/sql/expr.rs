//! What expressions are computed from.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, UnaryOperator, Value};

use super::Operand;
use super::parse;
use super::token::{Kind, Token};

/// Further values of one expression are left out.
const MAX_VALUES: usize = 64;
/// Deeper parts of an expression are left out.
const MAX_DEPTH: usize = 400;

/// A value in an expression and the table or alias before its dot.
#[derive(Debug)]
pub(super) struct Atom {
    pub(super) qualifier: Option<String>,
    pub(super) operand: Operand,
    /// It stands in a sub-select.
    pub(super) nested: bool,
}

/// The name that an identifier stands for.
pub(super) fn name(tokens: &[Token], ident: &Ident) -> String {
    parse::slot(tokens, &ident.value).and_then(Token::name).unwrap_or_else(|| ident.value.to_lowercase())
}

fn ident(tokens: &[Token], ident: &Ident) -> Operand {
    match parse::slot(tokens, &ident.value) {
        Some(token) => token.value().unwrap_or_else(|| Operand::Column(token.text.to_lowercase())),
        None if ident.value.eq_ignore_ascii_case("default") => Operand::Literal("DEFAULT".to_owned()),
        None => Operand::Column(ident.value.to_lowercase()),
    }
}

/// Without parentheses and casts, which change no identity.
pub(super) fn bare(mut expr: &Expr) -> &Expr {
    loop {
        expr = match expr {
            Expr::Nested(inner) => inner,
            Expr::Cast { expr: inner, .. } | Expr::Collate { expr: inner, .. } => inner,
            Expr::Convert { expr: inner, .. } => inner,
            _ => return expr,
        };
    }
}

/// The column, if it is one. What the program puts in at a column's place counts.
pub(super) fn column(tokens: &[Token], expr: &Expr) -> Option<String> {
    match bare(expr) {
        Expr::Identifier(ident) => Some(name(tokens, ident)),
        Expr::CompoundIdentifier(path) => path.last().map(|ident| name(tokens, ident)),
        _ => None,
    }
}

/// It is a column by its own name, not one that the program puts in.
pub(super) fn is_written_column(tokens: &[Token], expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Identifier(ident) => {
            parse::slot(tokens, &ident.value).is_none_or(|token| token.kind == Kind::Quoted)
                && !ident.value.eq_ignore_ascii_case("default")
        }
        Expr::CompoundIdentifier(_) => true,
        _ => false,
    }
}

pub(super) fn operand(tokens: &[Token], expr: &Expr) -> Operand {
    match bare(expr) {
        Expr::Identifier(name) => ident(tokens, name),
        Expr::CompoundIdentifier(path) => {
            path.last().map_or_else(|| Operand::Other(Vec::new()), |name| ident(tokens, name))
        }
        Expr::Value(value) => literal(tokens, &value.value),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match operand(tokens, expr) {
            Operand::Literal(number) => Operand::Literal(format!("-{number}")),
            other => Operand::Other(vec![other]),
        },
        other => Operand::Other(atoms(tokens, other).into_iter().map(|atom| atom.operand).collect()),
    }
}

fn literal(tokens: &[Token], value: &Value) -> Operand {
    match value {
        Value::Number(number, _) => Operand::Literal(number.clone()),
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => parse::slot(tokens, text)
            .and_then(|token| token.operand.clone())
            .unwrap_or_else(|| Operand::Literal(text.clone())),
        Value::Boolean(value) => Operand::Literal(if *value { "TRUE" } else { "FALSE" }.to_owned()),
        Value::Null => Operand::Literal("NULL".to_owned()),
        other => Operand::Literal(other.to_string()),
    }
}

/// All values in an expression.
pub(super) fn atoms(tokens: &[Token], expr: &Expr) -> Vec<Atom> {
    let mut out = Vec::new();
    collect(tokens, expr, &mut out, 0);
    out
}

fn collect(tokens: &[Token], expr: &Expr, out: &mut Vec<Atom>, depth: usize) {
    if depth > MAX_DEPTH || out.len() >= MAX_VALUES {
        return;
    }
    let plain = |operand| Atom { qualifier: None, operand, nested: false };
    match expr {
        Expr::Identifier(name) => out.push(plain(ident(tokens, name))),
        Expr::CompoundIdentifier(path) => {
            if let [.., table, column] = path.as_slice() {
                let qualifier = Some(name(tokens, table));
                out.push(Atom { qualifier, operand: ident(tokens, column), nested: false });
            }
        }
        Expr::Value(value) => out.push(plain(literal(tokens, &value.value))),
        Expr::TypedString(text) => out.push(plain(literal(tokens, &text.value.value))),
        _ => match children(expr) {
            Some(children) => {
                for child in children {
                    collect(tokens, child, out, depth + 1);
                }
            }
            None => {
                let found = parse::slots(tokens, &expr.to_string());
                let values = found.into_iter().filter_map(|token| token.operand.clone());
                out.extend(values.take(MAX_VALUES).map(|operand| Atom { qualifier: None, operand, nested: true }));
            }
        },
    }
}

/// The parts of an expression; none for sub-selects and what is rare.
pub(super) fn children(expr: &Expr) -> Option<Vec<&Expr>> {
    Some(match expr {
        Expr::BinaryOp { left, right, .. }
        | Expr::AnyOp { left, right, .. }
        | Expr::AllOp { left, right, .. }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => vec![left, right],
        Expr::Like { expr, pattern, .. } | Expr::ILike { expr, pattern, .. } => vec![expr, pattern],
        Expr::AtTimeZone { timestamp, time_zone } => vec![timestamp, time_zone],
        Expr::UnaryOp { expr, .. }
        | Expr::Nested(expr)
        | Expr::Cast { expr, .. }
        | Expr::Convert { expr, .. }
        | Expr::Collate { expr, .. }
        | Expr::Extract { expr, .. }
        | Expr::Ceil { expr, .. }
        | Expr::Floor { expr, .. }
        | Expr::Trim { expr, .. }
        | Expr::IsNull(expr)
        | Expr::IsNotNull(expr)
        | Expr::IsTrue(expr)
        | Expr::IsNotTrue(expr)
        | Expr::IsFalse(expr)
        | Expr::IsNotFalse(expr) => vec![expr],
        Expr::Interval(interval) => vec![&interval.value],
        Expr::JsonAccess { value, .. } => vec![value],
        Expr::CompoundFieldAccess { root, .. } => vec![root],
        Expr::Between { expr, low, high, .. } => vec![expr, low, high],
        Expr::InList { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            std::iter::once(expr).chain(substring_from).chain(substring_for).map(|part| &**part).collect()
        }
        Expr::Tuple(list) => list.iter().collect(),
        Expr::Array(array) => array.elem.iter().collect(),
        Expr::Function(function) => arguments(function)?,
        Expr::Case { operand, conditions, else_result, .. } => operand
            .iter()
            .map(|part| &**part)
            .chain(conditions.iter().flat_map(|when| [&when.condition, &when.result]))
            .chain(else_result.iter().map(|part| &**part))
            .collect(),
        _ => return None,
    })
}

fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    let list = match &function.args {
        FunctionArguments::None => return Some(Vec::new()),
        FunctionArguments::Subquery(_) => return None,
        FunctionArguments::List(list) => list,
    };
    Some(list.args.iter().filter_map(argument).collect())
}

fn argument(argument: &FunctionArg) -> Option<&Expr> {
    let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg)) = argument;
    match arg {
        FunctionArgExpr::Expr(expr) => Some(expr),
        _ => None,
    }
}
