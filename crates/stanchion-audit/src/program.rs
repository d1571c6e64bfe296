//! All files of a program, and how they refer to each other.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::hir::{ClassId, Import, Imported, Language, Module};
use crate::resolve::{Resolver, Target};
use crate::walk::Surface;

/// Files that are freed by one thread, one after the other.
const FREED_TOGETHER: usize = 256;
/// Types that have a method of an interface: more say nothing of which one is meant.
const FITTING_MOST: usize = 64;

/// A file that was understood.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) module: Module,
}

/// What an import means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Something in this file.
    In(usize),
    /// This file as a whole.
    Whole(usize),
    /// Nothing of the program's.
    Outside,
}

/// The files.
#[derive(Debug, Default)]
pub(crate) struct Program {
    paths: Vec<String>,
    modules: Vec<Module>,
    imports: Vec<Vec<Meaning>>,
    resolver: Resolver,
    /// Interfaces by name, with the classes that implement each.
    implemented: BTreeMap<String, Vec<(usize, ClassId)>>,
    /// Go's interfaces, with the types that have all of their methods.
    fitting: BTreeMap<(usize, ClassId), Vec<(usize, ClassId)>>,
    /// See [`Module::asked`].
    asked: BTreeSet<String>,
    /// Names of methods that several classes have.
    common: BTreeSet<String>,
}

impl Program {
    /// `configs` are what resolving needs: `tsconfig.json`, `go.mod` and so on.
    pub(crate) fn new(files: Vec<Source>, configs: &[(&str, &str)]) -> Self {
        let (paths, modules): (Vec<String>, Vec<Module>) = files.into_iter().map(|f| (f.path, f.module)).unzip();
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut resolver = Resolver::new(&names, configs);
        for (file, module) in modules.iter().enumerate() {
            resolver.set_language(file, module.language);
        }
        let meaning = |file: usize, import: &Import| match resolver.resolve(file, import) {
            Target::File(target) if import.what == Imported::Module => Meaning::Whole(target),
            Target::File(target) => Meaning::In(target),
            Target::Module(target) => Meaning::Whole(target),
            Target::Files(files) => files.first().map_or(Meaning::Outside, |file| Meaning::Whole(*file)),
            Target::Package(_) | Target::Unknown => Meaning::Outside,
        };
        let imports = modules
            .par_iter()
            .enumerate()
            .map(|(file, module)| module.imports.iter().map(|import| meaning(file, import)).collect())
            .collect();
        let mut implemented: BTreeMap<String, Vec<(usize, ClassId)>> = BTreeMap::new();
        for (file, module) in modules.iter().enumerate() {
            for (class, found) in module.classes.iter().enumerate() {
                for name in &found.implements {
                    implemented.entry(name.clone()).or_default().push((file, class));
                }
            }
        }
        let fitting = fitting(&paths, &modules);
        let asked = modules.iter().flat_map(|module| module.asked.iter().cloned()).collect();
        let common = common(&modules);
        Self { paths, modules, imports, resolver, implemented, fitting, asked, common }
    }

    /// Gives the memory back, behind whoever goes on meanwhile: of many files, that takes a while.
    pub(crate) fn free(self) {
        let mut modules = self.modules;
        while !modules.is_empty() {
            let some = modules.split_off(modules.len().saturating_sub(FREED_TOGETHER));
            rayon::spawn(move || drop(some));
        }
    }

    pub(crate) fn module(&self, file: usize) -> &Module {
        &self.modules[file]
    }

    pub(crate) fn path(&self, file: usize) -> &str {
        self.paths.get(file).map_or("?", String::as_str)
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// What an import of a file means.
    pub(crate) fn import(&self, file: usize, import: usize) -> Meaning {
        self.imports.get(file).and_then(|all| all.get(import)).copied().unwrap_or(Meaning::Outside)
    }

    /// Where an exported name is really defined, and its name there; `*` for a whole file.
    pub(crate) fn export(&self, file: usize, name: &str) -> Option<(usize, String)> {
        self.resolver.export_of(&self.modules, file, name)
    }

    /// The classes that say they implement this interface.
    pub(crate) fn implements(&self, interface: &str) -> &[(usize, ClassId)] {
        self.implemented.get(interface).map_or(&[], Vec::as_slice)
    }

    /// The types that have all methods that one of Go's interfaces asks for.
    pub(crate) fn fitting(&self, interface: (usize, ClassId)) -> &[(usize, ClassId)] {
        self.fitting.get(&interface).map_or(&[], Vec::as_slice)
    }

    /// Whether somebody asks this of something else than `this`.
    pub(crate) fn is_asked(&self, name: &str) -> bool {
        self.asked.contains(name)
    }

    /// Whether several classes have a method of this name: whoever asks for it may ask for another's.
    pub(crate) fn is_common(&self, name: &str) -> bool {
        self.common.contains(name)
    }

    /// Files that see each other's names without importing them.
    pub(crate) fn same_package(&self, file: usize) -> &[usize] {
        match self.modules.get(file) {
            Some(module) if module.language == Language::Go => self.resolver.same_package(file),
            _ => &[],
        }
    }
}

fn common(modules: &[Module]) -> BTreeSet<String> {
    let names =
        modules.iter().flat_map(|module| &module.classes).flat_map(|class| &class.methods).map(|(name, _)| name);
    let (mut once, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for name in names {
        if !once.insert(name.as_str()) && !twice.contains(name.as_str()) {
            twice.insert(name.clone());
        }
    }
    twice
}
/// For each of Go's interfaces the types that have its methods; those of tests stand in for others.
fn fitting(paths: &[String], modules: &[Module]) -> BTreeMap<(usize, ClassId), Vec<(usize, ClassId)>> {
    let is_go = |(file, module): &(usize, &Module)| {
        module.language == Language::Go && paths.get(*file).is_none_or(|path| Surface::of(path) != Surface::Test)
    };
    let classes = || {
        let files = modules.iter().enumerate().filter(is_go);
        files.flat_map(|(file, module)| (0..).zip(&module.classes).map(move |(class, found)| ((file, class), found)))
    };
    let mut with: BTreeMap<&str, Vec<(usize, ClassId)>> = BTreeMap::new();
    for (at, class) in classes() {
        for (method, _) in &class.methods {
            with.entry(method).or_default().push(at);
        }
    }
    let mut all = BTreeMap::new();
    for (at, interface) in classes().filter(|(_, class)| !class.asks.is_empty()) {
        let each: Option<Vec<_>> = interface.asks.iter().map(|method| with.get(method.as_str())).collect();
        // The rarest of its methods leaves few to look at.
        let Some(rarest) = each.as_ref().and_then(|each| each.iter().min_by_key(|of| of.len())) else { continue };
        if rarest.len() > FITTING_MOST {
            continue;
        }
        let has_all = |it: &&(usize, ClassId)| each.iter().flatten().all(|of| of.binary_search(it).is_ok());
        all.insert(at, rarest.iter().filter(has_all).copied().collect());
    }
    all
}
