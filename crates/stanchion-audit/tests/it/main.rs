//! The corpus of labelled cases, and its judge.
//!
//! A case is a file or a folder in `cases/RC…/`. On the line of a write stands what must be found there:
//! `expect: RC101 read=12`, several with commas, `read=store.ts:12` for another file. Whatever is not marked must not be
//! found, except codes that the first line allows: `also: RC302`. `deployment: cluster` there means several machines.
//! `cases/solved.txt` lists the cases that must be exactly right; write it anew with `SOLVED=write cargo test --test it`.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its cases has failed")]

mod bad_input;
mod fuzz;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use stanchion_audit::corpus::{self, Said};

const LANGUAGES: [(&str, &[&str]); 4] =
    [("ts", &["ts", "js", "mjs", "tsx", "cjs"]), ("py", &["py"]), ("go", &["go"]), ("rust", &["rs"])];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    path: String,
    line: u32,
    code: String,
    read: Option<(String, u32)>,
}

#[derive(Default)]
struct Case {
    name: String,
    files: Vec<String>,
    language: &'static str,
    expected: Vec<Expected>,
    also: BTreeSet<String>,
    cluster: bool,
    /// There is a front-end for all of it.
    judged: bool,
}

#[derive(Default, Clone, Copy)]
struct Count {
    found: u32,
    missed: u32,
    wrong: u32,
}

fn files_of(path: &Path, into: &mut Vec<PathBuf>) {
    if path.is_file() {
        into.push(path.to_owned());
        return;
    }
    let mut inside: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    inside.sort();
    inside.iter().for_each(|path| files_of(path, into));
}

fn expectations(path: &str, line: u32, text: &str, into: &mut Vec<Expected>) {
    let folder = path.rsplit_once('/').unwrap().0;
    for one in text.split(',') {
        let mut words = one.split_whitespace();
        let code = words.next().unwrap().to_owned();
        assert!(stanchion_audit::catalogue::rule(&code).is_some(), "{path}:{line}: no rule {code}");
        let read = words.next().map(|word| {
            let word = word.strip_prefix("read=").unwrap_or_else(|| panic!("{path}:{line}: {word}"));
            match word.rsplit_once(':') {
                Some((file, line)) => (format!("{folder}/{file}"), line.parse().unwrap()),
                None => (path.to_owned(), word.parse().unwrap()),
            }
        });
        into.push(Expected { path: path.to_owned(), line, code, read });
    }
}

fn load(root: &Path, path: &Path) -> Case {
    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    let mut files = Vec::new();
    files_of(path, &mut files);
    let mut case = Case { name, judged: true, ..Case::default() };
    for file in files {
        let path = file.to_str().unwrap().to_owned();
        let ending = path.rsplit('.').next().unwrap();
        if let Some((language, _)) = LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending)) {
            case.language = language;
        }
        let text = fs::read_to_string(&file).unwrap();
        case.judged &= corpus::is_understood(&path, &text);
        let head = text.lines().next().unwrap_or_default();
        for part in head.trim_start_matches(['/', '#', ' ']).split(';') {
            if let Some(codes) = part.trim().strip_prefix("also:") {
                case.also.extend(codes.split([',', ' ']).filter(|code| !code.is_empty()).map(str::to_owned));
            }
            case.cluster |= part.trim() == "deployment: cluster";
        }
        for (index, line) in text.lines().enumerate() {
            if let Some((_, expected)) = line.split_once("expect: ") {
                expectations(&path, u32::try_from(index).unwrap() + 1, expected, &mut case.expected);
            }
        }
        case.files.push(path);
    }
    case
}

/// Whether the case is exactly right, and what is wrong with it.
fn judge(case: &Case, hits: &[Said], counts: &mut BTreeMap<(String, &'static str), Count>) -> Vec<String> {
    let short = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let fits = |hit: &Said, expected: &Expected| {
        hit.code == expected.code
            && hit.writes.contains(&(expected.path.clone(), expected.line))
            && expected.read.as_ref().is_none_or(|read| hit.reads.contains(read))
    };
    let mut problems = Vec::new();
    for expected in &case.expected {
        let count = counts.entry((expected.code.clone(), case.language)).or_default();
        if hits.iter().any(|hit| fits(hit, expected)) {
            count.found += 1;
        } else {
            count.missed += 1;
            let read =
                expected.read.as_ref().map_or_else(String::new, |(path, line)| format!(" read={}:{line}", short(path)));
            problems.push(format!("missed {} at {}:{}{read}", expected.code, short(&expected.path), expected.line));
        }
    }
    for hit in hits {
        if case.also.contains(hit.code) || case.expected.iter().any(|expected| fits(hit, expected)) {
            continue;
        }
        counts.entry((hit.code.to_owned(), case.language)).or_default().wrong += 1;
        let lines = |of: &[(String, u32)]| {
            of.iter().map(|(path, line)| format!("{}:{line}", short(path))).collect::<Vec<_>>().join("+")
        };
        let (writes, reads) = (lines(&hit.writes), lines(&hit.reads));
        problems.push(format!("wrong {} at {writes} read={reads} ({})", hit.code, hit.resource));
    }
    problems
}

fn table(counts: &BTreeMap<(String, &'static str), Count>) -> String {
    let mut text = "rule   lang  found missed wrong\n".to_owned();
    let mut all: BTreeMap<&str, Count> = BTreeMap::new();
    for ((code, language), count) in counts {
        writeln!(text, "{code}  {language:<5} {:>5} {:>6} {:>5}", count.found, count.missed, count.wrong).unwrap();
        let sum = all.entry(language).or_default();
        sum.found += count.found;
        sum.missed += count.missed;
        sum.wrong += count.wrong;
    }
    for (language, Count { found, missed, wrong }) in all {
        let share = |of: u32| f64::from(found) / f64::from((found + of).max(1));
        let (recall, precision) = (share(missed), share(wrong));
        writeln!(
            text,
            "all    {language:<5} {found:>5} {missed:>6} {wrong:>5}  recall {recall:.2} precision {precision:.2}"
        )
        .unwrap();
    }
    text
}

#[test]
fn every_solved_case_stays_solved() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut paths = Vec::new();
    for rule in fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        paths.extend(fs::read_dir(rule).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    let list = root.join("solved.txt");
    let solved_before: BTreeSet<String> =
        fs::read_to_string(&list).unwrap_or_default().lines().map(str::to_owned).collect();
    let (mut counts, mut solved, mut report, mut lost) = (BTreeMap::new(), BTreeSet::new(), String::new(), Vec::new());
    let mut waiting = 0;
    let tried = |path: &PathBuf| {
        let case = load(&root, path);
        let hits = if case.judged { corpus::judge(&case.files, case.cluster) } else { Vec::new() };
        (case, hits)
    };
    for (case, hits) in paths.par_iter().map(tried).collect::<Vec<_>>() {
        if !case.judged {
            waiting += 1;
            continue;
        }
        assert!(!case.language.is_empty(), "{}: no source", case.name);
        let problems = judge(&case, &hits, &mut counts);
        if problems.is_empty() {
            solved.insert(case.name);
            continue;
        }
        writeln!(report, "unsolved {}: {}", case.name, problems.join("; ")).unwrap();
        if solved_before.contains(&case.name) {
            lost.push(case.name);
        }
    }
    lost.extend(solved_before.iter().filter(|name| !root.join(name).exists()).cloned());
    let new: Vec<&String> = solved.difference(&solved_before).collect();
    eprintln!(
        "{report}{}\n{} of {} cases solved, {waiting} without a front-end",
        table(&counts),
        solved.len(),
        paths.len() - waiting
    );
    if std::env::var("SOLVED").as_deref() == Ok("write") {
        let text: String = solved.iter().map(|name| format!("{name}\n")).collect();
        fs::write(&list, text).unwrap();
        return;
    }
    if !new.is_empty() {
        eprintln!("solved, but not in solved.txt: {new:?}");
    }
    assert!(lost.is_empty(), "no longer solved, or gone: {lost:?}");
}
