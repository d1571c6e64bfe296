//! `cargo xtask rules`: `docs/rules/`, an index and a page for each rule, from the auditor's list of rules and its pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::shell::{Outcome, say, workspace};

const CRATE: &str = "crates/stanchion-audit";
const FOLDER: &str = "docs/rules";
const HEAD: &str = "\
<!-- Written by `cargo xtask rules`; change crates/stanchion-audit/rules and crates/stanchion-audit/src/catalogue.rs instead. -->
";

/// Headings of the index, by the first digit of the codes.
const GROUPS: [(char, &str); 4] =
    [('1', "Lost updates"), ('2', "Locks"), ('3', "Files"), ('4', "Effects, retries, timers")];

/// A line of the list: `RC101 "name" High "summary"`.
struct Rule<'a> {
    code: &'a str,
    name: &'a str,
    severity: String,
    summary: &'a str,
}

/// Writes all pages, and takes those of rules that are no more away.
pub(crate) fn run(_: &[String]) -> Outcome {
    let pages = pages()?;
    let folder = folder();
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {FOLDER}: {e}"))?;
    for name in written()?.into_keys().filter(|name| !pages.contains_key(name)) {
        fs::remove_file(folder.join(&name)).map_err(|e| format!("cannot remove {FOLDER}/{name}: {e}"))?;
    }
    for (name, text) in &pages {
        fs::write(folder.join(name), text).map_err(|e| format!("cannot write {FOLDER}/{name}: {e}"))?;
    }
    say(&format!("{} pages in {FOLDER}", pages.len()));
    Ok(())
}

/// Fails if a page is not what the rules say.
pub(crate) fn current() -> Outcome {
    let (pages, written) = (pages()?, written()?);
    let names = pages.keys().chain(written.keys());
    let mut old: Vec<&str> = names.filter(|name| pages.get(*name) != written.get(*name)).map(String::as_str).collect();
    old.sort_unstable();
    old.dedup();
    if old.is_empty() { Ok(()) } else { Err(format!("{FOLDER}: {} are old; run `cargo xtask rules`", old.join(", "))) }
}

fn folder() -> PathBuf {
    workspace().join(FOLDER)
}

/// The pages as they are, by file name.
fn written() -> Outcome<BTreeMap<String, String>> {
    let Ok(entries) = fs::read_dir(folder()) else { return Ok(BTreeMap::new()) };
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::read_to_string(&path).map(|text| (name, text)).map_err(|e| format!("cannot read {}: {e}", path.display()))
    };
    entries.flatten().map(|entry| read(entry.path())).collect()
}

/// The pages as they should be.
fn pages() -> Outcome<BTreeMap<String, String>> {
    let list = format!("{CRATE}/src/catalogue.rs");
    let text = fs::read_to_string(workspace().join(&list)).map_err(|e| format!("cannot read {list}: {e}"))?;
    let rules: Vec<Rule<'_>> = text.lines().filter_map(rule).collect();
    if rules.is_empty() {
        return Err(format!("{list} lists no rules"));
    }
    let mut pages = BTreeMap::from([("README.md".to_owned(), index(&rules))]);
    for rule in &rules {
        let source = format!("{CRATE}/rules/{}.md", rule.code);
        let page = fs::read_to_string(workspace().join(&source)).map_err(|e| format!("cannot read {source}: {e}"))?;
        let (title, rest) = page.split_once('\n').ok_or_else(|| format!("{source} is empty"))?;
        let (severity, summary) = (&rule.severity, rule.summary);
        let text = format!("{HEAD}{title}\n\n{summary}. Severity: {severity}. [All rules](README.md)\n{rest}");
        pages.insert(format!("{}.md", rule.code), text);
    }
    Ok(pages)
}

fn rule(line: &str) -> Option<Rule<'_>> {
    let line = line.trim();
    let (code, rest) = line.split_once(' ')?;
    let is_code = code.len() == 5 && code.starts_with("RC") && code.chars().skip(2).all(|c| c.is_ascii_digit());
    let mut parts = rest.split('"');
    let (_, name, severity, summary) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    is_code.then(|| Rule { code, name, severity: severity.trim().to_lowercase(), summary })
}

fn index(rules: &[Rule<'_>]) -> String {
    let mut text = format!(
        "{HEAD}# Rules\n\nWhat `stanchion audit` finds; [how to use it](../audit.md). `stanchion audit --explain RC101` prints a page, \
         `stanchion audit --rules` this list.\n"
    );
    for (digit, title) in GROUPS {
        text.push_str(&format!("\n## {title}\n\n| code | name | severity | what it finds |\n|---|---|---|---|\n"));
        for Rule { code, name, severity, summary } in
            rules.iter().filter(|rule| rule.code.chars().nth(2) == Some(digit))
        {
            text.push_str(&format!("| [{code}]({code}.md) | `{name}` | {severity} | {summary} |\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_list_are_read_and_others_are_not() {
        let found = rule("    RC101 \"lost-update-file\" High \"A file is read\"").unwrap();
        assert_eq!((found.code, found.name, found.severity.as_str()), ("RC101", "lost-update-file", "high"));
        assert!(rule("RC10x \"a\" High \"b\"").is_none() && rule("// RC101 of all").is_none());
    }

    #[test]
    fn every_rule_has_a_group_and_a_page() {
        let pages = pages().unwrap();
        let index = &pages["README.md"];
        for name in pages.keys().filter(|name| *name != "README.md") {
            assert!(index.contains(&format!("({name})")), "{name}");
        }
        assert!(pages.len() > 25);
    }
}
