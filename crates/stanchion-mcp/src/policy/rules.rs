//! From tables to the rule of each tool: which table counts, and who said what.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use stanchion_core::text::nearest;

use super::keys::{RULE_KEYS, RuleKey};
use super::pattern::Pattern;
use super::problem::Place;
use super::setting::{Draft, Setting};
use crate::Rule;

/// The table that a value came from.
///
/// ```
/// use stanchion_mcp::policy::Layer;
/// assert_eq!(Layer::Tool("create_*".into()).to_string(), "tool create_*");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// None: what holds without a file.
    BuiltIn,
    /// `[defaults]`.
    Defaults,
    /// `[servers.NAME]`.
    Server,
    /// `[servers.NAME.tools.TOOL]`, as the file names the tool: exactly, or with `*`.
    Tool(String),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Defaults => f.write_str("defaults"),
            Self::Server => f.write_str("server"),
            Self::Tool(name) => write!(f, "tool {name}"),
        }
    }
}

/// Who said what one key of a tool's rule is.
///
/// ```
/// use stanchion_mcp::policy::{Layer, PolicyFile};
/// let file = PolicyFile::parse("[servers.memory]\nwait = \"5s\"\n", "p.toml")?;
/// let sources = file.rules("memory").explain("create_entities");
/// let wait = sources.iter().find(|source| source.key == "wait").unwrap();
/// assert_eq!((wait.value.as_str(), &wait.layer, wait.place.unwrap().line), ("\"5s\"", &Layer::Server, 2));
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The key: `wait`.
    pub key: &'static str,
    /// Its value, as it is written.
    pub value: String,
    /// The table.
    pub layer: Layer,
    /// Where in the file; nowhere if it is built in.
    pub place: Option<Place>,
}

/// A rule of the file that no tool of the server obeys.
///
/// ```
/// use stanchion_mcp::policy::PolicyFile;
/// let file = PolicyFile::parse("[servers.memory.tools.create_entitys]\nwait = \"5s\"\n", "p.toml")?;
/// let unknown = file.unknown_tools("memory", &["create_entities"]);
/// assert_eq!(unknown[0].did_you_mean.as_deref(), Some("create_entities"));
/// assert!(file.unknown_tools("memory", &["create_entitys"]).is_empty());
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownTool {
    /// The tool as the file names it, exactly or with `*`.
    pub name: String,
    /// Where the file names it.
    pub place: Place,
    /// A tool that is there and looks like it.
    pub did_you_mean: Option<String>,
}

impl fmt::Display for UnknownTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.name.contains('*') { "matches no tool" } else { "is no tool" };
        write!(f, "line {}: `{}` {what} of this server", self.place.line, self.name)?;
        self.did_you_mean.iter().try_for_each(|meant| write!(f, "; did you mean `{meant}`?"))
    }
}

/// What one table says.
#[derive(Debug, Clone, Default)]
pub(super) struct Table(pub(super) BTreeMap<&'static str, Said>);

/// One value, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) setting: Setting,
    pub(super) written: String,
    pub(super) place: Place,
    pub(super) path: String,
    pub(super) offset: usize,
}

/// The tables of a tool, in the order in which later ones win.
pub(super) type Layers<'a> = Vec<(Layer, &'a Table)>;

/// A tool's rule and where it comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolved {
    pub(super) rule: Arc<Rule>,
    sources: Arc<[Source]>,
}

/// Puts the tables over each other. `Err` if `keep` and `keep_key` contradict each other: it is a problem of the later.
pub(super) fn resolve(layers: &Layers<'_>) -> Result<Resolved, Said> {
    let (mut draft, mut sources) = (Draft::default(), Vec::with_capacity(RULE_KEYS.len()));
    let mut last: Option<&Said> = None;
    for key in RULE_KEYS {
        let said = layers.iter().rev().find_map(|(layer, table)| Some((layer, table.0.get(key.name)?)));
        sources.push(match said {
            Some((layer, said)) => {
                draft.set(said.setting.clone());
                if matches!(key.name, "keep" | "keep_key") {
                    last = last.filter(|last| last.offset > said.offset).or(Some(said));
                }
                let (layer, place) = (layer.clone(), Some(said.place));
                Source { key: key.name, value: said.written.clone(), layer, place }
            }
            None => built_in(key),
        });
    }
    match (draft.finish(), last) {
        (Ok(rule), _) => Ok(Resolved { rule: Arc::new(rule), sources: sources.into() }),
        (Err(_), Some(last)) => Err(last.clone()),
        // Every other value was checked when it was read.
        (Err(_), None) => Ok(Resolved::default()),
    }
}

fn built_in(key: &RuleKey) -> Source {
    Source { key: key.name, value: key.default.to_owned(), layer: Layer::BuiltIn, place: None }
}

/// The rules of one server, for every tool that it has or may get. Cheap to clone, cheap to ask.
///
/// ```
/// use stanchion_mcp::policy::PolicyFile;
/// let text = "[servers.memory]\nwait = \"5s\"\n[servers.memory.tools.\"create_*\"]\nwait = \"1m\"\n";
/// let rules = PolicyFile::parse(text, "p.toml")?.rules("memory");
/// assert_eq!(rules.of("create_entities").wait.as_secs(), 60);
/// assert_eq!(rules.of("read_graph").wait.as_secs(), 5);
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Rules(Arc<Inner>);

#[derive(Debug, Clone, Default)]
pub(super) struct Inner {
    pub(super) exact: HashMap<String, (Place, Resolved)>,
    /// The one that says most first.
    pub(super) patterns: Vec<(Pattern, String, Place, Resolved)>,
    pub(super) fallback: Resolved,
}

impl Rules {
    pub(super) fn new(mut inner: Inner) -> Self {
        inner.patterns.sort_by_key(|(pattern, ..)| std::cmp::Reverse(pattern.literals()));
        Self(Arc::new(inner))
    }

    fn resolved(&self, tool: &str) -> &Resolved {
        if let Some((_, resolved)) = self.0.exact.get(tool) {
            return resolved;
        }
        let matching = self.0.patterns.iter().find(|(pattern, ..)| pattern.matches(tool));
        matching.map_or(&self.0.fallback, |(.., resolved)| resolved)
    }

    /// The rule of a tool: by its exact name, else by the pattern that says most, else what the server's other tools have.
    ///
    /// ```
    /// # use stanchion_mcp::policy::PolicyFile;
    /// assert_eq!(PolicyFile::default().rules("any").of("tool").wait.as_secs(), 20);
    /// ```
    #[must_use]
    pub fn of(&self, tool: &str) -> &Arc<Rule> {
        &self.resolved(tool).rule
    }

    /// Who said what, for every key of a tool's rule.
    ///
    /// ```
    /// # use stanchion_mcp::policy::{Layer, PolicyFile};
    /// assert!(PolicyFile::default().rules("any").explain("tool").iter().all(|source| source.layer == Layer::BuiltIn));
    /// ```
    #[must_use]
    pub fn explain(&self, tool: &str) -> Vec<Source> {
        let sources = self.resolved(tool).sources.to_vec();
        if !sources.is_empty() {
            return sources;
        }
        RULE_KEYS.iter().map(built_in).collect()
    }

    /// The same rules with a change to each, for options of the command line.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_mcp::policy::PolicyFile;
    /// let rules = PolicyFile::default().rules("any").changed(|rule| rule.wait = Duration::from_secs(1));
    /// assert_eq!(rules.of("tool").wait.as_secs(), 1);
    /// ```
    #[must_use]
    pub fn changed(&self, change: impl Fn(&mut Rule)) -> Self {
        let mut inner = (*self.0).clone();
        let changed = |resolved: &mut Resolved| change(Arc::make_mut(&mut resolved.rule));
        #[expect(clippy::iter_over_hash_type, reason = "each rule is changed alone")]
        for (_, resolved) in inner.exact.values_mut() {
            changed(resolved);
        }
        inner.patterns.iter_mut().for_each(|(.., resolved)| changed(resolved));
        changed(&mut inner.fallback);
        Self(Arc::new(inner))
    }

    /// Every rule: of the tools that are named, of the patterns, and of the rest.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Rule>> {
        let exact = self.0.exact.values().map(|(_, resolved)| resolved);
        let patterns = self.0.patterns.iter().map(|(.., resolved)| resolved);
        exact.chain(patterns).chain([&self.0.fallback]).map(|resolved| &resolved.rule)
    }

    pub(crate) fn unknown(&self, known: &[&str]) -> Vec<UnknownTool> {
        let exact = self.0.exact.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let exact = exact.map(|(name, (place, _))| (name, *place, nearest(name, known.iter().copied())));
        let patterns = self.0.patterns.iter().filter(|(pattern, ..)| !known.iter().any(|tool| pattern.matches(tool)));
        let patterns = patterns.map(|(_, name, place, _)| (name, *place, None));
        let unknown = exact.chain(patterns).map(|(name, place, meant)| UnknownTool {
            name: name.clone(),
            place,
            did_you_mean: meant.map(str::to_owned),
        });
        let mut unknown: Vec<_> = unknown.collect();
        unknown.sort_by_key(|tool| tool.place);
        unknown
    }
}
