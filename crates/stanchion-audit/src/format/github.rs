//! Annotations of GitHub Actions: lines that the runner shows beside the code.

use std::io::{self, Write};

use super::Report;
use crate::finding::{Finding, Severity};

/// Writes one annotation for each open finding and each note: `high` as error, `medium` as warning, the rest as notice.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// # use stanchion_audit::format::{Report, github, sample};
/// let mut out = Vec::new();
/// github::write(&mut out, &Report { findings: vec![sample()], ..Report::default() })?;
/// assert!(out.starts_with(b"::error file=src/store.ts,line=5,endLine=5,title=RC101 lost-update-file::"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for finding in report.open() {
        let Finding { code, name, message, why, fix, .. } = finding;
        let level = match finding.severity {
            Severity::High => "error",
            Severity::Medium => "warning",
            Severity::Low => "notice",
        };
        let mut text = message.clone();
        for (word, part) in [("why", why), ("fix", &fix.plain), ("with Stanchion", &fix.stanchion)] {
            if !part.is_empty() {
                text.push_str(&format!("\n{word}: {part}"));
            }
        }
        let (path, title) = (property(&finding.path), property(&format!("{code} {name}")));
        let (line, end) = (finding.line.max(1), finding.end_line.max(finding.line).max(1));
        writeln!(out, "::{level} file={path},line={line},endLine={end},title={title}::{}", data(&text))?;
    }
    for note in &report.notes {
        let (path, line) = (property(&note.path), note.line.max(1));
        writeln!(out, "::notice file={path},line={line},title=stanchion-audit::{}", data(&note.text))?;
    }
    Ok(())
}

/// What stands after the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// What stands after `file=` and the like.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn nothing_in_a_finding_can_end_its_annotation_or_begin_another() {
        let mut report = report();
        report.findings[0].path = "a,b:c%\n::error ::.ts".into();
        report.findings[0].message = "100 %\r\n::set-output name=x::y".into();
        report.findings[0].severity = Severity::Medium;
        let mut out = Vec::new();
        write(&mut out, &report).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        let start =
            "::warning file=a%2Cb%3Ac%25%0A%3A%3Aerror %3A%3A.ts,line=5,endLine=5,title=RC101 lost-update-file::";
        assert!(text.starts_with(&format!("{start}100 %25%0D%0A::set-output name=x::y%0Awhy: ")), "{text}");
        assert!(text.ends_with("::notice file=big.js,line=1,title=stanchion-audit::too large: not analysed\n"));
    }
}
