//! How many instances of the code run, from the files beside it.
//!
//! A lock in memory protects against other tasks of its process, not against a second process. Whether there is a second
//! one stands in Kubernetes manifests, compose files, commands with `--workers`, and in what an MCP server over stdio is.

mod cloud;
mod code;
mod command;
mod containers;
mod fact;
mod mcp;
mod packages;
mod processes;
mod started;
mod yaml;

use std::collections::BTreeSet;

pub use self::fact::{Fact, Instances, Kind};
use self::packages::Packages;
pub(crate) use self::started::started;
use crate::resolve::around;
use crate::walk::Surface;

/// Larger texts are left out: nobody writes deployments of a megabyte.
const TEXT_MOST: usize = 1 << 20;
/// More facts than this add nothing.
const FACTS_MOST: usize = 1_000;

/// What is known about how the code is deployed.
///
/// ```
/// use stanchion_audit::deploy::Deployment;
/// let compose = "services:\n  web:\n    deploy:\n      replicas: 3\n";
/// let deployment = Deployment::read([("docker-compose.yml", compose)]);
/// assert_eq!(deployment.facts[0].to_string(), "service web: 3 replicas (docker-compose.yml:4)");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deployment {
    /// By path and line.
    pub facts: Vec<Fact>,
    packages: Packages,
}

/// Whether the text of a file with this name can hold facts.
pub(crate) fn is_wanted(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
    let starts = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    ends(&[".yaml", ".yml", ".service", ".dockerfile"]) && !lower.starts_with('.')
        || ends(&[".sh", ".tf"]) && !lower.starts_with('.')
        || starts(&[
            "dockerfile",
            "containerfile",
            "procfile",
            "ecosystem.config.",
            "pm2.config.",
            "wrangler.",
            "claude_desktop_config",
        ])
        || matches!(
            lower.as_str(),
            "package.json"
                | "pyproject.toml"
                | "cargo.toml"
                | "gunicorn.conf.py"
                | "vercel.json"
                | "netlify.toml"
                | "fly.toml"
                | "firebase.json"
                | "cdk.json"
                | "app.json"
                | "server.json"
                | "manifest.json"
                | "template.json"
                | ".mcp.json"
                | "mcp.json"
                | "makefile"
                | "pm2.json"
                | "ecosystem.json"
                | "supervisord.conf"
        )
}

impl Deployment {
    /// From paths and texts. Tests and examples say nothing about how the code runs and are left out; what is broken says
    /// as much as can be read.
    ///
    /// ```
    /// use stanchion_audit::deploy::Deployment;
    /// let files = [("run.sh", "gunicorn app:app -w 4"), ("README.md", "gunicorn -w 9")];
    /// assert_eq!(Deployment::read(files).facts.len(), 1);
    /// ```
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut files: Vec<_> = files.into_iter().filter(|(path, text)| is_read(path, text)).collect();
        files.sort_unstable();
        let mut facts = Facts { own_names: mcp::names(&files), ..Facts::default() };
        for (path, text) in files.iter().filter(|(path, _)| is_wanted(name_of(path))) {
            facts.path = path;
            read_file(&mut facts, name_of(path), text);
        }
        let packages = Packages::new(&files, &facts.found);
        let mut seen = code::Seen::default();
        for (path, text) in files.iter().filter(|(path, _)| code::is_wanted(name_of(path))) {
            facts.path = path;
            seen.read(&mut facts, packages.of(path), text);
        }
        seen.end(&mut facts);
        facts.found.sort();
        facts.found.dedup();
        facts.found.truncate(FACTS_MOST);
        Self { facts: facts.found, packages }
    }

    /// Adds what the code itself tells, such as `cluster.fork()`.
    ///
    /// ```
    /// use stanchion_audit::deploy::{Deployment, Fact, Instances, Kind};
    /// let (path, text) = ("src/main.js".to_owned(), "cluster.fork()".to_owned());
    /// let mut deployment = Deployment::default();
    /// deployment.add(Fact { path, line: 3, kind: Kind::Cluster, instances: Instances::Many(None), text });
    /// assert!(deployment.is_many());
    /// ```
    pub fn add(&mut self, fact: Fact) {
        let at = self.facts.binary_search(&fact).unwrap_or_else(|at| at);
        if self.facts.get(at) != Some(&fact) && self.facts.len() < FACTS_MOST {
            self.facts.insert(at, fact);
        }
    }

    /// The package of a file, by its folder; the tree itself is the empty one.
    pub(crate) fn package<'a>(&self, path: &'a str) -> &'a str {
        self.packages.of(path)
    }

    /// What is said about these packages: a manifest speaks of all below it, code of its own package.
    pub(crate) fn of(&self, packages: &BTreeSet<&str>) -> Self {
        let above: BTreeSet<&str> = packages.iter().flat_map(|package| around(package)).collect();
        let is_about = |fact: &&Fact| {
            let home = self.packages.of(&fact.path);
            packages.contains(home) || is_wanted(name_of(&fact.path)) && above.contains(home)
        };
        Self { facts: self.facts.iter().filter(is_about).cloned().collect(), packages: Packages::default() }
    }

    /// Whether several instances run at once: more than one process of the same code.
    ///
    /// ```
    /// use stanchion_audit::deploy::Deployment;
    /// assert!(Deployment::read([("Procfile", "web: gunicorn app:app -w 4")]).is_many());
    /// assert!(!Deployment::read([("Procfile", "web: gunicorn app:app -w 1")]).is_many());
    /// ```
    #[must_use]
    pub fn is_many(&self) -> bool {
        self.evidence().is_some()
    }

    /// The fact that shows best that several instances run: the one with the largest number, or the first.
    ///
    /// ```
    /// use stanchion_audit::deploy::{Deployment, Instances};
    /// let files = [("a.sh", "gunicorn app -w 2"), ("b.sh", "gunicorn app -w 8")];
    /// let deployment = Deployment::read(files);
    /// assert_eq!(deployment.evidence().map(|fact| fact.instances), Some(Instances::Many(Some(8))));
    /// ```
    #[must_use]
    pub fn evidence(&self) -> Option<&Fact> {
        let many = self.facts.iter().rev().filter(|fact| matches!(fact.instances, Instances::Many(_)));
        many.max_by_key(|fact| fact.instances)
    }
}

/// What is collected while files are read.
#[derive(Debug, Default)]
struct Facts<'a> {
    path: &'a str,
    found: Vec<Fact>,
    /// The names under which this repository's packages are started.
    own_names: Vec<String>,
}

impl Facts<'_> {
    fn add(&mut self, kind: Kind, instances: Instances, line: u32, text: impl Into<String>) {
        if self.found.len() < FACTS_MOST {
            let (path, text) = (self.path.to_owned(), text.into());
            self.found.push(Fact { path, line, kind, instances, text });
        }
    }
}

fn is_read(path: &str, text: &str) -> bool {
    text.len() <= TEXT_MOST && (is_wanted(name_of(path)) || code::is_wanted(name_of(path))) && is_told(path)
}

/// Tests and examples say nothing about how the code runs.
fn is_told(path: &str) -> bool {
    !matches!(Surface::of(path), Surface::Test | Surface::Example)
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn read_file(facts: &mut Facts<'_>, name: &str, text: &str) {
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "package.json" => {
            processes::package_json(facts, text);
            mcp::package_json(facts, text);
        }
        "pyproject.toml" => mcp::pyproject(facts, text),
        "cargo.toml" => mcp::cargo(facts, text),
        "server.json" | ".mcp.json" | "mcp.json" | "manifest.json" => mcp::settings(facts, text),
        "gunicorn.conf.py" => processes::gunicorn_conf(facts, text),
        "vercel.json" | "firebase.json" | "cdk.json" | "app.json" => cloud::json(facts, &lower, text),
        "netlify.toml" | "fly.toml" | "wrangler.toml" => cloud::toml(facts, &lower, text),
        _ if lower.starts_with("claude_desktop_config") => mcp::settings(facts, text),
        _ if lower.starts_with("wrangler.") => cloud::json(facts, "wrangler.json", text),
        "pm2.json" | "ecosystem.json" | "ecosystem.yml" | "ecosystem.yaml" => processes::pm2(facts, text),
        _ if lower.starts_with("ecosystem.config.") || lower.starts_with("pm2.config.") => processes::pm2(facts, text),
        _ if lower.starts_with("procfile") => processes::procfile(facts, text),
        _ if lower.ends_with(".service") => processes::systemd(facts, &lower, text),
        _ if lower.ends_with(".tf") => cloud::terraform(facts, text),
        _ if lower.ends_with(".yaml") || lower.ends_with(".yml") => {
            let documents = yaml::read(text);
            for document in &documents {
                containers::document(facts, &lower, document);
                cloud::document(facts, &lower, document);
                mcp::document(facts, &lower, document);
            }
        }
        "template.json" => {}
        _ => processes::commands(facts, text),
    }
}

/// The line on which something stands first; 1 if nowhere.
fn line_of(text: &str, what: &str) -> u32 {
    let line = text.lines().position(|line| line.contains(what)).unwrap_or(0);
    u32::try_from(line).unwrap_or(0).saturating_add(1)
}

#[cfg(test)]
mod tests;
