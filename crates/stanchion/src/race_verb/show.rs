//! What a person, a build server and a program have of a race.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use stanchion_race::{Comparison, Line, Minimal, Outcome, Tone, Verdict};

use super::RaceArgs;
use crate::exit::{escaped, print, say};
use crate::output::{columns, is_coloured, replace};

/// One run, or two to be compared.
pub(super) enum Report {
    One(Box<Verdict>),
    Both(Box<Comparison>),
}

impl Report {
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::One(verdict) => verdict.outcome,
            Self::Both(both) => both.outcome(),
        }
    }

    /// That of the guarded run, if it raced.
    fn minimal(&self) -> Option<&Minimal> {
        match self {
            Self::One(verdict) => verdict.minimal.as_ref(),
            Self::Both(both) => both.guarded.minimal.as_ref().or(both.bare.minimal.as_ref()),
        }
    }

    /// Why something could not be kept.
    pub(super) fn write(&self, args: &RaceArgs) -> Result<(), String> {
        let put = |path: &Option<PathBuf>, text: &dyn Fn() -> String| {
            let Some(path) = path else { return Ok(()) };
            replace(path, text().as_bytes()).map_err(|e| format!("error: {} cannot be written: {e}", path.display()))
        };
        match (self.minimal(), &args.save) {
            (Some(minimal), _) => put(&args.save, &|| minimal.schedule.to_json() + "\n")?,
            (None, Some(path)) => {
                let old = if path.exists() { "; what is there is of an earlier run" } else { "" };
                say(&escaped(&format!("note: no race, so no schedule was written to {}{old}", path.display())));
            }
            (None, None) => {}
        }
        put(&args.junit, &|| match self {
            Self::One(verdict) => verdict.to_junit(),
            Self::Both(both) => both.to_junit(),
        })?;
        put(&args.html, &|| match self {
            Self::One(verdict) => verdict.to_html(&again(args, verdict)),
            Self::Both(both) => both.to_html(&again(args, &both.guarded)),
        })
    }

    pub(super) fn print(&self, args: &RaceArgs) {
        match self {
            Self::One(verdict) if args.json => print(&verdict.to_json()),
            Self::Both(both) if args.json => print(&both.to_json()),
            Self::One(verdict) => lines(&verdict.lines()),
            Self::Both(both) => lines(&both.lines()),
        }
    }
}

/// Before the work: nobody should wait for an answer that cannot be given.
pub(super) fn check(args: &RaceArgs) -> Result<(), String> {
    for path in [&args.save, &args.junit, &args.html].into_iter().flatten() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let why = if path.is_dir() {
            "it is a folder"
        } else if !folder.is_dir() {
            "there is no such folder"
        } else {
            continue;
        };
        return Err(format!("error: {} cannot be written: {why}", path.display()));
    }
    if args.auto.is_empty() {
        return Err("error: --auto needs the command of a server after `--`, or --url".to_owned());
    }
    Ok(())
}

/// What was typed, and what makes it play the same again.
fn again(args: &RaceArgs, verdict: &Verdict) -> String {
    let mut words = vec!["stanchion".to_owned(), "race".into()];
    match &args.spec {
        Some(spec) => words.push(spec.display().to_string()),
        None => words.extend(args.auto.words()),
    }
    match &args.schedule {
        Some(schedule) => words.extend(["--schedule".into(), schedule.display().to_string()]),
        None => words.extend(["--seed".into(), verdict.seed.to_string()]),
    }
    for host in &args.allow_remote {
        words.extend(["--allow-remote".into(), host.clone()]);
    }
    if args.through_guard {
        words.push("--through-guard".into());
    }
    if let Some(policy) = &args.policy {
        words.extend(["--policy".into(), policy.clone()]);
    }
    words.extend(args.auto.command());
    let quoted = words.iter().map(|word| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+=".contains(c);
        if word.chars().all(is_plain) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn lines(lines: &[Line]) {
    let colour = is_coloured();
    let width = columns(std::io::stdout()).filter(|_| std::io::stdout().is_terminal());
    for line in lines {
        let colour = match line.tone {
            Tone::Bad if colour => "\u{1b}[1;31m",
            Tone::Good if colour => "\u{1b}[1;32m",
            Tone::Doubtful if colour => "\u{1b}[1;33m",
            _ => "",
        };
        let end = if colour.is_empty() { "" } else { "\u{1b}[0m" };
        for part in wrapped(&escaped(&line.text), width) {
            print(&format!("{colour}{part}{end}"));
        }
    }
}

/// Breaks a line that is too long where a thought ends, else between words; what follows stands below it.
fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width.map(|width| width.max(20)) else { return vec![line.to_owned()] };
    let indent = " ".repeat(line.chars().take_while(|c| *c == ' ').count().min(width / 2) + 2);
    let mut parts = Vec::new();
    let mut rest = line.to_owned();
    while rest.chars().count() > width {
        let most = rest.char_indices().nth(width).map_or(rest.len(), |(at, _)| at);
        let from = rest.len() - rest.trim_start().len();
        let head = rest.get(..most).unwrap_or(&rest);
        let thought = head.rfind(" · ").filter(|at| *at > from).map(|at| (at, at + " · ".len()));
        let word = head.rfind(' ').filter(|at| *at > from).map(|at| (at, at + 1));
        let (end, next) = thought.or(word).unwrap_or((most, most));
        parts.push(rest.get(..end).unwrap_or_default().to_owned());
        rest = format!("{indent}{}", rest.get(next..).unwrap_or_default());
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_broken_where_a_thought_ends() {
        let line = "200 acknowledged, 1 kept, 199 lost · minimal: 2 calls, 1 instance · replay: --seed 17";
        assert_eq!(wrapped(line, None), [line]);
        let broken = wrapped(line, Some(80));
        assert_eq!(
            broken,
            ["200 acknowledged, 1 kept, 199 lost · minimal: 2 calls, 1 instance", "  replay: --seed 17"]
        );
        assert_eq!(wrapped("    one two three four five", Some(20)), ["    one two three", "      four five"]);
        let long = wrapped(&"é".repeat(50), Some(20));
        assert!(long.len() == 3 && long.iter().all(|part| part.chars().count() <= 20), "{long:?}");
    }
}
