//! What can be read without findings: rules and their pages; and the checklist.

use serde_json::{Value, json};
use stanchion_audit::Audited;
use stanchion_audit::catalogue::{self, RULES, Rule};
use stanchion_audit::checklist::{self, Severity as Grave};
use stanchion_audit::error::Error;
use stanchion_audit::finding::Severity;
use stanchion_audit::format::Format;

use super::{AuditArgs, Wrong, one, out};

/// `--explain`.
pub(super) fn explain(args: &AuditArgs, code: &str) -> Result<u8, Wrong> {
    let page = catalogue::explain(code).map_err(one)?;
    let rule = RULES.iter().find(|rule| rule.doc == page);
    put(args, page.trim_end(), || {
        rule.map_or(Value::Null, |rule| {
            let mut value = to_json(rule);
            value["page"] = json!(rule.doc);
            value
        })
    })
}

/// `--rules`.
pub(super) fn rules(args: &AuditArgs) -> Result<u8, Wrong> {
    let names = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let lines: Vec<String> = RULES
        .iter()
        .map(|Rule { code, name, severity, summary, .. }| format!("{code}  {severity:<6}  {name:<names$}  {summary}"))
        .collect();
    put(args, &lines.join("\n"), || RULES.iter().map(to_json).collect())
}

fn to_json(rule: &Rule) -> Value {
    json!({
        "code": rule.code, "name": rule.name, "severity": rule.severity.as_str(), "summary": rule.summary,
    })
}

/// `--checklist`.
pub(super) fn checklist(args: &AuditArgs, audited: &Audited) -> Result<(), Wrong> {
    let found: Vec<checklist::Found<'_>> = audited
        .report
        .open()
        .map(|finding| {
            let severity = match finding.severity {
                Severity::Low => Grave::Low,
                Severity::Medium => Grave::Medium,
                Severity::High => Grave::High,
            };
            (finding.code, finding.path.as_str(), finding.line, severity)
        })
        .collect();
    let mut answers = checklist::fill(&found, &audited.deployment, &audited.subjects);
    checklist::point_out(&mut answers, &audited.met);
    let score = checklist::score(&found, &answers);
    put(args, checklist::text(&answers, &score).trim_end(), || checklist::json(&answers, &score)).map(drop)
}

/// Whether what is no report can be had in this format.
pub(super) fn allow(format: Format) -> Result<(), Error> {
    match format {
        Format::Text | Format::Json => Ok(()),
        _ => Err(Error::new("this can be had in no such format").hint("allowed: text, json")),
    }
}

fn put(args: &AuditArgs, text: &str, json: impl FnOnce() -> Value) -> Result<u8, Wrong> {
    let text = match args.format() {
        Format::Text => format!("{text}\n"),
        Format::Json => format!("{:#}\n", json()),
        other => return allow(other).map(|()| 0).map_err(one),
    };
    out::put(args.output.as_deref(), text.as_bytes()).map_err(one)?;
    Ok(0)
}
