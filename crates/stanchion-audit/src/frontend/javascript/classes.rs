//! Classes.

use tree_sitter::Node;

use super::{Lower, expr, field, has, kids};
use crate::frontend::tree::span;
use crate::hir::{Class, ClassId, Expr, ExprKind, Field};

impl<'t> Lower<'t> {
    /// Notes a class. Its static blocks go to `blocks`: they run where the class stands.
    pub(super) fn class(&mut self, node: Node<'t>, bound: &str, blocks: &mut Vec<Node<'t>>) -> ClassId {
        let own = field(node, "name").map(|name| self.text(name).to_owned());
        let decorators = self.decorators(node);
        let (bases, implements) = self.bases(node);
        let id = self.module.classes.len();
        self.module.classes.push(Class {
            name: own.unwrap_or_else(|| bound.to_owned()),
            bases,
            implements,
            decorators,
            span: span(node),
            ..Class::default()
        });
        let outer = self.class.replace(id);
        let mut decorators = Vec::new();
        for member in field(node, "body").map(kids).unwrap_or_default() {
            match member.kind() {
                // TypeScript's grammar has decorators of methods as their neighbours.
                "decorator" => decorators.extend(self.decorator(member)),
                "method_definition" => self.method(id, member, std::mem::take(&mut decorators)),
                "field_definition" | "public_field_definition" => self.field(id, member),
                "class_static_block" => blocks.extend(field(member, "body")),
                _ => decorators.clear(),
            }
        }
        self.class = outer;
        id
    }

    fn method(&mut self, class: ClassId, node: Node<'t>, mut decorators: Vec<Expr>) {
        decorators.append(&mut self.decorators(node));
        let id = self.function(node, "");
        let mut name = String::new();
        if let Some(function) = self.module.functions.get_mut(id) {
            function.class = Some(class);
            function.decorators = decorators;
            name.clone_from(&function.name);
        }
        if let Some(class) = self.module.classes.get_mut(class) {
            class.methods.push((name, id));
        }
    }

    fn field(&mut self, class: ClassId, node: Node<'t>) {
        let Some(key) = field(node, "name").or_else(|| field(node, "property")) else { return };
        // `declare` and `abstract` fields do not exist when the code runs.
        if has(node, "declare") || has(node, "abstract") {
            return;
        }
        let name = self.key(key).unwrap_or_else(|| self.text(key).to_owned());
        let value = field(node, "value").map(|value| self.named(value, &name));
        let type_text = self.type_text(field(node, "type"));
        let is_static = has(node, "static");
        let decorators = self.decorators(node);
        if let Some(class) = self.module.classes.get_mut(class) {
            class.fields.push(Field { name, value, type_text, is_static, decorators });
        }
    }

    /// What it extends, and the names of its interfaces.
    fn bases(&mut self, node: Node<'t>) -> (Vec<Expr>, Vec<String>) {
        let (mut bases, mut interfaces) = (Vec::new(), Vec::new());
        for heritage in kids(node).into_iter().filter(|kid| kid.kind() == "class_heritage") {
            for part in kids(heritage) {
                match part.kind() {
                    "implements_clause" => {
                        let named = |part: Node<'t>| {
                            let text = self.text(part);
                            text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
                        };
                        interfaces.extend(kids(part).into_iter().map(named));
                    }
                    "extends_clause" => bases.extend(field(part, "value").map(|value| self.expr(value))),
                    _ => bases.push(self.expr(part)),
                }
            }
        }
        (bases, interfaces)
    }

    /// The decorators that are children of this node.
    pub(super) fn decorators(&mut self, node: Node<'t>) -> Vec<Expr> {
        let found: Vec<_> = kids(node).into_iter().filter(|kid| kid.kind() == "decorator").collect();
        found.into_iter().filter_map(|kid| self.decorator(kid)).collect()
    }

    fn decorator(&mut self, node: Node<'t>) -> Option<Expr> {
        kids(node).first().map(|value| self.expr(*value))
    }

    /// A class as a value.
    pub(super) fn class_value(&mut self, node: Node<'t>, bound: &str) -> Expr {
        let id = self.class(node, bound, &mut Vec::new());
        expr(ExprKind::Class(id), span(node))
    }
}
