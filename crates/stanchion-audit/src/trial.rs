//! Runs the analysis on given files: for the corpus and for trying things out, until the command line is there.

use std::sync::OnceLock;

use crate::audit::{hits, threads};
use crate::engine::{Scope, Site};
use crate::frontend::{Dialect, lower};
use crate::models::Models;
use crate::program::{Program, Source};
use crate::schema::Schema;

/// What was found, by lines.
///
/// ```
/// assert!(stanchion_audit::try_hits(&[], false).is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tried {
    /// The file of the write.
    pub path: String,
    /// The line of the write.
    pub line: u32,
    /// The rule.
    pub code: &'static str,
    /// File and line of the read, if there is one.
    pub read: Option<(String, u32)>,
    /// What it is about.
    pub resource: String,
    /// What is said about it.
    pub message: String,
}

/// What is found in these files, if copies of them run on one machine, or on several (`cluster`).
///
/// ```
/// assert!(stanchion_audit::try_hits(&["no such file.py".to_owned()], true).is_empty());
/// ```
#[must_use]
pub fn try_hits(paths: &[String], cluster: bool) -> Vec<Tried> {
    let (mut files, mut configs) = (Vec::new(), Vec::new());
    for path in paths {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        match Dialect::of(path) {
            Some(dialect) => files.extend(lower(dialect, &text).map(|module| Source { path: path.clone(), module })),
            None => configs.push((path.clone(), text)),
        }
    }
    let configs: Vec<(&str, &str)> = configs.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (program, schema) = (Program::new(files, &configs), Schema::of(&configs));
    // The corpus has hundreds of cases, and reading the models takes longer than judging one.
    static MODELS: OnceLock<Option<Models>> = OnceLock::new();
    let Some(models) = MODELS.get_or_init(|| Models::new(&[]).ok()) else { return Vec::new() };
    let (scope, because) = if cluster {
        (Scope::Cluster, "it runs on several machines")
    } else {
        (Scope::Host, "it is an MCP server: one process per client")
    };
    let at = |site: Site| (program.path(site.file).to_owned(), site.span.line);
    let Ok(threads) = threads() else { return Vec::new() };
    let found = threads.install(|| hits(&program, models, &schema, scope, because));
    found
        .found
        .into_iter()
        .map(|(hit, _)| {
            let (path, line) = at(hit.write);
            Tried { path, line, code: hit.code, read: hit.read.map(at), resource: hit.resource, message: hit.message }
        })
        .collect()
}

/// The same, as lines of text.
///
/// ```
/// assert!(stanchion_audit::try_files(&[]).is_empty());
/// ```
#[must_use]
pub fn try_files(paths: &[String]) -> Vec<String> {
    let show = |hit: Tried| {
        let read = hit.read.map(|(path, line)| format!("{path}:{line}")).unwrap_or_default();
        format!("{} {}:{} [read {read}] {} {}", hit.code, hit.path, hit.line, hit.resource, hit.message)
    };
    try_hits(paths, std::env::var_os("CLUSTER").is_some()).into_iter().map(show).collect()
}
