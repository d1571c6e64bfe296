//! Unique keys that JavaScript's mappers are told in the program: Drizzle, Sequelize, Knex, Mongoose, and classes with
//! decorators.

use std::collections::BTreeMap;

use super::Schema;
use super::code::words;
use crate::hir::each::each_in;
use crate::hir::{Call, Class, Expr, ExprKind, Language, Module, Pattern, Stmt, StmtKind, Text};

/// Decorators of a class that is a table.
const ENTITIES: [&str; 3] = ["Entity", "Table", "Schema"];
/// And of a field that says which row it is.
const PRIMARY: [&str; 3] = ["PrimaryColumn", "PrimaryGeneratedColumn", "PrimaryKey"];
/// Options of a key that holds for some rows only.
const CONDITIONS: [&str; 3] = ["where", "partialFilterExpression", "predicate"];

/// The keys of one table.
type Keys = Vec<Vec<String>>;

/// What is said of one table.
#[derive(Debug, Clone, Default)]
struct Declared {
    keys: Keys,
    /// A row is saved only if nobody has saved it since it was read.
    versioned: bool,
}

impl Schema {
    /// Adds the keys that a module's mappers are told.
    pub(super) fn add_mappers(&mut self, module: &Module) {
        if !matches!(module.language, Language::JavaScript | Language::TypeScript) {
            return;
        }
        let schemas = schemas(module);
        for function in &module.functions {
            each_in(&function.body, &mut |expr| {
                if let ExprKind::Call(call) = &expr.kind
                    && let Some((table, declared)) = of_call(module, &schemas, call)
                {
                    declared.keys.into_iter().for_each(|key| self.add(&table, key));
                    self.versioned.extend(declared.versioned.then_some(table));
                }
            });
        }
        for class in &module.classes {
            let is_entity = |it: &&Expr| called(it).is_some_and(|name| ENTITIES.contains(&name));
            let Some(entity) = class.decorators.iter().find(is_entity) else { continue };
            for key in of_class(class) {
                table_of(entity).into_iter().for_each(|table| self.add(&table, key.clone()));
                self.add(&class.name.to_lowercase(), key);
            }
        }
    }
}

/// A table that a call declares or changes.
fn of_call(module: &Module, schemas: &BTreeMap<&str, Declared>, call: &Call) -> Option<(String, Declared)> {
    let arg = |at: usize| call.args.get(at).map(|arg| &arg.value);
    let table = || text(arg(0)?);
    let (table, keys) = match last(&call.callee)? {
        "pgTable" | "mysqlTable" | "sqliteTable" => {
            let says = |column: &Expr, word| chain(column).any(|step| last(&step.callee) == Some(word));
            let mut keys = columns(arg(1)?, |column| says(column, "unique"), |column| says(column, "primaryKey"));
            keys.extend(arg(2).and_then(|more| given_back(module, more)).into_iter().flat_map(items).filter_map(index));
            (table()?, keys)
        }
        "define" => return Some((table()?, of_model(arg(1)?, arg(2)))),
        "init" => return Some((receiver(call)?.to_lowercase(), of_model(arg(0)?, arg(1)))),
        "createTable" | "createTableIfNotExists" | "alterTable" | "table" => (table()?, of_migration(module, arg(1)?)),
        "model" => {
            let declared = match &arg(1)?.kind {
                ExprKind::Name(name) => schemas.get(name.as_str())?.clone(),
                ExprKind::Call(call) => of_schema(call)?,
                _ => return None,
            };
            return Some((table()?, declared));
        }
        "createIndex" if is_set(arg(1)?, "unique") => {
            let ExprKind::Member { of, .. } = &call.callee.kind else { return None };
            let collection = chain(of).next().filter(|of| last(&of.callee) == Some("collection"))?;
            (text(&collection.args.first()?.value)?, vec![names(arg(0)?)])
        }
        _ => return None,
    };
    Some((table, Declared { keys, versioned: false }))
}

/// `{ email: { type: STRING, unique: true } }`, and `{ indexes: [{ unique: true, fields: ["a", "b"] }] }`.
fn of_model(attributes: &Expr, options: Option<&Expr>) -> Declared {
    let mut keys = columns(attributes, |column| is_set(column, "unique"), |column| is_set(column, "primaryKey"));
    let indexes = options.and_then(|options| field(options, "indexes"));
    let unique = indexes.into_iter().flat_map(items).filter(|index| is_set(index, "unique"));
    keys.extend(unique.filter_map(|index| Some(words(field(index, "fields")?))));
    Declared { keys, versioned: options.is_some_and(|options| is_set(options, "version")) }
}

/// `t.string("email").unique()`, `t.unique(["a", "b"])`, `t.increments()`.
fn of_migration(module: &Module, change: &Expr) -> Keys {
    let ExprKind::Function(function) = &change.kind else { return Keys::new() };
    let body = module.functions.get(*function).map_or(&[][..], |function| &function.body);
    let mut keys = Keys::new();
    each_in(body, &mut |expr| {
        let (ExprKind::Call(call), mut steps) = (&expr.kind, chain(expr)) else { return };
        let first = call.args.first().map(|arg| &arg.value);
        match last(&call.callee) {
            Some("increments" | "bigIncrements") => {
                keys.push(first.map_or_else(|| vec!["id".to_owned()], words));
            }
            Some("unique" | "primary") => match first {
                Some(columns) if !call.args.iter().any(|arg| has_condition(&arg.value)) => keys.push(words(columns)),
                Some(_) => {}
                None => keys.extend(steps.next_back().and_then(|column| Some(words(&column.args.first()?.value)))),
            },
            _ => {}
        }
    });
    keys
}

/// Mongoose's schemas by their variables: `new Schema({ email: { type: String, unique: true } })`, `schema.index(…)`.
fn schemas(module: &Module) -> BTreeMap<&str, Declared> {
    let mut all: BTreeMap<&str, Declared> = BTreeMap::new();
    for Stmt { kind, .. } in module.functions.iter().flat_map(|function| &function.body) {
        match kind {
            StmtKind::Assign { to, value, .. } => {
                if let ([Pattern::Name(name)], ExprKind::Call(call)) = (&to[..], &value.kind)
                    && let Some(declared) = of_schema(call)
                {
                    all.insert(name.as_str(), declared);
                }
            }
            StmtKind::Expr(Expr { kind: ExprKind::Call(call), .. }) => {
                if let (Some("index"), [columns, options]) = (last(&call.callee), &call.args[..])
                    && is_set(&options.value, "unique")
                    && let Some(declared) = receiver(call).and_then(|schema| all.get_mut(schema))
                {
                    declared.keys.push(names(&columns.value));
                }
            }
            _ => {}
        }
    }
    all
}

fn of_schema(call: &Call) -> Option<Declared> {
    let fields = call.args.first().filter(|_| last(&call.callee) == Some("Schema"))?;
    let keys = columns(&fields.value, |column| is_set(column, "unique"), |_| false);
    let versioned = call.args.get(1).is_some_and(|options| is_set(&options.value, "optimisticConcurrency"));
    Some(Declared { keys, versioned })
}

/// `@Column({ unique: true }) email`, `@Unique(["a", "b"]) class …`, `@Index(["a"], { unique: true }) class …`.
fn of_class(class: &Class) -> Keys {
    let (mut keys, mut primary) = (Keys::new(), Vec::new());
    for field in &class.fields {
        let name = field.name.to_lowercase();
        for decorator in &field.decorators {
            let says = |word| given(decorator).any(|arg| is_set(arg, word));
            match called(decorator) {
                Some(named) if PRIMARY.contains(&named) => primary.push(name.clone()),
                _ if says("primary") || says("primaryKey") => primary.push(name.clone()),
                named if named == Some("Unique") || says("unique") => keys.push(vec![name.clone()]),
                _ => {}
            }
        }
    }
    keys.extend((!primary.is_empty()).then_some(primary));
    for decorator in &class.decorators {
        let unique = called(decorator) == Some("Unique")
            || called(decorator) == Some("Index") && given(decorator).any(|arg| is_set(arg, "unique"));
        let list = given(decorator).find_map(|arg| match &arg.kind {
            ExprKind::List(_) => Some(arg),
            _ => field(arg, "properties"),
        });
        keys.extend(list.filter(|_| unique).map(words));
    }
    keys
}

/// `@Entity("users")`, `@Table({ tableName: "users" })`.
fn table_of(decorator: &Expr) -> Option<String> {
    let arg = given(decorator).next()?;
    text(arg).or_else(|| ["name", "tableName"].iter().find_map(|word| text(field(arg, word)?)))
}

/// `uniqueIndex("name").on(t.a, t.b)`, and not what follows with a condition; `primaryKey({ columns: [t.a, t.b] })`.
fn index(expr: &Expr) -> Option<Vec<String>> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let column = |expr: &Expr| Some(last(expr)?.to_lowercase());
    match last(&call.callee)? {
        "on" => {
            let made = chain(expr).nth(1).and_then(|made| last(&made.callee));
            matches!(made, Some("uniqueIndex" | "unique"))
                .then(|| call.args.iter().filter_map(|arg| column(&arg.value)).collect())
        }
        "primaryKey" => Some(items(field(&call.args.first()?.value, "columns")?).filter_map(column).collect()),
        _ => None,
    }
}

/// Columns that are a key each, and those that are one together.
fn columns(object: &Expr, unique: impl Fn(&Expr) -> bool, primary: impl Fn(&Expr) -> bool) -> Keys {
    let named = |is: &dyn Fn(&Expr) -> bool| -> Vec<String> {
        let those = fields(object).iter().filter(|(_, value)| is(value));
        those.filter_map(|(name, _)| Some(name.as_ref()?.to_lowercase())).collect()
    };
    let own = named(&unique).into_iter().map(|column| vec![column]);
    own.chain([named(&primary)]).filter(|key| !key.is_empty()).collect()
}

/// What a function gives back.
fn given_back<'m>(module: &'m Module, function: &Expr) -> Option<&'m Expr> {
    let ExprKind::Function(function) = &function.kind else { return None };
    match &module.functions.get(*function)?.body.last()?.kind {
        StmtKind::Return(value) => value.as_ref(),
        _ => None,
    }
}

/// The calls of a chain, the last one first.
fn chain(expr: &Expr) -> impl DoubleEndedIterator<Item = &Call> {
    let mut all = Vec::new();
    let mut at = Some(expr);
    while let Some(Expr { kind: ExprKind::Call(call), .. }) = at {
        all.push(&**call);
        at = match &call.callee.kind {
            ExprKind::Member { of, .. } => Some(&**of),
            _ => None,
        };
    }
    all.into_iter()
}

/// The last name of what is called or asked for.
fn last(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) | ExprKind::Member { name, .. } => Some(name),
        _ => None,
    }
}

/// The name of a decorator, with or without arguments.
fn called(decorator: &Expr) -> Option<&str> {
    match &decorator.kind {
        ExprKind::Call(call) => last(&call.callee),
        _ => last(decorator),
    }
}

/// The arguments of a decorator.
fn given(decorator: &Expr) -> impl Iterator<Item = &Expr> {
    let args = if let ExprKind::Call(call) = &decorator.kind { &call.args[..] } else { &[] };
    args.iter().map(|arg| &arg.value)
}

/// The variable whose method is called.
fn receiver(call: &Call) -> Option<&str> {
    let ExprKind::Member { of, .. } = &call.callee.kind else { return None };
    if let ExprKind::Name(name) = &of.kind { Some(name) } else { None }
}

fn text(expr: &Expr) -> Option<String> {
    if let ExprKind::Str(text) = &expr.kind { Some(text.to_lowercase()) } else { None }
}

fn items(expr: &Expr) -> Box<dyn Iterator<Item = &Expr> + '_> {
    match &expr.kind {
        ExprKind::List(items) => Box::new(items.iter()),
        _ => Box::new(fields(expr).iter().map(|(_, value)| value)),
    }
}

fn fields(expr: &Expr) -> &[(Option<Text>, Expr)] {
    if let ExprKind::Object { fields, .. } = &expr.kind { fields } else { &[] }
}

fn field<'e>(expr: &'e Expr, name: &str) -> Option<&'e Expr> {
    fields(expr).iter().find(|(known, _)| known.as_deref() == Some(name)).map(|(_, value)| value)
}

/// The names of an object's fields.
fn names(expr: &Expr) -> Vec<String> {
    fields(expr).iter().filter_map(|(name, _)| Some(name.as_ref()?.to_lowercase())).collect()
}

/// `{ unique: true }`, for all rows.
fn is_set(expr: &Expr, name: &str) -> bool {
    field(expr, name).is_some_and(|value| matches!(value.kind, ExprKind::Bool(true))) && !has_condition(expr)
}

fn has_condition(expr: &Expr) -> bool {
    CONDITIONS.iter().any(|name| field(expr, name).is_some())
}
