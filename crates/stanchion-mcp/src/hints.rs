//! What the server says of its own tools: which of them only read.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::frame::Frame;
use crate::splice::quoted;

/// How long a list that could not be had is not asked for again.
const PAUSE: Duration = Duration::from_secs(30);
/// How long a list that changed while it was read counts.
const STALE: Duration = Duration::from_secs(1);
/// How many pages of tools are read, and how many tools are remembered.
const PAGES: usize = 100;
const TOOLS: usize = 10_000;

/// What is known of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// Nothing yet: ask first.
    NotAsked,
    ReadOnly,
    /// It writes, or nobody says that it does not.
    Writing,
}

#[derive(Debug, Default)]
pub(crate) struct Hints {
    known: RwLock<Option<Known>>,
    /// Grows when the list has changed.
    generation: AtomicU64,
    /// One asks, the others wait for what it learns.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    read_only: HashSet<String>,
    /// The list could not be had; after this it is asked for again.
    until: Option<Instant>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    tools: Vec<Tool>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    #[serde(default)]
    read_only_hint: Option<bool>,
}

impl Hints {
    pub(crate) fn of(&self, tool: &str) -> Hint {
        match &*self.known.read().unwrap_or_else(PoisonError::into_inner) {
            None => Hint::NotAsked,
            Some(known) if known.until.is_some_and(|until| Instant::now() >= until) => Hint::NotAsked,
            Some(known) if known.read_only.contains(tool) => Hint::ReadOnly,
            Some(_) => Hint::Writing,
        }
    }

    /// The list has changed.
    pub(crate) fn forget(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Asks for the list, page by page, unless another caller has done so meanwhile. `ask` is given a cursor.
    ///
    /// The names of all tools, if they were learnt by this caller.
    pub(crate) async fn learn<Asked>(&self, tool: &str, ask: impl Fn(Option<String>) -> Asked) -> Option<Vec<String>>
    where
        Asked: Future<Output = Option<String>>,
    {
        let _one = self.asking.lock().await;
        if self.of(tool) != Hint::NotAsked {
            return None;
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let (known, names) = match fetch(ask).await {
            Some((mut known, names)) => {
                // It changed while it was read: what was read is good for this caller only.
                let stale = self.generation.load(Ordering::Relaxed) != generation;
                known.until = stale.then(|| Instant::now() + STALE);
                (known, Some(names))
            }
            None => {
                tracing::warn!("the server does not list its tools: every tool counts as writing");
                (Known { until: Some(Instant::now() + PAUSE), ..Known::default() }, None)
            }
        };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
        names
    }
}

async fn fetch<Asked>(ask: impl Fn(Option<String>) -> Asked) -> Option<(Known, Vec<String>)>
where
    Asked: Future<Output = Option<String>>,
{
    let (mut known, mut names) = (Known::default(), Vec::new());
    let mut cursor = None;
    for _ in 0..PAGES {
        let answer = ask(cursor.take()).await?;
        let frame = Frame::parse(&answer).ok()?;
        let page: Page = serde_json::from_str(frame.result()?.get()).ok()?;
        let reads = |tool: &Tool| tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        known.read_only.extend(page.tools.iter().filter(|tool| reads(tool)).map(|tool| tool.name.clone()));
        names.extend(page.tools.into_iter().map(|tool| tool.name));
        cursor = page.next_cursor;
        if cursor.is_none() || names.len() > TOOLS {
            break;
        }
    }
    Some((known, names))
}

/// A `tools/list` of our own.
pub(crate) fn request(id: &str, era: Option<&str>, cursor: Option<&str>) -> String {
    let members =
        [era.map(|meta| format!(r#""_meta":{meta}"#)), cursor.map(|at| format!(r#""cursor":{}"#, quoted(at)))];
    let params = members.into_iter().flatten().collect::<Vec<_>>().join(",");
    format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/list","params":{{{params}}}}}"#, quoted(id))
}
