//! Prints what a front-end made, one line for each statement, so that tests can compare it with what they expect.
//!
//! Functions and classes stand where they are used. `<a, b>` is [`ExprKind::Other`].

use crate::hir::{Arg, Class, DECLARES, Expr, ExprKind, Function, Module, Pattern, Stmt, StmtKind};

/// The module's own code.
pub(crate) fn show(module: &Module) -> String {
    let body = module.functions.first().map_or(&[][..], |own| &own.body);
    body.iter().map(|stmt| module.stmt(stmt)).collect::<Vec<_>>().join("\n")
}

impl Module {
    fn all<T>(&self, items: &[T], one: impl Fn(&Self, &T) -> String, between: &str) -> String {
        items.iter().map(|item| one(self, item)).collect::<Vec<_>>().join(between)
    }

    fn block(&self, body: &[Stmt]) -> String {
        if body.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", self.all(body, Self::stmt, "; ")) }
    }

    fn stmt(&self, stmt: &Stmt) -> String {
        let optional = |word: &str, value: &Option<Expr>| match value {
            Some(value) => format!("{word} {}", self.expr(value)),
            None => word.to_owned(),
        };
        let tail = |word: &str, body: &[Stmt]| {
            if body.is_empty() { String::new() } else { format!(" {word} {}", self.block(body)) }
        };
        match &stmt.kind {
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::Assign { to, value, op } => {
                let op = op.as_deref().filter(|op| *op != DECLARES).unwrap_or_default();
                format!("{} {op}= {}", self.all(to, Self::pattern, " = "), self.expr(value))
            }
            StmtKind::Return(value) => optional("return", value),
            StmtKind::Throw(value) => optional("throw", value),
            StmtKind::If { cond, then, other } => {
                format!("if {} {}{}", self.expr(cond), self.block(then), tail("else", other))
            }
            StmtKind::Loop(whole) => {
                let word = if whole.is_async { "await " } else { "" };
                let each = whole.each.as_ref().map(|(to, of)| format!("{} of {}", self.pattern(to), self.expr(of)));
                let head = [
                    (!whole.init.is_empty()).then(|| format!("init {}", self.block(&whole.init))),
                    each,
                    whole.cond.as_ref().map(|cond| format!("while {}", self.expr(cond))),
                    (!whole.step.is_empty()).then(|| format!("step {}", self.block(&whole.step))),
                    Some(self.block(&whole.body)),
                ];
                let head: Vec<_> = head.into_iter().flatten().collect();
                format!("loop {word}{}{}", head.join(" "), tail("else", &whole.otherwise))
            }
            StmtKind::Try { body, handlers, otherwise, finally } => {
                let mut text = format!("try {}", self.block(body));
                for handler in handlers {
                    let catches = self.all(&handler.catches, Self::expr, ", ");
                    let name = handler.name.as_ref().map(|name| self.pattern(name)).unwrap_or_default();
                    text += &format!(" catch ({catches}{name}) {}", self.block(&handler.body));
                }
                text + &tail("else", otherwise) + &tail("finally", finally)
            }
            StmtKind::With { items, body, is_async } => {
                let word = if *is_async { "await " } else { "" };
                let item = |module: &Self, (value, to): &(Expr, Option<Pattern>)| match to {
                    Some(to) => format!("{} as {}", module.expr(value), module.pattern(to)),
                    None => module.expr(value),
                };
                format!("with {word}{} {}", self.all(items, item, ", "), self.block(body))
            }
            StmtKind::Switch { subject, arms } => {
                let mut text = format!("switch {}", self.expr(subject));
                for arm in arms {
                    let binds = arm.binds.as_ref().map(|to| format!(" as {}", self.pattern(to))).unwrap_or_default();
                    let falls = if arm.falls_through { " falls" } else { "" };
                    text += &format!(
                        " [{}]{binds} {}{falls}",
                        self.all(&arm.tests, Self::expr, ", "),
                        self.block(&arm.body)
                    );
                }
                text
            }
            StmtKind::Defer(value) => format!("defer {}", self.expr(value)),
            StmtKind::Go(value) => format!("go {}", self.expr(value)),
            StmtKind::Break => "break".to_owned(),
            StmtKind::Continue => "continue".to_owned(),
            StmtKind::Function(id) => self.function(&self.functions[*id]),
            StmtKind::Class(id) => self.class(&self.classes[*id]),
            StmtKind::Block(body) => self.block(body),
            StmtKind::Delete(value) => format!("delete {}", self.expr(value)),
        }
    }

    fn decorators(&self, decorators: &[Expr]) -> String {
        decorators.iter().map(|decorator| format!("@{} ", self.expr(decorator))).collect()
    }

    pub(crate) fn function(&self, function: &Function) -> String {
        let words = [(function.is_static, "static "), (function.is_async, "async ")];
        let words: String = words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
        let star = if function.is_generator { "*" } else { "" };
        let params = function.params.iter().map(|param| {
            let rest = if param.is_rest { "..." } else { "" };
            let kind = param.type_text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            let default = param.default.as_ref().map(|value| format!(" = {}", self.expr(value))).unwrap_or_default();
            format!("{rest}{}{kind}{default}", self.pattern(&param.pattern))
        });
        let params = params.collect::<Vec<_>>().join(", ");
        let returns = function.returns.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        let decorators = self.decorators(&function.decorators);
        let (name, body) = (&function.name, self.block(&function.body));
        format!("{decorators}{words}fn{star} {name}({params}){returns} {body}")
    }

    fn class(&self, class: &Class) -> String {
        let fields = class.fields.iter().map(|field| {
            let word = if field.is_static { "static " } else { "" };
            let kind = field.type_text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            let value = field.value.as_ref().map(|value| format!(" = {}", self.expr(value))).unwrap_or_default();
            format!("{word}{}{kind}{value}", field.name)
        });
        let methods = class.methods.iter().map(|(_, id)| self.function(&self.functions[*id]));
        let members = fields.chain(methods).collect::<Vec<_>>().join("; ");
        let bases = self.all(&class.bases, Self::expr, ", ");
        format!("{}class {}({bases}) {{ {members} }}", self.decorators(&class.decorators), class.name)
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Name(name) => name.clone(),
            Pattern::Place(place) => self.expr(place),
            Pattern::Object(fields) => {
                let field = |module: &Self, (key, to): &(String, Pattern)| format!("{key}: {}", module.pattern(to));
                format!("{{{}}}", self.all(fields, field, ", "))
            }
            Pattern::List(elements) => format!("[{}]", self.all(elements, Self::pattern, ", ")),
            Pattern::Rest(inner) => format!("...{}", self.pattern(inner)),
            Pattern::Nothing => "_".to_owned(),
        }
    }

    /// What something is applied to.
    fn base(&self, value: &Expr) -> String {
        let is_prefix = matches!(value.kind, ExprKind::Await(_) | ExprKind::Unary { .. } | ExprKind::Function(_));
        if is_prefix { format!("({})", self.expr(value)) } else { self.expr(value) }
    }

    fn expr(&self, value: &Expr) -> String {
        match &value.kind {
            ExprKind::Name(name) => name.clone(),
            ExprKind::This => "this".to_owned(),
            ExprKind::Super => "super".to_owned(),
            ExprKind::Str(text) => format!("{text:?}"),
            ExprKind::Template(parts) => {
                let part = |module: &Self, part: &Expr| match &part.kind {
                    ExprKind::Str(text) => text.escape_debug().to_string(),
                    _ => format!("${{{}}}", module.expr(part)),
                };
                format!("`{}`", self.all(parts, part, ""))
            }
            ExprKind::Num(text) => text.clone(),
            ExprKind::Bool(is) => is.to_string(),
            ExprKind::Null => "null".to_owned(),
            ExprKind::Member { of, name } => format!("{}.{name}", self.base(of)),
            ExprKind::Index { of, index } => format!("{}[{}]", self.base(of), self.expr(index)),
            ExprKind::Call(call) => {
                let arg = |module: &Self, arg: &Arg| match &arg.name {
                    Some(name) => format!("{name}={}", module.expr(&arg.value)),
                    None => module.expr(&arg.value),
                };
                let word = if call.is_new { "new " } else { "" };
                format!("{word}{}({})", self.base(&call.callee), self.all(&call.args, arg, ", "))
            }
            ExprKind::Await(of) => format!("await {}", self.expr(of)),
            ExprKind::Yield(Some(of)) => format!("yield {}", self.expr(of)),
            ExprKind::Yield(None) => "yield".to_owned(),
            ExprKind::Function(id) => self.function(&self.functions[*id]),
            ExprKind::Class(id) => self.class(&self.classes[*id]),
            ExprKind::Object { of, fields } => {
                let field = |module: &Self, (key, value): &(Option<String>, Expr)| match key {
                    Some(key) => format!("{key}: {}", module.expr(value)),
                    None => module.expr(value),
                };
                format!("{}{{{}}}", of.as_deref().unwrap_or_default(), self.all(fields, field, ", "))
            }
            ExprKind::List(elements) => format!("[{}]", self.all(elements, Self::expr, ", ")),
            ExprKind::Binary { op, left, right } => format!("({} {op} {})", self.expr(left), self.expr(right)),
            ExprKind::Unary { op, of } => {
                let space = if op.ends_with(char::is_alphabetic) { " " } else { "" };
                format!("{op}{space}{}", self.expr(of))
            }
            ExprKind::Cond { test, then, other } => {
                format!("({} ? {} : {})", self.expr(test), self.expr(then), self.expr(other))
            }
            ExprKind::Assign { to, value, op } => {
                format!("({} {}= {})", self.pattern(to), op.as_deref().unwrap_or_default(), self.expr(value))
            }
            ExprKind::Spread(of) => format!("...{}", self.expr(of)),
            ExprKind::Try(of) => format!("{}?", self.expr(of)),
            ExprKind::Comprehension { element, each, conds } => {
                let each: String =
                    each.iter().map(|(to, of)| format!(" for {} in {}", self.pattern(to), self.expr(of))).collect();
                let conds: String = conds.iter().map(|cond| format!(" if {}", self.expr(cond))).collect();
                format!("[{}{each}{conds}]", self.expr(element))
            }
            ExprKind::Matches { of, binds } => format!("({} matches {})", self.expr(of), self.pattern(binds)),
            ExprKind::Block(body) => self.block(body),
            ExprKind::Other(parts) => format!("<{}>", self.all(parts, Self::expr, ", ")),
        }
    }
}
