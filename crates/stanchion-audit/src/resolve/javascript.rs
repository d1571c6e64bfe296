//! JavaScript and TypeScript: relative names, `tsconfig.json`, `package.json`, workspaces.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{Paths, Target, around, below, folder, join, json, nearness};

/// Sources before what is compiled from them.
const ENDINGS: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
/// How many configurations may extend each other, and how many are read for one.
const EXTENDS_MOST: u32 = 8;
const READ_MOST: u32 = 64;
/// Where compilers put what they make of `src`.
const OUTPUT: [&str; 7] = ["dist", "build", "lib", "out", "esm", "cjs", "es"];

/// A pattern with at most one `*`, and what it stands for.
type Patterns = Vec<(String, Vec<String>)>;

#[derive(Debug, Default)]
pub(super) struct Settings {
    /// By the folder of a `tsconfig.json`.
    mappings: HashMap<String, Mapping>,
    /// By folder.
    packages: HashMap<String, Package>,
    /// The folders of packages by name.
    names: HashMap<String, Vec<String>>,
}

/// What a `tsconfig.json` says about names, with all that it extends; paths from the base.
#[derive(Debug, Default, Clone)]
struct Mapping {
    base: Option<String>,
    paths: Option<Patterns>,
}

#[derive(Debug, Default)]
struct Package {
    /// `main` and its relatives.
    entries: Vec<String>,
    exports: Patterns,
    imports: Patterns,
}

impl Settings {
    pub(super) fn new(configs: &[(&str, &str)]) -> Self {
        let mut settings = Self::default();
        let mut values = BTreeMap::new();
        for (path, text) in configs {
            let name = path.rsplit('/').next().unwrap_or_default();
            if name == "package.json" {
                settings.add_package(folder(path), &json::parse(text));
            } else if name.starts_with("tsconfig") || name == "jsconfig.json" {
                values.insert((*path).to_owned(), json::parse(text));
            }
        }
        // The last of these names in a folder decides.
        for wanted in ["tsconfig.base.json", "jsconfig.json", "tsconfig.json"] {
            for path in values.keys().filter(|path| path.rsplit('/').next() == Some(wanted)) {
                settings.mappings.insert(folder(path).to_owned(), mapping(&values, path, 0, &mut { READ_MOST }));
            }
        }
        settings
    }

    fn add_package(&mut self, folder: &str, value: &Value) {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        let entries = ["source", "main", "module", "types"].iter().filter_map(|key| text(key)).collect();
        let exports = match value.get("exports") {
            Some(Value::Object(fields)) if fields.keys().any(|key| key.starts_with('.')) => patterns(fields),
            Some(other) => vec![(".".to_owned(), json::strings(other))],
            None => Vec::new(),
        };
        let imports = value.get("imports").and_then(Value::as_object).map(patterns).unwrap_or_default();
        if let Some(name) = text("name") {
            self.names.entry(name).or_default().push(folder.to_owned());
        }
        self.packages.insert(folder.to_owned(), Package { entries, exports, imports });
    }

    pub(super) fn find(&self, paths: &Paths, from: &str, module: &str) -> Target {
        if let Some(builtin) = module.strip_prefix("node:") {
            return Target::Package(builtin.to_owned());
        }
        let name = module.split_once('?').map_or(module, |(name, _)| name);
        if matches!(name, "." | "..") || name.starts_with("./") || name.starts_with("../") {
            return file(paths, &join(folder(from), name)).map_or(Target::Unknown, Target::File);
        }
        let found = if name.starts_with('#') { self.own_import(paths, from, name) } else { None };
        match found.or_else(|| self.mapped(paths, from, name)).or_else(|| self.workspace(paths, from, name)) {
            Some(index) => Target::File(index),
            None if name.starts_with(['#', '/']) => Target::Unknown,
            None => Target::Package(name.to_owned()),
        }
    }

    /// `#name`, which the nearest package explains.
    fn own_import(&self, paths: &Paths, from: &str, name: &str) -> Option<usize> {
        let (at, package) = around(folder(from)).find_map(|at| Some((at, self.packages.get(at)?)))?;
        best(&package.imports, name).into_iter().find_map(|target| source(paths, at, &target))
    }

    /// Compilers look at the nearest configuration only; the others around help where it is for tools.
    fn mapped(&self, paths: &Paths, from: &str, name: &str) -> Option<usize> {
        around(folder(from)).filter_map(|at| self.mappings.get(at)).find_map(|mapping| {
            let targets = mapping.paths.as_deref().map(|paths| best(paths, name)).unwrap_or_default();
            let by_path = targets.iter().find_map(|target| file(paths, target));
            by_path.or_else(|| file(paths, &join(mapping.base.as_ref()?, name)))
        })
    }

    /// A package of this repository, by its name.
    fn workspace(&self, paths: &Paths, from: &str, name: &str) -> Option<usize> {
        let parts = if name.starts_with('@') { 2 } else { 1 };
        let end = name.match_indices('/').nth(parts - 1).map_or(name.len(), |(at, _)| at);
        let (package, rest) = (name.get(..end)?, name.get(end..)?.trim_start_matches('/'));
        let folders = self.names.get(package)?;
        // Of two packages of one name the nearer, then the first.
        let at = folders.iter().rev().max_by_key(|folder| nearness(folder, from))?;
        let package = self.packages.get(at)?;
        let key = if rest.is_empty() { ".".to_owned() } else { format!("./{rest}") };
        let exported = best(&package.exports, &key);
        let mut targets = exported.into_iter().chain(package.entries.iter().filter(|_| rest.is_empty()).cloned());
        targets.find_map(|target| source(paths, at, &target)).or_else(|| {
            let usual = if rest.is_empty() { ["src/index", "index", "src/main"].as_slice() } else { &[] };
            let mut usual = usual.iter().map(|name| (*name).to_owned()).chain([rest.to_owned(), below("src", rest)]);
            usual.find_map(|name| file(paths, &join(at, &name)))
        })
    }
}

fn patterns(fields: &serde_json::Map<String, Value>) -> Patterns {
    fields.iter().map(|(key, value)| (key.clone(), json::strings(value))).collect()
}

/// What a configuration says together with those it extends and, where it only names others, those.
fn mapping(values: &BTreeMap<String, Value>, path: &str, depth: u32, left: &mut u32) -> Mapping {
    let mut result = Mapping::default();
    let Some(value) = values.get(path).filter(|_| depth < EXTENDS_MOST && *left > 0) else { return result };
    *left -= 1;
    let at = folder(path);
    let extends = value.get("extends").map(json::strings).unwrap_or_default();
    for name in extends.iter().filter(|name| name.starts_with('.')) {
        let joined = join(at, name);
        let other = if values.contains_key(&joined) { joined } else { format!("{joined}.json") };
        let other = mapping(values, &other, depth + 1, left);
        result = Mapping { base: other.base.or(result.base), paths: other.paths.or(result.paths) };
    }
    let options = value.get("compilerOptions");
    let option = |key: &str| options.and_then(|options| options.get(key));
    if let Some(base) = option("baseUrl").and_then(Value::as_str) {
        result.base = Some(join(at, base));
    }
    if let Some(own) = option("paths").and_then(Value::as_object) {
        let base = result.base.clone().unwrap_or_else(|| at.to_owned());
        let absolute = |targets: Vec<String>| targets.iter().map(|target| join(&base, target)).collect();
        result.paths = Some(patterns(own).into_iter().map(|(key, targets)| (key, absolute(targets))).collect());
    }
    if result.paths.is_none() {
        let references = value.get("references").map(json::strings).unwrap_or_default();
        let mut others = references.iter().take(16).map(|name| {
            let joined = join(at, name);
            let other = if name.ends_with(".json") { joined } else { below(&joined, "tsconfig.json") };
            // One level only: references of references are for other folders.
            mapping(values, &other, EXTENDS_MOST.saturating_sub(2).max(depth + 1), left)
        });
        result.paths = others.find_map(|other| other.paths);
    }
    result
}

/// What the best pattern makes of a name: the exact one, else the one with the longest part before `*`.
fn best(patterns: &[(String, Vec<String>)], name: &str) -> Vec<String> {
    if let Some((_, targets)) = patterns.iter().find(|(key, _)| key == name) {
        return targets.clone();
    }
    let matches = patterns.iter().filter_map(|(key, targets)| {
        let (before, after) = key.split_once('*')?;
        let star = name.strip_prefix(before)?.strip_suffix(after)?;
        Some((before.len(), star, targets))
    });
    let best = matches.max_by_key(|(length, ..)| *length);
    best.map(|(_, star, targets)| targets.iter().map(|target| target.replace('*', star)).collect()).unwrap_or_default()
}

/// What `package.json` names is often made by a compiler: then the source that it is made from.
fn source(paths: &Paths, at: &str, target: &str) -> Option<usize> {
    let target = target.trim_start_matches("./");
    file(paths, &join(at, target)).or_else(|| {
        let mut rest = target;
        while let Some((_, inner)) = rest.split_once('/').filter(|(first, _)| OUTPUT.contains(first)) {
            rest = inner;
        }
        let rest = rest.strip_prefix("src/").unwrap_or(rest);
        [below("src", rest), rest.to_owned()].iter().find_map(|name| file(paths, &join(at, name)))
    })
}

/// The file that a path without, or with another, ending means.
fn file(paths: &Paths, path: &str) -> Option<usize> {
    let stem = |end: &str| path.strip_suffix(end);
    let compiled = [
        (stem(".js").or_else(|| stem(".d.ts")), ["ts", "tsx"].as_slice()),
        (stem(".jsx"), &["tsx"]),
        (stem(".mjs").or_else(|| stem(".d.mts")), &["mts"]),
        (stem(".cjs").or_else(|| stem(".d.cts")), &["cts"]),
    ];
    let mut sources = compiled.iter().filter_map(|(stem, ends)| Some((((*stem)?), *ends)));
    let by_source = sources.find_map(|(stem, ends)| ends.iter().find_map(|end| paths.get(&format!("{stem}.{end}"))));
    let with_end = || ENDINGS.iter().find_map(|end| paths.get(&format!("{path}.{end}")));
    let index = || ENDINGS.iter().find_map(|end| paths.get(&below(path, &format!("index.{end}"))));
    by_source.or_else(|| paths.get(path)).or_else(with_end).or_else(index)
}
