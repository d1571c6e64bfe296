//! One run of the suite, and what it found.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use stanchion_testkit::peers::Peers;

/// One thing that the suite looks at. Some are looked at several times, under the same name.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Check {
    pub(crate) scenario: String,
    id: String,
    name: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {} ({})", self.scenario, self.id, self.name)
    }
}

/// `SUCCESS`, `FAILURE`, `WARNING`, `INFO` or `SKIPPED`, with a reason.
struct Verdict {
    status: String,
    reason: String,
}

/// Every check of one run.
pub(crate) struct Report(BTreeMap<Check, Vec<Verdict>>);

impl Report {
    /// Checks that succeeded every time they were made.
    pub(crate) fn passed(&self) -> impl Iterator<Item = &Check> {
        self.0.keys().filter(|check| self.passes(check))
    }

    pub(crate) fn passes(&self, check: &Check) -> bool {
        self.0.get(check).is_some_and(|verdicts| verdicts.iter().all(|verdict| verdict.status == "SUCCESS"))
    }

    fn fails(&self, check: &Check) -> bool {
        let bad = |verdict: &Verdict| matches!(verdict.status.as_str(), "FAILURE" | "WARNING");
        self.0.get(check).is_some_and(|verdicts| verdicts.iter().any(bad))
    }

    /// What the suite said about one check.
    pub(crate) fn says(&self, check: &Check) -> String {
        let Some(verdicts) = self.0.get(check) else {
            return "was not looked at".to_owned();
        };
        let said: Vec<_> = verdicts.iter().map(|verdict| format!("{} {}", verdict.status, verdict.reason)).collect();
        said.join("; ")
    }

    /// One line for each check that failed.
    pub(crate) fn failures(&self) -> String {
        let failed = self.0.keys().filter(|check| self.fails(check));
        failed.map(|check| format!("{check}: {}\n", self.says(check))).collect()
    }
}

/// Runs everything that a revision of the protocol requires, scored or not.
pub(crate) fn run(peers: &Peers, requirements: &str, url: &str) -> Report {
    let folder = tempfile::tempdir().expect("a folder for the results");
    let mut command = Command::new(peers.node22());
    command.arg(peers.conformance()).args(["server", "--url", url, "--requirements", requirements, "-o"]);
    let output = command.arg(folder.path()).output().expect("the suite starts");
    let report = read(folder.path());
    // The exit status only says whether anything failed; the files say what.
    let said = || String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!report.0.is_empty(), "the suite found nothing at {url}:\n{}", said());
    report
}

/// One folder `server-SCENARIO-TIME` for each scenario.
fn read(folder: &Path) -> Report {
    let mut checks = BTreeMap::<_, Vec<_>>::new();
    for entry in std::fs::read_dir(folder).expect("the results") {
        let path = entry.expect("a result").path();
        let scenario = scenario(&path);
        let text = std::fs::read_to_string(path.join("checks.json")).expect("checks of a scenario");
        let list: Vec<Value> = serde_json::from_str(&text).expect("a list of checks");
        for item in list {
            let field = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
            let check = Check { scenario: scenario.clone(), id: field("id"), name: field("name") };
            let verdict = Verdict { status: field("status"), reason: field("errorMessage") };
            checks.entry(check).or_default().push(verdict);
        }
    }
    Report(checks)
}

fn scenario(path: &Path) -> String {
    const TIME: usize = "-2026-07-28T01-02-03-004Z".len();
    let name = path.file_name().and_then(|name| name.to_str()).expect("a scenario's folder");
    let name = name.strip_prefix("server-").unwrap_or(name);
    name[..name.len() - TIME].to_owned()
}
