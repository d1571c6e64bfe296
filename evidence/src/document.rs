//! `docs/evidence.md`, written from the reports of all layers and from nothing else.

use std::fs;
use std::path::Path;

use crate::command::command;
use crate::report::{Meaning, Report, Table};

const HEAD: &str = "# Evidence

What Stanchion promises (`docs/guarantees.md`), tried in layers: exhaustive models, a seeded simulation, real asynchronous code in every order, real
engines under faults, kills at every write, and planted bugs that prove that each oracle can see. This page is written by `cargo xtask evidence` from the
reports that the layers have left (`docs/evidence.jsonl`), and from nothing else; a test makes it again and compares.

Each section names a command that runs its layer again. At the same commit the models come to the same states, and the simulation plays the same worlds, with the same
trace, on every machine; it takes about as long as it took here. The other layers do what their time and the machine allow: their numbers will be others, what must hold and what must fail will not.

Limits: a model of an engine is not the engine, a simulated operation is not a real one, and no violation in so many tries is no proof of none. A **control** is the same
work with a guard left out; one that does not fail makes its layer void.

Two faults are not tried as such: the stale attribute cache of a network file system (there is none to try; `file:` keeps a heartbeat there, which is stale after 60 s, the longest that such a cache is old), and processors that are kept
busy by others (the real engines share theirs with each other and their clients, and the simulation lets processes stand still and engines be slow).
";

/// What a release has to show: of which layers, which count, how much.
const GOALS: [(&str, &str, &str, u64); 6] = [
    ("simulated operations", "simulation", "operations", 1_000_000_000),
    ("simulated faults", "simulation", "faults", 100_000_000),
    ("states, all of them visited", "models", "states", 10_000_000),
    ("acknowledged calls on each real engine, at least", "real", LEAST_CALLS, 100_000),
    ("faults on each real engine, at least", "real", LEAST_FAULTS, 1_000),
    ("planted bugs found", "museum", FOUND, 40),
];

/// Counts that goals ask for by these names.
pub const LEAST_CALLS: &str = "calls on the engine with the fewest";
pub const LEAST_FAULTS: &str = "faults on the engine with the fewest";
pub const FOUND: &str = "planted bugs found";

/// Reports, of which each line of the file is one.
pub fn read(path: &Path) -> Result<Vec<Report>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let report = |(number, line)| {
        serde_json::from_str(line).map_err(|e| format!("{}, line {number}: no report: {e}", path.display()))
    };
    (1..).zip(text.lines()).map(report).collect()
}

/// The page.
#[must_use]
pub fn document(reports: &[Report]) -> String {
    let mut page = format!("{HEAD}\n## In short\n\n");
    page += &short(reports);
    for report in reports {
        page += &section(report);
    }
    page
}

fn short(reports: &[Report]) -> String {
    let count = |layer: &str, name: &str| {
        let counts = reports.iter().filter(|report| report.layer == layer).flat_map(|report| &report.counts);
        counts.filter(|count| count.name == name).map(|count| count.value).sum::<u64>()
    };
    let mut rows: Vec<Vec<String>> = GOALS
        .iter()
        .map(|(what, layer, name, asked)| {
            let seen = count(layer, name);
            goal(what, &grouped(*asked), &grouped(seen), seen >= *asked)
        })
        .collect();
    let sum = |count: fn(&Report) -> usize| reports.iter().map(count).sum::<usize>();
    let violations = sum(|report| report.violations.len());
    rows.push(goal("violations of what is promised", "0", &violations.to_string(), violations == 0));
    let (controls, failed) =
        (sum(|report| report.controls.len()), sum(|report| report.controls.iter().filter(|c| c.failed).count()));
    rows.push(goal("controls that failed", "all", &format!("{failed} of {controls}"), failed == controls));
    let void: Vec<_> = reports.iter().filter(|report| report.meaning() == Meaning::Void).map(|r| &*r.layer).collect();
    let what = if void.is_empty() { "none".to_owned() } else { void.join(", ") };
    rows.push(goal("layers that prove nothing", "none", &what, void.is_empty()));
    let seconds: f64 = reports.iter().map(|report| report.seconds).sum();
    rows.push(goal("time", "1 hour", &format!("{:.0} minutes", seconds / 60.0), seconds <= 3600.0));
    let columns = ["", "asked", "seen", ""].map(str::to_owned).to_vec();
    markdown(&Table { heading: String::new(), columns, rows })
}

fn goal(what: &str, asked: &str, seen: &str, met: bool) -> Vec<String> {
    let verdict = if met { "met" } else { "**MISSED**" };
    [what, asked, seen, verdict].map(str::to_owned).to_vec()
}

fn section(report: &Report) -> String {
    let verdict = match report.meaning() {
        Meaning::Held => "held",
        Meaning::Violated => "**VIOLATED**",
        Meaning::Void => "**void**",
    };
    let again = again(report);
    let counts: Vec<_> = report.counts.iter().map(|count| format!("{} {}", grouped(count.value), count.name)).collect();
    let mut text = format!(
        "\n## {}\n\n{}\n\n{verdict} · {:.0} s · seed {} · {}\n\nAgain: `{again}`\n",
        report.layer,
        report.ground,
        report.seconds,
        report.seed,
        counts.join(", ")
    );
    for table in &report.tables {
        text += &format!("\n### {}\n\n{}", table.heading, markdown(table));
    }
    if !report.controls.is_empty() {
        let row = |control: &crate::report::Control| {
            let verdict = if control.failed { "failed, as it must" } else { "**DID NOT FAIL**" };
            [&*control.name, verdict, &*control.detail].map(str::to_owned).to_vec()
        };
        let columns = ["control", "", "what it did"].map(str::to_owned).to_vec();
        let rows = report.controls.iter().map(row).collect();
        text += &format!(
            "\n### Controls of {}\n\n{}",
            report.layer,
            markdown(&Table { heading: String::new(), columns, rows })
        );
    }
    for violation in &report.violations {
        text += &format!("\n**{} violated**: {}; again: `{}`\n", violation.property, violation.what, violation.replay);
    }
    for reason in &report.void {
        text += &format!("\n**Void**: {reason}\n");
    }
    text
}

/// The command that runs the layer again. Only as many worlds give the same result; in the same time another machine does another
/// amount of work.
fn again(report: &Report) -> String {
    let Report { layer, seed, given, counts, .. } = report;
    let worlds = counts.iter().find(|count| layer == "simulation" && count.name == "worlds");
    let budget = match worlds {
        Some(worlds) => format!(" --worlds {}", worlds.value),
        None if *given > 0 => format!(" --seconds {given}"),
        None => String::new(),
    };
    format!("{} --seed {seed}{budget}", command(layer))
}

fn markdown(table: &Table) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(table.columns.len()));
    line(&table.columns) + &rule + &table.rows.iter().map(|row| line(row)).collect::<String>()
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Control, Violation};

    #[test]
    fn numbers_have_commas_between_thousands() {
        let all = [0, 12, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "12", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn a_goal_is_missed_until_its_layer_has_shown_it() {
        let mut report = Report::new("models", 1);
        report.count("states", 9_999_999);
        assert!(document(&[report.clone()]).contains("| 10,000,000 | 9,999,999 | **MISSED** |"));
        report.count("states", 1);
        assert!(document(&[report]).contains("| 10,000,000 | 10,000,000 | met |"));
    }

    #[test]
    fn a_layer_is_run_again_with_the_time_that_it_had_and_the_simulation_with_its_worlds() {
        let mut report = Report { given: 1798, ..Report::new("crash", 7) };
        let expected = format!("Again: `{} --seed 7 --seconds 1798`\n", command("crash"));
        assert!(document(&[report.clone()]).contains(&expected), "{}", document(&[report]));
        report = Report { given: 1798, ..Report::new("simulation", 7) };
        report.count("worlds", 512);
        let expected = format!("Again: `{} --seed 7 --worlds 512`\n", command("simulation"));
        assert!(document(&[report.clone()]).contains(&expected), "{}", document(&[report]));
    }

    #[test]
    fn what_went_wrong_is_on_the_page() {
        let mut report = Report::new("real", 7);
        let words = |text: &str| text.to_owned();
        report.violations.push(Violation { property: words("S2"), what: words("lost"), replay: words("go again") });
        report.controls.push(Control { name: words("no fence"), failed: false, detail: words("a | b") });
        report.void.push(words("no kill happened"));
        let page = document(&[report]);
        for said in ["**S2 violated**: lost; again: `go again`", "**DID NOT FAIL** | a \\| b", "**Void**: no kill"] {
            assert!(page.contains(said), "{said} in {page}");
        }
        assert!(page.contains("| violations of what is promised | 0 | 1 | **MISSED** |"));
    }
}
