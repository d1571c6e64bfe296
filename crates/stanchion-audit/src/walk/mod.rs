//! Finds the files below some roots and reads them.
//!
//! Never fails as a whole: what cannot be read or is not worth reading becomes a [`Note`].

mod published;
mod surface;

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex},
};

use ignore::{DirEntry, WalkBuilder};
use rayon::prelude::*;

use self::published::{is_all_there_is, without_twins};
pub(crate) use self::surface::{Surface, is_generated};
use crate::{deploy, frontend::Dialect, resolve, schema};

/// How much is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of one file.
    pub(crate) file: u64,
    /// Bytes of all files.
    pub(crate) total: u64,
    /// Number of files.
    pub(crate) files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file: 2 << 20, total: 256 << 20, files: 100_000 }
    }
}

/// A file that was read.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its path below the base, with `/`.
    pub(crate) path: String,
    /// Its grammar; `None` for configuration.
    pub(crate) dialect: Option<Dialect>,
    /// What it is for.
    pub(crate) surface: Surface,
    /// Its text without a byte order mark.
    pub(crate) text: String,
}

/// Something that was not analysed, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Note {
    /// Its path, with `/`.
    pub(crate) path: String,
    /// Why.
    pub(crate) text: String,
}

/// What was found, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Code and configuration.
    pub(crate) files: Vec<Source>,
    /// What is missing in `files`.
    pub(crate) notes: Vec<Note>,
}

/// Other people's code and what builds leave behind.
const SKIPPED: [&str; 6] = ["node_modules", "bower_components", "site-packages", "venv", "__pycache__", ".venv"];
/// The same by habit only, so skipping them is noted.
const SKIPPED_ALOUD: [&str; 4] = ["vendor", "dist", "build", "target"];
const LEFT_OUT: &str =
    "not analysed: a folder of this name usually holds output or copies; name it to have it analysed";
const TWIN: &str = "not analysed: the same code stands beside it in another form; name it to have it analysed";
/// Of these, where the code of a published package may be all that there is.
const PUBLISHED: [&str; 2] = ["dist", "build"];

/// A file that may be read.
#[derive(Debug)]
struct Candidate {
    full: PathBuf,
    path: String,
    /// The path below the root that was named: a root called `tests` does not make everything below it a test.
    below: String,
    named: bool,
    size: u64,
}

/// Reads what is below `roots`: all code and configuration, and files that are named themselves, whatever they are. Paths
/// are relative to `base` if they lie below it, otherwise as given.
pub(crate) fn walk(base: &Path, roots: &[PathBuf], limits: Limits) -> Walked {
    let mut walked = Walked::default();
    let mut candidates = Vec::new();
    for root in roots {
        match fs::metadata(root) {
            Ok(meta) if meta.is_dir() => {
                let mut outputs = folder(base, root, limits, &mut candidates, &mut walked.notes);
                while let Some(output) = outputs.pop() {
                    if is_all_there_is(&output, &candidates) {
                        let start = candidates.len();
                        outputs.extend(folder(base, &output, limits, &mut candidates, &mut walked.notes));
                        let twins = without_twins(&mut candidates, start);
                        twins.into_iter().for_each(|path| walked.note(path, TWIN));
                    } else if !roots.contains(&output) {
                        walked.note(shown(base, &output), LEFT_OUT);
                    }
                }
                configs_above(base, root, &mut candidates);
            }
            Ok(meta) if meta.is_file() => {
                let below = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let (path, full) = (shown(base, root), root.clone());
                candidates.push(Candidate { full, path, below, named: true, size: meta.len() });
                configs_above(base, root, &mut candidates);
            }
            Ok(_) => walked.note(shown(base, root), "neither a file nor a folder"),
            Err(error) => walked.note(shown(base, root), &cannot_read(&error)),
        }
    }
    // A file that is named and also found counts as named.
    candidates.sort_by(|a, b| (&a.path, !a.named).cmp(&(&b.path, !b.named)));
    candidates.dedup_by(|a, b| a.path == b.path);
    let candidates = walked.bounded(candidates, limits);
    let read: Vec<_> = candidates.into_par_iter().map(|candidate| read(candidate, limits)).collect();
    for result in read {
        match result {
            Ok(Some(file)) => walked.files.push(file),
            Ok(None) => {}
            Err(note) => walked.notes.push(note),
        }
    }
    walked.notes.sort();
    walked.notes.dedup();
    walked
}

impl Walked {
    fn note(&mut self, path: String, text: &str) {
        self.notes.push(Note { path, text: text.to_owned() });
    }

    /// Leaves out what is too large, and what comes after the total is reached.
    fn bounded(&mut self, candidates: Vec<Candidate>, limits: Limits) -> Vec<Candidate> {
        let (mut total, mut left_out, mut kept) = (0_u64, 0_usize, Vec::new());
        for candidate in candidates {
            if candidate.size > limits.file {
                if candidate.named
                    || Dialect::of(&candidate.below).is_some()
                    || is_config(candidate.below.rsplit('/').next().unwrap_or_default())
                {
                    self.note(candidate.path, &too_large(candidate.size, limits));
                }
            } else if kept.len() >= limits.files || total.saturating_add(candidate.size) > limits.total {
                left_out += 1;
            } else {
                total += candidate.size;
                kept.push(candidate);
            }
        }
        if left_out > 0 {
            self.note(String::new(), &format!("{left_out} files left out: the limit of all files together is reached"));
        }
        kept
    }
}

/// Finds what is below one folder; gives the folders below it that usually hold output, which it did not enter.
fn folder(base: &Path, root: &Path, limits: Limits, found: &mut Vec<Candidate>, notes: &mut Vec<Note>) -> Vec<PathBuf> {
    let skipped = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&skipped);
    let walk = WalkBuilder::new(root)
        .hidden(false) // `is_entered` decides
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| is_entered(entry, &sink))
        .build();
    let top = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let most = found.len().saturating_add(limits.files.saturating_mul(2)); // files too large are among them
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                notes.push(note_of(base, root, &error));
                continue;
            }
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            let text = left_out(&entry, &top);
            notes.extend(text.map(|text| Note { path: shown(base, entry.path()), text: text.to_owned() }));
            continue;
        }
        if !is_candidate(&entry.file_name().to_string_lossy()) {
            continue;
        }
        if found.len() >= most {
            let text = "has too many files; the rest was left out".to_owned();
            notes.push(Note { path: shown(base, root), text });
            break;
        }
        let path = shown(base, entry.path());
        let below = slashed(entry.path().strip_prefix(root).unwrap_or(entry.path()));
        match entry.metadata() {
            Ok(meta) => found.push(Candidate { full: entry.into_path(), path, below, named: false, size: meta.len() }),
            Err(error) => notes.push(note_of(base, root, &error)),
        }
    }
    skipped.lock().map(|paths| paths.clone()).unwrap_or_default()
}

/// What is to be said of an entry that is neither a file nor a folder, if it may stand for code that is nowhere else below the
/// top.
fn left_out(entry: &DirEntry, top: &Path) -> Option<&'static str> {
    let (kind, name) = (entry.file_type()?, entry.file_name().to_string_lossy());
    if kind.is_dir() || SKIPPED.contains(&name.as_ref()) {
        return None;
    }
    let is_wanted = Dialect::of(&name).is_some() || is_config(&name);
    if !kind.is_symlink() {
        return is_wanted.then_some("not analysed: neither a file nor a folder");
    }
    match entry.path().canonicalize() {
        Err(_) => is_wanted.then_some("not analysed: a symbolic link that leads nowhere"),
        Ok(target) if target.starts_with(top) || !is_wanted && !target.is_dir() => None,
        Ok(_) => Some("not analysed: a symbolic link to somewhere else; name what it leads to"),
    }
}

/// Whether an entry below a root is looked at. The root itself always is.
fn is_entered(entry: &DirEntry, skipped: &Mutex<Vec<PathBuf>>) -> bool {
    let name = entry.file_name().to_string_lossy();
    if entry.depth() == 0 {
        return true;
    }
    if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return !name.starts_with('.') || deploy::is_wanted(&name);
    }
    if name.starts_with('.') || SKIPPED.contains(&name.as_ref()) {
        return false;
    }
    let is_output = SKIPPED_ALOUD.contains(&name.as_ref());
    if is_output && let Ok(mut skipped) = skipped.lock() {
        skipped.push(entry.path().to_owned());
    }
    !is_output
}

/// Code, configuration, or a name without an ending, which may be a script.
fn is_candidate(name: &str) -> bool {
    Dialect::of(name).is_some() || is_config(name) || !name.contains('.')
}

fn is_config(name: &str) -> bool {
    deploy::is_wanted(name) || resolve::is_config(name) || schema::is_wanted(name)
}

/// Configuration between the base and a root: `src` and `main.py` are understood with the `package.json` beside them.
fn configs_above(base: &Path, root: &Path, found: &mut Vec<Candidate>) {
    let (Ok(base_full), Ok(root_full)) = (std::path::absolute(base), std::path::absolute(root)) else { return };
    let above = root_full.ancestors().skip(1).take_while(|folder| folder.starts_with(&base_full));
    for entry in above.filter_map(|folder| fs::read_dir(folder).ok()).flat_map(|entries| entries.flatten().take(10_000))
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_file() && is_config(&name) && Dialect::of(&name).is_none() {
            let path = shown(base, &entry.path());
            found.push(Candidate { full: entry.path(), path, below: name, named: false, size: meta.len() });
        }
    }
}

fn read(candidate: Candidate, limits: Limits) -> Result<Option<Source>, Note> {
    let Candidate { full, path, below, named, size } = candidate;
    let note = |text: String| Err(Note { path: path.clone(), text });
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // It may have grown since it was found.
    let result = File::open(&full).and_then(|file| file.take(limits.file.saturating_add(1)).read_to_end(&mut bytes));
    let name = below.rsplit('/').next().unwrap_or_default();
    let (dialect, is_config) = (Dialect::of(name).or_else(|| interpreter(&bytes)), is_config(name));
    if dialect.is_none() && !is_config && !named {
        return Ok(None);
    }
    match result {
        Err(error) => return note(cannot_read(&error)),
        Ok(length) if length as u64 > limits.file => return note(too_large(length as u64, limits)),
        Ok(_) => {}
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return note("not analysed: UTF-16; save it as UTF-8".to_owned());
    }
    if bytes.contains(&0) {
        return note("not analysed: binary".to_owned());
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
            return note(format!("not analysed: not UTF-8 (line {line})"));
        }
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    let is_generated = dialect.is_some() && is_generated(name, &text);
    let surface = if is_generated { Surface::Generated } else { Surface::of(&below) };
    Ok(Some(Source { path, dialect, surface, text }))
}

/// The dialect of a script by its first line.
fn interpreter(bytes: &[u8]) -> Option<Dialect> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line.get(..line.len().min(200))?).ok()?;
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    words.find_map(|word| match word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "node" | "nodejs" => Some(Dialect::JavaScript),
        "python" => Some(Dialect::Python),
        "deno" | "bun" | "tsx" | "ts-node" => Some(Dialect::TypeScript),
        _ => None,
    })
}

fn cannot_read(error: &io::Error) -> String {
    format!("cannot be read: {}", error.kind())
}

fn too_large(size: u64, limits: Limits) -> String {
    format!("not analysed: {size} bytes or more, the limit is {}", limits.file)
}

fn note_of(base: &Path, root: &Path, error: &ignore::Error) -> Note {
    let text = error.io_error().map_or_else(|| format!("cannot be read: {error}"), cannot_read);
    Note { path: shown(base, path_of(error, 0).unwrap_or(root)), text }
}

fn path_of(error: &ignore::Error, depth: u32) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } if depth < 8 => {
            path_of(err, depth + 1)
        }
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}

/// The path below the base, or as given.
pub(crate) fn shown(base: &Path, path: &Path) -> String {
    let below = match (std::path::absolute(base), std::path::absolute(path)) {
        (Ok(base), Ok(full)) => full.strip_prefix(&base).ok().map(slashed),
        _ => None,
    };
    below.unwrap_or_else(|| slashed(path))
}

fn slashed(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::RootDir => parts.push(String::new()),
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests;
