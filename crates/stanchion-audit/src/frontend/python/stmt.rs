//! Statements.

use tree_sitter::Node;

use super::{Lower, children, expr_at, field, is_async, name_at, only, span, stmt_at};
use crate::hir::{Arg, Arm, Call, Expr, ExprKind, Handler, Loop, Pattern, Stmt, StmtKind, Text};

/// With more `elif`s than this, an `if` is a `Switch` on `true`, which does not nest.
const ELIFS_MOST: usize = 64;

impl<'t> Lower<'t, '_> {
    /// The statements of a block.
    pub(super) fn block(&mut self, node: Option<Node<'t>>) -> Vec<Stmt> {
        let mut body = Vec::new();
        if let Some(node) = node {
            self.deeper(node, |lower| {
                for child in children(node) {
                    lower.stmt(child, &mut body);
                }
            });
        }
        body
    }

    /// The block that is the last part of a clause, for the grammar gives some of them no field.
    fn last_block(&mut self, node: Node<'t>) -> Vec<Stmt> {
        let block = children(node).into_iter().rfind(|child| child.kind() == "block");
        self.block(block)
    }

    pub(super) fn stmt(&mut self, node: Node<'t>, body: &mut Vec<Stmt>) {
        let kind = match node.kind() {
            "expression_statement" => return self.expression_statement(node, body),
            "return_statement" => StmtKind::Return(only(node).map(|value| self.expr(value))),
            "if_statement" => self.if_statement(node),
            "for_statement" => self.for_statement(node),
            "while_statement" => self.while_statement(node),
            "try_statement" => self.try_statement(node),
            "with_statement" => self.with_statement(node),
            "raise_statement" => self.raise_statement(node, body),
            "function_definition" | "class_definition" => return self.definition(node, Vec::new(), body),
            "decorated_definition" => return self.decorated(node, body),
            "import_statement" => return self.import(node),
            "import_from_statement" => return self.import_from(node),
            "match_statement" => self.match_statement(node),
            "assert_statement" => self.assert_statement(node),
            "delete_statement" => return self.delete_statement(node, body),
            "break_statement" => StmtKind::Break,
            "continue_statement" => StmtKind::Continue,
            "global_statement" => {
                // The names are the module's, wherever they are first assigned.
                self.outer_names(node);
                return children(node).into_iter().for_each(|name| self.export(self.text(name)));
            }
            "nonlocal_statement" => return self.outer_names(node),
            "type_alias_statement" => self.type_alias(node),
            "print_statement" | "exec_statement" => StmtKind::Expr(self.word_call(node)),
            "pass_statement" | "future_import_statement" | "comment" => return,
            "block" => return body.extend(self.block(Some(node))),
            "ERROR" => return self.rest_of_error(node, body),
            _ => StmtKind::Expr(self.expr(node)),
        };
        body.push(stmt_at(kind, node));
    }

    fn outer_names(&mut self, node: Node<'t>) {
        let names: Vec<String> = children(node).into_iter().map(|name| self.text(name).to_owned()).collect();
        if let Some(function) = self.module.functions.get_mut(self.function) {
            function.outer.extend(names);
        }
    }

    /// What can be saved from a part with a syntax error: its statements, and its expressions that do something.
    fn rest_of_error(&mut self, node: Node<'t>, body: &mut Vec<Stmt>) {
        let idle = |stmt: &Stmt| {
            matches!(&stmt.kind, StmtKind::Expr(expr)
                if matches!(expr.kind, ExprKind::Name(_) | ExprKind::Str(_) | ExprKind::Num(_) | ExprKind::This)
                    || matches!(&expr.kind, ExprKind::Other(parts) if parts.is_empty()))
        };
        let saved = self.block(Some(node));
        body.extend(saved.into_iter().filter(|stmt| !idle(stmt)));
    }

    fn expression_statement(&mut self, node: Node<'t>, body: &mut Vec<Stmt>) {
        let parts = children(node);
        let Some(first) = parts.first().copied() else { return };
        let kind = match first.kind() {
            "assignment" => match self.assignment(first) {
                Some(kind) => kind,
                None => return,
            },
            "augmented_assignment" => match self.augmented(first) {
                Some((to, value, op)) => StmtKind::Assign { to: vec![to], value, op },
                None => return,
            },
            // Strings that stand alone are documentation.
            "string" | "concatenated_string" if parts.len() == 1 => match self.expr(first) {
                Expr { kind: ExprKind::Str(_), .. } => return,
                other => StmtKind::Expr(other),
            },
            _ if parts.len() > 1 => {
                let parts = parts.into_iter().map(|part| self.expr(part)).collect();
                StmtKind::Expr(expr_at(ExprKind::List(parts), node))
            }
            _ => StmtKind::Expr(self.expr(first)),
        };
        body.push(stmt_at(kind, node));
    }

    /// `a = b = value`; `None` for a mere annotation.
    fn assignment(&mut self, node: Node<'t>) -> Option<StmtKind> {
        let (targets, value) = assignment_parts(node);
        let is_empty = value.is_none_or(|value| value.kind() == "none");
        if let (Some(kind), [target]) = (field(node, "type"), &targets[..])
            && self.function == 0
            && is_empty
        {
            self.module.typed.push((self.text(*target).into(), self.type_text(kind)));
        }
        let value = self.expr(value?);
        let to: Vec<Pattern> = targets.into_iter().map(|target| self.target(target)).collect();
        if let Some(Pattern::Name(name)) = to.first() {
            self.name_lambda(&value, name);
        }
        Some(StmtKind::Assign { to, value, op: None })
    }

    pub(super) fn augmented(&mut self, node: Node<'t>) -> Option<(Pattern, Expr, Option<Text>)> {
        let value = self.expr(field(node, "right")?);
        let to = self.target(field(node, "left")?);
        let op = field(node, "operator").map(|op| self.text(op).trim_end_matches('=').into());
        Some((to, value, op))
    }

    fn if_statement(&mut self, node: Node<'t>) -> StmtKind {
        let mut clauses = vec![(node, self.condition(node), self.block(field(node, "consequence")))];
        let mut other = Vec::new();
        let before = self.depth;
        for clause in node.children_by_field_name("alternative", &mut node.walk()) {
            if clause.kind() == "elif_clause" {
                // Each `elif` stands in the `else` of the one before.
                self.depth += u32::from(clauses.len() < ELIFS_MOST);
                clauses.push((clause, self.condition(clause), self.block(field(clause, "consequence"))));
            } else {
                other = self.block(field(clause, "body"));
            }
        }
        self.depth = before;
        if clauses.len() > ELIFS_MOST {
            let mut arms: Vec<Arm> =
                clauses.into_iter().map(|(_, cond, body)| Arm { tests: vec![cond], body, ..Arm::default() }).collect();
            arms.push(Arm { body: other, ..Arm::default() });
            return StmtKind::Switch { subject: expr_at(ExprKind::Bool(true), node), arms };
        }
        let nested = clauses
            .into_iter()
            .rev()
            .fold(other, |other, (clause, cond, then)| vec![stmt_at(StmtKind::If { cond, then, other }, clause)]);
        nested.into_iter().next().map_or(StmtKind::Block(Vec::new()), |stmt| stmt.kind)
    }

    fn condition(&mut self, node: Node<'t>) -> Expr {
        self.expr_or_nothing(field(node, "condition"), node)
    }

    pub(super) fn expr_or_nothing(&mut self, part: Option<Node<'t>>, whole: Node<'t>) -> Expr {
        part.map_or_else(|| expr_at(ExprKind::Other(Vec::new()), whole), |part| self.expr(part))
    }

    fn otherwise(&mut self, node: Node<'t>) -> Vec<Stmt> {
        let body = field(node, "alternative").and_then(|clause| field(clause, "body"));
        self.block(body)
    }

    fn for_statement(&mut self, node: Node<'t>) -> StmtKind {
        let of = self.expr_or_nothing(field(node, "right"), node);
        let to = field(node, "left").map_or(Pattern::Nothing, |left| self.target(left));
        let body = self.block(field(node, "body"));
        let otherwise = self.otherwise(node);
        let each = Some((to, of));
        StmtKind::Loop(Box::new(Loop { each, body, otherwise, is_async: is_async(node), ..Loop::default() }))
    }

    fn while_statement(&mut self, node: Node<'t>) -> StmtKind {
        let cond = self.condition(node);
        let for_ever = match &cond.kind {
            ExprKind::Bool(value) => *value,
            ExprKind::Num(number) => number == "1",
            _ => false,
        };
        let body = self.block(field(node, "body"));
        let otherwise = self.otherwise(node);
        StmtKind::Loop(Box::new(Loop { cond: (!for_ever).then_some(cond), body, otherwise, ..Loop::default() }))
    }

    fn try_statement(&mut self, node: Node<'t>) -> StmtKind {
        let body = self.block(field(node, "body"));
        let (mut handlers, mut otherwise, mut finally) = (Vec::new(), Vec::new(), Vec::new());
        for clause in children(node) {
            match clause.kind() {
                "except_clause" | "except_group_clause" => handlers.push(self.handler(clause)),
                "else_clause" => otherwise = self.block(field(clause, "body")),
                "finally_clause" => finally = self.last_block(clause),
                _ => {}
            }
        }
        StmtKind::Try { body, handlers, otherwise, finally }
    }

    fn handler(&mut self, node: Node<'t>) -> Handler {
        let mut handler = Handler::default();
        let mut alias = field(node, "alias");
        for value in node.children_by_field_name("value", &mut node.walk()) {
            let mut value = value;
            if value.kind() == "as_pattern" {
                alias = field(value, "alias").or(alias);
                value = only(value).unwrap_or(value);
            }
            match self.expr(value) {
                Expr { kind: ExprKind::List(types), .. } => handler.catches.extend(types),
                one => handler.catches.push(one),
            }
        }
        handler.name = alias.map(|alias| self.pattern(alias));
        handler.body = self.last_block(node);
        handler
    }

    fn with_statement(&mut self, node: Node<'t>) -> StmtKind {
        let mut items = Vec::new();
        let clause = children(node).into_iter().find(|child| child.kind() == "with_clause");
        for item in clause.map(children).unwrap_or_default() {
            let value = field(item, "value").unwrap_or(item);
            // `with (a, b):` has two items; only `with (a, b) as c` would have a tuple.
            if value.kind() == "tuple" {
                items.extend(children(value).into_iter().map(|part| self.with_item(part)));
            } else {
                items.push(self.with_item(value));
            }
        }
        StmtKind::With { items, body: self.block(field(node, "body")), is_async: is_async(node) }
    }

    fn with_item(&mut self, node: Node<'t>) -> (Expr, Option<Pattern>) {
        let node = super::expr::without_parens(node);
        if node.kind() != "as_pattern" {
            return (self.expr(node), None);
        }
        let value = self.expr_or_nothing(only(node), node);
        (value, field(node, "alias").map(|alias| self.target(alias)))
    }

    /// What a `from` does happens before; where the exception came from does not matter.
    fn raise_statement(&mut self, node: Node<'t>, body: &mut Vec<Stmt>) -> StmtKind {
        let cause = field(node, "cause");
        if let Some(cause) = cause.filter(|cause| !matches!(cause.kind(), "identifier" | "none")) {
            let kind = StmtKind::Expr(self.expr(cause));
            body.push(stmt_at(kind, cause));
        }
        let what = only(node).filter(|what| Some(*what) != cause).map(|what| self.expr(what));
        StmtKind::Throw(match what {
            // Python 2: `raise Type, value`.
            Some(Expr { kind: ExprKind::List(parts), .. }) => parts.into_iter().next(),
            what => what,
        })
    }

    fn assert_statement(&mut self, node: Node<'t>) -> StmtKind {
        let mut parts = children(node).into_iter();
        let cond = self.expr_or_nothing(parts.next(), node);
        let args = parts.map(|part| Arg { name: None, value: self.expr(part) }).collect();
        let call = Call { callee: name_at("AssertionError", node), args, is_new: false };
        let throw = StmtKind::Throw(Some(expr_at(ExprKind::Call(Box::new(call)), node)));
        let fails = Expr { span: cond.span, kind: ExprKind::Unary { op: "!".into(), of: Box::new(cond) } };
        StmtKind::If { cond: fails, then: vec![stmt_at(throw, node)], other: Vec::new() }
    }

    fn delete_statement(&mut self, node: Node<'t>, body: &mut Vec<Stmt>) {
        for part in children(node) {
            let parts = if part.kind() == "expression_list" { children(part) } else { vec![part] };
            for part in parts {
                let kind = StmtKind::Delete(self.expr(part));
                body.push(stmt_at(kind, node));
            }
        }
    }

    /// `type Name[T] = …`: a name without a value that matters.
    fn type_alias(&mut self, node: Node<'t>) -> StmtKind {
        let left = field(node, "left").map_or("", |left| self.text(left));
        if left.starts_with('(')
            && let Some(kind) = self.type_attribute(node)
        {
            return kind;
        }
        let name = left.split('[').next().unwrap_or_default().trim();
        self.bind(name);
        let value = expr_at(ExprKind::Other(Vec::new()), node);
        StmtKind::Assign { to: vec![Pattern::Name(name.into())], value, op: None }
    }

    /// `type(a).b = c`, which the grammar takes for an alias of the type `(a).b`.
    fn type_attribute(&mut self, node: Node<'t>) -> Option<StmtKind> {
        let left = field(node, "left")?;
        let value = self.expr(field(node, "right")?);
        let place = type_of_base(self.expr(left));
        Some(StmtKind::Assign { to: vec![Pattern::Place(Box::new(place))], value, op: None })
    }

    /// Python 2's `print` and `exec`.
    fn word_call(&mut self, node: Node<'t>) -> Expr {
        let word = if node.kind() == "exec_statement" { "exec" } else { "print" };
        let args = children(node).into_iter().map(|part| Arg { name: None, value: self.expr(part) }).collect();
        let call = Call { callee: name_at(word, node), args, is_new: false };
        Expr { kind: ExprKind::Call(Box::new(call)), span: span(node) }
    }
}

/// The targets of `a = b = value` in order, and the value. A chain is as deep as it is long, hence the loop.
pub(super) fn assignment_parts(node: Node<'_>) -> (Vec<Node<'_>>, Option<Node<'_>>) {
    let mut targets = Vec::new();
    let mut value = Some(node);
    while let Some(node) = value.filter(|node| node.kind() == "assignment") {
        targets.extend(field(node, "left"));
        value = field(node, "right");
    }
    (targets, value)
}

/// `a.b` as `type(a).b`.
fn type_of_base(Expr { kind, span }: Expr) -> Expr {
    let kind = match kind {
        ExprKind::Member { of, name } => ExprKind::Member { of: Box::new(type_of_base(*of)), name },
        ExprKind::Index { of, index } => ExprKind::Index { of: Box::new(type_of_base(*of)), index },
        kind => {
            let callee = Expr { kind: ExprKind::Name("type".into()), span };
            let args = vec![Arg { name: None, value: Expr { kind, span } }];
            ExprKind::Call(Box::new(Call { callee, args, is_new: false }))
        }
    };
    Expr { kind, span }
}
