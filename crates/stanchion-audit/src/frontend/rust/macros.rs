//! Macros: their tokens are parsed once more, as what they most likely are.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point};

use super::{Lower, Origin, literal};
use crate::{
    frontend::build::{self, children},
    hir::{Arg, Call, Expr, ExprKind, Stmt, StmtKind, Text},
};

/// A macro in more macros than this stays without arguments: each level is parsed again.
const MACROS_MOST: u32 = 8;

impl Lower<'_> {
    fn macro_name(&self, node: Node<'_>) -> String {
        let path = node.child_by_field_name("macro").map(|path| self.path_text(path)).unwrap_or_default();
        path.rsplit("::").next().unwrap_or_default().to_owned()
    }

    /// A macro as a statement.
    pub(super) fn macro_statement(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let name = self.macro_name(node);
        let tokens = token_tree(node);
        match name.as_str() {
            "panic" | "unreachable" | "todo" | "unimplemented" | "bail" => {
                let mut args = tokens.map(|tokens| self.macro_args(tokens)).unwrap_or_default();
                join_format(&name, &mut args);
                self.push(StmtKind::Throw(args.into_iter().next().map(|arg| arg.value)), node, out);
            }
            "select" if tokens.is_some() => self.select(node, returns, out),
            _ => {
                let value = build::expr(self.macro_call(node, &name), self.span(node));
                self.push(if returns { StmtKind::Return(Some(value)) } else { StmtKind::Expr(value) }, node, out);
            }
        }
    }

    /// A macro as a value.
    pub(super) fn macro_value(&mut self, node: Node<'_>) -> ExprKind {
        let mut out = Vec::new();
        self.macro_statement(node, false, &mut out);
        match (out.len(), out.pop()) {
            (1, Some(Stmt { kind: StmtKind::Expr(value), .. })) => value.kind,
            (_, last) => {
                out.extend(last);
                ExprKind::Block(out)
            }
        }
    }

    fn macro_call(&mut self, node: Node<'_>, name: &str) -> ExprKind {
        let Some(tokens) = token_tree(node) else { return ExprKind::Other(Vec::new()) };
        let special = match name {
            "vec" => self.vec(tokens),
            "json" => Some(self.json(&tokens_of(tokens)).kind),
            "matches" => self.matches(tokens),
            _ => None,
        };
        if let Some(kind) = special {
            return kind;
        }
        let mut args = self.macro_args(tokens);
        join_format(name, &mut args);
        if name == "format" && args.len() == 1 {
            return args.pop().map_or(ExprKind::Other(Vec::new()), |arg| arg.value.kind);
        }
        let mut callee = node.child_by_field_name("macro").map_or_else(|| self.other(node), |path| self.path(path));
        // Macros have names of their own: `write!` is no function `write`.
        if let ExprKind::Name(name) | ExprKind::Member { name, .. } = &mut callee.kind {
            *name = format!("{name}!").into();
        }
        ExprKind::Call(Box::new(Call { callee, args, is_new: false }))
    }

    /// The tokens as arguments of a call.
    pub(super) fn macro_args(&mut self, tokens: Node<'_>) -> Vec<Arg> {
        let all = tokens_of(tokens);
        if all.is_empty() {
            return Vec::new();
        }
        let whole = self.reparse("m(", &all, ");", |lower, root| {
            let call = statement(root)?;
            Some(lower.args(call.child_by_field_name("arguments")?))
        });
        whole.unwrap_or_else(|| split(&all).map(|piece| self.odd_arg(piece)).collect())
    }

    /// An argument as some macros want it: `name = value`, `name = %value`, `"name" => value`, `?value`.
    fn odd_arg(&mut self, piece: &[Node<'_>]) -> Arg {
        let equals = piece.iter().position(|token| matches!(token.kind(), "=" | "=>" | ":"));
        let (name, value) = match equals.map(|place| (piece.get(..place), piece.get(place + 1..))) {
            Some((Some([first, .., last] | [first @ last]), Some(value))) if !value.is_empty() => {
                let name = self.text.get(first.start_byte()..last.end_byte()).unwrap_or_default();
                (Some(name.trim_matches('"').into()), value)
            }
            _ => (None, piece),
        };
        let value = match value {
            [sign, rest @ ..] if matches!(sign.kind(), "%" | "?") && !rest.is_empty() => rest,
            _ => value,
        };
        Arg { name, value: self.piece(value) }
    }

    /// One expression of a macro; where it is none, the names in it.
    pub(super) fn piece(&mut self, piece: &[Node<'_>]) -> Expr {
        let parsed = self.reparse("m(", piece, ");", |lower, root| {
            let list = statement(root)?.child_by_field_name("arguments")?;
            match children(list).as_slice() {
                [only] => Some(lower.expr(*only)),
                _ => None,
            }
        });
        parsed.unwrap_or_else(|| {
            let mut names = Vec::new();
            let mut before = "";
            for token in piece {
                if token.kind() == "identifier" && !matches!(before, "." | "::") {
                    names.push(self.path(*token));
                }
                before = token.kind();
            }
            build::expr(ExprKind::Other(names), piece.first().map(|first| self.span(*first)).unwrap_or_default())
        })
    }

    /// Parses tokens with something around them; `None` where that is not right. Positions stay those of the file.
    pub(super) fn reparse<T>(
        &mut self,
        before: &str,
        piece: &[Node<'_>],
        after: &str,
        then: impl FnOnce(&mut Lower<'_>, Node<'_>) -> Option<T>,
    ) -> Option<T> {
        if self.state.macros >= MACROS_MOST {
            return None;
        }
        let (first, last) = (piece.first()?, piece.last()?);
        let tokens = self.text.get(first.start_byte()..last.end_byte())?;
        let text = format!("{before}{tokens}{after}");
        let tree = parse(&mut self.state.parser, &text)?;
        if tree.root_node().has_error() {
            return None;
        }
        let Point { row, column } = first.start_position();
        let column = isize::try_from(column).ok()?;
        let outer = if row == 0 { self.origin.column } else { 0 };
        let origin = Origin {
            row: self.origin.row + row,
            column: column.saturating_add(outer).saturating_sub(isize::try_from(before.len()).ok()?),
        };
        self.state.macros += 1;
        let value = then(&mut Lower { text: &text, origin, state: self.state }, tree.root_node());
        self.state.macros -= 1;
        value
    }

    fn vec(&mut self, tokens: Node<'_>) -> Option<ExprKind> {
        let all = tokens_of(tokens);
        if all.is_empty() {
            return Some(ExprKind::List(Vec::new()));
        }
        self.reparse("[", &all, "];", |lower, root| Some(lower.expr(statement(root)?).kind))
    }

    fn matches(&mut self, tokens: Node<'_>) -> Option<ExprKind> {
        let all = tokens_of(tokens);
        let comma = all.iter().position(|token| token.kind() == ",")?;
        let (of, pattern) = (all.get(..comma)?, all.get(comma + 1..)?);
        let of = self.piece(of);
        self.reparse("match m { ", pattern, " => m }", |lower, root| {
            let arm = *children(statement(root)?.child_by_field_name("body")?).first()?;
            let whole = arm.child_by_field_name("pattern")?;
            let binds = children(whole).first().map_or(crate::hir::Pattern::Nothing, |it| lower.pattern(*it));
            Some(ExprKind::Matches { of: Box::new(of), binds })
        })
    }

    /// `{"key": value}`, `[value]`, `null`, or an expression.
    fn json(&mut self, piece: &[Node<'_>]) -> Expr {
        let [only] = piece else { return self.piece(piece) };
        let at = self.span(*only);
        if !self.state.build.enter(at.line) {
            return build::other(at);
        }
        let tokens = tokens_of(*only);
        let value = match (only.kind(), self.text(*only)) {
            ("identifier", "null") => build::expr(ExprKind::Null, at),
            ("token_tree", text) if text.starts_with('[') => {
                let items = split(&tokens).map(|item| self.json(item)).collect();
                build::expr(ExprKind::List(items), at)
            }
            ("token_tree", text) if text.starts_with('{') => {
                let fields = split(&tokens).map(|field| self.json_field(field)).collect();
                build::expr(ExprKind::Object { of: None, fields }, at)
            }
            _ => self.piece(piece),
        };
        self.state.build.leave();
        value
    }

    fn json_field(&mut self, field: &[Node<'_>]) -> (Option<Text>, Expr) {
        let colon = field.iter().position(|token| token.kind() == ":").unwrap_or(field.len());
        let (key, value) = field.split_at(colon);
        let Some(value) = value.get(1..) else { return (None, self.piece(field)) };
        let value = self.json(value);
        match key {
            [name] if name.kind().ends_with("string_literal") => {
                (Some(literal::string(self.text(*name)).into()), value)
            }
            _ => {
                let key = self.piece(key);
                let span = key.span;
                (None, build::expr(ExprKind::Other(vec![key, value]), span))
            }
        }
    }

    /// A macro where items stand: if it has items in it (`lazy_static!`, `cfg_…! { … }`), they are this file's.
    pub(super) fn item_macro(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) -> bool {
        let Some(tree) = token_tree(node).filter(|tree| self.text(*tree).starts_with('{')) else { return false };
        let all = tokens_of(tree);
        let starts_item = all.first().is_some_and(|first| match self.text(*first) {
            "enum" | "fn" | "impl" | "mod" | "pub" | "static" | "struct" | "trait" | "type" | "use" => true,
            // In a function these begin expressions as well.
            "#" | "async" | "const" | "unsafe" => self.state.build.current == 0,
            _ => false,
        });
        let items = |lower: &mut Lower<'_>, root: Node<'_>| {
            lower.items(children(root), out);
            Some(())
        };
        starts_item && self.reparse("", &all, "", items).is_some()
    }
}

/// Gives up at the first error: what is no Rust is not worth the repair, which can cost a hundred times as much.
fn parse(parser: &mut Parser, text: &str) -> Option<tree_sitter::Tree> {
    let mut stop =
        |state: &ParseState| if state.has_error() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut stop);
    let tree =
        parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options));
    if tree.is_none() {
        parser.reset();
    }
    tree
}

/// The one statement of a parsed piece.
pub(super) fn statement(root: Node<'_>) -> Option<Node<'_>> {
    let first = *children(root).first()?;
    if first.kind() == "expression_statement" { children(first).first().copied() } else { Some(first) }
}

pub(super) fn token_tree(node: Node<'_>) -> Option<Node<'_>> {
    children(node).into_iter().find(|child| child.kind() == "token_tree")
}

/// The tokens between the delimiters, without comments.
pub(super) fn tokens_of(tree: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = tree.walk();
    let mut tokens: Vec<_> = tree.children(&mut cursor).filter(|token| !token.is_extra()).collect();
    tokens.pop();
    if !tokens.is_empty() {
        tokens.remove(0);
    }
    tokens
}

/// The pieces between commas and semicolons.
fn split<'s, 't>(tokens: &'s [Node<'t>]) -> impl Iterator<Item = &'s [Node<'t>]> {
    tokens.split(|token| matches!(token.kind(), "," | ";")).filter(|piece| !piece.is_empty())
}

/// Makes one template of a format and the arguments after it.
fn join_format(name: &str, args: &mut Vec<Arg>) {
    let skipped = match name {
        "format" | "format_args" | "print" | "println" | "eprint" | "eprintln" | "panic" | "unreachable" | "todo"
        | "unimplemented" | "bail" | "anyhow" | "format_err" | "trace" | "debug" | "info" | "warn" | "error"
        | "log" => 0,
        "write" | "writeln" | "assert" | "debug_assert" | "ensure" => 1,
        "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => 2,
        _ => return,
    };
    let is_format = |arg: &Arg| arg.name.is_none() && matches!(arg.value.kind, ExprKind::Str(_));
    let Some(place) = args.iter().skip(skipped).position(is_format).map(|place| place + skipped) else { return };
    let after = args.get(place + 1..).unwrap_or_default();
    let joined = args.get(place).and_then(|format| literal::template(&format.value, after));
    if let (Some(kind), Some(format)) = (joined, args.get_mut(place)) {
        format.value.kind = kind;
        args.truncate(place + 1);
    }
}
