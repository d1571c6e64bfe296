//! Comments that suppress findings: `stanchion-audit: ignore RC101 -- reason`.
//!
//! On the finding's line, on that of the write it comes to, or on the line before one of them; `ignore-file` for the whole file; several codes with commas. The reason is
//! mandatory: without one, nothing is suppressed. What suppresses nothing is noted, so that it does not stay for ever.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::{self, RULES};
use crate::error::nearest;
use crate::finding::{Finding, Role};
use crate::format::Note;
use crate::hir::Comment;

/// What such a comment has in it.
pub(crate) const MARK: &str = "stanchion-audit:";
/// More notes about one file help nobody.
const NOTES_MOST: usize = 100;

/// One code of one comment.
#[derive(Debug)]
struct Suppression {
    code: &'static str,
    reason: String,
    /// Where it stands.
    line: u32,
    /// The line after it and after the comment that it is part of; `None`: the whole file.
    next: Option<u32>,
    used: bool,
}

/// Findings by code and line.
type Places<'a> = BTreeMap<(&'a str, u32), Vec<usize>>;

/// The findings that comments of a file can mean, by the file: where they are told, and where they write.
pub(crate) fn by_file(findings: &[Finding]) -> BTreeMap<String, Vec<usize>> {
    let mut files: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        let written = finding.flow.iter().filter(|step| step.role == Role::Write).map(|step| &step.path);
        for path in written.chain([&finding.path]).collect::<BTreeSet<_>>() {
            files.entry(path.clone()).or_default().push(at);
        }
    }
    files
}

/// Marks the findings that the comments of a file suppress, and says what is wrong with those comments. `own` are those of
/// [`by_file`]: looking at all findings for each file would cost their product. A comment about a code that was not looked
/// for may be needed.
pub(crate) fn suppress(
    path: &str,
    comments: &[Comment],
    findings: &mut [Finding],
    own: &[usize],
    was_looked_for: &dyn Fn(&str) -> bool,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut all = read(path, comments, &mut notes);
    // By code and line: a hostile file has as many comments as lines, and must not cost their product with the findings.
    let (mut on, mut below): (Places<'_>, Places<'_>) = Default::default();
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, finding) in own.iter().filter_map(|at| Some((*at, findings.get(*at)?))) {
        let told = (finding.path == path).then_some((finding.line, finding.end_line));
        files.entry(finding.code).or_default().extend(told.map(|_| at));
        // What is said of a write is true whoever has called it.
        let writes = finding.flow.iter().filter(|step| step.role == Role::Write && step.path == path);
        let writes = writes.map(|step| (step.line, step.end_line));
        for (first, last) in told.into_iter().chain(writes).collect::<BTreeSet<_>>() {
            below.entry((finding.code, first)).or_default().push(at);
            for line in BTreeSet::from([first, last]) {
                on.entry((finding.code, line)).or_default().push(at);
            }
        }
    }
    for suppression in &mut all {
        let hits = match suppression.next {
            None => files.get(suppression.code),
            // A comment behind the statement means that statement, not also the one below.
            Some(next) => {
                on.get(&(suppression.code, suppression.line)).or_else(|| below.get(&(suppression.code, next)))
            }
        };
        for at in hits.into_iter().flatten() {
            let Some(finding) = findings.get_mut(*at).filter(|finding| finding.marks.suppressed.is_none()) else {
                continue;
            };
            finding.marks.suppressed = Some(suppression.reason.clone());
            suppression.used = true;
        }
    }
    for unused in all.iter().filter(|suppression| !suppression.used && was_looked_for(suppression.code)) {
        let text = format!("this suppresses no {}: remove it", unused.code);
        notes.push(Note { path: path.to_owned(), line: unused.line, text });
    }
    notes.sort();
    notes.dedup();
    if let Some(more) = notes.len().checked_sub(NOTES_MOST).filter(|more| *more > 0) {
        notes.truncate(NOTES_MOST);
        notes.push(Note { path: path.to_owned(), line: 0, text: format!("and {more} more such comments") });
    }
    notes
}

fn read(path: &str, comments: &[Comment], notes: &mut Vec<Note>) -> Vec<Suppression> {
    let mut all = Vec::new();
    // A reason may go on in further comments right below: the statement stands after them. From the end, so that each
    // comment is looked at once.
    let mut ends: Vec<u32> = comments.iter().map(|comment| comment.span.end_line).collect();
    for (at, pair) in comments.windows(2).enumerate().rev() {
        if let [above, below] = pair
            && below.span.line == above.span.end_line.saturating_add(1)
            && below.span.column == above.span.column
            && let (Some(end), Some(slot)) = (ends.get(at + 1).copied(), ends.get_mut(at))
        {
            *slot = end;
        }
    }
    for (comment, last) in comments.iter().zip(ends).filter(|(comment, _)| comment.text.contains(MARK)) {
        for (line, text) in (comment.span.line..).zip(comment.text.lines()) {
            // Only at the beginning: elsewhere it is talked about.
            let text = text.trim_start_matches(['/', '*', '#', '!', '-', ' ', '\t']);
            let Some(text) = text.strip_prefix(MARK) else { continue };
            let mut say = |text: String| notes.push(Note { path: path.to_owned(), line, text });
            match one(text.trim()) {
                Err(text) => say(text),
                Ok((codes, reason, is_file)) => {
                    for code in codes {
                        match known(code) {
                            Err(text) => say(text),
                            Ok(code) => {
                                let next = (!is_file).then(|| last.saturating_add(1));
                                all.push(Suppression { code, reason: reason.to_owned(), line, next, used: false });
                            }
                        }
                    }
                }
            }
        }
    }
    // What is said of a line goes before what is said of the file, so that the latter is noted if it is needless.
    // One that a front-end lists twice, as a comment inside a comment, is one.
    all.sort_by_key(|suppression: &Suppression| (suppression.next.is_none(), suppression.line, suppression.code));
    all.dedup_by_key(|suppression| (suppression.next.is_none(), suppression.line, suppression.code));
    all
}

/// Codes, reason, and whether it is for the whole file.
fn one(text: &str) -> Result<(Vec<&str>, &str, bool), String> {
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_file = match verb {
        "ignore" => false,
        "ignore-file" => true,
        other => return Err(format!("`{other}` is not understood; allowed: ignore, ignore-file")),
    };
    let (codes, reason) = rest.split_once("--").unwrap_or((rest, ""));
    let codes: Vec<_> = codes.split([',', ' ', '\t']).filter(|code| !code.is_empty()).collect();
    if codes.is_empty() {
        return Err(format!("this names no code and suppresses nothing: `{MARK} {verb} RC101 -- reason`"));
    }
    // The end of a block comment on the same line is no reason.
    let reason = reason.trim_end_matches(['*', '/']).trim();
    if !reason.chars().any(char::is_alphanumeric) {
        let codes = codes.join(", ");
        return Err(format!("this gives no reason and suppresses nothing: `{MARK} {verb} {codes} -- reason`"));
    }
    Ok((codes, reason, is_file))
}

fn known(code: &str) -> Result<&'static str, String> {
    if let Some(rule) = RULES.iter().find(|rule| rule.code == code) {
        return Ok(rule.code);
    }
    let meant =
        catalogue::rule(code).map(|rule| rule.code).or_else(|| nearest(code, RULES.iter().map(|rule| rule.code)));
    let hint = meant.map_or_else(String::new, |code| format!("; did you mean {code}?"));
    Err(format!("there is no rule `{}`{hint}", crate::format::flat(code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::sample;
    use crate::hir::Span;

    fn suppress(
        path: &str,
        comments: &[Comment],
        findings: &mut [Finding],
        was_looked_for: &dyn Fn(&str) -> bool,
    ) -> Vec<Note> {
        let own = by_file(findings).remove(path).unwrap_or_default();
        super::suppress(path, comments, findings, &own, was_looked_for)
    }

    fn comment(line: u32, text: &str) -> Comment {
        let more = u32::try_from(text.lines().count()).unwrap().saturating_sub(1);
        Comment { span: Span { line, column: 3, end_line: line + more }, text: text.into() }
    }

    /// The lines of the findings that are suppressed, and the notes, given findings of RC101 on lines 5, 6 and 20.
    fn run(comments: &[Comment]) -> (Vec<u32>, Vec<String>) {
        let mut findings = [5, 6, 20].map(|line| Finding { line, end_line: line, flow: Vec::new(), ..sample() });
        let notes = suppress("src/store.ts", comments, &mut findings, &|_| true);
        let lines = findings.iter().filter(|f| f.marks.suppressed.is_some()).map(|f| f.line).collect();
        (lines, notes.iter().map(|note| format!("{}: {}", note.line, note.text)).collect())
    }

    #[test]
    fn the_line_before_and_the_same_line_count_and_no_other() {
        let why = "stanchion-audit: ignore RC101 -- why";
        assert_eq!(run(&[comment(4, why)]), (vec![5], vec![]));
        assert_eq!(run(&[comment(5, why)]), (vec![5], vec![]), "not the one below as well");
        assert_eq!(run(&[comment(21, why)]).0, Vec::<u32>::new());
        assert_eq!(run(&[comment(3, why)]), (vec![], vec!["3: this suppresses no RC101: remove it".into()]));
    }

    #[test]
    fn a_reason_may_go_on_below_and_stand_in_a_block() {
        assert_eq!(run(&[comment(18, "stanchion-audit: ignore RC101 -- why"), comment(19, "and more")]).0, [20]);
        assert_eq!(run(&[comment(17, "text\n * stanchion-audit: ignore RC101 -- why\n * more")]).0, [20]);
        let mut beside = comment(19, "about something else");
        beside.span.column = 40;
        assert_eq!(run(&[comment(18, "stanchion-audit: ignore RC101 -- why"), beside]).0, Vec::<u32>::new());
    }

    #[test]
    fn a_file_is_suppressed_as_a_whole() {
        assert_eq!(
            run(&[comment(99, "stanchion-audit: ignore-file RC101 -- a test double")]),
            (vec![5, 6, 20], vec![])
        );
    }

    #[test]
    fn without_a_reason_nothing_is_suppressed_and_that_is_said() {
        for text in ["ignore RC101", "ignore RC101 --", "ignore RC101 -- */", "ignore-file RC101 -- ..."] {
            let (lines, notes) = run(&[comment(4, &format!("stanchion-audit: {text}"))]);
            assert_eq!((lines.len(), notes.len()), (0, 1), "{text}");
            assert!(notes[0].starts_with("4: this gives no reason and suppresses nothing"), "{notes:?}");
        }
    }

    #[test]
    fn several_codes_are_each_judged() {
        let (lines, notes) = run(&[comment(4, "stanchion-audit: ignore RC101,RC302, RC1O1 lost-update-row -- why")]);
        assert_eq!(lines, [5]);
        let expected = [
            "4: there is no rule `RC1O1`; did you mean RC101?",
            "4: there is no rule `lost-update-row`; did you mean RC102?",
            "4: this suppresses no RC302: remove it",
        ];
        assert_eq!(notes, expected);
    }

    #[test]
    fn what_is_not_understood_is_said_and_what_is_talked_about_is_not() {
        assert_eq!(run(&[comment(4, "stanchion-audit: disable RC101 -- x")]).1.len(), 1);
        assert_eq!(run(&[comment(4, "stanchion-audit: ignore -- x")]).1.len(), 1);
        assert_eq!(run(&[comment(4, "stanchion-audit:")]).1.len(), 1);
        assert_eq!(run(&[comment(4, "write `stanchion-audit: ignore RC101 -- why` here")]), (vec![], vec![]));
    }

    #[test]
    fn very_many_comments_are_read_once_each() {
        let why = "stanchion-audit: ignore RC101 -- why";
        let all: Vec<_> = (1..=200_000).map(|line| comment(line, why)).collect();
        let (lines, notes) = run(&all);
        assert_eq!((lines, notes.len()), (vec![5, 6, 20], NOTES_MOST + 1));
        assert_eq!(run(&[comment(4, why), comment(4, why)]), (vec![5], vec![]), "listed twice");
    }

    #[test]
    fn the_end_of_a_long_statement_is_its_line_too() {
        let mut findings = [Finding { line: 5, end_line: 9, ..sample() }];
        suppress("src/store.ts", &[comment(9, "stanchion-audit: ignore RC101 -- why")], &mut findings, &|_| true);
        assert!(!findings[0].is_open());
        findings[0].marks.suppressed = None;
        suppress("src/store.ts", &[comment(8, "stanchion-audit: ignore RC101 -- why")], &mut findings, &|_| true);
        assert!(findings[0].is_open(), "the line before its end is inside of it");
    }

    #[test]
    fn what_is_said_of_a_write_is_true_of_all_who_come_to_it() {
        let mut findings =
            [40, 50].map(|line| Finding { line, end_line: line, path: format!("{line}.ts"), ..sample() });
        let why = "stanchion-audit: ignore RC101 -- why";
        assert_eq!(
            suppress("src/store.ts", &[comment(1, why)], &mut findings, &|_| true).len(),
            1,
            "the read stands there"
        );
        assert!(findings.iter().all(Finding::is_open));
        assert_eq!(suppress("src/store.ts", &[comment(4, why)], &mut findings, &|_| true), []);
        assert!(!findings.iter().any(Finding::is_open));
    }

    #[test]
    fn a_file_looks_at_its_own_findings_only_and_they_are_told_or_write_in_it() {
        let elsewhere = Finding { path: "caller.ts".into(), ..sample() };
        let mut findings = [sample(), elsewhere, Finding { flow: Vec::new(), ..sample() }];
        let expected = [("caller.ts".to_owned(), vec![1]), ("src/store.ts".to_owned(), vec![0, 1, 2])];
        assert_eq!(by_file(&findings), BTreeMap::from(expected));
        let all = [comment(1, "stanchion-audit: ignore-file RC101 -- why")];
        super::suppress("src/store.ts", &all, &mut findings, &[2], &|_| true);
        assert_eq!(findings.map(|finding| finding.is_open()), [true, true, false]);
    }

    #[test]
    fn a_comment_about_what_was_not_looked_for_may_be_needed() {
        let comments = [comment(1, "stanchion-audit: ignore RC101,RC302 -- why")];
        let notes = suppress("src/store.ts", &comments, &mut [], &|code| code == "RC302");
        let texts: Vec<_> = notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(texts, ["this suppresses no RC302: remove it"]);
    }

    #[test]
    fn other_files_are_left_alone() {
        let mut findings = [sample()];
        let notes =
            suppress("other.ts", &[comment(4, "stanchion-audit: ignore-file RC101 -- why")], &mut findings, &|_| true);
        assert!(findings[0].is_open() && notes.len() == 1);
    }
}
