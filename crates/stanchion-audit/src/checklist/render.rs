//! The filled-in checklist for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Answer, RUBRIC, Score, State};

/// Lines of evidence printed per item; JSON has all.
const EVIDENCE_MOST: usize = 5;

/// As text.
///
/// ```
/// use stanchion_audit::checklist::{fill, score, text, Severity, Subject};
/// let found = [("RC203", "src/lock.ts", 12, Severity::High)];
/// let answers = fill(&found, &Default::default(), &Subject::ALL);
/// let text = text(&answers, &score(&found, &answers));
/// assert!(text.contains("[FAIL]     A lock ends by itself"));
/// assert!(text.contains("src/lock.ts:12 RC203"));
/// ```
#[must_use]
pub fn text(answers: &[Answer], score: &Score) -> String {
    let mut out = String::new();
    for answer in answers {
        let mark = format!("[{}]", answer.state.as_str());
        writeln!(out, "{mark:<10} {}", answer.item.question).unwrap_or_default();
        for evidence in answer.evidence.iter().take(EVIDENCE_MOST) {
            writeln!(out, "{:<11}{}:{} {}", "", evidence.path, evidence.line, evidence.text).unwrap_or_default();
        }
        if let Some(more) = answer.evidence.len().checked_sub(EVIDENCE_MOST).filter(|more| *more > 0) {
            writeln!(out, "{:<11}and {more} more", "").unwrap_or_default();
        }
        if answer.state == State::ByHand && !answer.item.hint.is_empty() {
            writeln!(out, "{:<11}{}", "", answer.item.hint).unwrap_or_default();
        }
    }
    let count = |state: State| answers.iter().filter(|answer| answer.state == state).count();
    let (pass, fail) = (count(State::Pass), count(State::Fail));
    let (not_seen, by_hand) = (count(State::NotSeen), count(State::ByHand));
    writeln!(out, "\n{pass} pass, {fail} fail, {not_seen} not seen, {by_hand} by hand").unwrap_or_default();
    let grade = score.grade.map_or_else(|| "none".to_owned(), |grade| grade.to_string());
    writeln!(out, "Grade: {grade} ({})\n\n{RUBRIC}", score.because).unwrap_or_default();
    out
}

/// As JSON: `{"grade", "points", "because", "rubric", "items": [{"item", "state", "evidence"}]}`.
///
/// ```
/// use stanchion_audit::checklist::{fill, json, score, Subject};
/// let answers = fill(&[], &Default::default(), &Subject::ALL);
/// let value = json(&answers, &score(&[], &answers));
/// assert_eq!(value["grade"], "A");
/// assert_eq!(value["items"][0]["state"], "pass");
/// ```
#[must_use]
pub fn json(answers: &[Answer], score: &Score) -> Value {
    json!({
        "grade": score.grade,
        "points": score.points,
        "because": score.because,
        "rubric": RUBRIC,
        "items": answers,
    })
}
