//! For the labelled cases of `cases/`: what the rules say of given files, before anything is merged, suppressed or sorted by
//! severity. The product's way is [`crate::audit`].

use std::sync::OnceLock;

use crate::audit::{hits, threads};
use crate::engine::{Scope, Site};
use crate::frontend::{Dialect, lower};
use crate::models::Models;
use crate::program::{Program, Source};
use crate::schema::Schema;

/// What a rule said, by lines.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Said {
    /// The rule.
    pub code: &'static str,
    /// Files and lines of the write: where it is told, and what is called from there.
    pub writes: Vec<(String, u32)>,
    /// Files and lines of the read, if there is one.
    pub reads: Vec<(String, u32)>,
    /// What it is about.
    pub resource: String,
}

/// What the rules say of these files, if copies of them run on one machine, or on several (`cluster`).
#[doc(hidden)]
#[must_use]
pub fn judge(paths: &[String], cluster: bool) -> Vec<Said> {
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
    // A thread of its own: one of another pool would begin with the next case while it waits for this one, and the next
    // after that, until its stack is full.
    let all = || threads.install(|| hits(&program, models, &schema, scope, because, &|_| {}));
    let found = std::thread::scope(|scope| scope.spawn(all).join()).unwrap_or_else(|e| std::panic::resume_unwind(e));
    found
        .found
        .into_iter()
        .map(|(hit, _)| {
            let all = |sites: Vec<Site>| sites.into_iter().map(at).collect();
            Said { code: hit.code, writes: all(hit.writes()), reads: all(hit.reads()), resource: hit.resource }
        })
        .collect()
}

/// Whether there is a front-end for a file, if it is code.
#[doc(hidden)]
#[must_use]
pub fn is_understood(path: &str, text: &str) -> bool {
    Dialect::of(path).is_none_or(|dialect| lower(dialect, text).is_some())
}
