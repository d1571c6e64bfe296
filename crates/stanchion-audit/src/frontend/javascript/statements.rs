//! Blocks and simple statements.

use tree_sitter::Node;

use super::functions::bound_name;
use super::{Lower, bare, expr, field, has, kids, stmt};
use crate::frontend::tree::{DEPTH_MOST, span};
use crate::hir::{DECLARES, Expr, ExprKind, Pattern, Stmt, StmtKind, Text};

/// What `using` takes, and the names for it.
type Items = Vec<(Expr, Option<Pattern>)>;

impl<'t> Lower<'t> {
    /// The statements of a block. Functions come first: they can be called before the line they stand on.
    pub(super) fn block(&mut self, nodes: &[Node<'t>]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for node in nodes.iter().filter(|node| is_hoisted(**node)) {
            self.statement(*node, &mut out);
        }
        self.in_order(nodes, &mut out);
        out
    }

    fn in_order(&mut self, nodes: &[Node<'t>], out: &mut Vec<Stmt>) {
        let mut left = nodes;
        while let [node, rest @ ..] = left {
            left = rest;
            if self.depth < DEPTH_MOST
                && let Some((items, is_async)) = self.using(*node)
            {
                let mut body = Vec::new();
                self.depth += 1;
                self.in_order(rest, &mut body);
                self.depth -= 1;
                out.push(stmt(StmtKind::With { items, body, is_async }, *node));
                return;
            }
            if !is_hoisted(*node) {
                self.statement(*node, out);
            }
        }
    }

    /// `using a = b, c = d` and `await using`. The TypeScript grammar takes them for assignments.
    fn using(&mut self, node: Node<'t>) -> Option<(Items, bool)> {
        let (declared, is_async) = match node.kind() {
            "using_declaration" => (kids(node), has(node, "await")),
            "expression_statement" => {
                let first = kids(node).first().copied()?;
                let mut parts = if first.kind() == "sequence_expression" { kids(first) } else { vec![first] };
                let head = parts.first_mut()?;
                let is_async = head.kind() == "await_expression";
                if is_async {
                    *head = kids(*head).first().copied()?;
                }
                if head.kind() != "assignment_expression" || !has(*head, "using") {
                    return None;
                }
                (parts, is_async)
            }
            _ => return None,
        };
        let mut items = Vec::new();
        for part in declared {
            let target = field(part, "name").or_else(|| field(part, "left"));
            let value = field(part, "value").or_else(|| field(part, "right"));
            if let (Some(target), Some(value)) = (target, value) {
                let value = self.expr(value);
                items.push((value, Some(self.pattern(target, &mut Vec::new()))));
            }
        }
        Some((items, is_async))
    }

    /// The statements of a body with or without braces.
    pub(super) fn body(&mut self, node: Option<Node<'t>>) -> Vec<Stmt> {
        let mut out = Vec::new();
        match node {
            Some(node) if node.kind() == "statement_block" && self.enter(node) => {
                out = self.block(&kids(node));
                self.depth -= 1;
            }
            Some(node) => self.statement(node, &mut out),
            None => {}
        }
        out
    }

    pub(super) fn statement(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) {
        if !self.enter(node) {
            return;
        }
        match node.kind() {
            "expression_statement" => self.effects(&kids(node), out),
            "lexical_declaration" | "variable_declaration" | "using_declaration" => {
                for declared in kids(node) {
                    self.declare(declared, out);
                }
            }
            "function_declaration" | "generator_function_declaration" => {
                let id = self.function(node, "");
                out.push(stmt(StmtKind::Function(id), node));
            }
            "class_declaration" | "abstract_class_declaration" => self.class_statement(node, "", out),
            "import_statement" => self.import_statement(node),
            "import_alias" => self.import_alias(node, out),
            "export_statement" => self.export_statement(node, out),
            "internal_module" | "module" => self.namespace(node, out),
            "labeled_statement" => self.statement_opt(field(node, "body"), out),
            "return_statement" | "throw_statement" => {
                let value = kids(node).first().map(|value| self.expr(*value));
                let is_return = node.kind() == "return_statement";
                out.push(stmt(if is_return { StmtKind::Return(value) } else { StmtKind::Throw(value) }, node));
            }
            "ERROR" => {
                // What the parser could still make out of broken code.
                let mut inside = self.block(&kids(node));
                out.append(&mut inside);
            }
            "empty_statement"
            | "debugger_statement"
            | "hash_bang_line"
            | "ambient_declaration"
            | "function_signature"
            | "interface_declaration"
            | "type_alias_declaration"
            | "enum_declaration"
            | "statement_identifier" => {}
            _ => self.control(node, out),
        }
        self.depth -= 1;
    }

    fn statement_opt(&mut self, node: Option<Node<'t>>, out: &mut Vec<Stmt>) {
        if let Some(node) = node {
            self.statement(node, out);
        }
    }

    pub(super) fn class_statement(&mut self, node: Node<'t>, bound: &str, out: &mut Vec<Stmt>) {
        let mut blocks = Vec::new();
        let id = self.class(node, bound, &mut blocks);
        out.push(stmt(StmtKind::Class(id), node));
        for block in blocks {
            let inside = self.body(Some(block));
            out.push(stmt(StmtKind::Block(inside), block));
        }
    }

    fn namespace(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) {
        let outer = std::mem::replace(&mut self.in_namespace, true);
        let inside = self.body(field(node, "body"));
        self.in_namespace = outer;
        out.push(stmt(StmtKind::Block(inside), node));
    }

    /// One of the declarations in `let a = 1, b;`.
    pub(super) fn declare(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) {
        let Some(target) = field(node, "name") else { return };
        // `var` belongs to the function.
        let is_var = node.parent().is_some_and(|of| of.kind() == "variable_declaration");
        let op = (!is_var).then(|| Text::new_static(DECLARES));
        let is_empty = field(node, "value").is_none_or(|value| matches!(value.kind(), "null" | "undefined"));
        if let Some(text) = self.type_text(field(node, "type")).filter(|_| self.function == 0 && is_empty) {
            self.module.typed.push((self.text(target).into(), text));
        }
        let Some(value) = field(node, "value") else {
            // Nothing is known of it until it is assigned; a loop's turns must not share what it had.
            if target.kind() == "identifier" {
                let value = expr(ExprKind::Null, span(node));
                let to = vec![Pattern::Name(self.text(target).into())];
                out.push(stmt(StmtKind::Assign { to, value, op: op.clone() }, node));
            }
            return;
        };
        if self.import_declared(target, value) {
            return;
        }
        let mut defaults = Vec::new();
        let to = self.pattern(target, &mut defaults);
        let value = self.export_chain(bound_name(&to), value);
        let value = self.named(value, bound_name(&to));
        out.push(stmt(StmtKind::Assign { to: vec![to], value, op: op.clone() }, node));
        out.append(&mut defaults);
    }

    /// Expressions for their effects: an assignment is a statement, a sequence is several.
    pub(super) fn effects(&mut self, nodes: &[Node<'t>], out: &mut Vec<Stmt>) {
        for node in nodes {
            let node = bare(*node);
            match node.kind() {
                "sequence_expression" if self.enter(node) => {
                    self.effects(&kids(node), out);
                    self.depth -= 1;
                }
                "assignment_expression" => self.assign(node, out),
                "augmented_assignment_expression" | "update_expression" => {
                    if let Some((to, value, op)) = self.assignment(node, &mut Vec::new()) {
                        out.push(stmt(StmtKind::Assign { to: vec![to], value, op }, node));
                    }
                }
                "internal_module" => self.namespace(node, out),
                "unary_expression" if has(node, "delete") => {
                    if let Some(argument) = field(node, "argument") {
                        let gone = self.expr(argument);
                        out.push(stmt(StmtKind::Delete(gone), node));
                    }
                }
                _ if self.export_all(node) || self.export_defined(node, out) => {}
                _ => {
                    let kind = match self.expr(node) {
                        Expr { kind: ExprKind::Assign { to, value, op }, .. } => {
                            StmtKind::Assign { to: vec![*to], value: *value, op }
                        }
                        value => StmtKind::Expr(value),
                    };
                    out.push(stmt(kind, node));
                }
            }
        }
    }

    /// `a = b = value`.
    fn assign(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) {
        let (mut to, mut defaults, mut last) = (Vec::new(), Vec::new(), node);
        while last.kind() == "assignment_expression"
            && let (Some(left), Some(right)) = (field(last, "left"), field(last, "right"))
        {
            if self.is_all_exports(left) {
                return self.export_value(right, out);
            }
            to.push(self.pattern(left, &mut defaults));
            last = bare(right);
        }
        let value = self.named(last, to.first().map_or("", bound_name));
        if !self.export_assigned(&to, &value) {
            return;
        }
        out.push(stmt(StmtKind::Assign { to, value, op: None }, node));
        out.append(&mut defaults);
    }
}

/// A function declaration, exported or not.
fn is_hoisted(node: Node<'_>) -> bool {
    match node.kind() {
        "function_declaration" | "generator_function_declaration" => true,
        "export_statement" => match (field(node, "declaration"), field(node, "value")) {
            (Some(declared), _) => is_hoisted(declared),
            (_, Some(value)) => matches!(value.kind(), "function_expression" | "generator_function"),
            _ => false,
        },
        _ => false,
    }
}
