//! All rules: code, name, one line, and the page that `--explain` shows.

use crate::error::{Error, nearest};
use crate::finding::Severity::{self, High, Low, Medium};

/// A rule, as people know it.
///
/// ```
/// let rule = stanchion_audit::catalogue::rule("RC101").unwrap();
/// assert_eq!(rule.name, "lost-update-file");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its code; it is never given to another rule.
    pub code: &'static str,
    /// Its name, which reads well after "allow".
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// How severe its findings are, unless a finding or the configuration says otherwise.
    pub severity: Severity,
    /// Its page, in Markdown.
    pub doc: &'static str,
}

macro_rules! rules {
    ($($code:ident $name:literal $severity:ident $summary:literal)+) => {
        &[$(Rule {
            code: stringify!($code),
            name: $name,
            summary: $summary,
            severity: $severity,
            doc: include_str!(concat!("../rules/", stringify!($code), ".md")),
        }),+]
    };
}

/// All rules, by code. 1xx: lost updates; 2xx: locks; 3xx: files; 4xx: effects and retries.
///
/// ```
/// assert!(stanchion_audit::catalogue::RULES.iter().any(|rule| rule.name == "fail-open-lock"));
/// ```
pub const RULES: &[Rule] = rules! {
    RC101 "lost-update-file" High "A file is read, changed and written back without a lock that keeps other writers out"
    RC102 "lost-update-row" High "A row is read and written back from what was read, without a lock or a comparison"
    RC103 "lost-update-key" High "A key of a store is read and set again from what was read, without an atomic operation"
    RC104 "lost-update-memory" Medium "Shared memory is read, something is awaited, and it is written from what was read"
    RC105 "split-critical-section" High "A lock is held for the read and for the write, but not from one to the other"
    RC106 "version-not-checked" High "A version is read or raised, but the write does not compare it"
    RC107 "stale-cache-overwrite" High "A copy in memory that was loaded earlier is written over what is stored"
    RC108 "snapshot-out-of-order" Medium "Snapshots of changing state are saved by writes that can overtake each other"
    RC201 "lock-scope-too-small" High "A lock keeps out fewer than those who share what it protects"
    RC202 "release-without-token" High "A lock is deleted without a check that it is still one's own"
    RC203 "lock-without-ttl" Medium "A lock that nobody frees if its holder dies"
    RC204 "renew-without-token" High "A lock is prolonged without a check, in the same step, that it is still one's own"
    RC205 "lock-not-released" Medium "A path leaves the function without giving the lock back"
    RC206 "lock-per-call" High "Each call makes a lock of its own, which keeps nobody out"
    RC207 "await-once-mutex" High "The holder of a promise lock is awaited once, and then nobody looks again"
    RC208 "stale-lock-unlink" High "A lock that looks old is removed, and it may be a new one by then"
    RC209 "fail-open-lock" High "If the lock cannot be taken, the work goes on without it"
    RC210 "advisory-lock-in-pool" High "A lock of a session is taken on a connection that goes back into a pool"
    RC211 "for-update-outside-transaction" High "A row is locked by a statement whose transaction ends with it"
    RC301 "file-check-then-act" Medium "A file is looked at and then acted on; in between it can change"
    RC302 "non-atomic-write" Medium "A file that others read is written in place"
    RC303 "fixed-temp-name" Medium "All writers use one name for their temporary file"
    RC304 "error-as-empty-state" High "State that cannot be read is taken for empty, and saved"
    RC401 "check-then-insert" High "Something is inserted if a look did not find it, and nothing enforces that it is unique"
    RC402 "effect-in-retry" High "An effect that must not happen twice is repeated without an idempotency key"
    RC403 "retry-without-backoff" Low "A failed call is repeated at once, or by all at the same moment"
    RC404 "key-deleted-on-timeout" High "An idempotency key is given up although the call may have run"
    RC405 "dedup-window-too-short" Medium "Ids are forgotten before their sender stops repeating them"
    RC406 "timer-without-leader" Medium "A timer runs in each instance, and its work is meant to be done once"
    RC407 "hints-contradict-handler" Medium "A tool says that it only reads or may be repeated, and its handler does otherwise"
};

/// The rule with this code or name.
///
/// ```
/// use stanchion_audit::catalogue::rule;
/// assert_eq!(rule("RC202"), rule("release-without-token"));
/// assert_eq!(rule("RC999"), None);
/// ```
#[must_use]
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.code == code || rule.name == code)
}

/// The rules that a word of a user means: a code or name, or the beginning of codes, as `RC2`.
///
/// # Errors
/// If it means none; the nearest one is named.
///
/// ```
/// use stanchion_audit::catalogue::chosen;
/// assert_eq!(chosen("rc3").unwrap().count(), 4);
/// assert!(chosen("RC9").is_err());
/// ```
pub fn chosen(word: &str) -> Result<impl Iterator<Item = &'static Rule> + use<>, Error> {
    let code = word.to_uppercase();
    let whole = rule(word);
    let is_meant =
        move |of: &&Rule| whole.is_some_and(|whole| whole == *of) || code.len() > 1 && of.code.starts_with(&code);
    if RULES.iter().any(|rule| is_meant(&rule)) { Ok(RULES.iter().filter(is_meant)) } else { Err(unknown(word)) }
}

/// The page of the rule with this code or name.
///
/// # Errors
/// If there is no such rule; the nearest one is named.
///
/// ```
/// use stanchion_audit::catalogue::explain;
/// assert!(explain("RC101")?.contains("## Fix with Stanchion"));
/// assert!(explain("lost-update-fiel").unwrap_err().to_string().contains("lost-update-file"));
/// # Ok::<(), stanchion_audit::error::Error>(())
/// ```
pub fn explain(code: &str) -> Result<&'static str, Error> {
    rule(code).or_else(|| rule(&code.to_uppercase())).map(|rule| rule.doc).ok_or_else(|| unknown(code))
}

fn unknown(code: &str) -> Error {
    let names = RULES.iter().flat_map(|rule| [rule.code, rule.name]);
    let hint = nearest(code, names).map_or_else(
        || format!("there are RC101 to RC407, {} in all", RULES.len()),
        |near| format!("did you mean `{near}`?"),
    );
    Error::new(format!("there is no rule `{}`", crate::format::flat(code))).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADINGS: [&str; 7] = [
        "What it finds",
        "Why it races",
        "Example",
        "Fix without a library",
        "Fix with Stanchion",
        "What it does not find",
        "Limits",
    ];

    #[test]
    fn codes_and_names_are_unique_and_in_order() {
        assert!(RULES.is_sorted_by(|a, b| a.code < b.code));
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        assert!(RULES.iter().all(|rule| rule.code.len() == 5 && !rule.summary.ends_with('.')));
    }

    #[test]
    fn every_page_has_its_title_all_headings_in_order_both_languages_and_an_interleaving() {
        for Rule { code, name, doc, .. } in RULES {
            assert!(doc.starts_with(&format!("# {code} {name}\n")), "{code}: title");
            let headings: Vec<_> = doc.lines().filter_map(|line| line.strip_prefix("## ")).collect();
            assert_eq!(headings, HEADINGS, "{code}");
            assert!(doc.contains("```ts\n") && doc.contains("```python\n"), "{code}: languages");
            assert!(doc.contains("\n| step | "), "{code}: interleaving");
            let lines = doc.lines().count();
            assert!((40..=80).contains(&lines), "{code}: {lines} lines");
            assert!(doc.lines().all(|line| line.chars().count() <= 160), "{code}: long line");
            assert_eq!(doc.matches("```").count() % 2, 0, "{code}: open code block");
        }
    }

    #[test]
    fn pages_name_only_rules_that_exist() {
        for rule in RULES {
            for (at, _) in rule.doc.match_indices("RC") {
                let code = rule.doc.get(at..at + 5).unwrap_or_default();
                assert!(super::rule(code).is_some(), "{}: {code}", rule.code);
            }
        }
    }

    #[test]
    fn a_rule_is_found_by_code_in_any_case_and_by_name() {
        assert_eq!(explain("rc101"), explain("lost-update-file"));
        assert_eq!(explain("").unwrap_err().to_string(), "there is no rule ``; there are RC101 to RC407, 30 in all");
    }
}
