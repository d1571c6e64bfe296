//! One JSON document, for programs. Its shape is a promise: members are only added, and `version` is raised otherwise.

use std::io::{self, Write};

use serde::Serialize;

use super::{Note, Report, Summary};
use crate::finding::{Confidence, Finding, Fix, Scope, Severity, Step, Surface};

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    findings: Vec<Item<'a>>,
    notes: &'a [Note],
    summary: Summary,
}

#[derive(Serialize)]
struct Item<'a> {
    code: &'a str,
    name: &'a str,
    path: &'a str,
    line: u32,
    end_line: u32,
    severity: Severity,
    confidence: Confidence,
    scope: Scope,
    message: &'a str,
    why: &'a str,
    fix: &'a Fix,
    flow: &'a [Step],
    fingerprint: &'a str,
    function: &'a str,
    resource: &'a str,
    surface: Surface,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressed: Option<&'a str>,
}

impl<'a> Item<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            code: finding.code,
            name: finding.name,
            path: &finding.path,
            line: finding.line,
            end_line: finding.end_line,
            severity: finding.severity,
            confidence: finding.confidence,
            scope: finding.scope,
            message: &finding.message,
            why: &finding.why,
            fix: &finding.fix,
            flow: &finding.flow,
            fingerprint: finding.fingerprint(),
            function: &finding.function,
            resource: &finding.resource,
            surface: finding.surface,
            suppressed: finding.marks.suppressed.as_deref(),
        }
    }
}

/// Writes the document. Suppressed findings are in it, with the reason as `suppressed`; those of the baseline are only
/// counted (`summary.known`).
///
/// # Errors
/// Those of `out`.
///
/// ```
/// # use stanchion_audit::format::{Report, json, sample};
/// let mut out = Vec::new();
/// json::write(&mut out, &Report { findings: vec![sample()], ..Report::default() })?;
/// let document: serde_json::Value = serde_json::from_slice(&out)?;
/// assert_eq!(document["findings"][0]["flow"][0]["role"], "read");
/// assert_eq!(document["summary"]["high"], 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let shown = report.findings.iter().filter(|f| f.marks.suppressed.is_some() || f.marks.known != Some(true));
    let document = Document {
        version: 1,
        findings: shown.map(Item::new).collect(),
        notes: &report.notes,
        summary: report.summary(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::report;
    use super::*;

    #[test]
    fn the_document_has_exactly_the_promised_members() {
        let mut out = Vec::new();
        write(&mut out, &report()).unwrap();
        let document: Value = serde_json::from_slice(&out).unwrap();
        let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(members(&document), "findings notes summary version");
        let findings = document["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 2, "the known one is left out");
        let always =
            "code confidence end_line fingerprint fix flow function line message name path resource scope severity";
        assert_eq!(members(&findings[0]), format!("{always} surface why"));
        assert_eq!(members(&findings[1]), format!("{always} suppressed surface why"));
        assert_eq!(findings[1]["suppressed"], "one process");
        assert_eq!(members(&findings[0]["fix"]), "plain stanchion");
        let read = json!({"role": "read", "path": "src/store.ts", "line": 2, "end_line": 2, "note": "reads all notes"});
        assert_eq!(findings[0]["flow"][0], read);
        assert_eq!(document["notes"][0], json!({"path": "big.js", "line": 0, "text": "too large: not analysed"}));
        assert_eq!(document["summary"]["rules"]["RC101"]["high"], 1);
    }

    #[test]
    fn the_same_report_gives_the_same_bytes() {
        let bytes = || {
            let mut out = Vec::new();
            write(&mut out, &report()).unwrap();
            out
        };
        assert_eq!(bytes(), bytes());
    }
}
