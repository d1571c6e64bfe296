//! Go: modules from `go.mod`; a folder is a package.

use std::collections::{BTreeMap, HashMap};

use super::{Paths, Target, folder, join};

#[derive(Debug, Default)]
pub(super) struct Packages {
    /// Folders by module path.
    modules: BTreeMap<String, String>,
    /// By folder: the package's own files, and those with its tests.
    folders: HashMap<String, (Vec<usize>, Vec<usize>)>,
}

impl Packages {
    pub(super) fn new(paths: &Paths, configs: &[(&str, &str)]) -> Self {
        let mut packages = Self::default();
        for (path, text) in configs.iter().filter(|(path, _)| path.rsplit('/').next() == Some("go.mod")) {
            for line in text.lines().take(10_000).map(|line| line.split("//").next().unwrap_or_default().trim()) {
                let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('"')).collect();
                let (module, at) = match words.as_slice() {
                    ["module", module] => (*module, folder(path).to_owned()),
                    // `replace a => ../b`, also inside a block and with a version
                    [.., arrow, to] if *arrow == "=>" && to.starts_with('.') => {
                        let name = words.iter().find(|word| !matches!(**word, "replace" | "("));
                        (name.copied().unwrap_or_default(), join(folder(path), to))
                    }
                    _ => continue,
                };
                packages.modules.entry(module.to_owned()).or_insert(at);
            }
        }
        for (index, path) in paths.files.iter().enumerate().filter(|(_, path)| path.ends_with(".go")) {
            let (own, all) = packages.folders.entry(folder(path).to_owned()).or_default();
            all.push(index);
            if !path.ends_with("_test.go") {
                own.push(index);
            }
        }
        packages
    }

    pub(super) fn find(&self, module: &str) -> Target {
        let longest = self.modules.iter().filter_map(|(name, at)| {
            let rest = module.strip_prefix(name.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then_some((name.len(), at, rest))
        });
        let Some((_, at, rest)) = longest.max_by_key(|(length, ..)| *length) else {
            return Target::Package(module.to_owned());
        };
        match self.folders.get(&join(at, rest)) {
            Some((own, _)) if !own.is_empty() => Target::Files(own.clone()),
            _ => Target::Unknown,
        }
    }

    pub(super) fn same_package(&self, path: &str) -> &[usize] {
        if !path.ends_with(".go") {
            return &[];
        }
        let files = self.folders.get(folder(path));
        files.map_or(&[], |(own, all)| if path.ends_with("_test.go") { all } else { own })
    }
}
