//! What was there before: a file of fingerprints, so that only new findings count.
//!
//! It is sorted and has one line for each finding, so that two people who change it seldom meet. Code, path and message are
//! for people; only the fingerprint counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, line_of};
use crate::finding::Finding;

/// A larger file is no baseline.
const BYTES_MOST: u64 = 64 << 20;

/// One finding of the baseline.
///
/// ```
/// # use stanchion_audit::baseline::Entry;
/// let entry = Entry { fingerprint: "0123456789abcdef".into(), code: "RC101".into(), path: "a.ts".into(), message: "…".into() };
/// assert_eq!(entry.code, "RC101");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// By what it is known.
    pub fingerprint: String,
    /// The rule's code when it was written.
    pub code: String,
    /// The file.
    pub path: String,
    /// What it said.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    code: String,
    path: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    findings: BTreeMap<String, Words>,
}

/// Findings that are accepted for now.
///
/// ```
/// # use stanchion_audit::{baseline::Baseline, finding, format::sample};
/// let mut findings = vec![sample()];
/// finding::finish(&mut findings, &|_| None);
/// let baseline = Baseline::of(&findings);
/// let again = Baseline::parse("baseline.json", &baseline.to_text())?;
/// assert_eq!(again, baseline);
/// assert_eq!(again.split(findings).known.len(), 1);
/// # Ok::<(), stanchion_audit::error::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    findings: BTreeMap<String, Words>,
}

/// Findings beside a baseline.
///
/// ```
/// # use stanchion_audit::baseline::Baseline;
/// assert!(Baseline::default().split(vec![]).gone.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// Those that it does not have.
    pub new: Vec<Finding>,
    /// Those that it has.
    pub known: Vec<Finding>,
    /// What it has and is not found any more.
    pub gone: Vec<Entry>,
}

impl Baseline {
    /// The baseline of these findings; suppressed ones need none.
    ///
    /// ```
    /// # use stanchion_audit::{baseline::Baseline, format::sample};
    /// assert!(Baseline::of(&[sample()]).to_text().contains("RC101"));
    /// ```
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let shown = findings.iter().filter(|finding| finding.marks.suppressed.is_none());
        let words = |f: &Finding| Words { code: f.code.to_owned(), path: f.path.clone(), message: f.message.clone() };
        Self { findings: shown.map(|finding| (finding.fingerprint().to_owned(), words(finding))).collect() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged; then with the line.
    ///
    /// ```
    /// # use stanchion_audit::baseline::Baseline;
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("baseline.json");
    /// std::fs::write(&path, Baseline::default().to_text()).unwrap();
    /// assert_eq!(Baseline::read(&path)?, Baseline::default());
    /// # Ok::<(), stanchion_audit::error::Error>(())
    /// ```
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let wrong = |error: std::io::Error| Error::new(format!("the baseline cannot be read: {error}")).at(&name, 0);
        if fs::metadata(path).map_err(wrong)?.len() > BYTES_MOST {
            return Err(Error::new("this is too large for a baseline (64 MiB)").at(&name, 0));
        }
        Self::parse(&name, &fs::read_to_string(path).map_err(wrong)?)
    }

    /// Understands the text of a file called `name`.
    ///
    /// # Errors
    /// If it is damaged, with the line.
    ///
    /// ```
    /// # use stanchion_audit::baseline::Baseline;
    /// let error = Baseline::parse("b.json", "{\n  \"version\": 1,\n<<<<<<< ours\n").unwrap_err();
    /// assert!(error.to_string().starts_with("b.json:3: this baseline is damaged"));
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        const HINT: &str = "undo the change, or write a new baseline";
        let file: File = serde_json::from_str(text).map_err(|error| {
            let line = u32::try_from(error.line()).unwrap_or(0);
            let what = error.to_string();
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            Error::new(format!("this baseline is damaged: {what}")).at(name, line).hint(HINT)
        })?;
        if file.version != 1 {
            let what = format!("this baseline has version {}, and 1 is the only one known here", file.version);
            let line = line_of(text, text.find("\"version\"").unwrap_or(0));
            return Err(Error::new(what).at(name, line).hint("it was written by a newer stanchion"));
        }
        if let Some(bad) = file.findings.keys().find(|key| !is_fingerprint(key)) {
            let line = line_of(text, text.find(&format!("\"{bad}\"")).unwrap_or(0));
            return Err(Error::new(format!("this baseline is damaged: `{bad}` is no fingerprint"))
                .at(name, line)
                .hint(HINT));
        }
        Ok(Self { findings: file.findings })
    }

    /// The text of the file: the same for the same findings.
    ///
    /// ```
    /// # use stanchion_audit::baseline::Baseline;
    /// assert_eq!(Baseline::default().to_text(), "{\n  \"version\": 1,\n  \"findings\": {}\n}\n");
    /// ```
    #[must_use]
    pub fn to_text(&self) -> String {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        let lines: Vec<_> = self
            .findings
            .iter()
            .map(|(key, Words { code, path, message })| {
                let (key, code, path, message) = (json(key), json(code), json(path), json(message));
                format!("    {key}: {{\"code\": {code}, \"path\": {path}, \"message\": {message}}}")
            })
            .collect();
        let findings = if lines.is_empty() { String::new() } else { format!("\n{}\n  ", lines.join(",\n")) };
        format!("{{\n  \"version\": 1,\n  \"findings\": {{{findings}}}\n}}\n")
    }

    /// Marks each finding as known or new, and gives back what is gone, in order of path and code.
    ///
    /// ```
    /// # use stanchion_audit::{baseline::Baseline, format::sample};
    /// let mut findings = [sample()];
    /// Baseline::default().mark(&mut findings);
    /// assert_eq!(findings[0].marks.known, Some(false));
    /// ```
    pub fn mark(&self, findings: &mut [Finding]) -> Vec<Entry> {
        let mut left = self.findings.clone();
        for finding in findings {
            left.remove(finding.fingerprint());
            finding.marks.known = Some(self.findings.contains_key(finding.fingerprint()));
        }
        let mut gone: Vec<_> = left
            .into_iter()
            .map(|(fingerprint, Words { code, path, message })| Entry { fingerprint, code, path, message })
            .collect();
        gone.sort_by(|a, b| (&a.path, &a.code, &a.fingerprint).cmp(&(&b.path, &b.code, &b.fingerprint)));
        gone
    }

    /// Parts findings into new and known ones, and says what is gone.
    ///
    /// ```
    /// # use stanchion_audit::{baseline::Baseline, format::sample};
    /// assert_eq!(Baseline::default().split(vec![sample()]).new.len(), 1);
    /// ```
    #[must_use]
    pub fn split(&self, mut findings: Vec<Finding>) -> Split {
        let gone = self.mark(&mut findings);
        let (known, new) = findings.into_iter().partition(|finding| finding.marks.known == Some(true));
        Split { new, known, gone }
    }
}

/// 16 hex digits, and `#2` and so on for equal ones.
fn is_fingerprint(key: &str) -> bool {
    let (digits, number) = key.split_once('#').unwrap_or((key, "2"));
    digits.len() == 16
        && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && number.parse::<u32>().is_ok_and(|number| number >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::finish;
    use crate::format::sample;

    fn findings(paths: &[&str]) -> Vec<Finding> {
        let mut all: Vec<_> = paths.iter().map(|path| Finding { path: (*path).into(), ..sample() }).collect();
        finish(&mut all, &|_| Some("a\nb\nc\nd\nsave()\n".into()));
        all
    }

    #[test]
    fn what_is_written_is_read_and_parts_new_from_known_and_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("baseline.json");
        fs::write(&path, Baseline::of(&findings(&["a.ts", "b \"q\"\n.ts"])).to_text()).unwrap();
        let split = Baseline::read(&path).unwrap().split(findings(&["b \"q\"\n.ts", "c.ts"]));
        let paths = |all: &[Finding]| all.iter().map(|finding| finding.path.clone()).collect::<Vec<_>>();
        assert_eq!((paths(&split.new), paths(&split.known)), (vec!["c.ts".into()], vec!["b \"q\"\n.ts".into()]));
        assert_eq!((split.gone.len(), &*split.gone[0].path, &*split.gone[0].code), (1, "a.ts", "RC101"));
    }

    #[test]
    fn moved_lines_stay_known() {
        let baseline = Baseline::of(&findings(&["a.ts"]));
        let mut moved = vec![Finding { path: "a.ts".into(), line: 9, end_line: 9, ..sample() }];
        finish(&mut moved, &|_| Some(format!("{}  save( )\n", "\n".repeat(8)).into()));
        assert_eq!(baseline.split(moved).new, []);
    }

    #[test]
    fn the_text_does_not_depend_on_the_order_of_findings_and_leaves_suppressed_ones_out() {
        let mut all = findings(&["a.ts", "b.ts", "c.ts"]);
        let one = Baseline::of(&all).to_text();
        all.reverse();
        assert_eq!(Baseline::of(&all).to_text(), one);
        assert_eq!(one.lines().count(), 3 + 3 + 2);
        all[0].marks.suppressed = Some("why".into());
        assert_eq!(Baseline::of(&all).to_text().lines().count(), 3 + 2 + 2);
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_line() {
        let error = |text: &str| Baseline::parse("b.json", text).unwrap_err().to_string();
        assert!(error("").starts_with("b.json"), "{}", error(""));
        assert!(
            error("{\n\"version\": 1,\n\"findings\": {},\n\"x\": 1}").starts_with("b.json:4: this baseline is damaged")
        );
        assert!(error("{\"findings\": {},\n\n\"version\": 7}").starts_with("b.json:3: this baseline has version 7"));
        let bad = "{\"version\": 1, \"findings\": {\n\"12\": {\"code\": \"\", \"path\": \"\", \"message\": \"\"}}}";
        assert!(error(bad).starts_with("b.json:2: this baseline is damaged: `12` is no fingerprint"));
        let deep = "[".repeat(100_000);
        assert!(error(&deep).contains("damaged"));
    }

    #[test]
    fn only_whole_fingerprints_count() {
        let good = ["0123456789abcdef", "0123456789abcdef#2", "0123456789abcdef#31"];
        let bad =
            ["", "0123456789abcde", "0123456789ABCDEF", "0123456789abcdef#", "0123456789abcdef#1", "0123456789abcdéf"];
        assert!(good.iter().all(|key| is_fingerprint(key)) && !bad.iter().any(|key| is_fingerprint(key)));
    }
}
