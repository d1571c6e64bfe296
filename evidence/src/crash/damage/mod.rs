//! State files with one byte changed or the end cut off: what is noticed, what is left, and what nobody can notice.
//!
//! A changed byte leaves the times of the file as they were, as a bad disk does.

mod memory;
mod records;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use crate::budget::Budget;
use crate::report::{Report, Table, Violation};

/// What was done to a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Damage {
    /// So many bytes are left.
    Cut(usize),
    /// One bit of this byte is another.
    Flip(usize),
}

impl Damage {
    /// Damages the file where it is.
    fn apply(self, path: &Path) -> io::Result<()> {
        let mut bytes = fs::read(path)?;
        let modified = fs::metadata(path)?.modified()?;
        match self {
            // stanchion-audit: ignore RC302 -- to leave half of it is what damage is
            Self::Cut(at) => File::options().write(true).open(path)?.set_len(at as u64),
            Self::Flip(at) => {
                if let Some(byte) = bytes.get_mut(at) {
                    // A bit that turns letters into other letters, quotes into other signs, and digits into other digits.
                    *byte ^= [1, 2, 4, 16][at % 4];
                }
                let mut file = OpenOptions::new().write(true).open(path)?;
                // stanchion-audit: ignore RC101, RC302 -- damage is what is meant
                file.write_all(&bytes)?;
                file.set_modified(modified)
            }
        }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// All is there.
    Same,
    /// It is told, and everything else is there.
    Told,
    /// Nothing is read, and why is told.
    Refused,
    /// What came before it is there, and nothing after it. Nobody can tell that there was more.
    Prefix,
    /// Something else is there, or something is not, and it looks as if it had been written like that.
    Unseen,
}

/// What was tried on one file.
#[derive(Debug, Default)]
struct Tried {
    cuts: usize,
    flips: usize,
    /// Bytes for which there was no time.
    untried: usize,
    effects: BTreeMap<Effect, usize>,
    wrong: Vec<String>,
}

/// Damages the file at every `every`-th byte in both ways, until it is time.
fn try_all(
    size: usize,
    every: usize,
    until: Instant,
    one: impl Fn(Damage) -> io::Result<Result<Effect, String>>,
) -> io::Result<Tried> {
    let mut tried = Tried::default();
    for at in (0..size).step_by(every) {
        if Instant::now() > until {
            tried.untried += 1;
            continue;
        }
        for damage in [Damage::Cut(at), Damage::Flip(at)] {
            match damage {
                Damage::Cut(_) => tried.cuts += 1,
                Damage::Flip(_) => tried.flips += 1,
            }
            match one(damage)? {
                Ok(effect) => *tried.effects.entry(effect).or_default() += 1,
                Err(what) => tried.wrong.push(format!("{damage:?}: {what}")),
            }
        }
    }
    Ok(tried)
}

/// Damages every kind of file at every `every`-th byte, in a fourth of the time all in all.
pub fn run(budget: &Budget, every: usize, report: &mut Report) -> io::Result<()> {
    let columns = [
        "file",
        "cuts",
        "changed bytes",
        "all there",
        "told, the rest there",
        "refused and told",
        "a prefix",
        "cannot be seen",
        "wrong",
    ];
    let mut table =
        Table { heading: "Damaged files".to_owned(), columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() };
    let soon = || Instant::now() + budget.time / 16;
    let files = [
        ("memory file", memory::file(every, soon())?),
        ("record beside the memory file", memory::record(every, soon())?),
        ("SQLite file", records::file("records.db", every, soon())?),
        ("SQLite log, not yet in the file", records::file("records.db-wal", every, soon())?),
    ];
    for (name, tried) in files {
        let count = |effect| tried.effects.get(&effect).copied().unwrap_or_default();
        let effects = [Effect::Same, Effect::Told, Effect::Refused, Effect::Prefix, Effect::Unseen].map(count);
        let numbers = [tried.cuts, tried.flips].into_iter().chain(effects).chain([tried.wrong.len()]);
        table.rows.push([name.to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect());
        if tried.untried > 0 {
            report.void.push(format!("{name}: there was no time to damage {} bytes", tried.untried));
        }
        report.count("faults", (tried.cuts + tried.flips) as u64);
        report.violations.extend(tried.wrong.iter().map(|what| Violation {
            property: "S5".to_owned(),
            what: format!("{name}: {what}"),
            replay: super::again(budget),
        }));
    }
    report.tables.push(table);
    Ok(())
}

fn failed(e: impl std::fmt::Display) -> io::Error {
    io::Error::other(e.to_string())
}
