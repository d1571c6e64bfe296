//! Conditions of `WHERE`.

use sqlparser::ast::{BinaryOperator, Expr, Query, UnaryOperator};

use super::{MAX_DEPTH, MAX_ROWS, Reader};
use crate::sql::expr::{atoms, bare, column, is_written_column, operand};
use crate::sql::{Condition, Operand, Operator, Statement};

impl Reader<'_> {
    pub(super) fn filter(&mut self, condition: &Expr, found: &mut Statement) {
        let mut left = vec![condition];
        while let Some(part) = left.pop() {
            match part {
                Expr::Nested(inner) => left.push(inner),
                Expr::BinaryOp { left: first, op: BinaryOperator::And, right } => {
                    left.push(right);
                    left.push(first);
                }
                _ => {
                    if let Some(query) = not_exists(part).filter(|_| self.inserts) {
                        found.not_exists = true;
                        if let Some(inner) = query.body.as_select().and_then(|select| select.selection.as_ref())
                            && self.depth < MAX_DEPTH
                        {
                            self.depth += 1;
                            self.filter(inner, found);
                            self.depth -= 1;
                        }
                    } else if !self.condition(part, found) {
                        found.filter_other = true;
                        self.made_of(part, found);
                    }
                    self.inside(part, found);
                }
            }
        }
    }

    /// `lower(name) = ?`: which columns it is about.
    fn made_of(&self, part: &Expr, found: &mut Statement) {
        let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = part else { return };
        for atom in [left, right].into_iter().flat_map(|side| atoms(self.tokens, side)).filter(|atom| !atom.nested) {
            match atom.operand {
                Operand::Column(column) if found.made_of.len() < MAX_ROWS => found.made_of.push(column),
                _ => {}
            }
        }
    }

    /// False if it is none of the simple kinds.
    pub(super) fn condition(&self, part: &Expr, found: &mut Statement) -> bool {
        let tokens = self.tokens;
        let null = || Operand::Literal("NULL".to_owned());
        let truth = |value: bool| Operand::Literal(if value { "TRUE" } else { "FALSE" }.to_owned());
        let mut add = |expr: &Expr, operator, operand| match column(tokens, expr) {
            Some(column) => {
                found.filter.push(Condition { column, operator, operand });
                true
            }
            None => false,
        };
        let list = |list: &[Expr]| match list {
            [only] => operand(tokens, only),
            _ => Operand::Other(list.iter().take(MAX_ROWS).map(|value| operand(tokens, value)).collect()),
        };
        match part {
            Expr::IsNull(expr) => add(expr, Operator::IsNull, null()),
            Expr::IsNotNull(expr) => add(expr, Operator::IsNotNull, null()),
            Expr::IsTrue(expr) | Expr::IsNotFalse(expr) => add(expr, Operator::Equal, truth(true)),
            Expr::IsFalse(expr) | Expr::IsNotTrue(expr) => add(expr, Operator::Equal, truth(false)),
            Expr::IsNotDistinctFrom(left, right) => add(left, Operator::Equal, operand(tokens, right)),
            Expr::IsDistinctFrom(left, right) => add(left, Operator::NotEqual, operand(tokens, right)),
            Expr::InList { expr, list: values, negated } => {
                add(expr, if *negated { Operator::NotIn } else { Operator::In }, list(values))
            }
            Expr::InSubquery { expr, negated, .. } => {
                let values = atoms(tokens, part).into_iter().filter(|atom| atom.nested).map(|atom| atom.operand);
                let values = Operand::Other(values.collect());
                add(expr, if *negated { Operator::NotIn } else { Operator::In }, values)
            }
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
                add(left, Operator::In, operand(tokens, right))
            }
            Expr::Between { expr, negated: false, low, high } => {
                add(expr, Operator::GreaterEqual, operand(tokens, low))
                    && add(expr, Operator::LessEqual, operand(tokens, high))
            }
            Expr::Like { expr, pattern, negated, .. } | Expr::ILike { expr, pattern, negated, .. } => {
                add(expr, if *negated { Operator::NotLike } else { Operator::Like }, operand(tokens, pattern))
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } if is_written_column(tokens, expr) => {
                add(expr, Operator::Equal, truth(false))
            }
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) if is_written_column(tokens, part) => {
                add(part, Operator::Equal, truth(true))
            }
            // `WHERE 1 = 1`, to which the program adds.
            Expr::Value(_) => true,
            Expr::BinaryOp { left, op, right } => {
                let Some(operator) = operator(op) else { return false };
                match (bare(left), bare(right)) {
                    (Expr::Value(_), Expr::Value(_)) => true,
                    (Expr::Tuple(names), Expr::Tuple(values)) if names.len() == values.len() => {
                        let mut pairs = names.iter().zip(values);
                        operator == Operator::Equal
                            && pairs.all(|(name, value)| add(name, Operator::Equal, operand(tokens, value)))
                    }
                    (left, right) if is_written_column(tokens, right) && !is_written_column(tokens, left) => {
                        add(right, flipped(operator), operand(tokens, left))
                    }
                    (left, right) => add(left, operator, operand(tokens, right)),
                }
            }
            _ => false,
        }
    }
}

fn not_exists(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Exists { subquery, negated: true } => Some(subquery),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => match bare(expr) {
            Expr::Exists { subquery, negated: false } => Some(subquery),
            _ => None,
        },
        _ => None,
    }
}

fn operator(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq | BinaryOperator::Spaceship => Operator::Equal,
        BinaryOperator::NotEq => Operator::NotEqual,
        BinaryOperator::Lt => Operator::Less,
        BinaryOperator::LtEq => Operator::LessEqual,
        BinaryOperator::Gt => Operator::Greater,
        BinaryOperator::GtEq => Operator::GreaterEqual,
        _ => return None,
    })
}

fn flipped(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessEqual => Operator::GreaterEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterEqual => Operator::LessEqual,
        other => other,
    }
}
