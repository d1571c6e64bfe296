//! One line for each finding: everything an agent needs to open the right lines, and no excerpt.

use std::io::{self, Write};

use super::{Report, flat, lines};
use crate::finding::Finding;

/// Writes `path:line: RC101 high/high host: message [read 12, window 14, write 20] fix: …`, then the notes.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// # use stanchion_audit::format::{Report, agent, sample};
/// let mut out = Vec::new();
/// agent::write(&mut out, &Report { findings: vec![sample()], ..Report::default() })?;
/// let line = String::from_utf8(out).unwrap();
/// assert!(line.contains("[read 2, window 3-4, write 5] fix: hold flock"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for finding in report.open() {
        writeln!(out, "{}", line(finding))?;
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {}", flat(&note.to_string())))
}

fn line(finding: &Finding) -> String {
    let Finding { path, line, code, severity, confidence, scope, message, .. } = finding;
    let steps: Vec<_> = finding
        .flow
        .iter()
        .map(|step| {
            let place = lines(step.line, step.end_line);
            if step.path == *path {
                format!("{} {place}", step.role)
            } else {
                format!("{} {}:{place}", step.role, step.path)
            }
        })
        .collect();
    let mut text = format!("{path}:{line}: {code} {severity}/{confidence} {scope}: {message}");
    if !steps.is_empty() {
        text.push_str(&format!(" [{}]", steps.join(", ")));
    }
    let fix = if finding.fix.plain.is_empty() { &finding.fix.stanchion } else { &finding.fix.plain };
    if !fix.is_empty() {
        text.push_str(&format!(" fix: {fix}"));
    }
    flat(&text)
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;
    use crate::format::sample;

    #[test]
    fn only_open_findings_are_shown_each_on_one_line() {
        let mut report = report();
        report.findings[0].message = "two\nlines\u{1b}[31m".into();
        let mut out = Vec::new();
        write(&mut out, &report).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with(
            "src/store.ts:5: RC101 high/high host: two lines\u{fffd}[31m [read 2, window 3-4, write 5] fix: "
        ));
        assert!(text.ends_with("note: big.js: too large: not analysed\n"));
    }

    #[test]
    fn a_step_in_another_file_names_it() {
        let mut finding = sample();
        finding.flow[0].path = "src/disk.ts".into();
        assert!(line(&finding).contains("[read src/disk.ts:2, window 3-4, write 5]"));
    }
}
