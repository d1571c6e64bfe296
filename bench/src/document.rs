//! `--write`: replaces one section of docs/benchmarks.md.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::arguments::Options;
use crate::{Outcome, say};

const INTRO: &str = "# Benchmarks

Stanchion beside the raw clients it is built on and beside other lock libraries. The raw client is the limit: it
sends the same requests with nothing around them.

Repeat with `cargo xtask bench locks --write` on a quiet machine (about 20 minutes; `--only redis` for a part,
`--list` for the names). Servers are private and real; the packages of other languages are installed into
`target/peers`, and a subject that cannot run is named as SKIPPED.

How to read:

- **ratio** is the median over rounds of subject/limit *in the same round*. For rates larger is better, for
  hand-offs (`handoff_us` over the limit's) smaller is better.
- **p50, p99, max** are over all operations of all rounds: whole operations where nobody contends, waits for the lock
  where many do. Waits that were open when the window ended are in, so that starving shows.
- **handoff_us** is the time per cycle in which nobody was inside, **max_min** the acquisitions of the luckiest task
  over those of the unluckiest, **min_task** and **starved** the worst of all rounds, **overlaps** how often a holder
  met another inside (a shared cell is checked at every entry and exit).
- With 0 ms hold, unfair locks look fast: the same task takes the lock again while the others sleep. Read p99,
  max_min and starved beside the rate.
- Targets are printed as met or MISSED and never fail a run.
";

/// `docs/benchmarks.md` of this checkout.
fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md")
}

/// What one benchmark has to say.
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    /// The machine, and how to read the numbers.
    pub(crate) heading: &'a str,
    pub(crate) body: &'a str,
}

/// Says the heading, keeps the numbers where `--json` asks for them, and writes the section if `--write` does.
pub(crate) fn publish(options: &Options, section: &Section<'_>, mut numbers: Value) -> Outcome {
    let Section { name, title, heading, body } = section;
    say(heading);
    if let Some(file) = &options.json {
        numbers["machine"] = json!(heading);
        fs::write(file, serde_json::to_string_pretty(&numbers)?)?;
    }
    if options.write {
        let path = write(name, &format!("## {title}\n\n{heading}\n{body}"))?;
        say(&format!("written to {}", path.display()));
    }
    Ok(())
}

/// Replaces what stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; adds both where they are missing.
fn write(name: &str, report: &str) -> Outcome<PathBuf> {
    write_into(&path(), name, report)
}

/// The same in another document beside it.
pub(crate) fn write_beside(document: &str, name: &str, report: &str) -> Outcome<PathBuf> {
    write_into(&path().with_file_name(document), name, report)
}

fn write_into(path: &Path, name: &str, report: &str) -> Outcome<PathBuf> {
    let path = path.to_owned();
    let text = if path.exists() { fs::read_to_string(&path)? } else { INTRO.to_owned() };
    let text = replaced(&text, name, report)?;
    // Beside its place and renamed: half a document would be worse than the old one.
    let staged = path.with_extension("md.new");
    fs::write(&staged, text)?;
    // stanchion-audit: ignore RC101, RC303 -- one benchmark runs at a time: it needs the machine for itself
    fs::rename(&staged, &path)?;
    Ok(path)
}

fn replaced(text: &str, name: &str, report: &str) -> Outcome<String> {
    let (open, close) = (format!("<!-- bench:{name} -->"), format!("<!-- /bench:{name} -->"));
    let section = format!("{open}\n\n{}\n\n{close}", report.trim());
    match (text.find(&open), text.find(&close)) {
        (Some(from), Some(to)) if from < to => Ok(format!("{}{section}{}", &text[..from], &text[to + close.len()..])),
        (None, None) => Ok(format!("{}\n\n{section}\n", text.trim_end())),
        _ => Err(format!("docs/benchmarks.md has one of {open} and {close} without the other").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_section_changes() {
        let first = replaced("intro\n", "locks", "old").unwrap();
        let both = replaced(&first, "calls", "kept").unwrap();
        let text = replaced(&both, "locks", "new").unwrap();
        assert!(text.starts_with("intro\n") && text.contains("new") && text.contains("kept") && !text.contains("old"));
    }

    #[test]
    fn a_torn_section_is_refused() {
        assert!(replaced("<!-- bench:locks -->", "locks", "new").is_err());
    }
}
