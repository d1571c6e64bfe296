//! Python: packages with and without `__init__.py`, `src` layout.

use std::collections::{BTreeMap, BTreeSet};

use super::{Paths, Target, around, below, folder, join, nearness};

#[derive(Debug, Default)]
pub(super) struct Roots {
    /// Folders with an `__init__.py`.
    packages: BTreeSet<String>,
    /// Where a package or module of this name begins, anywhere.
    tops: BTreeMap<String, BTreeSet<String>>,
}

impl Roots {
    pub(super) fn new(paths: &Paths) -> Self {
        let python = || paths.files.iter().filter(|path| path.ends_with(".py"));
        let packages = python().filter_map(|path| path.strip_suffix("/__init__.py")).map(ToOwned::to_owned).collect();
        let mut roots = Self { packages, tops: BTreeMap::new() };
        for path in python() {
            // The outermost package around the file, or what lies directly in a `src` folder.
            let outermost = around(folder(path)).take_while(|at| roots.packages.contains(*at)).last();
            let in_src =
                around(path).find(|at| matches!(folder(at).rsplit('/').next(), Some("src" | "lib" | "python")));
            for top in outermost.into_iter().chain(in_src) {
                let name = top.rsplit('/').next().unwrap_or(top);
                let name = name.strip_suffix(".py").unwrap_or(name).to_owned();
                roots.tops.entry(name).or_default().insert(folder(top).to_owned());
            }
        }
        roots
    }

    /// `from module import name`; `name` is empty for everything else.
    pub(super) fn find(&self, paths: &Paths, from: &str, module: &str, name: &str) -> Target {
        let dots = module.len() - module.trim_start_matches('.').len();
        let path = module.trim_start_matches('.').replace('.', "/");
        if dots > 0 {
            let at = join(folder(from), &"../".repeat((dots - 1).min(64)));
            return within(paths, &at, &path, name).unwrap_or(Target::Unknown);
        }
        let first = path.split('/').next().unwrap_or_default();
        // The inside of a package is not a place where Python looks for absolute names.
        let places = around(folder(from)).filter(|at| !self.packages.contains(*at));
        let found =
            places.flat_map(|at| [at.to_owned(), below(at, "src")]).find_map(|at| within(paths, &at, &path, name));
        let elsewhere = || {
            let tops = self.tops.get(first)?;
            let at = tops.iter().rev().max_by_key(|at| nearness(at, from))?;
            within(paths, at, &path, name)
        };
        found.or_else(elsewhere).unwrap_or_else(|| Target::Package(module.to_owned()))
    }
}

fn within(paths: &Paths, at: &str, path: &str, name: &str) -> Option<Target> {
    let module = join(at, path);
    // A module wins over a name in `__init__.py`: there, it is mostly the same module again.
    let inner = if name.is_empty() { None } else { file(paths, &below(&module, name)) };
    inner.map(Target::Module).or_else(|| file(paths, &module).map(Target::File))
}

fn file(paths: &Paths, module: &str) -> Option<usize> {
    let init = || paths.get(&below(module, "__init__.py"));
    // A package wins over a module of the same name, as in Python.
    init().or_else(|| paths.get(&format!("{module}.py")))
}
