//! Where a name that a file passes on really stands.

use std::collections::BTreeSet;

use super::{Resolver, Target};
use crate::hir::{Export, Import, Imported, Language, Module};

/// The name that stands for a module as a whole.
pub(crate) const WHOLE: &str = "*";
/// How many files may pass a name on to each other.
const HOPS_MOST: u32 = 32;
/// How many names are looked at for one question: a hundred files with a hundred `export *` each are not searched to the end.
const STEPS_MOST: usize = 2_000;

impl Resolver {
    /// The file in which the name that `file` exports is defined, and its name there; [`WHOLE`] if it is a module. `None`
    /// if the file exports no such name, or takes it from outside. `modules` are the files' modules in the same order.
    pub(crate) fn export_of(&self, modules: &[Module], file: usize, name: &str) -> Option<(usize, String)> {
        let mut search = Search { resolver: self, modules, seen: BTreeSet::new() };
        search.export(file, name, 0)
    }
}

struct Search<'a> {
    resolver: &'a Resolver,
    modules: &'a [Module],
    seen: BTreeSet<(usize, String)>,
}

impl Search<'_> {
    fn export(&mut self, file: usize, name: &str, hops: u32) -> Option<(usize, String)> {
        if name == WHOLE {
            return Some((file, name.to_owned()));
        }
        let is_new = self.seen.insert((file, name.to_owned()));
        if !is_new || hops > HOPS_MOST || self.seen.len() > STEPS_MOST {
            return None;
        }
        let module = self.modules.get(file)?;
        // Later statements win in Python; elsewhere a name is exported once.
        let export = module.exports.iter().rev().find(|export| export.name == name && export.name != WHOLE);
        if let Some(Export { local, from, .. }) = export {
            return match from {
                Some(from) => self.follow(file, from, &Imported::Name(local.clone()), hops),
                None => match import_of(module, local) {
                    Some(import) => self.follow(file, &import.module, &import.what, hops),
                    None => Some((file, local.clone())),
                },
            };
        }
        if module.language == Language::Python
            && let Some(import) = import_of(module, name)
        {
            return self.follow(file, &import.module, &import.what, hops);
        }
        // A default export is never part of `export *`.
        let stars = module.exports.iter().filter(|export| export.name == WHOLE && name != "default");
        let stars = stars.filter_map(|export| export.from.as_deref());
        let everything = module
            .imports
            .iter()
            .filter(|import| import.what == Imported::Everything && matches!(module.language, Language::Python));
        let what = Imported::Name(name.to_owned());
        stars
            .chain(everything.map(|import| import.module.as_str()))
            .find_map(|from| self.follow_star(file, from, &what, hops))
    }

    /// A name taken from another module: there it is defined, passed on again, or a module itself.
    fn follow(&mut self, file: usize, from: &str, what: &Imported, hops: u32) -> Option<(usize, String)> {
        match (self.resolver.find(file, from, what), what) {
            (Target::Module(index), _) => Some((index, WHOLE.to_owned())),
            (Target::File(index), Imported::Name(name)) => self.export(index, name, hops + 1),
            (Target::File(index), Imported::Default) => self.export(index, "default", hops + 1),
            (Target::File(index), Imported::Module | Imported::Everything) => Some((index, WHOLE.to_owned())),
            (Target::Files(files), Imported::Name(name)) => {
                files.into_iter().find_map(|index| self.export(index, name, hops + 1))
            }
            _ => None,
        }
    }

    /// `export *` passes names on, but not the module's own submodules.
    fn follow_star(&mut self, file: usize, from: &str, what: &Imported, hops: u32) -> Option<(usize, String)> {
        match (self.resolver.find(file, from, &Imported::Everything), what) {
            (Target::File(index), Imported::Name(name)) => self.export(index, name, hops + 1),
            _ => None,
        }
    }
}

/// The last import that binds this name.
fn import_of<'a>(module: &'a Module, local: &str) -> Option<&'a Import> {
    module.imports.iter().rev().find(|import| import.local == local && import.what != Imported::Everything)
}
