//! The articles that this project began with: what is wrong in their code and can be seen in it is found.
//!
//! The articles belong to their authors and are no part of the repository. Where they lie beside the checkout, or where
//! `STANCHION_SEEDS` says, their code is taken out of them here; cases of our own wording (`cases/seeds/`) always run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use stanchion_audit::corpus;
use stanchion_testkit::engines::Skip;

use super::{judge, load};

#[test]
fn what_is_wrong_in_the_articles_is_found_in_cases_of_our_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut paths: Vec<PathBuf> = fs::read_dir(root.join("seeds")).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 11, "{paths:?}");
    let mut wrong = Vec::new();
    for path in &paths {
        let case = load(&root, path);
        let is_right = path.file_name().unwrap().to_str().unwrap().starts_with("ok-");
        assert_eq!(case.expected.is_empty(), is_right, "{}", case.name);
        let hits = corpus::judge(&case.files, case.cluster);
        wrong.extend(
            judge(&case, &hits, &mut BTreeMap::new()).into_iter().map(|problem| format!("{}: {problem}", case.name)),
        );
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What an article calls `db` without saying what it is, by what it does with it.
const BEFORE: [(&str, &str); 2] = [
    ("000", "import { Pool } from 'pg';\nconst db = new Pool();\n"),
    ("004", "import { PrismaClient } from '@prisma/client';\nimport fs from 'fs';\nconst db = new PrismaClient();\n"),
];

/// What is found in each article: the rule, and a piece of the line.
const FOUND: [(&str, &str, &str); 7] = [
    ("000", "RC211", "const balance = await db.query("),
    ("000", "RC211", "const result = await db.query("),
    ("000", "RC404", "DELETE FROM idempotency_keys"),
    ("004", "RC102", "balance.amount - amount"),
    ("004", "RC301", "fs.writeFileSync(filePath"),
    ("004", "RC210", "pg_try_advisory_lock"),
    ("004", "RC401", "db.idempotencyKeys.create"),
];

#[test]
fn what_is_wrong_in_the_articles_code_is_found_and_what_is_right_is_not() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let seeds = std::env::var_os("STANCHION_SEEDS").map_or_else(beside, PathBuf::from);
    let Ok(articles) = fs::read_dir(&seeds) else {
        Skip::new("the articles are not here; STANCHION_SEEDS names their folder").report();
        return;
    };
    let mut paths: Vec<PathBuf> = articles.map(|it| it.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 5, "{paths:?}");
    let mut found = BTreeSet::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_str().unwrap().get(..3).unwrap().to_owned();
        found.extend(findings(&name, &fs::read_to_string(path).unwrap()));
    }
    let is_wanted = |(name, code, line): &(String, String, String)| {
        FOUND.iter().any(|wanted| (wanted.0, wanted.1) == (name, code) && line.contains(wanted.2))
    };
    let more: Vec<_> = found.iter().filter(|it| !is_wanted(it)).collect();
    assert!(more.is_empty(), "found what is right: {more:#?}");
    for (name, code, piece) in FOUND {
        let has = |it: &&(String, String, String)| it.0 == name && it.1 == code && it.2.contains(piece);
        assert!(found.iter().any(|it| has(&it)), "{name}: no {code} at `{piece}`");
    }
}

/// Article, rule and line of everything that is found in an article's code.
fn findings(name: &str, article: &str) -> BTreeSet<(String, String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let before = BEFORE.iter().find(|(of, _)| *of == name).map_or("", |(_, text)| text);
    let (mut script, mut go) = (before.to_owned(), String::new());
    for block in blocks(article) {
        // C# has no front-end yet.
        if block.contains("public ") || block.contains("When.NotExists") || block.contains("IDistributedLockFactory") {
            continue;
        }
        let is_go = block.contains("func ") || block.contains("package ");
        if is_go { &mut go } else { &mut script }.push_str(&block);
    }
    fs::write(folder.path().join("code.ts"), &script).unwrap();
    fs::write(folder.path().join("code.go"), &go).unwrap();
    let config = stanchion_audit::config::Config::parse("test.toml", "instances = \"many\"\n").unwrap();
    let audited = stanchion_audit::audit(folder.path(), &[folder.path().to_owned()], &config).unwrap();
    let line = |path: &str, line: u32| {
        let text = audited.text(path).unwrap();
        text.lines().nth(usize::try_from(line).unwrap() - 1).unwrap().to_owned()
    };
    let all = audited.report.findings.iter();
    all.map(|it| (name.to_owned(), it.code.to_owned(), line(&it.path, it.line))).collect()
}

const BEGINS: [&str; 17] = [
    "import ",
    "export ",
    "async function",
    "function ",
    "const ",
    "let ",
    "//",
    "class ",
    "interface ",
    "package ",
    "type ",
    "test(",
    "await ",
    "func ",
    "if (",
    "var ",
    "try {",
];

/// The articles have no fences: code begins with a line that only code begins with, and ends with a line of prose.
fn blocks(article: &str) -> Vec<String> {
    let (mut all, mut block) = (Vec::new(), String::new());
    for line in article.lines() {
        if block.is_empty() {
            if BEGINS.iter().any(|word| line.starts_with(word)) {
                block = format!("{line}\n");
            }
        } else if block.matches('`').count() % 2 == 0 && is_prose(line) {
            all.push(std::mem::take(&mut block));
        } else {
            block.push_str(line);
            block.push('\n');
        }
    }
    all.push(block);
    all
}

fn is_prose(line: &str) -> bool {
    let line = line.trim();
    let Some(first) = line.chars().next() else { return false };
    if ["- ", "|", "• ", "✅", "Enter fullscreen"].iter().any(|mark| line.starts_with(mark)) || first.is_ascii_digit()
    {
        return true;
    }
    let words = line.split_whitespace().filter(|word| word.chars().all(char::is_alphanumeric)).count();
    let ends_as_code = line.ends_with([';', '{', '}', ')', '(', ',', '`', '[', ']', '>']) && words < 6;
    first.is_uppercase() && line.contains(' ') && !ends_as_code
}
