//! JUnit XML, for build servers that know tests only: each finding is a failed test, each suppressed one is skipped.

use std::io::{self, Write};

use super::{Report, lines};
use crate::finding::Finding;

/// Writes the document: one suite for each file with findings. A report without findings has one test that passed, because
/// some servers take an empty document for an error.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// # use stanchion_audit::format::{Report, junit};
/// let mut out = Vec::new();
/// junit::write(&mut out, &Report::default())?;
/// assert!(String::from_utf8(out).unwrap().contains(r#"tests="1" failures="0""#));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let shown: Vec<_> = report.findings.iter().filter(|f| f.is_open() || f.marks.suppressed.is_some()).collect();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, "<testsuites {}>", counts(&shown))?;
    if shown.is_empty() {
        writeln!(out, r#"  <testsuite name="stanchion-audit" tests="1" failures="0" skipped="0">"#)?;
        writeln!(out, r#"    <testcase classname="stanchion-audit" name="no findings"/>"#)?;
        writeln!(out, "  </testsuite>")?;
    }
    for file in shown.chunk_by(|a, b| a.path == b.path) {
        let path = file.first().map(|finding| escaped(&finding.path)).unwrap_or_default();
        writeln!(out, r#"  <testsuite name="{path}" {}>"#, counts(file))?;
        file.iter().try_for_each(|finding| case(out, finding, &path))?;
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn counts(findings: &[&Finding]) -> String {
    let skipped = findings.iter().filter(|finding| finding.marks.suppressed.is_some()).count();
    let failures = findings.len() - skipped;
    format!(r#"tests="{}" failures="{failures}" skipped="{skipped}""#, findings.len().max(1))
}

fn case(out: &mut impl Write, finding: &Finding, path: &str) -> io::Result<()> {
    let Finding { code, name, message, why, fix, severity, .. } = finding;
    let place = lines(finding.line, finding.end_line);
    let title = escaped(&format!("{code} {name}: {} (line {place})", finding.function));
    writeln!(out, r#"    <testcase classname="{path}" name="{title}" file="{path}" line="{}">"#, finding.line)?;
    if let Some(reason) = &finding.marks.suppressed {
        writeln!(out, r#"      <skipped message="{}"/>"#, escaped(reason))?;
    } else {
        let mut text = format!("{}:{place}\n", finding.path);
        for step in &finding.flow {
            text.push_str(&format!("{} {}:{} {}\n", step.role, step.path, lines(step.line, step.end_line), step.note));
        }
        text.push_str(&format!("why: {why}\nfix: {}\nwith Stanchion: {}", fix.plain, fix.stanchion));
        let (message, text) = (escaped(message), escaped(&text).replace("&#10;", "\n"));
        writeln!(out, r#"      <failure type="{severity}" message="{message}">{text}</failure>"#)?;
    }
    writeln!(out, "    </testcase>")
}

/// For text and attributes alike. What XML 1.0 cannot say becomes `�`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    fn written(report: &Report) -> String {
        let mut out = Vec::new();
        write(&mut out, report).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn open_findings_fail_suppressed_ones_are_skipped_and_known_ones_are_left_out() {
        let text = written(&report());
        assert!(text.contains(r#"<testsuites tests="2" failures="1" skipped="1">"#), "{text}");
        assert!(text.contains(r#"<skipped message="one process"/>"#));
        assert!(!text.contains("RC302"));
        assert_eq!(text.matches("<testcase ").count(), text.matches("</testcase>").count());
    }

    #[test]
    fn nothing_in_a_finding_can_leave_its_element() {
        let mut report = report();
        report.findings[0].message = "a \"b\" <c> & 'd'\u{0}\u{1b}\n]]></failure>".into();
        report.findings[0].function = "<init>".into();
        let text = written(&report);
        let message =
            "message=\"a &quot;b&quot; &lt;c&gt; &amp; &apos;d&apos;\u{fffd}\u{fffd}&#10;]]&gt;&lt;/failure&gt;\"";
        assert!(text.contains(message), "{text}");
        assert!(text.contains("&lt;init&gt;") && !text.contains("<init>"));
        assert_eq!(text.matches("</failure>").count(), 1);
    }
}
