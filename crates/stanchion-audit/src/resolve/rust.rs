//! Rust: `crate`, `self`, `super`, child modules, crates of the workspace.

use std::collections::{BTreeMap, HashMap};

use super::{Paths, Target, around, below, folder, join};

#[derive(Debug, Default)]
pub(super) struct Crates {
    /// Library roots by the name that code uses.
    libraries: BTreeMap<String, String>,
    /// By the folder of a `Cargo.toml`: its library's root.
    folders: HashMap<String, String>,
}

impl Crates {
    pub(super) fn new(configs: &[(&str, &str)]) -> Self {
        let mut crates = Self::default();
        for (path, text) in configs.iter().filter(|(path, _)| path.rsplit('/').next() == Some("Cargo.toml")) {
            let table: toml::Table = toml::from_str(text).unwrap_or_default();
            let text = |section: &str, key: &str| table.get(section)?.get(key)?.as_str();
            let Some(name) = text("package", "name") else { continue };
            let root = join(folder(path), text("lib", "path").unwrap_or("src/lib.rs"));
            let name = text("lib", "name").unwrap_or(name).replace('-', "_");
            crates.libraries.entry(name).or_insert_with(|| root.clone());
            crates.folders.insert(folder(path).to_owned(), root);
        }
        crates
    }

    /// `use module::name`; `name` is empty for everything else.
    pub(super) fn find(&self, paths: &Paths, from: &str, module: &str, name: &str) -> Target {
        let module = module.trim_start_matches("::");
        let mut parts = module.split("::").map(|part| part.trim_start_matches("r#")).peekable();
        let root = self.root(paths, from);
        let mut at = match parts.peek().copied() {
            Some("crate") => Place::at_root(&root),
            Some("self" | "super") => Place::of(&root, from),
            Some(first) => {
                let own = Place::of(&root, from);
                if own.child(paths, first).is_some() {
                    own
                } else if let Some(root) = self.libraries.get(first).filter(|root| paths.get(root).is_some()) {
                    parts.next();
                    Place::at_root(root)
                } else {
                    return Target::Package(module.to_owned());
                }
            }
            None => return Target::Unknown,
        };
        for part in parts {
            match part {
                "crate" | "self" => {}
                "super" => match at.parent(paths) {
                    Some(parent) => at = parent,
                    None => return Target::Unknown,
                },
                // What has no file is a module in braces, or a type: its file is the one so far.
                child => match at.child(paths, child) {
                    Some(child) => at = child,
                    None => return paths.get(&at.file).map_or(Target::Unknown, Target::File),
                },
            }
        }
        let inner = if name.is_empty() { None } else { at.child(paths, name) };
        let inner = inner.and_then(|inner| paths.get(&inner.file)).map(Target::Module);
        inner.or_else(|| paths.get(&at.file).map(Target::File)).unwrap_or(Target::Unknown)
    }

    /// The root of the crate that a file belongs to: the library's, the program's, or the file itself.
    fn root(&self, paths: &Paths, from: &str) -> String {
        let Some((at, library)) = around(folder(from)).find_map(|at| Some((at, self.folders.get(at)?))) else {
            // Without a `Cargo.toml`: the outermost root around it.
            let roots = around(folder(from)).flat_map(|at| [below(at, "lib.rs"), below(at, "main.rs")]);
            return roots.filter(|root| paths.get(root).is_some()).last().unwrap_or_else(|| from.to_owned());
        };
        let programs = below(at, "src/bin");
        if let Some(rest) = from.strip_prefix(&format!("{programs}/")) {
            return rest.split_once('/').map_or(from.to_owned(), |(name, _)| format!("{programs}/{name}/main.rs"));
        }
        let main = below(folder(library), "main.rs");
        if !from.starts_with(&format!("{}/", folder(library))) {
            // An integration test, an example, a build script: a folder with a `main.rs`, or the file itself.
            let mains = around(folder(from)).take_while(|folder| *folder != at).map(|folder| below(folder, "main.rs"));
            mains.filter(|main| paths.get(main).is_some()).last().unwrap_or_else(|| from.to_owned())
        } else if from == main || paths.get(library).is_none() {
            main
        } else {
            library.clone()
        }
    }
}

/// A module: its file, and the folder of its children.
#[derive(Debug)]
struct Place {
    file: String,
    children: String,
    root: String,
}

impl Place {
    fn at_root(root: &str) -> Self {
        Self { file: root.to_owned(), children: folder(root).to_owned(), root: root.to_owned() }
    }

    fn of(root: &str, file: &str) -> Self {
        if file == root {
            return Self::at_root(root);
        }
        let children = file.strip_suffix("/mod.rs").or_else(|| file.strip_suffix(".rs")).unwrap_or(file);
        Self { file: file.to_owned(), children: children.to_owned(), root: root.to_owned() }
    }

    fn child(&self, paths: &Paths, name: &str) -> Option<Self> {
        let stem = below(&self.children, name);
        let file =
            [format!("{stem}.rs"), format!("{stem}/mod.rs")].into_iter().find(|file| paths.get(file).is_some())?;
        (file != self.root).then(|| Self { file, children: stem, root: self.root.clone() })
    }

    fn parent(&self, paths: &Paths) -> Option<Self> {
        if self.file == self.root {
            return None;
        }
        let children = folder(&self.children);
        if children == folder(&self.root) {
            return Some(Self::at_root(&self.root));
        }
        let files = [format!("{children}.rs"), format!("{children}/mod.rs")];
        let file = files.into_iter().find(|file| paths.get(file).is_some())?;
        Some(Self { file, children: children.to_owned(), root: self.root.clone() })
    }
}
