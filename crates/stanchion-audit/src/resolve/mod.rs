//! Which file an import means.
//!
//! All paths are relative to one base, with `/`. Nothing is read here: the maps are built once from the paths and from the
//! texts of configuration files, and every question is a few lookups.

mod exports;
mod go;
mod javascript;
pub(crate) mod json;
mod python;
mod rust;

use std::collections::HashMap;

use crate::{
    frontend::Dialect,
    hir::{Import, Imported, Language},
};

/// What an import means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The module is this file; what is imported is a name in it, or all of it.
    File(usize),
    /// The imported name is this file as a whole: `from package import module`, `use crate::module`.
    Module(usize),
    /// Go: the module is these files.
    Files(Vec<usize>),
    /// Not among the files, by its full name: `fs/promises`, `os.path`, `encoding/json`, `std::fs`.
    Package(String),
    /// Should be among the files, but is not.
    Unknown,
}

/// Longer names are not looked up.
const NAME_MOST: usize = 1_000;

/// Answers which file an import means.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    paths: Paths,
    languages: Vec<Option<Language>>,
    javascript: javascript::Settings,
    python: python::Roots,
    go: go::Packages,
    rust: rust::Crates,
}

/// Whether [`Resolver::new`] wants the text of a file with this name.
pub(crate) fn is_config(name: &str) -> bool {
    matches!(name, "package.json" | "jsconfig.json" | "go.mod" | "Cargo.toml")
        || name.starts_with("tsconfig") && name.ends_with(".json")
}

impl Resolver {
    /// From all files and from the configuration files among them or beside them, with their texts. Broken
    /// configuration counts as empty.
    pub(crate) fn new(files: &[&str], configs: &[(&str, &str)]) -> Self {
        let paths = Paths::new(files);
        let mut configs = configs.to_vec();
        configs.sort_unstable();
        Self {
            languages: files.iter().map(|path| Dialect::of(path).map(Dialect::language)).collect(),
            javascript: javascript::Settings::new(&configs),
            python: python::Roots::new(&paths),
            go: go::Packages::new(&paths, &configs),
            rust: rust::Crates::new(&configs),
            paths,
        }
    }

    /// Tells the language of a file whose name does not, such as a script.
    pub(crate) fn set_language(&mut self, file: usize, language: Language) {
        if let Some(known) = self.languages.get_mut(file) {
            *known = Some(language);
        }
    }

    /// What an import in file `from` means.
    pub(crate) fn resolve(&self, from: usize, import: &Import) -> Target {
        self.find(from, &import.module, &import.what)
    }

    fn find(&self, from: usize, module: &str, what: &Imported) -> Target {
        let (Some(path), Some(Some(language))) = (self.paths.files.get(from), self.languages.get(from)) else {
            return Target::Unknown;
        };
        if module.is_empty() || module.len() > NAME_MOST {
            return Target::Unknown;
        }
        let name = if let Imported::Name(name) = what { name.as_str() } else { "" };
        match language {
            Language::JavaScript | Language::TypeScript => self.javascript.find(&self.paths, path, module),
            Language::Python => self.python.find(&self.paths, path, module, name),
            Language::Go => self.go.find(module),
            Language::Rust => self.rust.find(&self.paths, path, module, name),
        }
    }

    /// The files that see each other's names without an import, this one among them: those of a Go package. Files of
    /// other languages see nobody.
    pub(crate) fn same_package(&self, file: usize) -> &[usize] {
        self.paths.files.get(file).map_or(&[], |path| self.go.same_package(path))
    }
}

/// All files, and which index a path has.
#[derive(Debug, Default)]
struct Paths {
    files: Vec<String>,
    index: HashMap<String, usize>,
}

impl Paths {
    fn new(files: &[&str]) -> Self {
        let files: Vec<String> = files.iter().map(|path| (*path).to_owned()).collect();
        // The first of two equal paths counts.
        let index = files.iter().enumerate().rev().map(|(index, path)| (path.clone(), index)).collect();
        Self { files, index }
    }

    fn get(&self, path: &str) -> Option<usize> {
        self.index.get(path).copied()
    }
}

/// The folder of a path; empty at the top.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A folder and all folders around it, the nearest first, the base (empty) last.
pub(crate) fn around(folder: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(folder);
    std::iter::from_fn(move || {
        let this = next?;
        next = (!this.is_empty()).then(|| self::folder(this));
        Some(this)
    })
}

/// `folder/name`, without resolving dots.
fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// `folder/path` with `.` and `..` resolved.
fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = if folder.is_empty() { Vec::new() } else { folder.split('/').collect() };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_none_or(|last| *last == "..") => parts.push(".."),
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// How many folders two paths share: the nearer of two candidates shares more.
fn nearness(a: &str, b: &str) -> usize {
    a.split('/').zip(b.split('/')).take_while(|(a, b)| a == b && !a.is_empty()).count()
}

#[cfg(test)]
mod tests;
