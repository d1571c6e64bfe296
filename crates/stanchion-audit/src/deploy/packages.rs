//! Which files run together: those of one package, or of the folder whose manifest starts them.

use std::collections::BTreeSet;

use super::{Fact, name_of};
use crate::frontend::Dialect;
use crate::resolve::{around, folder, json};
use crate::walk::Surface;

/// With more packages than this, the tree counts as one.
const PACKAGES_MOST: usize = 500;

/// The folders of packages; what is in none of them belongs to the tree itself, as does all where there is one package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Packages(BTreeSet<String>);

impl Packages {
    /// `facts` are those of manifests.
    pub(super) fn new(files: &[(&str, &str)], facts: &[Fact]) -> Self {
        let mut roots: BTreeSet<String> = files.iter().filter(|file| begins(file)).map(|(path, _)| at(path)).collect();
        let is_product = |path: &str| Dialect::of(path).is_some() && Surface::of(path) == Surface::Product;
        let code: BTreeSet<String> =
            files.iter().filter(|(path, _)| is_product(path)).map(|(path, _)| at(path)).collect();
        let holds_code = |folder: &str| {
            let below = format!("{folder}/");
            code.contains(folder) || code.range(below.clone()..).next().is_some_and(|found| found.starts_with(&below))
        };
        // A manifest beside a service that is no package. Where there is one such folder, it has the manifests of all.
        let service = |fact: &Fact| {
            let mut folders = around(folder(&fact.path)).filter(|folder| !folder.is_empty());
            folders.find(|folder| holds_code(folder)).map(ToOwned::to_owned)
        };
        let services: BTreeSet<String> = facts.iter().filter_map(service).collect();
        if services.len() > 1 {
            roots.extend(services);
        }
        let all = Self(roots);
        let packages: BTreeSet<&str> = code.iter().map(|folder| all.around(folder)).collect();
        if (2..=PACKAGES_MOST).contains(&packages.len()) { all } else { Self::default() }
    }

    /// The package of a file, by its folder.
    pub(super) fn of<'a>(&self, path: &'a str) -> &'a str {
        self.around(folder(path))
    }

    fn around<'a>(&self, folder: &'a str) -> &'a str {
        around(folder).find(|folder| self.0.contains(*folder)).unwrap_or_default()
    }
}

fn at(path: &str) -> String {
    folder(path).to_owned()
}

/// Whether a package begins beside this file. Some have one only to say how the files beside them are to be read.
fn begins((path, text): &(&str, &str)) -> bool {
    let toml = |keys: &[&str]| {
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let tool = table.get("tool").and_then(toml::Value::as_table);
        keys.iter().any(|key| table.contains_key(*key) || tool.is_some_and(|tool| tool.contains_key(*key)))
    };
    match name_of(path) {
        "package.json" => {
            let value = json::parse(text);
            ["name", "dependencies", "scripts"].iter().any(|key| value.get(*key).is_some())
        }
        "pyproject.toml" => toml(&["project", "poetry", "build-system"]),
        "Cargo.toml" => toml(&["package"]),
        "go.mod" => true,
        _ => false,
    }
}
