//! What files give each other, and what comes from packages.

use std::rc::Rc;

use super::Engine;
use super::eval::is_javascript;
use super::mark::Mark;
use super::value::{Binding, Scope as Vars, Shape, Value};
use crate::hir::Imported;
use crate::program::Meaning;

impl Engine<'_> {
    pub(super) fn bind_imports(&mut self, file: usize, scope: &Rc<Vars>) {
        let module = self.module(file);
        for (index, import) in module.imports.iter().enumerate() {
            let value = match (self.program.import(file, index), &import.what) {
                (Meaning::Whole(target), _) => Value::of(Shape::File(target), &import.local),
                (Meaning::In(target), Imported::Module) => Value::of(Shape::File(target), &import.local),
                (Meaning::In(target), Imported::Default) => later(target, "default"),
                (Meaning::In(target), Imported::Name(name)) => later(target, name),
                (Meaning::In(target), Imported::Everything) => {
                    let other = self.load(target);
                    let all: Vec<_> = other.vars.borrow().iter().map(|(n, b)| (Rc::clone(n), b.clone())).collect();
                    scope.vars.borrow_mut().extend(all);
                    continue;
                }
                (Meaning::Outside, _) => self.foreign(&import.module, &import.what),
            };
            scope.declare(&import.local, value, 0);
        }
        for other in self.program.same_package(file) {
            if *other != file {
                let other = self.load(*other);
                let all: Vec<_> = other.vars.borrow().iter().map(|(n, b)| (Rc::clone(n), b.clone())).collect();
                let mut vars = scope.vars.borrow_mut();
                for (name, binding) in all {
                    if !vars.contains_key(&name) {
                        vars.insert(name, binding);
                    }
                }
            }
        }
    }

    /// A package that is not part of the program, or a name of it.
    fn foreign(&self, module: &str, what: &Imported) -> Value {
        let language = self.language(self.file());
        let package = self.models.package(language, module).replace("::", ".");
        let path = match what {
            Imported::Name(name) if name != "default" || !is_javascript(language) => format!("{package}.{name}"),
            _ => package,
        };
        self.constant(&path).unwrap_or_else(|| {
            let usual = self.models.package(language, &path);
            Value::of(Shape::Package(usual.into()), usual)
        })
    }

    /// A constant of a package: `kv`, `prisma`, `process.pid`.
    pub(super) fn constant(&self, path: &str) -> Option<Value> {
        let kind = self.models.constant(self.language(self.file()), path);
        let kind = kind.map(|kind| Value::of(Shape::Api(kind.name.as_str().into()), path));
        let unique = || self.words().unique.iter().any(|one| one == path);
        kind.or_else(|| unique().then(|| Value::unknown(format_args!("{}{path}", Mark::Unique))))
    }

    /// What another file gives under this name.
    pub(super) fn exported(&mut self, file: usize, name: &str) -> Value {
        let (file, local) = self.program.export(file, name).unwrap_or_else(|| (file, name.to_owned()));
        if local == "*" {
            return Value::of(Shape::File(file), name);
        }
        let scope = self.load(file);
        let found = self.find(&scope, &local);
        found.map_or_else(
            || Value::unknown(format_args!("{}.{name}", self.program.path(file))),
            |(found, _)| found.value,
        )
    }

    /// A variable, and whether it belongs to a module. What is imported is loaded here: most of what a file imports is
    /// not needed to understand what others import from that file.
    pub(super) fn find(&mut self, scope: &Rc<Vars>, name: &str) -> Option<(Binding, bool)> {
        let (mut found, is_module) = scope.find(name)?;
        if let Shape::Import(file, wanted) = &found.value.shape {
            let (file, wanted) = (*file, Rc::clone(wanted));
            // Files that import the same name from each other meet this one.
            scope.replace(name, &Value::unknown(format_args!("{}.{wanted}", self.program.path(file))));
            found.value = self.exported(file, &wanted);
            scope.replace(name, &found.value);
        }
        Some((found, is_module))
    }
}

fn later(file: usize, name: &str) -> Value {
    Value::of(Shape::Import(file, name.into()), name)
}
