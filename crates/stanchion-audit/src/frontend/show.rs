//! Prints HIR, for the front-ends' tests.
//!
//! On lines, one for each statement, with functions and classes by their numbers; or all of it in one line for each statement
//! of the module, with functions and classes where they are used.

use std::fmt::Write as _;

use crate::hir::{
    Arm, Class, DECLARES, Expr, ExprKind, Function, FunctionId, Loop, Module, Param, Pattern, Stmt, StmtKind,
};

/// The body of the first function of this name.
pub(crate) fn body(module: &Module, name: &str) -> String {
    let found = module.functions.iter().find(|function| function.name == name);
    found.map_or_else(|| format!("no {name}"), |function| Show { module, inline: false }.lines(&function.body, 0))
}

/// All functions with their bodies.
pub(crate) fn functions(module: &Module) -> String {
    (0..module.functions.len()).map(|id| Show { module, inline: false }.function(id)).collect()
}

/// All functions without their bodies.
pub(crate) fn heads(module: &Module) -> Vec<String> {
    (0..module.functions.len()).map(|id| Show { module, inline: false }.head(id)).collect()
}

/// All classes.
pub(crate) fn classes(module: &Module) -> String {
    let show = Show { module, inline: false };
    module.classes.iter().enumerate().map(|(id, class)| show.class(id, class)).collect()
}

/// Imports, one per line: `local = module what`.
pub(crate) fn imports(module: &Module) -> String {
    module.imports.iter().map(|it| format!("{} = {} {:?}\n", it.local, it.module, it.what)).collect()
}

/// The module's own code, with everything where it is used.
pub(crate) fn inline(module: &Module) -> String {
    let show = Show { module, inline: true };
    let own = module.functions.first().map_or(&[][..], |own| &own.body);
    own.iter().map(|stmt| show.stmt(stmt)).collect::<Vec<_>>().join("\n")
}

struct Show<'m> {
    module: &'m Module,
    inline: bool,
}

/// The first line of a statement, and what stands below it: a word and a body each.
type Parts<'a> = (String, Vec<(String, &'a [Stmt])>);

impl Show<'_> {
    fn lines(&self, body: &[Stmt], depth: usize) -> String {
        let mut out = String::new();
        for stmt in body {
            let (head, parts) = self.parts(stmt);
            writeln!(out, "{}{head}", "  ".repeat(depth)).unwrap();
            for (at, (word, body)) in parts.into_iter().enumerate() {
                if at > 0 || !word.is_empty() {
                    writeln!(out, "{}{word}", "  ".repeat(depth)).unwrap();
                }
                out.push_str(&self.lines(body, depth + 1));
            }
        }
        out
    }

    fn block(&self, body: &[Stmt]) -> String {
        let all: Vec<_> = body.iter().map(|stmt| self.stmt(stmt)).collect();
        if all.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", all.join("; ")) }
    }

    /// A statement on one line.
    fn stmt(&self, stmt: &Stmt) -> String {
        let (head, parts) = self.parts(stmt);
        parts.into_iter().fold(head, |text, (word, body)| {
            let words = [text, word, self.block(body)].into_iter().filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join(" ")
        })
    }

    fn parts<'a>(&self, stmt: &'a Stmt) -> Parts<'a> {
        let optional = |word: &str, value: &Option<Expr>| match value {
            Some(value) => format!("{word} {}", self.expr(value)),
            None => word.to_owned(),
        };
        let head = match &stmt.kind {
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::Assign { to, value, op } => {
                let op = op.as_deref().filter(|op| *op != DECLARES).unwrap_or_default();
                format!("{} {op}= {}", self.patterns(to, " = "), self.expr(value))
            }
            StmtKind::Return(value) => optional("return", value),
            StmtKind::Throw(value) => optional("throw", value),
            StmtKind::Break => "break".to_owned(),
            StmtKind::Continue => "continue".to_owned(),
            StmtKind::Defer(value) => format!("defer {}", self.expr(value)),
            StmtKind::Go(value) => format!("go {}", self.expr(value)),
            StmtKind::Delete(value) => format!("delete {}", self.expr(value)),
            StmtKind::Function(id) if self.inline => self.function(*id),
            StmtKind::Function(id) => format!("declare fn#{id}"),
            StmtKind::Class(id) if self.inline => self.class(*id, &self.module.classes[*id]),
            StmtKind::Class(id) => format!("declare class#{id}"),
            _ => return self.nested(stmt),
        };
        (head, Vec::new())
    }

    fn nested<'a>(&self, stmt: &'a Stmt) -> Parts<'a> {
        let first = |body: &'a [Stmt]| (String::new(), body);
        let (head, mut parts) = match &stmt.kind {
            StmtKind::If { cond, then, other } => {
                (format!("if {}", self.expr(cond)), vec![first(then), ("else".to_owned(), &other[..])])
            }
            StmtKind::Loop(it) => (self.loop_head(it), vec![first(&it.body), ("else".to_owned(), &it.otherwise[..])]),
            StmtKind::Try { body, handlers, otherwise, finally } => {
                let mut parts = vec![first(body)];
                for handler in handlers {
                    let types = self.exprs(&handler.catches);
                    let name = handler.name.as_ref().map(|to| format!("as {}", self.pattern(to))).unwrap_or_default();
                    let words = ["catch".to_owned(), types, name].into_iter().filter(|word| !word.is_empty());
                    parts.push((words.collect::<Vec<_>>().join(" "), &handler.body));
                }
                parts.extend([("else".to_owned(), &otherwise[..]), ("finally".to_owned(), &finally[..])]);
                ("try".to_owned(), parts)
            }
            StmtKind::With { items, body, is_async } => {
                let item = |(value, to): &(Expr, Option<Pattern>)| match to {
                    Some(to) => format!("{} as {}", self.expr(value), self.pattern(to)),
                    None => self.expr(value),
                };
                let items = items.iter().map(item).collect::<Vec<_>>().join(", ");
                (format!("{}with {items}", if *is_async { "async " } else { "" }), vec![first(body)])
            }
            StmtKind::Switch { subject, arms } => {
                let arms = arms.iter().map(|arm| (self.arm_head(arm), &arm.body[..])).collect();
                return (format!("switch {}", self.expr(subject)), arms);
            }
            StmtKind::Block(body) if self.inline => (String::new(), vec![first(body)]),
            StmtKind::Block(body) => ("block".to_owned(), vec![first(body)]),
            _ => unreachable!("a statement without a body"),
        };
        parts.retain(|(word, body)| !body.is_empty() || !matches!(word.as_str(), "else" | "finally"));
        (head, parts)
    }

    fn loop_head(&self, it: &Loop) -> String {
        let step = |word: &str, body: &[Stmt]| (!body.is_empty()).then(|| format!("{word} {}", self.block(body)));
        let each = it.each.as_ref().map(|(to, of)| format!("{} in {}", self.pattern(to), self.expr(of)));
        let words = [
            it.is_async.then(|| "async".to_owned()),
            Some("loop".to_owned()),
            step("init", &it.init),
            each,
            it.cond.as_ref().map(|cond| format!("while {}", self.expr(cond))),
            step("step", &it.step),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn arm_head(&self, arm: &Arm) -> String {
        let tests = self.exprs(&arm.tests);
        let head = if arm.tests.is_empty() { "default".to_owned() } else { format!("case {tests}") };
        let binds = arm.binds.as_ref().map(|to| format!(" as {}", self.pattern(to))).unwrap_or_default();
        format!("{head}{binds}{}", if arm.falls_through { " falls" } else { "" })
    }

    fn decorators(&self, decorators: &[Expr]) -> String {
        let end = if self.inline { " " } else { "\n" };
        decorators.iter().map(|decorator| format!("@{}{end}", self.expr(decorator))).collect()
    }

    fn function(&self, id: FunctionId) -> String {
        let (head, body) = (self.head(id), &self.module.functions[id].body);
        if self.inline { format!("{head} {}", self.block(body)) } else { format!("{head}\n{}", self.lines(body, 1)) }
    }

    fn head(&self, id: FunctionId) -> String {
        let function = &self.module.functions[id];
        let decorators = self.decorators(&function.decorators);
        let words =
            [(function.is_static, "static "), (function.is_async, "async "), (function.is_generator, "generator ")];
        let words: String = words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
        let params = function.params.iter().map(|param| self.param(param)).collect::<Vec<_>>().join(", ");
        let returns = function.returns.as_ref().map(|text| format!(" -> {text}")).unwrap_or_default();
        let (number, place) =
            if self.inline { (String::new(), String::new()) } else { (format!("#{id}"), self.place(function)) };
        format!("{decorators}{words}fn{number} {}({params}){returns}{place}", function.name)
    }

    /// What it is part of.
    fn place(&self, function: &Function) -> String {
        let class = function.class.map(|class| format!(" of class#{class}")).unwrap_or_default();
        let parent = function.parent.filter(|parent| *parent != 0).map(|parent| format!(" in fn#{parent}"));
        class + &parent.unwrap_or_default()
    }

    fn param(&self, param: &Param) -> String {
        let rest = if param.is_rest { "..." } else { "" };
        format!("{rest}{}{}", self.pattern(&param.pattern), self.typed(&param.type_text, &param.default))
    }

    fn typed(&self, text: &Option<String>, value: &Option<Expr>) -> String {
        let kind = text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        kind + &value.as_ref().map(|value| format!(" = {}", self.expr(value))).unwrap_or_default()
    }

    fn class(&self, id: usize, class: &Class) -> String {
        let decorators = self.decorators(&class.decorators);
        let fields = class.fields.iter().map(|field| {
            let word = if field.is_static { "static " } else { "" };
            format!("{word}{}{}", field.name, self.typed(&field.type_text, &field.value))
        });
        let method = |(name, id): &(String, FunctionId)| match self.inline {
            true => self.function(*id),
            false => format!("{name} = fn#{id}"),
        };
        let members: Vec<_> = fields.chain(class.methods.iter().map(method)).collect();
        let (name, bases) = (&class.name, self.exprs(&class.bases));
        if self.inline {
            return format!("{decorators}class {name}({bases}) {{ {} }}", members.join("; "));
        }
        let members: String = members.iter().map(|member| format!("  {member}\n")).collect();
        format!("{decorators}class#{id} {name}({bases})\n{members}")
    }

    fn patterns(&self, all: &[Pattern], between: &str) -> String {
        all.iter().map(|one| self.pattern(one)).collect::<Vec<_>>().join(between)
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Name(name) => name.to_string(),
            // Not to be taken for a variable.
            Pattern::Place(place) if matches!(place.kind, ExprKind::Name(_)) => format!("&{}", self.expr(place)),
            Pattern::Place(place) => self.expr(place),
            Pattern::Object(fields) => {
                let fields: Vec<_> = fields.iter().map(|(key, to)| format!("{key}: {}", self.pattern(to))).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Pattern::List(items) => format!("[{}]", self.patterns(items, ", ")),
            Pattern::Rest(inner) => format!("...{}", self.pattern(inner)),
            Pattern::Nothing => "_".to_owned(),
        }
    }

    fn exprs(&self, all: &[Expr]) -> String {
        all.iter().map(|one| self.expr(one)).collect::<Vec<_>>().join(", ")
    }

    /// What something is taken of: in parentheses if it would be read otherwise.
    fn base(&self, of: &Expr) -> String {
        let is_prefix = match of.kind {
            ExprKind::Await(_) | ExprKind::Yield(_) | ExprKind::Unary { .. } => true,
            ExprKind::Function(_) => self.inline,
            _ => false,
        };
        if is_prefix { format!("({})", self.expr(of)) } else { self.expr(of) }
    }

    fn expr(&self, value: &Expr) -> String {
        match &value.kind {
            ExprKind::Name(name) | ExprKind::Num(name) => name.to_string(),
            ExprKind::This => "this".to_owned(),
            ExprKind::Super => "super".to_owned(),
            ExprKind::Null => "null".to_owned(),
            ExprKind::Bool(is) => is.to_string(),
            ExprKind::Str(text) => format!("{text:?}"),
            ExprKind::Template(parts) => {
                let parts = parts.iter().map(|part| match &part.kind {
                    ExprKind::Str(text) => text.escape_debug().to_string(),
                    _ => format!("${{{}}}", self.expr(part)),
                });
                format!("`{}`", parts.collect::<String>())
            }
            ExprKind::Member { of, name } => format!("{}.{name}", self.base(of)),
            ExprKind::Index { of, index } => format!("{}[{}]", self.base(of), self.expr(index)),
            ExprKind::Call(call) => {
                let args = call.args.iter().map(|arg| match &arg.name {
                    Some(name) => format!("{name}={}", self.expr(&arg.value)),
                    None => self.expr(&arg.value),
                });
                let new = if call.is_new { "new " } else { "" };
                format!("{new}{}({})", self.base(&call.callee), args.collect::<Vec<_>>().join(", "))
            }
            ExprKind::Await(of) => format!("await {}", self.expr(of)),
            ExprKind::Yield(Some(of)) => format!("yield {}", self.expr(of)),
            ExprKind::Yield(None) => "yield".to_owned(),
            ExprKind::Function(id) if self.inline => self.function(*id),
            ExprKind::Function(id) => format!("fn#{id}"),
            ExprKind::Class(id) if self.inline => self.class(*id, &self.module.classes[*id]),
            ExprKind::Class(id) => format!("class#{id}"),
            ExprKind::Object { of, fields } => {
                let fields = fields.iter().map(|(key, value)| match key {
                    Some(key) => format!("{key}: {}", self.expr(value)),
                    None => self.expr(value),
                });
                format!("{}{{{}}}", of.as_deref().unwrap_or_default(), fields.collect::<Vec<_>>().join(", "))
            }
            ExprKind::List(items) => format!("[{}]", self.exprs(items)),
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
                let each = each.iter().map(|(to, of)| format!(" for {} in {}", self.pattern(to), self.expr(of)));
                let conds = conds.iter().map(|cond| format!(" if {}", self.expr(cond)));
                format!("[{}{}]", self.expr(element), each.chain(conds).collect::<String>())
            }
            ExprKind::Matches { of, binds } => format!("({} is {})", self.expr(of), self.pattern(binds)),
            ExprKind::Block(body) => self.block(body),
            ExprKind::Other(parts) => format!("other({})", self.exprs(parts)),
        }
    }
}
