//! `--through-guard`: `stanchion wrap` before every instance, with one store for all of them that nobody else has.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use stanchion_core::{Error, ErrorKind, Result};
use stanchion_mcp::calls::{self, Entry, FILE_NAME, rotated};
use stanchion_race::{Guarding, Kind, Spec, Verdict};
use tempfile::TempDir;

use crate::policy_verb::load::load;

/// All instances go by this name, whatever their commands look like: they share its lock.
const NAME: &str = "race";

pub(super) struct Guard {
    home: TempDir,
    words: Vec<String>,
    by: String,
}

impl Guard {
    /// # If it fails
    /// `Invalid`: nothing can stand before such a target, or the policy is wrong. Nothing ran.
    pub(super) fn new(spec: &Spec, policy: Option<&str>) -> Result<Self> {
        let invalid = |what| Error::new(ErrorKind::Invalid, what);
        if spec.target.kind != Kind::McpStdio {
            return Err(invalid("--through-guard puts `stanchion wrap` before a command that speaks MCP on its pipes")
                .hint("for HTTP start `stanchion serve` or `stanchion proxy` before your servers, and race their addresses"));
        }
        let failed = |e: std::io::Error| invalid("the guard cannot be set up").because(e);
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| invalid("a path is not UTF-8").with("path", path.display()))
        };
        let exe = text(&std::env::current_exe().map_err(failed)?)?;
        let home = tempfile::Builder::new().prefix("stanchion-guard-").tempdir().map_err(failed)?;
        let (folder, store) = (text(home.path())?, text(&home.path().join("stanchion.db"))?);
        let mut words: Vec<String> =
            [&exe, "--home", &folder, "--store", &format!("sqlite:{store}"), "wrap", "--quiet", "--name", NAME]
                .map(str::to_owned)
                .into();
        let mut by = format!("stanchion wrap, lock mcp:{NAME}");
        if let Some(policy) = policy {
            let servers = load(policy)?.servers().count();
            if servers > 1 {
                return Err(invalid("the policy has several servers, and which of them is raced is not known")
                    .hint("write one that has only the raced server"));
            }
            // The instances are started elsewhere.
            let place = match policy.strip_prefix('@') {
                Some(_) => policy.to_owned(),
                None => text(&std::path::absolute(policy).map_err(failed)?)?,
            };
            words.extend(["--policy".to_owned(), place]);
            by = format!("stanchion wrap --policy {policy}");
        }
        words.push("--".to_owned());
        Ok(Self { home, words, by })
    }

    pub(super) fn before(&self, spec: &Spec) -> Spec {
        spec.started_by(&self.words)
    }

    /// What its call log says. A guard that was killed has not written its last lines, and the log of a guard that has seen
    /// fewer calls than it let through is not complete, whatever the reason.
    pub(super) fn did(&self, guarded: &Verdict) -> Guarding {
        let mut guard = Guarding { by: self.by.clone(), is_complete: !guarded.cut_short, ..Guarding::default() };
        let log = self.home.path().join(FILE_NAME);
        for file in [rotated(&log), log] {
            // Without calls there is no log.
            let Ok(file) = File::open(file) else { continue };
            for line in BufReader::new(file).lines() {
                // Else it cannot be read to its end.
                let Ok(line) = line else {
                    guard.is_complete = false;
                    break;
                };
                let Some(Entry::Call(call)) = calls::parse(&line) else {
                    // Lines were dropped, or one was torn.
                    guard.is_complete &= line.trim().is_empty();
                    continue;
                };
                guard.calls += 1;
                guard.locked += u64::from(!call.locks.is_empty());
                guard.refused += u64::from(call.verdict == calls::Verdict::Refused);
                guard.longest_wait_us = guard.longest_wait_us.max(call.waited_us);
            }
        }
        guard.is_complete &= guard.calls >= u64::try_from(guarded.calls.acknowledged).unwrap_or(u64::MAX);
        guard
    }
}
