//! Classes.

use tree_sitter::Node;

use super::{Lower, children, expr_at, field, last_name, span, stmt::assignment_parts, stmt_at};
use crate::hir::{Class, ClassId, Expr, ExprKind, Field, Pattern, Stmt, StmtKind};

/// Decorators and bases of the libraries that make annotated names fields of each instance.
const RECORDS: [&str; 12] = [
    "dataclass",
    "define",
    "mutable",
    "frozen",
    "attrs",
    "BaseModel",
    "BaseSettings",
    "NamedTuple",
    "SQLModel",
    "Struct",
    "TypedDict",
    "RootModel",
];

/// Of `a = b = … = value`, so many fields know their value.
const VALUES_MOST: usize = 8;

impl<'t> Lower<'t, '_> {
    /// A class; what else its code does goes to `also`.
    pub(super) fn class(&mut self, node: Node<'t>, decorators: Vec<Expr>, also: &mut Vec<Stmt>) -> ClassId {
        let mut class = Class { decorators, span: span(node), ..Class::default() };
        self.text(field(node, "name").unwrap_or(node)).lines().next().unwrap_or_default().clone_into(&mut class.name);
        for base in field(node, "superclasses").map(children).unwrap_or_default() {
            if !matches!(base.kind(), "keyword_argument" | "dictionary_splat") {
                class.bases.push(self.expr(base));
            }
        }
        let is_record =
            class.decorators.iter().chain(&class.bases).filter_map(last_name).any(|name| RECORDS.contains(&name));
        let id = self.module.classes.len();
        self.module.classes.push(class);
        let outer = std::mem::replace(&mut self.in_class, true);
        if let Some(body) = field(node, "body") {
            self.members(body, (id, is_record), also);
        }
        self.in_class = outer;
        id
    }

    /// The members a block of a class defines; of `if` and `try`, those of all branches.
    fn members(&mut self, block: Node<'t>, class: (ClassId, bool), also: &mut Vec<Stmt>) {
        self.deeper(block, |lower| {
            for node in children(block) {
                lower.member(node, class, also);
            }
        });
    }

    fn member(&mut self, node: Node<'t>, class: (ClassId, bool), also: &mut Vec<Stmt>) {
        match node.kind() {
            "function_definition" | "class_definition" => self.defined_member(node, Vec::new(), class, also),
            "decorated_definition" => {
                let decorators = self.decorators(node);
                if let Some(definition) = field(node, "definition") {
                    self.defined_member(definition, decorators, class, also);
                }
            }
            "expression_statement" => match children(node).first() {
                Some(part) if part.kind() == "assignment" => self.field_member(*part, class, also),
                _ => self.stmt(node, also),
            },
            "if_statement" | "elif_clause" => {
                let cond = self.expr_or_nothing(field(node, "condition"), node);
                also.push(stmt_at(StmtKind::Expr(cond), node));
                self.members(node, class, also);
            }
            "try_statement" | "else_clause" | "except_clause" | "finally_clause" | "block" | "ERROR" => {
                self.members(node, class, also)
            }
            "for_statement"
            | "while_statement"
            | "with_statement"
            | "import_statement"
            | "import_from_statement"
            | "assert_statement" => {
                self.stmt(node, also);
            }
            _ => {}
        }
    }

    fn defined_member(&mut self, node: Node<'t>, decorators: Vec<Expr>, class: (ClassId, bool), also: &mut Vec<Stmt>) {
        if node.kind() == "class_definition" {
            let inner = self.class(node, decorators, also);
            let name = self.module.classes.get(inner).map(|inner| inner.name.clone()).unwrap_or_default();
            let value = Some(expr_at(ExprKind::Class(inner), node));
            self.add_field(class.0, Field { name, value, is_static: true, ..Field::default() });
            return;
        }
        let id = self.function(node, decorators, Some(class.0));
        let name = self.module.functions.get(id).map(|function| function.name.clone()).unwrap_or_default();
        if let Some(class) = self.module.classes.get_mut(class.0) {
            class.methods.push((name, id));
        }
    }

    /// `name = value`, `name: type`, `name: type = value`, `a = b = value`, `a, b = values`.
    fn field_member(&mut self, node: Node<'t>, (class, is_record): (ClassId, bool), also: &mut Vec<Stmt>) {
        let type_text = field(node, "type").map(|node| self.type_text(node));
        let (targets, value) = assignment_parts(node);
        let mut value = value.map(|value| self.expr(value));
        let is_static = match &type_text {
            Some(text) => text.contains("ClassVar") || (value.is_some() && !is_record),
            None => true,
        };
        for (index, target) in targets.into_iter().enumerate() {
            // Each has its own copy, and a chain may be as long as the file.
            if index == VALUES_MOST {
                value = None;
            }
            match self.pattern(target) {
                Pattern::Name(name) => {
                    if let Some(value) = &value {
                        self.name_lambda(value, &name);
                    }
                    let (value, type_text) = (value.clone(), type_text.clone());
                    self.add_field(class, Field { name: name.into(), value, type_text, is_static, ..Field::default() });
                }
                Pattern::List(parts) => {
                    if let Some(value) = value.as_ref().filter(|value| !matches!(value.kind, ExprKind::List(_))) {
                        also.push(stmt_at(StmtKind::Expr(value.clone()), node));
                    }
                    self.fields_of_list(class, parts, value.as_ref());
                }
                place => {
                    let assign = value.clone().map(|value| StmtKind::Assign { to: vec![place], value, op: None });
                    also.extend(assign.map(|kind| stmt_at(kind, node)));
                }
            }
        }
    }

    fn fields_of_list(&mut self, class: ClassId, parts: Vec<Pattern>, value: Option<&Expr>) {
        let values = match value.map(|value| &value.kind) {
            Some(ExprKind::List(values)) if values.len() == parts.len() => values.clone(),
            _ => Vec::new(),
        };
        for (index, part) in parts.into_iter().enumerate() {
            if let Pattern::Name(name) = part {
                let value = values.get(index).cloned();
                self.add_field(class, Field { name: name.into(), value, is_static: true, ..Field::default() });
            }
        }
    }

    fn add_field(&mut self, class: ClassId, field: Field) {
        if let Some(class) = self.module.classes.get_mut(class) {
            class.fields.push(field);
        }
    }
}
