//! Findings for people and for programs.

use comfy_table::{Table, presets};
use serde_json::{Value, json};
use stanchion_stores::{BACKENDS, Finding, Grade, StoreUrl};

use crate::exit::escaped;

pub(super) fn table(store: &StoreUrl, findings: &[Finding]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["TOPIC", "GRADE", "SAYS"]);
    for finding in findings {
        table.add_row([finding.topic, &finding.grade.to_string(), &escaped(&finding.says)]);
        if let Some(fix) = &finding.fix {
            table.add_row(["", "", &format!("fix: {}", escaped(fix))]);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    let count = |grade: Grade| findings.iter().filter(|finding| finding.grade == grade).count();
    let [fine, weak, broken] = [Grade::Fine, Grade::Weak, Grade::Broken].map(count);
    format!("{lines}\n\n{fine} ok, {weak} weak, {broken} broken: {store}")
}

pub(super) fn json(store: &StoreUrl, worst: Grade, findings: &[Finding]) -> Value {
    let findings = findings.iter().map(|finding| {
        json!({
            "topic": finding.topic, "grade": finding.grade.to_string(), "says": finding.says, "fix": finding.fix,
        })
    });
    json!({
        "store": store.to_string(), "backend": backend(store.scheme()), "grade": worst.to_string(),
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// The backend's name; it may answer to several schemes.
fn backend(scheme: &str) -> &str {
    let schemes = BACKENDS.iter().map(|backend| backend.schemes());
    schemes.into_iter().find(|schemes| schemes.contains(&scheme)).map_or(scheme, |schemes| schemes[0])
}
