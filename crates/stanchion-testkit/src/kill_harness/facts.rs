//! What the logs say.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::log::{self, Effect};
use super::watch::Id;

/// One answer that a caller was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) worker: String,
    pub(super) id: Id,
    pub(super) how: String,
    pub(super) kind: String,
    pub(super) replayed: bool,
    pub(super) recorded: bool,
    pub(super) body: String,
}

impl Told {
    /// Of a call that ran.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self.kind.as_str(), "ok" | "failed")
    }
}

/// Somebody judged the owner of a call dead.
#[derive(Debug, Clone)]
pub(super) struct Lapse {
    pub(super) id: Id,
    pub(super) epoch: u64,
    pub(super) age: u128,
    pub(super) limit: u128,
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) effects: Vec<Effect>,
    pub(super) told: Vec<Told>,
    /// Calls with which a worker died.
    pub(super) unanswered: HashSet<(String, Id)>,
    /// What others saw of a call just before its effect.
    pub(super) marks: HashMap<(String, Id, u64), (String, u64)>,
    /// What others saw of a call in the middle of its work.
    pub(super) alive: Vec<(Id, u64, String)>,
    /// Who recorded an answer, and which.
    pub(super) finished: Vec<(Id, u64, String)>,
    pub(super) lapses: Vec<Lapse>,
    pub(super) late: usize,
    pub(super) fenced: usize,
    /// Calls whose own worker could not tell.
    pub(super) doubted: BTreeSet<Id>,
    /// Calls to which the store did not answer.
    pub(super) unheard: BTreeSet<Id>,
    /// Calls whose worker stood still, or whose store took its time.
    pub(super) stalled: BTreeSet<Id>,
    /// What must never be asked of the store.
    pub(super) forbidden: Vec<String>,
}

impl Facts {
    pub(super) fn read(folder: &Path) -> Self {
        let mut facts = Self { effects: Effect::read_all(folder), ..Self::default() };
        let files = std::fs::read_dir(folder).expect("the folder of the logs");
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with('w') && name.ends_with(".log")).collect();
        names.sort();
        for name in names {
            facts.read_worker(name.trim_end_matches(".log"), log::read(&folder.join(&name)));
        }
        facts
    }

    /// The calls that took effect.
    pub(super) fn affected(&self) -> BTreeSet<Id> {
        self.effects.iter().map(|effect| (effect.principal.clone(), effect.index)).collect()
    }

    fn read_worker(&mut self, worker: &str, lines: Vec<Vec<String>>) {
        let mut open = None;
        let mut last = None;
        for line in lines {
            let words: Vec<&str> = line.iter().map(String::as_str).collect();
            self.read_line(worker, &words, &mut open).unwrap_or_else(|| panic!("{worker}: what is {words:?}?"));
            last = open.clone().or(last);
            // It is noticed afterwards: the call may have ended in between.
            if matches!(words[0], "stall" | "slow") {
                self.stalled.extend(last.clone());
            }
        }
        self.unanswered.extend(open.map(|id| (worker.to_owned(), id)));
    }

    fn read_line(&mut self, worker: &str, words: &[&str], open: &mut Option<Id>) -> Option<()> {
        let id = |principal: &str, index: &str| Some((principal.to_owned(), index.parse().ok()?));
        match words {
            ["start", principal, index, _] => *open = Some(id(principal, index)?),
            ["start-sweep"] | ["swept", ..] => {}
            ["answer", principal, index, how, kind, replayed, recorded, body] => {
                *open = None;
                if *kind == "unknown" && *replayed == "false" {
                    self.doubted.insert(id(principal, index)?);
                }
                // Refused because an answer of the store was lost, or with a mark that is still to be taken back; not because
                // the store could not be reached.
                let lost = ["did_not_answer", "could_not_be_marked", "was_held_up"];
                let lost = lost.iter().any(|words| body.contains(words));
                if lost || (*kind != "error" && *recorded == "false") {
                    self.unheard.insert(id(principal, index)?);
                }
                self.told.push(Told {
                    worker: worker.to_owned(),
                    id: id(principal, index)?,
                    how: (*how).to_owned(),
                    kind: (*kind).to_owned(),
                    replayed: replayed.parse().ok()?,
                    recorded: recorded.parse().ok()?,
                    body: (*body).to_owned(),
                });
            }
            ["mark", principal, index, epoch, state, stands] => {
                let call = (worker.to_owned(), id(principal, index)?, epoch.parse().ok()?);
                self.marks.insert(call, ((*state).to_owned(), stands.parse().ok()?));
            }
            ["alive", principal, index, epoch, state, _] => {
                self.alive.push((id(principal, index)?, epoch.parse().ok()?, (*state).to_owned()));
            }
            ["wrote", principal, index, epoch, "done", body] => {
                self.finished.push((id(principal, index)?, epoch.parse().ok()?, (*body).to_owned()));
            }
            ["wrote", principal, index, _, "unknown", _] => drop(self.doubted.insert(id(principal, index)?)),
            ["wrote", ..] => {}
            ["lapse", principal, index, epoch, _, _, age, limit] => self.lapses.push(Lapse {
                id: id(principal, index)?,
                epoch: epoch.parse().ok()?,
                age: age.parse().ok()?,
                limit: limit.parse().ok()?,
            }),
            ["late", ..] => self.late += 1,
            ["fenced", ..] => self.fenced += 1,
            ["stall" | "slow", _] => {}
            ["delete" | "open-ttl", ..] => self.forbidden.push(format!("{worker}: {}", words.join(" "))),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_belongs_to_the_call_that_was_under_way() {
        let lines = [
            "start alice 1 wait",
            "slow 50",
            "answer alice 1 wait unknown false true the_lock_was_lost",
            "start mallory 2 mallory",
            "answer mallory 2 mallory unknown false true the_lock_was_lost",
            // Noticed when it is over.
            "stall 300",
            "start alice 3 wait",
            "answer alice 3 wait unknown false true the_lock_was_lost",
        ];
        let mut facts = Facts::default();
        facts.read_worker("w0-0", lines.map(|line| line.split(' ').map(str::to_owned).collect()).into());
        assert_eq!(facts.stalled, BTreeSet::from([("alice".to_owned(), 1), ("mallory".to_owned(), 2)]));
        assert_eq!(facts.doubted.len(), 3);
    }
}
