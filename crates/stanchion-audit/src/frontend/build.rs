//! A module in the making: what the Go and the Rust front-end share.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::tree::DEPTH_MOST;
use crate::hir::{
    Arg, Call, Class, ClassId, Expr, ExprKind, Function, FunctionId, Language, Module, Pattern, Span, Stmt, StmtKind,
};

/// Longer chains of operators are listed, not nested: nested that deep they would cost the stack of whoever walks them.
const CHAIN_MOST: usize = 64;

/// The module, where in it we are, and how deep.
pub(crate) struct Build {
    pub(crate) module: Module,
    /// The function whose body is being lowered.
    pub(crate) current: FunctionId,
    depth: u32,
    classes: BTreeMap<String, ClassId>,
}

impl Build {
    pub(crate) fn new(language: Language) -> Self {
        let own = Function { name: "<module>".to_owned(), ..Function::default() };
        let module = Module {
            language,
            imports: Vec::new(),
            exports: Vec::new(),
            functions: vec![own],
            classes: Vec::new(),
            comments: Vec::new(),
            package: None,
            asked: BTreeSet::new(),
            typed: Vec::new(),
            errors: Vec::new(),
            lines: 0,
        };
        Self { module, current: 0, depth: 0, classes: BTreeMap::new() }
    }

    /// One level deeper, or `false` and a note of the line where that is too deep. Each `true` needs a [`Self::leave`].
    pub(crate) fn enter(&mut self, line: u32) -> bool {
        if self.depth >= DEPTH_MOST {
            // Siblings that are too deep stand on the same line more often than not.
            if self.module.errors.last() != Some(&line) && self.module.errors.len() < 1000 {
                self.module.errors.push(line);
            }
            return false;
        }
        self.depth += 1;
        true
    }

    pub(crate) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The class of this name; made if it is new.
    pub(crate) fn class(&mut self, name: &str, span: Span) -> ClassId {
        if let Some(&id) = self.classes.get(name) {
            return id;
        }
        let id = self.module.classes.len();
        self.module.classes.push(Class { name: name.to_owned(), span, ..Class::default() });
        if !name.is_empty() {
            self.classes.insert(name.to_owned(), id);
        }
        id
    }

    /// The class of this name, if there is one.
    pub(crate) fn known(&self, name: &str) -> Option<&Class> {
        self.module.classes.get(*self.classes.get(name)?)
    }

    pub(crate) fn class_mut(&mut self, id: ClassId) -> Option<&mut Class> {
        self.module.classes.get_mut(id)
    }

    /// Adds a function that stands in the current one; its body follows with [`Self::body`].
    pub(crate) fn function(&mut self, mut function: Function) -> FunctionId {
        let id = self.module.functions.len();
        function.parent = Some(self.current);
        self.module.functions.push(function);
        id
    }

    pub(crate) fn body(&mut self, id: FunctionId, body: Vec<Stmt>) {
        if let Some(function) = self.module.functions.get_mut(id) {
            function.body = body;
        }
    }

    /// A function without a name takes the name of what it is bound to.
    pub(crate) fn bind_name(&mut self, to: &Pattern, value: &Expr) {
        if let Pattern::Name(name) = to {
            self.name_function(name, value);
        }
    }

    pub(crate) fn name_function(&mut self, name: &str, value: &Expr) {
        if let ExprKind::Function(id) = value.kind
            && let Some(function) = self.module.functions.get_mut(id)
            && function.name.is_empty()
        {
            name.clone_into(&mut function.name);
        }
    }

    /// The module with its own code.
    pub(crate) fn finish(mut self, body: Vec<Stmt>, tree: &super::tree::Tree<'_>, comments: &[&str]) -> Module {
        self.body(0, body);
        let mut module = self.module;
        module.lines = u32::try_from(tree.text.lines().count()).unwrap_or(u32::MAX);
        if let Some(own) = module.functions.first_mut() {
            own.span = Span { line: 1, column: 1, end_line: module.lines.max(1) };
        }
        module.comments = tree.comments(comments);
        module.errors.extend(tree.errors());
        module.errors.sort_unstable();
        module.errors.dedup();
        module
    }
}

/// The named children, without comments.
pub(crate) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.is_extra() || child.is_error()).collect()
}

/// The children in this field.
pub(crate) fn fields<'t>(node: Node<'t>, name: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(name, &mut cursor).filter(Node::is_named).collect()
}

pub(crate) fn stmt(kind: StmtKind, span: Span) -> Stmt {
    Stmt { kind, span }
}

pub(crate) fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

pub(crate) fn other(span: Span) -> Expr {
    expr(ExprKind::Other(Vec::new()), span)
}

pub(crate) fn member(of: Expr, name: &str) -> ExprKind {
    ExprKind::Member { of: Box::new(of), name: name.into() }
}

pub(crate) fn unary(op: &str, of: Expr) -> ExprKind {
    ExprKind::Unary { op: op.into(), of: Box::new(of) }
}

pub(crate) fn binary(op: &str, left: Expr, right: Expr) -> ExprKind {
    ExprKind::Binary { op: op.into(), left: Box::new(left), right: Box::new(right) }
}

pub(crate) fn call(callee: Expr, args: Vec<Expr>) -> ExprKind {
    let args = args.into_iter().map(|value| Arg { name: None, value }).collect();
    ExprKind::Call(Box::new(Call { callee, args, is_new: false }))
}

pub(crate) fn assign(to: Pattern, value: Expr, op: Option<&str>) -> StmtKind {
    StmtKind::Assign { to: vec![to], value, op: op.map(Into::into) }
}

/// `first op right op right …`, all of it to the left. `+` with a string on one side is a template.
pub(crate) fn chain(first: Expr, rest: Vec<(String, Expr)>) -> Expr {
    let texts = |value: &Expr| matches!(value.kind, ExprKind::Str(_) | ExprKind::Template(_));
    if rest.len() > CHAIN_MOST {
        let span = first.span;
        let joins = rest.iter().all(|(op, _)| op == "+");
        let parts: Vec<_> = std::iter::once(first).chain(rest.into_iter().map(|(_, right)| right)).collect();
        let template = joins && parts.iter().any(texts);
        return expr(if template { template_of(parts) } else { ExprKind::Other(parts) }, span);
    }
    rest.into_iter().fold(first, |left, (op, right)| {
        let span = Span { end_line: right.span.end_line, ..left.span };
        let joins = op == "+" && (texts(&left) || texts(&right));
        if !joins {
            return expr(binary(&op, left, right), span);
        }
        // `a + b + "c"`: all of it is text.
        let mut parts = vec![right];
        let mut left = left;
        while let ExprKind::Binary { op, left: first, right } = left.kind {
            if op != "+" {
                left.kind = ExprKind::Binary { op, left: first, right };
                break;
            }
            parts.push(*right);
            left = *first;
        }
        parts.push(left);
        parts.reverse();
        expr(template_of(parts), span)
    })
}

/// A template of these parts: templates inside are taken apart, neighbouring strings joined; a single string stays one.
pub(crate) fn template_of(parts: Vec<Expr>) -> ExprKind {
    let mut flat: Vec<Expr> = Vec::with_capacity(parts.len());
    let mut push = |part: Expr| match (flat.last_mut().map(|last| &mut last.kind), &part.kind) {
        (Some(ExprKind::Str(before)), ExprKind::Str(text)) => before.push_str(text),
        (_, ExprKind::Str(text)) if text.is_empty() => {}
        _ => flat.push(part),
    };
    for part in parts {
        match part.kind {
            ExprKind::Template(inner) => inner.into_iter().for_each(&mut push),
            _ => push(part),
        }
    }
    match (flat.len(), flat.pop()) {
        (0, _) | (_, None) => ExprKind::Str(String::new()),
        (1, Some(Expr { kind: ExprKind::Str(text), .. })) => ExprKind::Str(text),
        (_, Some(last)) => {
            flat.push(last);
            ExprKind::Template(flat)
        }
    }
}

/// An operator and what stands to its right.
type Operand<'t> = (Option<Node<'t>>, Option<Node<'t>>);

/// What a binary expression begins with, and what follows. Down the left side without recursion: `a + b + c + …` nests
/// there as deep as it is long.
fn operands(node: Node<'_>) -> Option<(Node<'_>, Vec<Operand<'_>>)> {
    let (mut left, mut rights) = (node, Vec::new());
    while left.kind() == "binary_expression" {
        rights.push((left.child_by_field_name("operator"), left.child_by_field_name("right")));
        left = left.child_by_field_name("left")?;
    }
    rights.reverse();
    Some((left, rights))
}

/// A binary expression of a tree that was made from this text.
pub(crate) fn operation<'t>(node: Node<'t>, text: &str, mut expr: impl FnMut(Node<'t>) -> Expr) -> Option<Expr> {
    let (left, rights) = operands(node)?;
    let first = expr(left);
    let at = first.span;
    let rest = rights.into_iter().map(|(op, right)| {
        let op = op.and_then(|op| text.get(op.byte_range())).unwrap_or_default();
        (op.to_owned(), right.map_or_else(|| other(at), &mut expr))
    });
    let rest = rest.collect();
    Some(chain(first, rest))
}
