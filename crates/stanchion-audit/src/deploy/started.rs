//! Processes that the code itself starts. Which calls do that, the models say.

use std::collections::BTreeMap;

use super::{FACTS_MOST, Fact, Facts, Instances, Kind, command, is_told};
use crate::hir::each::{each, each_in};
use crate::hir::{Arg, Call, Expr, ExprKind, Imported, Module, Pattern, StmtKind};
use crate::models::{Argument, Models, Which, Words};

/// Classes that are extended to start an application, with the option that says how many workers it has.
const APPLICATIONS: [(&str, &str); 1] = [("gunicorn.app", "workers")];
/// Words of a command that are looked at.
const WORDS_MOST: usize = 200;

/// What a file says about copies of the program that run beside it.
pub(crate) fn started(models: &Models, path: &str, module: &Module) -> Vec<Fact> {
    let mut facts = Facts { path, ..Facts::default() };
    if !is_told(path) {
        return facts.found;
    }
    let known = Known { models, module, names: names(models, module) };
    let options: Vec<&str> = APPLICATIONS
        .iter()
        .filter(|(of, _)| module.imports.iter().any(|import| import.module.starts_with(of)))
        .map(|(_, option)| *option)
        .collect();
    for function in &module.functions {
        each_in(&function.body, &mut |expr| match &expr.kind {
            ExprKind::Call(call) => by_call(&mut facts, &known, call),
            ExprKind::List(words) => by_command(&mut facts, words, expr.span.line),
            ExprKind::Object { fields, .. } => {
                for (_, value) in
                    fields.iter().filter(|(key, _)| key.as_deref().is_some_and(|key| options.contains(&key)))
                {
                    workers(&mut facts, &known, "an application server", value);
                }
            }
            _ => {}
        });
    }
    facts.found.sort();
    facts.found.dedup();
    facts.found.truncate(FACTS_MOST);
    facts.found
}

/// A file, and what is known of the names in it.
struct Known<'a> {
    models: &'a Models,
    module: &'a Module,
    names: BTreeMap<&'a str, String>,
}

/// What local names stand for: packages, and functions of packages.
fn names<'a>(models: &Models, module: &'a Module) -> BTreeMap<&'a str, String> {
    let full = |of: &str, what: &Imported| {
        let package = models.package(module.language, of);
        match what {
            Imported::Name(name) => format!("{package}.{name}"),
            _ => package.to_owned(),
        }
    };
    let named = module.imports.iter().filter(|import| !import.local.is_empty());
    named.map(|import| (import.local.as_str(), full(&import.module, &import.what))).collect()
}

fn by_call(facts: &mut Facts<'_>, known: &Known<'_>, call: &Call) {
    let Some(path) = path(&call.callee, &known.names) else { return };
    let Some((on, name)) = path.rsplit_once('.') else { return };
    let mut models = known.models.calls(known.module.language, on, name).iter();
    let Some(model) = models.find(|model| model.does == "processes") else { return };
    if model.value.0.is_empty() {
        let text = format!("`{path}` starts further processes");
        facts.add(Kind::Cluster, Instances::Many(None), call.callee.span.line, text);
    } else if let Some(value) = argument(&model.value, &call.args) {
        workers(facts, known, &format!("`{path}`"), value);
    }
}

/// The name that a program knows a function by, from the package on.
fn path(callee: &Expr, names: &BTreeMap<&str, String>) -> Option<String> {
    match &callee.kind {
        ExprKind::Name(name) => names.get(name.as_str()).cloned(),
        ExprKind::Member { of, name } => match &of.kind {
            ExprKind::Name(of) => Some(format!("{}.{name}", names.get(of.as_str())?)),
            _ => None,
        },
        _ => None,
    }
}

/// The first of these that is given: by position, by name, or as a field of one, as in `0.instances`.
fn argument<'a>(which: &Argument, args: &'a [Arg]) -> Option<&'a Expr> {
    let at = |position: usize| args.iter().filter(|arg| arg.name.is_none()).nth(position).map(|arg| &arg.value);
    which.0.iter().find_map(|which| match which {
        Which::Position(position) => at(*position),
        Which::Keyword(word) => match word.split_once('.') {
            Some((position, field)) => match &at(position.parse().ok()?)?.kind {
                ExprKind::Object { fields, .. } => {
                    fields.iter().find(|(key, _)| key.as_deref() == Some(field)).map(|(_, value)| value)
                }
                _ => None,
            },
            None => args.iter().find(|arg| arg.name.as_deref() == Some(word)).map(|arg| &arg.value),
        },
    })
}

fn workers(facts: &mut Facts<'_>, known: &Known<'_>, who: &str, number: &Expr) {
    // What cannot be told says nothing. Nor does a single one: what starts itself so can be started a second time.
    if let Some(instances) = count(known, number).filter(is_many) {
        facts.add(Kind::Workers, instances, number.span.line, format!("{who} with {}", instances.words("worker", "")));
    }
}

/// How many: a number, or as many as there are processors; also behind a name of the file.
fn count(known: &Known<'_>, number: &Expr) -> Option<Instances> {
    let plain = |expr: &Expr| match &expr.kind {
        ExprKind::Num(text) => Some(Instances::of(text)),
        ExprKind::Str(text) => Some(command::worker_count(text)),
        _ => None,
    };
    let by_name = || match &number.kind {
        ExprKind::Name(name) => known.module.functions.first()?.body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Assign { to, value, .. } if matches!(to.as_slice(), [Pattern::Name(to)] if to == name) => {
                plain(value)
            }
            _ => None,
        }),
        _ => None,
    };
    let by_processors = || asks_for_processors(known, number).then_some(Instances::Many(None));
    plain(number).or_else(by_name).or_else(by_processors)
}

fn asks_for_processors(known: &Known<'_>, number: &Expr) -> bool {
    let module = known.module;
    let processors = &known.models.words(module.language).processors;
    let mut asks = false;
    let mut inner = Vec::new();
    let mut look = |expr: &Expr, inner: &mut Vec<String>| match &expr.kind {
        // What a program calls its own options says nothing.
        ExprKind::Call(call) => {
            asks |= path(&call.callee, &known.names).is_some_and(|path| Words::is_one(processors, &path));
        }
        ExprKind::Name(name) | ExprKind::Member { name, .. } => inner.push(name.to_string()),
        _ => {}
    };
    each(number, &mut |expr| look(expr, &mut inner));
    // One function further: it is often computed in one of its own, or kept under a name.
    let called = module.functions.iter().filter(|function| inner.contains(&function.name));
    for function in called {
        each_in(&function.body, &mut |expr| look(expr, &mut Vec::new()));
    }
    for stmt in module.functions.first().map_or(&[][..], |script| &script.body) {
        if let StmtKind::Assign { to, value, .. } = &stmt.kind
            && matches!(to.as_slice(), [Pattern::Name(to)] if inner.iter().any(|name| name == to))
        {
            each(value, &mut |expr| look(expr, &mut Vec::new()));
        }
    }
    asks
}

/// `["gunicorn", "-w", "4", "app:app"]`: a command that the program becomes, or starts.
fn by_command(facts: &mut Facts<'_>, words: &[Expr], line: u32) {
    let word = |expr: &Expr| match &expr.kind {
        ExprKind::Str(word) => word.clone(),
        _ => "?".to_owned(),
    };
    if !words.first().is_some_and(|first| matches!(first.kind, ExprKind::Str(_))) {
        return;
    }
    let words: Vec<String> = words.iter().take(WORDS_MOST).map(word).collect();
    let before = facts.found.len();
    command::scan(facts, line, &words.join(" "));
    let said = facts.found.split_off(before);
    // Other commands are about other programs.
    facts.found.extend(said.into_iter().filter(|fact| fact.kind == Kind::Workers && is_many(&fact.instances)));
}

fn is_many(instances: &Instances) -> bool {
    matches!(instances, Instances::Many(_))
}
