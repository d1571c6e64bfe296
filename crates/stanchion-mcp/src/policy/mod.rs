//! The policy file, `stanchion.toml`: what holds for which tool of which server.
//!
//! A tool's rule is put together from four places, the closest one that says something wins: the tool's own table (its
//! exact name, else the pattern with most characters besides `*`), its server's, `[defaults]`, and what is built in. The
//! file is checked as a whole when it is read, and every problem is told at once.
//!
//! ```
//! use stanchion_mcp::Locking;
//! use stanchion_mcp::policy::PolicyFile;
//! let file = PolicyFile::parse(
//!     r#"
//!     [servers.budgets]
//!     wait = "5s"
//!     [servers.budgets.tools.set_budget]
//!     lock = "budget:{projectId}"
//!     "#,
//!     "stanchion.toml",
//! )?;
//! let rules = file.rules("budgets");
//! assert_eq!(rules.of("set_budget").wait.as_secs(), 5);
//! assert!(matches!(rules.of("set_budget").locking, Locking::Keys(_)));
//! assert_eq!(rules.of("get_budget").locking, Locking::Default);
//! # Ok::<(), stanchion_mcp::policy::PolicyError>(())
//! ```

mod headers;
mod keys;
mod pattern;
mod principal;
mod problem;
mod ready;
mod rules;
mod schema;
mod server;
mod setting;
mod source;
mod target;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeMap;

use toml::de::DeTable;

pub use self::headers::HeaderSource;
pub use self::principal::{PrincipalEntry, TokenSource};
pub use self::problem::{Place, PolicyError, Problem};
pub use self::ready::READY;
pub use self::rules::{Layer, Rules, Source, UnknownTool};
pub use self::schema::schema;
pub use self::server::ServerEntry;
pub use self::target::Target;

use self::rules::{Inner, Table, resolve};
use self::source::Source as Text;

/// The largest policy file.
///
/// ```
/// assert_eq!(stanchion_mcp::policy::FILE_MAX_BYTES, 1 << 20);
/// ```
pub const FILE_MAX_BYTES: usize = 1 << 20;

const SERVERS_MAX: usize = 256;
const TOP_KEYS: &[&str] = &["defaults", "servers", "principals", "audit"];

/// A policy file, read and checked. The default is what holds without one.
///
/// ```
/// use stanchion_mcp::policy::PolicyFile;
/// assert_eq!(PolicyFile::default().servers().count(), 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct PolicyFile {
    servers: BTreeMap<String, ServerEntry>,
    principals: Vec<PrincipalEntry>,
    /// For servers that the file does not name.
    others: Rules,
    warnings: Vec<Problem>,
}

impl PolicyFile {
    /// Reads the text of a policy file; `origin` is its name in problems.
    ///
    /// # If it fails
    /// Every problem of the file, with line, column, key and what is allowed. If the text is no TOML, only that.
    ///
    /// ```
    /// use stanchion_mcp::policy::PolicyFile;
    /// let wrong = PolicyFile::parse("[servers.memory.tools.x]\nwait = \"soon\"\n", "stanchion.toml").unwrap_err();
    /// assert!(wrong.to_string().contains("stanchion.toml:2:8 (servers.memory.tools.x.wait)"), "{wrong}");
    /// ```
    pub fn parse(text: &str, origin: &str) -> Result<Self, PolicyError> {
        if text.len() > FILE_MAX_BYTES {
            let mut source = Text::new("", origin);
            source.at(0, "", "the file is too large").allowed = Some("1 MiB".to_owned());
            return Err(PolicyError::new(source.problems));
        }
        let mut source = Text::new(text, origin);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            source.at(error.span().map_or(0, |span| span.start), "", format!("this is no TOML: {}", error.message()));
        }
        // What could be read of a broken file would only lead to problems that are none.
        if !source.problems.is_empty() {
            return Err(PolicyError::new(source.problems));
        }
        let file = Self::read(&mut source, table.get_ref());
        if source.problems.is_empty() {
            Ok(Self { warnings: source.warnings, ..file })
        } else {
            Err(PolicyError::new(source.problems))
        }
    }

    fn read<'s>(source: &mut Text<'s>, table: &DeTable<'s>) -> Self {
        let (mut file, mut servers, mut defaults) = (Self::default(), Vec::new(), Table::default());
        for item in Text::items("", table) {
            match item.name {
                "defaults" => {
                    if let Some(table) = source.table(&item) {
                        defaults = tools::read_rule(source, Text::items(&item.path, table));
                    }
                }
                "servers" => {
                    servers = source.table(&item).map(|table| Text::items(&item.path, table)).unwrap_or_default();
                    if servers.len() > SERVERS_MAX {
                        let what = format!("these are more than {SERVERS_MAX} servers");
                        source.at(item.name_span.start, &item.path, what);
                        servers.clear();
                    }
                }
                "principals" => file.principals = principal::read_all(source, &item),
                // For `stanchion audit`, which reads it by itself.
                "audit" => {}
                _ => source.unknown(&item, TOP_KEYS),
            }
        }
        for item in servers {
            if let Some(entry) = server::read(source, &item, &defaults) {
                file.servers.insert(item.name.to_owned(), entry);
            }
        }
        match resolve(&vec![(Layer::Defaults, &defaults)]) {
            Ok(fallback) => file.others = Rules::new(Inner { fallback, ..Inner::default() }),
            Err(said) => tools::contradiction(source, &said),
        }
        file
    }

    /// The servers that the file names, by name.
    ///
    /// ```
    /// use stanchion_mcp::policy::PolicyFile;
    /// let file = PolicyFile::parse("[servers.b]\n[servers.a]\n", "p.toml")?;
    /// assert_eq!(file.servers().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
    /// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
    /// ```
    pub fn servers(&self) -> impl Iterator<Item = (&str, &ServerEntry)> {
        self.servers.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Who may call `serve`.
    ///
    /// ```
    /// assert!(stanchion_mcp::policy::PolicyFile::default().principals().is_empty());
    /// ```
    #[must_use]
    pub fn principals(&self) -> &[PrincipalEntry] {
        &self.principals
    }

    /// What is allowed and may not be meant; to be said, not obeyed.
    ///
    /// ```
    /// use stanchion_mcp::policy::PolicyFile;
    /// let text = "[servers.a.tools.\"*\"]\nlock = \"all\"\n[servers.a.tools.set]\nwait = \"1s\"\n";
    /// let file = PolicyFile::parse(text, "p.toml")?;
    /// assert!(file.warnings()[0].what.contains("does not get lock"));
    /// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The rules of a server; of one that the file does not name, `[defaults]` and what is built in.
    ///
    /// ```
    /// use stanchion_mcp::policy::PolicyFile;
    /// let file = PolicyFile::parse("[defaults]\nwait = \"1s\"\n", "p.toml")?;
    /// assert_eq!(file.rules("any").of("tool").wait.as_secs(), 1);
    /// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn rules(&self, server: &str) -> Rules {
        self.servers.get(server).map_or(&self.others, |entry| &entry.rules).clone()
    }

    /// The rules of the file that no tool in `known` obeys: names that are not there, patterns that match nothing.
    ///
    /// ```
    /// use stanchion_mcp::policy::PolicyFile;
    /// let file = PolicyFile::parse("[servers.a.tools.\"del_*\"]\nwait = \"1s\"\n", "p.toml")?;
    /// assert_eq!(file.unknown_tools("a", &["delete_all"])[0].name, "del_*");
    /// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn unknown_tools(&self, server: &str, known: &[&str]) -> Vec<UnknownTool> {
        self.servers.get(server).map(|entry| entry.rules.unknown(known)).unwrap_or_default()
    }
}
