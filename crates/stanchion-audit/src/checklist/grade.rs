//! The grade.

use std::fmt;

use serde::Serialize;

use super::{Answer, Found, Severity, State};

/// How the grade comes about. Printed with every grade.
///
/// ```
/// assert!(stanchion_audit::checklist::RUBRIC.contains("100 points"));
/// ```
pub const RUBRIC: &str = "\
A code base begins with 100 points. Each finding takes some: high 15, medium 6, low 2; findings of one code take at most
three times that. 90 points or more are an A, 75 a B, 60 a C, 40 a D, less is an F.
No grade is better than its worst finding: with a high one at most C, with a medium one at most B.
An item that fails caps the grade at B, five failing items at D.
Items that only a person can answer, and items about what the code does not have, count neither way. Where nothing
failed and fewer than three items passed, too little was seen for a grade, and there is none.
";

/// Points per finding.
const fn points(severity: Severity) -> u32 {
    match severity {
        Severity::High => 15,
        Severity::Medium => 6,
        Severity::Low => 2,
    }
}

/// How often one code counts.
const SAME_CODE_MOST: u32 = 3;
const FAILING_MANY: usize = 5;
/// Fewer items that passed are no ground for a grade.
const PASSING_LEAST: usize = 3;

/// From best to worst.
///
/// ```
/// use stanchion_audit::checklist::Grade;
/// assert_eq!(Grade::A.to_string(), "A");
/// assert!(Grade::A < Grade::F);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Grade {
    /// 90 points or more.
    A,
    /// 75 or more.
    B,
    /// 60 or more.
    C,
    /// 40 or more.
    D,
    /// Less.
    F,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Grade and points; see [`score`].
///
/// ```
/// use stanchion_audit::checklist::{Grade, Score};
/// let score = Score { grade: Some(Grade::B), points: 90, because: "the worst finding is medium".into() };
/// assert_eq!(score.grade, Some(Grade::B));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Score {
    /// `None` if too little was answered.
    pub grade: Option<Grade>,
    /// Of 100.
    pub points: u32,
    /// What decided.
    pub because: String,
}

/// The grade by the [`RUBRIC`].
///
/// ```
/// use stanchion_audit::checklist::{fill, score, Grade, Severity, Subject};
/// let found = [("RC403", "src/a.ts", 3, Severity::Low)];
/// let answers = fill(&found, &Default::default(), &Subject::ALL);
/// assert_eq!(score(&found, &answers).grade, Some(Grade::B)); // 98 points, but one item fails
/// ```
#[must_use]
pub fn score(findings: &[Found<'_>], answers: &[Answer]) -> Score {
    let points = 100_u32.saturating_sub(lost(findings));
    let failing = answers.iter().filter(|answer| answer.state == State::Fail).count();
    let passing = answers.iter().filter(|answer| answer.state == State::Pass).count();
    if failing == 0 && passing < PASSING_LEAST && findings.is_empty() {
        let because = match passing {
            0 => "nothing that an item is about was seen".to_owned(),
            some => format!("only {some} of {} items could be answered", answers.len()),
        };
        return Score { grade: None, points, because };
    }
    let by_points = match points {
        90.. => Grade::A,
        75.. => Grade::B,
        60.. => Grade::C,
        40.. => Grade::D,
        _ => Grade::F,
    };
    let worst = findings.iter().map(|(.., severity)| *severity).max();
    let (by_worst, worst) = match worst {
        Some(Severity::High) => (Grade::C, "the worst finding is high"),
        Some(Severity::Medium) => (Grade::B, "the worst finding is medium"),
        _ => (Grade::A, "no finding is high or medium"),
    };
    let by_items = match failing {
        0 => Grade::A,
        FAILING_MANY.. => Grade::D,
        _ => Grade::B,
    };
    let failing = if failing == 1 { "one item fails".to_owned() } else { format!("{failing} items fail") };
    let reasons = [(by_points, format!("{points} of 100 points")), (by_worst, worst.to_owned()), (by_items, failing)];
    // The first of equal reasons: points say most.
    let (grade, because) =
        reasons.into_iter().rev().max_by_key(|(grade, _)| *grade).unwrap_or((by_points, String::new()));
    Score { grade: Some(grade), points, because }
}

fn lost(findings: &[Found<'_>]) -> u32 {
    let mut sorted: Vec<_> =
        findings.iter().map(|(code, _, _, severity)| (*code, std::cmp::Reverse(*severity))).collect();
    sorted.sort_unstable(); // the worst of a code first
    let (mut lost, mut last, mut same) = (0_u32, "", 0_u32);
    for (code, std::cmp::Reverse(severity)) in sorted {
        same = if code == last { same.saturating_add(1) } else { 1 };
        last = code;
        if same <= SAME_CODE_MOST {
            lost = lost.saturating_add(points(severity));
        }
    }
    lost
}
