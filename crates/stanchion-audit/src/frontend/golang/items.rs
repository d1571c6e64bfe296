//! Imports, exports, functions and methods.

use tree_sitter::Node;

use super::{Lower, literal};
use crate::{
    frontend::{
        build::{self, children, fields},
        tree::span,
    },
    hir::{Export, Function, FunctionId, Import, Imported, Param, Pattern, Stmt},
};

impl Lower<'_> {
    pub(super) fn imports(&mut self, node: Node<'_>) {
        for child in children(node) {
            match child.kind() {
                "import_spec_list" => self.imports(child),
                "import_spec" => self.import(child),
                _ => {}
            }
        }
    }

    fn import(&mut self, node: Node<'_>) {
        let Some(path) = node.child_by_field_name("path") else { return };
        let module = literal::string(self.text(path));
        let (local, what) = match self.field_text(node, "name") {
            "_" => return,
            "." => ("*".to_owned(), Imported::Everything),
            "" => (package_name(&module), Imported::Module),
            alias => (alias.to_owned(), Imported::Module),
        };
        self.build.module.imports.push(Import { local, module, what });
    }

    pub(super) fn export(&mut self, name: &str) {
        if name != "_" && !name.is_empty() {
            let export = Export { name: name.to_owned(), local: name.to_owned(), from: None };
            self.build.module.exports.push(export);
        }
    }

    /// The names of a `var` or `const` at the top.
    pub(super) fn export_declared(&mut self, node: Node<'_>) {
        for child in children(node) {
            match child.kind() {
                "var_spec_list" => self.export_declared(child),
                "var_spec" | "const_spec" => {
                    for name in fields(child, "name") {
                        self.export(self.text(name));
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn function(&mut self, node: Node<'_>) -> FunctionId {
        let function = self.signature(node);
        self.receiver = None;
        self.function_body(node, function)
    }

    pub(super) fn method(&mut self, node: Node<'_>) {
        let receiver = node.child_by_field_name("receiver").and_then(|list| children(list).first().copied());
        let type_name =
            receiver.and_then(|it| it.child_by_field_name("type")).map(|it| self.base_name(it)).unwrap_or_default();
        let class = self.build.class(&type_name, span(node));
        let name = receiver.map(|it| self.field_text(it, "name")).filter(|name| !name.is_empty() && *name != "_");
        let mut function = self.signature(node);
        function.class = Some(class);
        function.receiver = name.map(str::to_owned);
        self.receiver.clone_from(&function.receiver);
        let method = function.name.clone();
        let id = self.function_body(node, function);
        self.receiver = None;
        if let Some(class) = self.build.class_mut(class) {
            class.methods.push((method, id));
        }
    }

    /// A closure; the receiver of the method around it stays what it is, unless a parameter has its name.
    pub(super) fn closure(&mut self, node: Node<'_>) -> FunctionId {
        let function = self.signature(node);
        let receiver = self.receiver.clone();
        let shadows =
            |param: &Param| matches!(&param.pattern, Pattern::Name(name) if receiver.as_deref() == Some(name.as_str()));
        if function.params.iter().any(shadows) {
            self.receiver = None;
        }
        let id = self.function_body(node, function);
        self.receiver = receiver;
        id
    }

    fn signature(&self, node: Node<'_>) -> Function {
        Function {
            name: self.field_text(node, "name").to_owned(),
            params: self.params(node.child_by_field_name("parameters")),
            returns: node.child_by_field_name("result").map(|result| self.text(result).to_owned()),
            span: span(node),
            ..Function::default()
        }
    }

    fn function_body(&mut self, node: Node<'_>, function: Function) -> FunctionId {
        let id = self.build.function(function);
        let results = node.child_by_field_name("result").map(|result| self.result_names(result)).unwrap_or_default();
        let outer = (
            std::mem::replace(&mut self.build.current, id),
            std::mem::replace(&mut self.results, results),
            std::mem::take(&mut self.targets),
        );
        let mut body =
            node.child_by_field_name("result").map(|result| self.result_variables(result)).unwrap_or_default();
        body.extend(node.child_by_field_name("body").map(|body| self.block(body)).unwrap_or_default());
        (self.build.current, self.results, self.targets) = outer;
        self.build.body(id, body);
        id
    }

    fn params(&self, list: Option<Node<'_>>) -> Vec<Param> {
        let mut params = Vec::new();
        for node in list.map(children).unwrap_or_default() {
            let type_text = node.child_by_field_name("type").map(|it| self.text(it).to_owned());
            let is_rest = node.kind() == "variadic_parameter_declaration";
            let names = fields(node, "name");
            let param = |pattern| Param { pattern, default: None, type_text: type_text.clone(), is_rest };
            if names.is_empty() && node.child_by_field_name("type").is_some() {
                params.push(param(Pattern::Nothing));
            }
            params.extend(names.into_iter().map(|name| param(literal::name_pattern(self.text(name)))));
        }
        params
    }

    /// Named results are variables from the start.
    fn result_variables(&self, result: Node<'_>) -> Vec<Stmt> {
        let mut all = Vec::new();
        for param in children(result).into_iter().filter(|_| result.kind() == "parameter_list") {
            let Some(kind) = param.child_by_field_name("type") else { continue };
            for name in fields(param, "name") {
                let value = build::expr(self.zero(kind), span(kind));
                all.push(build::stmt(build::assign(literal::name_pattern(self.text(name)), value, None), span(name)));
            }
        }
        all
    }

    fn result_names(&self, result: Node<'_>) -> Vec<String> {
        if result.kind() != "parameter_list" {
            return Vec::new();
        }
        let names = children(result).into_iter().flat_map(|param| fields(param, "name"));
        names.map(|name| self.text(name).to_owned()).collect()
    }
}

/// The name a package has most likely, by its path: `…/redis/v9`, `gopkg.in/yaml.v3`, `…/go-redis`, `…/nats.go`.
pub(super) fn package_name(path: &str) -> String {
    let is_version =
        |part: &str| part.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let last = parts.next().unwrap_or_default();
    let name = if is_version(last) { parts.next().unwrap_or(last) } else { last };
    let name = match name.rsplit_once('.') {
        Some((before, version)) if is_version(version) || version == "go" => before,
        _ => name,
    };
    // No identifier has a hyphen; those who name a repository after the language leave that out of the package's name.
    let name = name.strip_prefix("go-").or_else(|| name.strip_suffix("-go")).unwrap_or(name);
    name.to_owned()
}
