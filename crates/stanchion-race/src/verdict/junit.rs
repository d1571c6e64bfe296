//! JUnit XML, for build servers that know tests only: each expectation is a test.

use std::fmt::Write as _;

use super::escape::escaped;
use super::text::told;
use super::{Comparison, Outcome, Verdict};

/// The test of a verdict that expects nothing: `--auto` found nothing to race.
const NO_SPECIFICATION: &str = "specification";

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
    // Without a specification nothing is expected, and a suite without tests passes.
    let nothing_made = if verdict.expect.is_empty() { &[NO_SPECIFICATION][..] } else { &[] };
    for expectation in verdict.expect.iter().chain(nothing_made) {
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
    let (tests, ms) = (verdict.expect.len() + nothing_made.len(), verdict.milliseconds);
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

#[cfg(test)]
mod tests {
    use roxmltree::{Document, Node};

    use super::*;
    use crate::Guarding;
    use crate::verdict::tests::{race_verdict, sound_verdict};

    fn cases<'d>(document: &'d Document<'_>) -> Vec<(String, Option<Node<'d, 'd>>)> {
        let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
        cases.map(|case| (case.attribute("name").unwrap().to_owned(), case.first_element_child())).collect()
    }

    #[test]
    fn a_broken_expectation_failed_and_one_that_held_passed() {
        let text = race_verdict(2).to_junit();
        let document = Document::parse(&text).unwrap();
        let suite = document.root_element().first_element_child().unwrap();
        let counted = ["tests", "failures", "errors", "skipped"].map(|name| suite.attribute(name).unwrap());
        assert_eq!(counted, ["2", "1", "0", "0"]);
        let cases = cases(&document);
        assert_eq!(cases.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["every", "unique"]);
        let failure = cases[0].1.unwrap();
        assert!(failure.has_tag_name("failure") && failure.text().unwrap().contains("· replay: --seed 17"));
        assert_eq!(failure.attribute("message"), Some("2 acknowledged, 1 kept, 1 lost"));
        assert!(cases[1].1.is_none());
    }

    #[test]
    fn what_could_not_be_judged_is_an_error() {
        let mut verdict = sound_verdict();
        verdict.inconclusive("it ended".into());
        let text = verdict.to_junit();
        let document = Document::parse(&text).unwrap();
        for (_, result) in cases(&document) {
            let result = result.unwrap();
            assert!(result.has_tag_name("error") && result.attribute("message") == Some("it ended"));
        }
        assert_eq!(document.root_element().first_element_child().unwrap().attribute("errors"), Some("2"));
    }

    #[test]
    fn where_no_specification_could_be_made_a_build_server_sees_an_error() {
        let text = crate::Verdict::unfounded("npx x", 7, "it refuses all calls".into()).to_junit();
        let document = Document::parse(&text).unwrap();
        let suite = document.root_element().first_element_child().unwrap();
        let counted = ["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap());
        assert_eq!(counted, ["1", "0", "1"]);
        let result = cases(&document)[0].1.unwrap();
        assert!(result.has_tag_name("error") && result.attribute("message") == Some("it refuses all calls"));
        assert!(text.contains(r#"<property name="seed" value="7"/>"#), "{text}");
    }

    #[test]
    fn without_the_guard_nothing_fails() {
        let both = Comparison { bare: race_verdict(2), guarded: sound_verdict(), guard: Guarding::default() };
        let text = both.to_junit();
        let document = Document::parse(&text).unwrap();
        let tags: Vec<_> =
            cases(&document).iter().map(|(_, it)| it.map(|it| it.tag_name().name().to_owned())).collect();
        assert_eq!(tags, [Some("skipped".to_owned()), None, None, None]);
    }

    #[test]
    fn nothing_that_a_target_says_leaves_its_element() {
        let bad = "</failure><x y=\"1\">]]>&\u{0}\u{1b}\n'";
        let mut verdict = race_verdict(2);
        verdict.name = bad.into();
        if let Some(found) = &mut verdict.found {
            found.violations[0].what = bad.into();
        }
        let text = verdict.to_junit();
        let document = Document::parse(&text).unwrap();
        let failure = cases(&document)[0].1.unwrap();
        assert_eq!(
            failure.attribute("message").unwrap(),
            bad.replace(['\u{0}', '\u{1b}'], "\u{fffd}").replace('\n', " ")
        );
        assert!(failure.first_element_child().is_none());
    }
}
