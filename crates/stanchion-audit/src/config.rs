//! `stanchion-audit.toml`, or the table `[audit]` of `stanchion.toml`.
//!
//! ```toml
//! include = ["src/**"]
//! exclude = ["**/vendor/**"]
//! fail_on = "medium"          # high, medium, low
//! instances = "many"          # 1 or "many": how the program is deployed, if the analyser cannot see it
//! models = ["my-models.toml"] # what calls of other libraries do
//!
//! [rules]
//! RC403 = "off"               # off, on, or a severity
//! fixed-temp-name = "high"
//! ```

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::catalogue::{self, RULES};
use crate::error::Error;
use crate::finding::Severity;

/// The file that is ours alone.
///
/// ```
/// assert!(stanchion_audit::config::Config::parse(stanchion_audit::config::FILE, "").is_ok());
/// ```
pub const FILE: &str = "stanchion-audit.toml";
/// The file whose table `[audit]` is ours.
///
/// ```
/// use stanchion_audit::config::{Config, SHARED_FILE};
/// assert!(Config::parse(SHARED_FILE, "[servers.memory]\nlock = 'none'").is_ok());
/// ```
pub const SHARED_FILE: &str = "stanchion.toml";
/// A larger file is no configuration.
const BYTES_MOST: u64 = 1 << 20;

/// How many instances of the program run, if the user says so.
///
/// ```
/// use stanchion_audit::config::{Config, Instances};
/// let config = Config::parse("stanchion-audit.toml", "instances = 1").unwrap();
/// assert_eq!(config.instances, Some(Instances::One));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instances {
    /// Never more than one process at a time.
    One,
    /// Several.
    Many,
}

/// What is said of a rule.
///
/// ```
/// use stanchion_audit::config::Setting;
/// assert_ne!(Setting::Off, Setting::On);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// It finds nothing.
    Off,
    /// As it is.
    On,
    /// Its findings have this severity.
    Severity(Severity),
}

/// The configuration; the default says nothing.
///
/// ```
/// use stanchion_audit::config::Config;
/// use stanchion_audit::finding::Severity;
/// let config = Config::parse("stanchion-audit.toml", "exclude = ['vendor/']\n[rules]\nRC302 = 'off'").unwrap();
/// assert!(config.covers("src/a.ts") && !config.covers("vendor/b.ts"));
/// assert_eq!(config.severity("RC302", Severity::Medium), None);
/// assert_eq!(config.severity("RC301", Severity::Medium), Some(Severity::Medium));
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// Only these, as in `.gitignore`; empty: all.
    pub include: Vec<String>,
    /// Not these.
    pub exclude: Vec<String>,
    /// What is said of rules, by code.
    pub rules: BTreeMap<&'static str, Setting>,
    /// From which severity on a run fails.
    pub fail_on: Option<Severity>,
    /// How the program is deployed.
    pub instances: Option<Instances>,
    /// Files with models, relative to the tree; of a file that the user named, relative to it.
    pub models: Vec<String>,
    included: Gitignore,
    excluded: Gitignore,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            include: vec![],
            exclude: vec![],
            rules: BTreeMap::new(),
            fail_on: None,
            instances: None,
            models: vec![],
            included: Gitignore::empty(),
            excluded: Gitignore::empty(),
        }
    }
}

impl Config {
    /// Understands a file. Of one called `stanchion.toml` only the table `[audit]` counts.
    ///
    /// # Errors
    /// All that is wrong with it, in order of lines.
    ///
    /// ```
    /// use stanchion_audit::config::Config;
    /// let errors = Config::parse("stanchion-audit.toml", "\nexlude = []\nfail_on = 'hihg'").unwrap_err();
    /// assert!(errors[0].to_string().starts_with("stanchion-audit.toml:2: there is no such key: `exlude`; did you mean `exclude`?"));
    /// assert!(errors[1].to_string().ends_with("allowed: \"low\", \"medium\", \"high\""));
    /// ```
    pub fn parse(path: &str, text: &str) -> Result<Self, Vec<Error>> {
        let is_shared = Path::new(path).file_name().is_some_and(|name| name == SHARED_FILE);
        read::read(path, text, is_shared).map(Option::unwrap_or_default)
    }

    /// The configuration of a tree: its `stanchion-audit.toml`, or the table `[audit]` of its `stanchion.toml`, or the default.
    ///
    /// # Errors
    /// What is wrong with the file; or both say something.
    ///
    /// ```
    /// # use stanchion_audit::config::Config;
    /// let folder = tempfile::tempdir().unwrap();
    /// assert!(Config::find(folder.path()).unwrap().rules.is_empty());
    /// ```
    pub fn find(root: &Path) -> Result<Self, Vec<Error>> {
        let load = |name: &str, is_shared| match text(&root.join(name)) {
            Err(error) => Err(vec![error]),
            Ok(None) => Ok(None),
            Ok(Some(text)) => read::read(name, &text, is_shared),
        };
        match (load(FILE, false)?, load(SHARED_FILE, true)?) {
            (Some(_), Some(_)) => Err(vec![
                Error::new("both this file and the table [audit] of stanchion.toml configure the audit")
                    .at(FILE, 0)
                    .hint("keep one of them"),
            ]),
            (own, shared) => Ok(own.or(shared).unwrap_or_default()),
        }
    }

    /// Reads one file that the user named.
    ///
    /// # Errors
    /// If it is not there, or all that is wrong with it.
    ///
    /// ```
    /// # use stanchion_audit::config::Config;
    /// assert_eq!(Config::read("/nowhere.toml".as_ref()).unwrap_err().len(), 1);
    /// ```
    pub fn read(path: &Path) -> Result<Self, Vec<Error>> {
        let name = path.display().to_string();
        match text(path) {
            Ok(Some(text)) => {
                let mut config = Self::parse(&name, &text)?;
                let full = std::path::absolute(path);
                let full = full.map_err(|e| vec![Error::new(format!("it cannot be read: {e}")).at(&name, 0)])?;
                let folder = full.parent().unwrap_or(&full);
                config.models.iter_mut().for_each(|model| *model = folder.join(&*model).display().to_string());
                Ok(config)
            }
            Ok(None) => Err(vec![Error::new("there is no such file").at(name, 0)]),
            Err(error) => Err(vec![error]),
        }
    }

    /// Lets only these rules find something, whatever the file says of them: codes, names, or beginnings of codes as `RC2`.
    ///
    /// # Errors
    /// If a word means no rule.
    ///
    /// ```
    /// use stanchion_audit::{config::Config, finding::Severity};
    /// let mut config = Config::default();
    /// config.select(&["RC1", "fixed-temp-name"]).unwrap();
    /// assert_eq!(config.severity("RC303", Severity::Low), Some(Severity::Low));
    /// assert_eq!(config.severity("RC201", Severity::Low), None);
    /// ```
    pub fn select<T: AsRef<str>>(&mut self, words: &[T]) -> Result<(), Error> {
        let mut wanted = BTreeSet::new();
        for word in words {
            wanted.extend(catalogue::chosen(word.as_ref())?.map(|rule| rule.code));
        }
        for rule in RULES {
            match (wanted.contains(rule.code), self.rules.get(rule.code)) {
                (false, _) => drop(self.rules.insert(rule.code, Setting::Off)),
                (true, Some(Setting::Off)) => drop(self.rules.remove(rule.code)),
                (true, _) => {}
            }
        }
        Ok(())
    }

    /// Lets these rules find nothing: codes, names, or beginnings of codes.
    ///
    /// # Errors
    /// If a word means no rule.
    ///
    /// ```
    /// use stanchion_audit::{config::Config, finding::Severity};
    /// let mut config = Config::default();
    /// config.ignore(&["RC4"]).unwrap();
    /// assert_eq!(config.severity("RC403", Severity::Low), None);
    /// ```
    pub fn ignore<T: AsRef<str>>(&mut self, words: &[T]) -> Result<(), Error> {
        for word in words {
            self.rules.extend(catalogue::chosen(word.as_ref())?.map(|rule| (rule.code, Setting::Off)));
        }
        Ok(())
    }

    /// Whether a file is to be looked at; `path` is relative to the tree.
    ///
    /// ```
    /// let config = stanchion_audit::config::Config::parse("stanchion-audit.toml", "include = ['src/**']").unwrap();
    /// assert!(config.covers("src/a/b.ts") && !config.covers("docs/a.ts"));
    /// ```
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        // A pattern that means a folder means all that is in it.
        let hits = |globs: &Gitignore| {
            let path = Path::new(path.trim_start_matches("./"));
            let found =
                path.ancestors().enumerate().map(|(up, part)| globs.matched(part, up > 0)).find(|hit| !hit.is_none());
            found.is_some_and(|hit| hit.is_ignore())
        };
        (self.include.is_empty() || hits(&self.included)) && !hits(&self.excluded)
    }

    /// The severity of a rule's finding, given the one that the rule gave it; `None`: the rule is off.
    ///
    /// ```
    /// use stanchion_audit::{config::Config, finding::Severity};
    /// let config = Config::parse("stanchion-audit.toml", "rules = {RC403 = 'high'}").unwrap();
    /// assert_eq!(config.severity("RC403", Severity::Low), Some(Severity::High));
    /// ```
    #[must_use]
    pub fn severity(&self, code: &str, found: Severity) -> Option<Severity> {
        let code = catalogue::rule(code).map_or(code, |rule| rule.code);
        match self.rules.get(code) {
            None | Some(Setting::On) => Some(found),
            Some(Setting::Off) => None,
            Some(Setting::Severity(severity)) => Some(*severity),
        }
    }
}

fn text(path: &Path) -> Result<Option<String>, Error> {
    let wrong =
        |error: std::io::Error| Error::new(format!("it cannot be read: {error}")).at(path.display().to_string(), 0);
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(error)),
        Ok(meta) if meta.len() > BYTES_MOST => {
            Err(Error::new("this is too large for a configuration (1 MiB)").at(path.display().to_string(), 0))
        }
        Ok(_) => fs::read_to_string(path).map(Some).map_err(wrong),
    }
}

/// One matcher of several patterns; fails with the number of the pattern that is wrong.
fn globs(patterns: &[String]) -> Result<Gitignore, (usize, String)> {
    let mut builder = GitignoreBuilder::new("");
    for (at, pattern) in patterns.iter().enumerate() {
        if pattern.trim().is_empty() || pattern.starts_with('#') {
            return Err((at, "this pattern matches nothing".into()));
        }
        builder.add_line(None, pattern).map_err(|error| (at, error.to_string()))?;
    }
    builder.build().map_err(|error| (0, error.to_string()))
}

#[cfg(test)]
mod tests;
