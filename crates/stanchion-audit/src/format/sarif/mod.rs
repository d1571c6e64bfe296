//! SARIF 2.1.0, for code scanning: the way from the read to the write is a code flow.

mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use self::model::{
    ArtifactLocation, CodeFlow, Configuration, Descriptor, Driver, FlowLocation, Help, Invocation, Location, Log,
    LogicalLocation, Message, Notification, Outcome, PhysicalLocation, Region, Run, Suppression, Tags, ThreadFlow,
    Tool,
};
use super::Report;
use crate::catalogue;
use crate::finding::{Finding, Lines, Role, Severity, Sources, Step};

/// The name of our fingerprint; its number is raised if it is made in another way.
const FINGERPRINT: &str = "stanchionAudit/v1";
/// Longer lines are not quoted.
const SNIPPET_MOST: usize = 500;

/// Writes the log: all findings, also suppressed ones, and with a baseline their state, also of those that are gone.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// # use stanchion_audit::format::{Report, sample, sarif};
/// let mut out = Vec::new();
/// sarif::write(&mut out, &Report { findings: vec![sample()], ..Report::default() }, &|_| None)?;
/// let log: serde_json::Value = serde_json::from_slice(&out)?;
/// let result = &log["runs"][0]["results"][0];
/// assert_eq!((&result["ruleId"], &result["level"]), (&"RC101".into(), &"error".into()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(out: &mut impl Write, report: &Report, sources: Sources<'_>) -> io::Result<()> {
    let codes: BTreeSet<_> = report.findings.iter().map(|finding| (finding.code, finding.name)).collect();
    let index: BTreeMap<_, _> = codes.iter().enumerate().map(|(at, (code, _))| (*code, at)).collect();
    let mut lines = Lines::default();
    let found = report.findings.iter().map(|finding| {
        lines.open(&finding.path, sources);
        outcome(finding, index.get(finding.code).copied(), lines.get(finding.line))
    });
    let gone = report.gone.iter().map(|entry| Outcome {
        rule_id: &entry.code,
        rule_index: None,
        level: None,
        message: Message { text: entry.message.clone() },
        locations: [location(&entry.path, None)],
        code_flows: vec![],
        partial_fingerprints: BTreeMap::from([(FINGERPRINT, entry.fingerprint.clone())]),
        suppressions: vec![],
        baseline_state: Some("absent"),
        properties: BTreeMap::new(),
    });
    let notes = report.notes.iter().map(|note| Notification {
        level: "note",
        message: Message { text: note.text.clone() },
        locations: Some(&note.path)
            .filter(|path| !path.is_empty())
            .map(|path| location(path, (note.line > 0).then_some((note.line, note.line))))
            .into_iter()
            .collect(),
    });
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "stanchion-audit",
                    information_uri: env!("CARGO_PKG_REPOSITORY"),
                    version: env!("CARGO_PKG_VERSION"),
                    rules: codes.iter().map(|(code, name)| descriptor(code, name)).collect(),
                },
            },
            invocations: [Invocation { execution_successful: true, tool_execution_notifications: notes.collect() }],
            results: found.chain(gone).collect(),
            column_kind: "utf16CodeUnits",
        }],
    };
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn descriptor<'a>(code: &'a str, name: &'a str) -> Descriptor<'a> {
    let rule = catalogue::rule(code);
    Descriptor {
        id: code,
        name,
        short_description: rule.map(|rule| Message { text: rule.summary.to_owned() }),
        help: rule.map(|rule| Help { text: rule.doc, markdown: rule.doc }),
        default_configuration: Configuration { level: level(rule.map_or(Severity::Medium, |rule| rule.severity)) },
        properties: Tags { tags: ["concurrency", "correctness"] },
    }
}

fn outcome<'a>(finding: &'a Finding, rule_index: Option<usize>, line: Option<&str>) -> Outcome<'a> {
    let mut place = location(&finding.path, Some((finding.line, finding.end_line)));
    if !finding.function.is_empty() {
        let name = LogicalLocation { fully_qualified_name: finding.function.clone(), kind: "function" };
        place.logical_locations.push(name);
    }
    // A snippet has to be the whole region, so only regions of one line have one.
    if let (Some(region), Some(line)) = (&mut place.physical_location.region, line)
        && region.start_line == region.end_line
        && line.len() <= SNIPPET_MOST
    {
        region.snippet = Some(Message { text: line.to_owned() });
    }
    let mut text = finding.message.clone();
    for (word, part) in [("Why", &finding.why), ("Fix", &finding.fix.plain), ("With Stanchion", &finding.fix.stanchion)]
    {
        if !part.is_empty() {
            text.push_str(&format!("\n{word}: {part}"));
        }
    }
    let locations: Vec<_> = finding.flow.iter().enumerate().map(|(at, step)| flow_location(at, step)).collect();
    let flow = CodeFlow { thread_flows: [ThreadFlow { locations }] };
    Outcome {
        rule_id: finding.code,
        rule_index,
        level: Some(level(finding.severity)),
        // Braces hold places for arguments, and `[a](b)` is a link: both are escaped where they are meant as they stand.
        message: Message { text: text.replace('{', "{{").replace('}', "}}").replace("](", "\\](") },
        locations: [place],
        code_flows: if finding.flow.is_empty() { vec![] } else { vec![flow] },
        partial_fingerprints: BTreeMap::from([(FINGERPRINT, finding.fingerprint().to_owned())]),
        suppressions: finding
            .marks
            .suppressed
            .iter()
            .map(|reason| Suppression { kind: "inSource", status: "accepted", justification: reason.clone() })
            .collect(),
        baseline_state: finding.marks.known.map(|known| if known { "unchanged" } else { "new" }),
        properties: BTreeMap::from([
            ("confidence", finding.confidence.to_string()),
            ("resource", finding.resource.clone()),
            ("scope", finding.scope.to_string()),
            ("severity", finding.severity.to_string()),
            ("surface", finding.surface.to_string()),
        ]),
    }
}

fn flow_location(at: usize, step: &Step) -> FlowLocation {
    let mut location = location(&step.path, Some((step.line, step.end_line)));
    let note = if step.note.is_empty() { step.role.to_string() } else { format!("{}: {}", step.role, step.note) };
    location.message = Some(Message { text: note });
    let importance = if matches!(step.role, Role::Read | Role::Write) { "essential" } else { "important" };
    FlowLocation { location, kinds: [step.role.as_str()], execution_order: at + 1, importance }
}

fn location(path: &str, lines: Option<(u32, u32)>) -> Location {
    let region = lines.map(|(first, last)| {
        let start_line = first.max(1);
        Region { start_line, end_line: last.max(start_line), snippet: None }
    });
    let artifact_location = ArtifactLocation { uri: uri(path), uri_base_id: "%SRCROOT%" };
    Location {
        physical_location: PhysicalLocation { artifact_location, region },
        logical_locations: vec![],
        message: None,
    }
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}

/// A path as a relative URI. `:` is escaped, because what stands before one in the first part would be a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'@' | b'+' => {
                uri.push(char::from(byte))
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::tests::{SOURCE, report};
    use super::*;
    use crate::baseline::Entry;

    fn run(report: &Report) -> Value {
        let mut out = Vec::new();
        write(&mut out, report, &|_| Some(SOURCE.into())).unwrap();
        let mut log: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(log["version"], "2.1.0");
        log["runs"][0].take()
    }

    #[test]
    fn a_result_has_its_flow_its_fingerprint_and_its_rule() {
        let run = run(&report());
        let result = &run["results"][0];
        let locations = result["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
        let kinds: Vec<_> = locations.iter().map(|it| it["kinds"][0].as_str().unwrap()).collect();
        assert_eq!(kinds, ["read", "window", "write"]);
        assert_eq!(locations[1]["location"]["physicalLocation"]["region"]["endLine"], 4);
        assert_eq!(result["partialFingerprints"][FINGERPRINT].as_str().unwrap().len(), 16);
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region["snippet"]["text"], "  await writeFile(path, JSON.stringify(all));");
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!((&rule["id"], &rule["name"]), (&"RC101".into(), &"lost-update-file".into()));
        assert!(rule["help"]["markdown"].as_str().unwrap().contains("## Why it races"));
        assert_eq!(
            run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"],
            "too large: not analysed"
        );
    }

    #[test]
    fn suppressions_and_the_state_against_a_baseline_are_said() {
        let mut report = report();
        report.gone = vec![Entry {
            fingerprint: "00".repeat(8),
            code: "RC101".into(),
            path: "old.ts".into(),
            message: "it was here".into(),
        }];
        let run = run(&report);
        let results = run["results"].as_array().unwrap();
        let states: Vec<_> = results.iter().map(|it| it["baselineState"].as_str()).collect();
        assert_eq!(states, [Some("new"), None, Some("unchanged"), Some("absent")]);
        assert_eq!(results[1]["suppressions"][0]["justification"], "one process");
        assert!(results.iter().all(|it| it["suppressions"].is_array()), "all or none");
    }

    #[test]
    fn odd_paths_lines_and_messages_stay_valid() {
        let mut report = report();
        report.findings.truncate(1);
        let finding = &mut report.findings[0];
        (finding.path, finding.line, finding.end_line) = ("a b/ü:#%?.ts".into(), 0, 0);
        finding.message = "`{id}` of [x](y)".into();
        finding.flow.clear();
        let result = run(&report)["results"][0].take();
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%BC%3A%23%25%3F.ts");
        assert_eq!(place["region"]["startLine"], 1);
        assert!(result["message"]["text"].as_str().unwrap().starts_with("`{{id}}` of [x\\](y)"));
        assert!(result.get("codeFlows").is_none());
    }
}
