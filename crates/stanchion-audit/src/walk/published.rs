//! Packages as they were published: their code stands in a folder for output, and what it was made of is not there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::{Candidate, PUBLISHED, Surface};
use crate::frontend::Dialect;

/// Bytes of a file that may do little more than to start what is in the folder.
const LAUNCHER_MOST: u64 = 64 << 10;

/// Whether a package as it was published has its code here only.
pub(super) fn is_all_there_is(output: &Path, found: &[Candidate]) -> bool {
    let is_published = output.file_name().is_some_and(|name| PUBLISHED.iter().any(|known| name == *known));
    let package = output.parent().filter(|folder| is_published && folder.join("package.json").is_file());
    let Some(package) = package else { return false };
    let is_source = |candidate: &Candidate| {
        candidate.full.starts_with(package)
            && Dialect::of(&candidate.below).is_some()
            && Surface::of(&candidate.below) == Surface::Product
            && !is_launcher(candidate, output)
    };
    !found.iter().any(is_source)
}

/// Whether a file imports what is in the folder: what a folder is made of does not, and nobody starts output by a source in
/// a language that has to be compiled.
fn is_launcher(candidate: &Candidate, output: &Path) -> bool {
    if Dialect::of(&candidate.below) != Some(Dialect::JavaScript) || candidate.size > LAUNCHER_MOST {
        return false;
    }
    let mut text = String::new();
    let read = File::open(&candidate.full).and_then(|file| file.take(LAUNCHER_MOST).read_to_string(&mut text));
    let Some(folder) = candidate.full.parent().filter(|_| read.is_ok()) else { return false };
    let words: Vec<&str> = text.split(['"', '\'', '`']).collect();
    words.windows(2).any(|pair| {
        let [before, word] = pair else { return false };
        let path = (word.starts_with("./") || word.starts_with("../")).then(|| joined(folder, word)).flatten();
        // The folder itself may as well be what is served.
        let is_import = || ["import", "import(", "from", "require("].iter().any(|end| before.trim_end().ends_with(end));
        path.is_some_and(|path| path.starts_with(output) && is_module(&path) && (path != output || is_import()))
    })
}

/// Where a relative path leads, by its words.
fn joined(folder: &Path, relative: &str) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in Path::new(relative).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => path = path.parent()?.to_owned(),
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

fn is_module(path: &Path) -> bool {
    path.is_dir() || path.is_file() || FORMS.iter().any(|ending| path.with_extension(ending).is_file())
}

/// The forms in which bundlers write the same modules, the one that is kept first.
const FORMS: [&str; 3] = ["js", "mjs", "cjs"];

fn form(candidate: &Candidate) -> Option<usize> {
    let ending = candidate.full.extension()?;
    FORMS.iter().position(|form| ending == *form)
}

/// Leaves out of what was found since `start` what stands beside it in another form: `index.mjs` beside `index.js`. What is
/// much smaller is not the same; it starts the other.
pub(super) fn without_twins(found: &mut Vec<Candidate>, start: usize) -> Vec<String> {
    let mut first: BTreeMap<PathBuf, (usize, u64)> = BTreeMap::new();
    for candidate in found.iter().skip(start) {
        if let Some(form) = form(candidate) {
            let best = first.entry(candidate.full.with_extension("")).or_insert((form, candidate.size));
            *best = (*best).min((form, candidate.size));
        }
    }
    let is_twin = |candidate: &Candidate| {
        let best = form(candidate).zip(first.get(&candidate.full.with_extension("")));
        best.is_some_and(|(form, (best, size))| *best < form && candidate.size.abs_diff(*size) <= size / 4)
    };
    let (twins, kept): (Vec<_>, Vec<_>) = found.drain(start..).partition(is_twin);
    found.extend(kept);
    twins.into_iter().map(|twin| twin.path).collect()
}
