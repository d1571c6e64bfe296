//! JUnit XML, for build servers that know tests only: each expectation is a test.

use std::fmt::Write as _;

use super::escape::escaped;
use super::text::told;
use super::{Comparison, Outcome, Verdict};

/// Whether a race fails the build.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Judged,
    /// Only for comparison: what does not hold is skipped, with the reason.
    Bare,
}

impl Verdict {
    /// One suite with a test for each expectation. One that is broken failed; one that could not be judged is an error.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let text = "version = 1\nname = \"x\"\nseed = 17\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = stanchion_race::Spec::parse(text, "probe.toml").unwrap();
    /// # let verdict = stanchion_race::race(&spec, &Default::default()).await;
    /// assert!(verdict.to_junit().contains(r#"tests="1" failures="0" errors="1""#));
    /// # });
    /// ```
    #[must_use]
    pub fn to_junit(&self) -> String {
        document(&[(self, &self.name, Side::Judged)])
    }
}

impl Comparison {
    /// Two suites. The guarded one is as in [`Verdict::to_junit`]; what does not hold without the guard is skipped.
    #[must_use]
    pub fn to_junit(&self) -> String {
        let (guarded, bare) = (format!("{}, guarded", self.guarded.name), format!("{}, bare", self.bare.name));
        document(&[(&self.bare, &bare, Side::Bare), (&self.guarded, &guarded, Side::Judged)])
    }
}

fn document(suites: &[(&Verdict, &str, Side)]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (verdict, name, side) in suites {
        // Writing to a string does not fail.
        suite(&mut out, verdict, &escaped(name), *side).unwrap_or_default();
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(out: &mut String, verdict: &Verdict, name: &str, side: Side) -> std::fmt::Result {
    let mut cases = String::new();
    let (mut failures, mut errors, mut skipped) = (0, 0, 0);
    let found = verdict.found.as_ref().map_or(&[][..], |found| &found.violations);
    let told = told(found);
    for expectation in &verdict.expect {
        write!(cases, "    <testcase classname=\"{name}\" name=\"{expectation}\"")?;
        let broken: Vec<_> = told.iter().filter(|(it, _)| it.expectation == *expectation).collect();
        let what: Vec<_> = broken.iter().map(|(it, _)| it.what.as_str()).collect();
        let (tag, message) = match (&broken[..], verdict.outcome) {
            ([], Outcome::Inconclusive) => ("error", verdict.reason.clone().unwrap_or_default()),
            ([], _) => {
                cases.push_str("/>\n");
                continue;
            }
            _ => ("failure", what.join("; ")),
        };
        let tag = if side == Side::Bare { "skipped" } else { tag };
        let count = match tag {
            "error" => &mut errors,
            "failure" => &mut failures,
            _ => &mut skipped,
        };
        *count += 1;
        let kind = if broken.is_empty() { "inconclusive" } else { "race" };
        let kind = if side == Side::Bare { String::new() } else { format!(" type=\"{kind}\"") };
        let text = if broken.is_empty() { String::new() } else { escaped(&verdict.to_string()) };
        let message = escaped(&message);
        writeln!(cases, ">\n      <{tag}{kind} message=\"{message}\">{text}</{tag}>\n    </testcase>")?;
    }
    let (tests, ms) = (verdict.expect.len(), verdict.milliseconds);
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{}.{:03}\">",
        ms / 1000,
        ms % 1000
    )?;
    let faults: usize = verdict.faults.values().sum();
    let facts = [
        ("seed", verdict.seed.to_string()),
        ("schedules", verdict.rounds.to_string()),
        ("calls", verdict.calls.to_string()),
        ("faults", faults.to_string()),
    ];
    out.push_str("    <properties>\n");
    for (name, value) in facts {
        writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>")?;
    }
    out.push_str("    </properties>\n");
    out.push_str(&cases);
    out.push_str("  </testsuite>\n");
    Ok(())
}
