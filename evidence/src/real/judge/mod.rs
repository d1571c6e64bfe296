//! What must be true of journals, effects and what is left, whatever was done to workers and engines.

mod calls;
mod chains;
mod order;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::journal::{self, Line};
use super::orders::{EFFECTS, Orders};
use super::settle::Settled;

/// A promise that was not kept: its property, and what was seen.
pub(super) type Broken = (&'static str, String);

/// The numbers of one phase, and the judgement.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) acknowledged: u64,
    pub(super) indeterminate: u64,
    pub(super) failed: u64,
    /// Answers that another call had earned.
    pub(super) repeated: u64,
    /// Writes that a fence refused.
    pub(super) fenced: u64,
    /// Acknowledged writes that are not there.
    pub(super) lost: u64,
    /// Keys with more than one effect.
    pub(super) doubled: u64,
    pub(super) broken: Vec<Broken>,
    /// How many there were; not all are kept.
    pub(super) violations: u64,
}

/// The most violations that are kept in words.
const SHOWN: usize = 20;

impl Verdict {
    fn broke(&mut self, property: &'static str, what: impl FnOnce() -> String) {
        self.violations += 1;
        if self.broken.len() < SHOWN {
            self.broken.push((property, what()));
        }
    }
}

/// All that the workers of one phase have left.
#[derive(Debug, Default)]
struct Facts {
    lines: Vec<Line>,
    /// Who did it, for each key, in the order of doing.
    effects: BTreeMap<String, Vec<String>>,
}

impl Facts {
    fn read(folder: &Path) -> io::Result<Self> {
        let mut facts = Self::default();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "log") && !path.ends_with(EFFECTS) {
                facts.lines.extend(journal::read(&path)?);
            }
        }
        let text = std::fs::read_to_string(folder.join(EFFECTS)).or_else(|e| match e.kind() {
            io::ErrorKind::NotFound => Ok(String::new()),
            _ => Err(e),
        })?;
        for (key, op) in text.lines().filter_map(|line| line.split_once(' ')) {
            facts.effects.entry(key.to_owned()).or_default().push(op.to_owned());
        }
        Ok(facts)
    }
}

/// Judges what is left of a phase in which so many requests were `doubled`.
pub(super) fn judge(orders: &Orders, settled: &Settled, doubled: u64) -> io::Result<Verdict> {
    let facts = Facts::read(&orders.journals())?;
    Ok(judged(&facts, settled, orders.guarded.then_some(doubled)))
}

/// Without a guard there is no order to be judged.
fn judged(facts: &Facts, settled: &Settled, guarded: Option<u64>) -> Verdict {
    let mut verdict = Verdict::default();
    chains::judge(facts, &settled.ends, &mut verdict);
    calls::judge(facts, &mut verdict);
    if let Some(doubled) = guarded {
        order::judge(facts, doubled, &mut verdict);
    }
    for stuck in &settled.stuck {
        verdict.broke("L1", || stuck.clone());
    }
    verdict
}

#[cfg(test)]
mod tests;
