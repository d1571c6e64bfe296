//! `match`.

use tree_sitter::Node;

use super::{Lower, children, expr_at, field, is_blank, only, stmt_at};
use crate::hir::{Arm, Expr, ExprKind, Pattern, Stmt, StmtKind, Text};

/// What a pattern of a `case` asks and binds.
struct Case {
    /// Empty: it always fits.
    tests: Vec<Expr>,
    binds: Pattern,
}

impl Case {
    const ANY: Self = Self { tests: Vec::new(), binds: Pattern::Nothing };
}

impl<'t> Lower<'t, '_> {
    pub(super) fn match_statement(&mut self, node: Node<'t>) -> StmtKind {
        let subject = self.one_or_tuple(node, "subject");
        let arms = field(node, "body").map(children).unwrap_or_default();
        let arms = arms.into_iter().filter(|arm| arm.kind() == "case_clause").map(|arm| self.arm(arm)).collect();
        StmtKind::Switch { subject, arms }
    }

    fn arm(&mut self, node: Node<'t>) -> Arm {
        let mut also = Vec::new();
        let patterns: Vec<_> = children(node).into_iter().filter(|child| child.kind() == "case_pattern").collect();
        let Case { mut tests, binds } = match patterns.as_slice() {
            [one] => self.case(*one, &mut also),
            several => self.cases(several, node, &mut also),
        };
        self.bind_all(&binds);
        let guard = field(node, "guard").and_then(only).map(|guard| self.expr(guard));
        let mut body = self.block(field(node, "consequence"));
        if let Some(cond) = guard {
            // The guard sees what the pattern binds, so it is the arm's body that asks; the arm is no default then.
            body = vec![stmt_at(StmtKind::If { cond, then: body, other: Vec::new() }, node)];
            if tests.is_empty() {
                tests.push(expr_at(ExprKind::Other(Vec::new()), node));
            }
        }
        also.append(&mut body);
        let binds = (!matches!(binds, Pattern::Nothing)).then_some(binds);
        Arm { tests, binds, body: also, falls_through: false }
    }

    /// One pattern. `also`: assignments a pattern cannot say, as of `[a, b] as c`.
    fn case(&mut self, node: Node<'t>, also: &mut Vec<Stmt>) -> Case {
        self.deeper(node, |lower| lower.case_here(node, also)).unwrap_or_else(|| Case {
            tests: vec![expr_at(ExprKind::Other(Vec::new()), node)],
            binds: Pattern::Nothing,
        })
    }

    fn case_here(&mut self, node: Node<'t>, also: &mut Vec<Stmt>) -> Case {
        let parts = children(node);
        match node.kind() {
            "case_pattern" => match parts.as_slice() {
                [] => Case::ANY,
                [number] if matches!(number.kind(), "integer" | "float") => self.literal(node),
                [one, ..] => self.case(*one, also),
            },
            "dotted_name" | "identifier" => match self.text(node) {
                "_" => Case::ANY,
                name if !name.contains('.') => Case { tests: Vec::new(), binds: Pattern::Name(name.trim().into()) },
                _ => Case { tests: vec![self.dotted_expr(node)], binds: Pattern::Nothing },
            },
            "splat_pattern" => {
                let rest = parts.first().map_or(Pattern::Nothing, |name| self.pattern(*name));
                Case { tests: Vec::new(), binds: Pattern::Rest(Box::new(rest)) }
            }
            "as_pattern" => self.case_as(&parts, also),
            "union_pattern" => self.case_union(node, also),
            "list_pattern" | "tuple_pattern" => match parts.as_slice() {
                [one] if node.kind() == "tuple_pattern" && !has_comma(node) => self.case(*one, also),
                parts => self.cases(parts, node, also),
            },
            "dict_pattern" => self.case_dict(node, also),
            "class_pattern" => self.case_class(&parts, node, also),
            "string" | "concatenated_string" | "true" | "false" | "none" => {
                Case { tests: vec![self.expr(node)], binds: Pattern::Nothing }
            }
            _ => self.literal(node),
        }
    }

    fn literal(&self, node: Node<'t>) -> Case {
        let number = self.text(node).split_whitespace().collect();
        Case { tests: vec![expr_at(ExprKind::Num(number), node)], binds: Pattern::Nothing }
    }

    fn cases(&mut self, parts: &[Node<'t>], node: Node<'t>, also: &mut Vec<Stmt>) -> Case {
        let (mut tests, mut binds) = (Vec::new(), Vec::new());
        for part in parts {
            let case = self.case(*part, also);
            tests.extend(case.tests);
            binds.push(case.binds);
        }
        let binds = if binds.iter().all(|bind| matches!(bind, Pattern::Nothing)) {
            Pattern::Nothing
        } else {
            Pattern::List(binds)
        };
        Case { tests: vec![expr_at(ExprKind::List(tests), node)], binds }
    }

    fn case_as(&mut self, parts: &[Node<'t>], also: &mut Vec<Stmt>) -> Case {
        let [what, name] = parts else { return Case::ANY };
        let case = self.case(*what, also);
        let binds = self.pattern(*name);
        if !matches!(case.binds, Pattern::Nothing) {
            let value = super::name_at(self.text(*name), *name);
            self.bind_all(&case.binds);
            also.push(stmt_at(StmtKind::Assign { to: vec![case.binds], value, op: None }, *what));
        }
        Case { tests: case.tests, binds }
    }

    /// All alternatives bind the same names; those of the first one count.
    fn case_union(&mut self, node: Node<'t>, also: &mut Vec<Stmt>) -> Case {
        let mut union = Case::ANY;
        let (mut fits_all, mut is_negative) = (false, false);
        let parts: Vec<_> = node.children(&mut node.walk()).filter(|part| !is_blank(*part)).collect();
        for part in parts {
            if !part.is_named() {
                is_negative = part.kind() == "-";
                fits_all |= part.kind() == "_";
                continue;
            }
            let mut case = self.case(part, also);
            if is_negative && let [Expr { kind: ExprKind::Num(number), .. }] = case.tests.as_mut_slice() {
                *number = format!("-{number}").into();
            }
            fits_all |= case.tests.is_empty();
            union.tests.extend(case.tests);
            if matches!(union.binds, Pattern::Nothing) {
                union.binds = case.binds;
            }
        }
        if fits_all {
            union.tests.clear();
        }
        union
    }

    fn case_dict(&mut self, node: Node<'t>, also: &mut Vec<Stmt>) -> Case {
        let (mut tests, mut binds) = (Vec::new(), Vec::new());
        let mut key = None;
        let mut cursor = node.walk();
        let mut parts = Vec::new();
        let mut more = cursor.goto_first_child();
        while more {
            parts.push((cursor.node(), cursor.field_name()));
            more = cursor.goto_next_sibling();
        }
        for (part, name) in parts.into_iter().filter(|(part, _)| part.is_named() && !is_blank(*part)) {
            if name == Some("key") {
                key = Some(part);
                continue;
            }
            let case = self.case(part, also);
            let key = key.take().map(|key| self.expr(key));
            tests.extend(case.tests);
            match (key, case.binds) {
                (_, Pattern::Nothing) => {}
                (Some(Expr { kind: ExprKind::Str(key), .. }), bind) => binds.push((key.into(), bind)),
                (Some(Expr { kind: ExprKind::Num(key), .. }), bind) => binds.push((key, bind)),
                (_, bind) => binds.push((Text::default(), bind)),
            }
        }
        let binds = if binds.is_empty() { Pattern::Nothing } else { Pattern::Object(binds) };
        Case { tests: vec![expr_at(ExprKind::Other(tests), node)], binds }
    }

    /// `Point(x, y=0)`: what is bound by place has its place as name.
    fn case_class(&mut self, parts: &[Node<'t>], node: Node<'t>, also: &mut Vec<Stmt>) -> Case {
        let Some((class, parts)) = parts.split_first() else { return Case::ANY };
        let mut tests = vec![self.dotted_expr(*class)];
        let mut binds = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let keyword = only(*part).filter(|inner| inner.kind() == "keyword_pattern");
            let (name, case) = match keyword.map(children).as_deref() {
                Some([name, value, ..]) => (self.text(*name).into(), self.case(*value, also)),
                Some([name]) => (self.text(*name).into(), Case::ANY),
                _ => (index.to_string().into(), self.case(*part, also)),
            };
            tests.extend(case.tests);
            if !matches!(case.binds, Pattern::Nothing) {
                binds.push((name, case.binds));
            }
        }
        let binds = if binds.is_empty() { Pattern::Nothing } else { Pattern::Object(binds) };
        let test = if tests.len() == 1 { tests } else { vec![expr_at(ExprKind::Other(tests), node)] };
        Case { tests: test, binds }
    }

    fn dotted_expr(&mut self, node: Node<'t>) -> Expr {
        let mut parts = children(node).into_iter();
        let first = parts.next().map_or_else(|| self.name(node), |first| self.name(first));
        parts
            .take(super::DEPTH_MOST as usize)
            .fold(first, |of, part| expr_at(ExprKind::Member { of: Box::new(of), name: self.text(part).into() }, node))
    }
}

fn has_comma(node: Node<'_>) -> bool {
    node.children(&mut node.walk()).any(|child| child.kind() == ",")
}
