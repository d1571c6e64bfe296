//! `[servers.NAME]`: one server, how it is reached, and the rules of its tools.

use super::keys::{rule_key, rule_names};
use super::rules::{Inner, Rules, Table};
use super::source::{Item, Source};
use super::target::{self, Keys, Target};
use super::tools::{Layering, read_rule};

/// What `serve` answers itself; a server of this name could not be reached.
const NAMES_TAKEN: &[&str] = &["health", "healthz", "live", "livez", "metrics", "ready", "readyz"];

/// One server of the file.
///
/// ```
/// use stanchion_mcp::policy::PolicyFile;
/// let file = PolicyFile::parse("[servers.memory]\n", "p.toml")?;
/// let (_, entry) = file.servers().next().unwrap();
/// assert!(entry.target.is_none());
/// assert_eq!(entry.rules.of("read_graph").wait.as_secs(), 20);
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerEntry {
    /// How it is reached. `wrap` needs none: it has the command.
    pub target: Option<Target>,
    /// The rules of its tools.
    pub rules: Rules,
    /// Where the file begins to speak of it.
    pub line: usize,
}

/// The keys of a server besides those of a rule.
pub(super) const SERVER_KEYS: &[&str] = &["command", "url", "env", "cwd", "hang_up", "headers", "ca", "tools"];

/// Checks the name: it is a part of a path, and the same in every file system and shell.
fn check_name(source: &mut Source<'_>, item: &Item<'_, '_>) {
    let shape = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let begins = item.name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if item.name.len() > 64 || !begins || !item.name.chars().all(shape) {
        let problem = source.name(item, "this is no name of a server");
        problem.allowed = Some("1 to 64 of a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit".to_owned());
    } else if NAMES_TAKEN.contains(&item.name) {
        source.name(item, "`serve` answers under this name itself").allowed = Some("another name".to_owned());
    }
}

pub(super) fn read<'s>(source: &mut Source<'s>, item: &Item<'_, 's>, defaults: &Table) -> Option<ServerEntry> {
    check_name(source, item);
    let table = source.table(item)?;
    let (rules, others): (Vec<_>, Vec<_>) =
        Source::items(&item.path, table).into_iter().partition(|item| rule_key(item.name).is_some());
    let own = read_rule(source, rules);
    let mut keys = Keys::default();
    let mut tools = None;
    for item in others {
        match item.name {
            name if target::KEYS.contains(&name) => keys.read(source, &item),
            "tools" => tools = source.table(&item).map(|table| (item.path, table)),
            _ => source.unknown(&item, &SERVER_KEYS.iter().copied().chain(rule_names()).collect::<Vec<_>>()),
        }
    }
    let target = keys.target(source);
    let mut layers = Layering { source, defaults, own: &own, target: target.as_ref() };
    let mut inner = Inner { fallback: layers.resolve(None), ..Inner::default() };
    if let Some((path, tools)) = tools {
        layers.tools(&path, tools, &mut inner);
    }
    let line = source.place(item.name_span.start).line;
    Some(ServerEntry { target, rules: Rules::new(inner), line })
}
