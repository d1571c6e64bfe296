//! How many copies of the code run at one time, package by package.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Config, Instances as Said};
use crate::deploy::{Deployment, Kind};
use crate::engine::Scope;
use crate::program::{Meaning, Program};
use crate::rules::UNKNOWN;
use crate::walk::Surface;

/// How the files of one package are run.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    /// How far its copies reach.
    pub(crate) reach: Scope,
    /// Why, in words.
    pub(crate) because: String,
    /// It is an MCP server over standard input and output.
    pub(crate) is_stdio: bool,
}

/// Which package a file is of, and how each is run.
#[derive(Debug)]
pub(crate) struct Copies {
    of: Vec<usize>,
    each: Vec<Running>,
}

impl Copies {
    /// The same for all files.
    pub(crate) fn everywhere(reach: Scope, because: &str) -> Self {
        Self { of: Vec::new(), each: vec![Running { reach, because: because.to_owned(), is_stdio: false }] }
    }

    pub(crate) fn new(program: &Program, deployment: &Deployment, config: &Config) -> Self {
        let package: Vec<&str> = (0..program.len()).map(|file| deployment.package(program.path(file))).collect();
        let users = users(program, &package);
        let all: Vec<&str> = BTreeSet::from_iter(package.iter().copied()).into_iter().collect();
        let running = |package: &&str| {
            // Whoever imports it runs it.
            let deployment = deployment.of(&reached(&users, package));
            let (reach, because) = reach(&deployment, config);
            let is_stdio = deployment.facts.iter().any(|fact| fact.kind == Kind::StdioMcp);
            Running { reach, because, is_stdio }
        };
        let of = package.iter().map(|package| all.binary_search(package).unwrap_or(0)).collect();
        Self { of, each: all.iter().map(running).collect() }
    }

    pub(crate) fn each(&self) -> &[Running] {
        &self.each
    }

    /// Which of them a file is of.
    pub(crate) fn of(&self, file: usize) -> usize {
        self.of.get(file).copied().unwrap_or(0)
    }

    pub(crate) fn is_stdio(&self, file: usize) -> bool {
        self.each.get(self.of(file)).is_some_and(|running| running.is_stdio)
    }
}

/// By package, those that import something of it.
fn users<'a>(program: &Program, package: &[&'a str]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, user) in package.iter().enumerate() {
        if matches!(Surface::of(program.path(file)), Surface::Test | Surface::Example) {
            continue;
        }
        for import in 0..program.module(file).imports.len() {
            if let Meaning::In(of) | Meaning::Whole(of) = program.import(file, import)
                && let Some(used) = package.get(of).filter(|used| *used != user)
            {
                users.entry(used).or_default().insert(user);
            }
        }
    }
    users
}

/// A package, and all that use it, directly or not.
fn reached<'a>(users: &BTreeMap<&'a str, BTreeSet<&'a str>>, package: &'a str) -> BTreeSet<&'a str> {
    let (mut all, mut next) = (BTreeSet::from([package]), vec![package]);
    while let Some(package) = next.pop() {
        next.extend(users.get(package).into_iter().flatten().copied().filter(|user| all.insert(user)));
    }
    all
}

/// How far the copies of the program reach, and why.
fn reach(deployment: &Deployment, config: &Config) -> (Scope, String) {
    match config.instances {
        Some(Said::One) => return (Scope::Process, "the configuration says that one instance runs".to_owned()),
        Some(Said::Many) => return (Scope::Cluster, "the configuration says that many instances run".to_owned()),
        None => {}
    }
    match deployment.evidence() {
        Some(fact) if fact.kind == Kind::StdioMcp => (Scope::Host, format!("this is {fact}")),
        Some(fact) => (Scope::Cluster, format!("several run at once: {fact}")),
        None if deployment.facts.is_empty() => (UNKNOWN, "nothing says that one process runs alone".to_owned()),
        None => (Scope::Process, "as far as its files say, one process runs".to_owned()),
    }
}
