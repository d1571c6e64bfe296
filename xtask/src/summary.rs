//! Counting what the test runners really reported.

use std::ops::AddAssign;

/// Tests by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Who writes the closing line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// One `Summary […] 5 tests run: …` for the whole run.
    Nextest,
    /// One `test result: …` for each program.
    Libtest,
}

/// Reads a runner's closing line. Only the runner's own kind counts: nextest also shows the output of failed tests,
/// libtest's closing line included.
pub(crate) fn read(runner: Runner, line: &str) -> Option<Counts> {
    let line = without_colour(line);
    let parts = match runner {
        Runner::Nextest => line.trim().strip_prefix("Summary [")?.split_once(" run: ")?.1,
        Runner::Libtest => line.strip_prefix("test result: ")?.split_once(". ")?.1.trim(),
    };
    let mut counts = Counts::default();
    // Remarks in brackets repeat tests that were counted: `5 passed (1 slow, 1 leaky)`.
    let mut depth = 0_usize;
    let plain: String = parts
        .chars()
        .filter(|&c| {
            depth += usize::from(c == '(');
            let keep = depth == 0;
            depth -= usize::from(c == ')' && depth > 0);
            keep
        })
        .collect();
    for part in plain.split([',', ';']) {
        let Some((number, what)) = part.trim().split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<usize>() else {
            continue;
        };
        match what.trim() {
            "passed" => counts.passed += number,
            "failed" | "timed out" | "exec failed" => counts.failed += number,
            "skipped" | "ignored" => counts.skipped += number,
            // libtest's "measured" and "filtered out" are not tests that were asked for.
            _ => {}
        }
    }
    Some(counts)
}

/// The name of a test that passed, if the line says so.
pub(crate) fn passed(runner: Runner, line: &str) -> Option<String> {
    let line = without_colour(line);
    match runner {
        Runner::Nextest => {
            let rest = line.trim().strip_prefix("PASS [")?.split_once("] ")?.1;
            rest.split_whitespace().last().map(str::to_owned)
        }
        Runner::Libtest => line.trim_end().strip_prefix("test ")?.strip_suffix(" ... ok").map(str::to_owned),
    }
}

/// The name of a test that failed, and passed when it was tried again.
pub(crate) fn second_try(runner: Runner, line: &str) -> Option<String> {
    let line = without_colour(line);
    let rest = line.trim().strip_prefix("TRY 2 PASS [").filter(|_| runner == Runner::Nextest)?.split_once("] ")?.1;
    rest.split_whitespace().last().map(str::to_owned)
}

fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_both_runners_are_counted() {
        let counts = |passed, failed, skipped| Some(Counts { passed, failed, skipped });
        let nextest = |line: &str| read(Runner::Nextest, line);
        let libtest = |line: &str| read(Runner::Libtest, line);
        assert_eq!(nextest("     Summary [   0.04s] 3 tests run: 3 passed, 0 skipped"), counts(3, 0, 0));
        let long = "  Summary [ 90.01s] 8/9 tests run: 5 passed (1 slow, 1 leaky), 1 failed, 2 timed out, 4 skipped";
        assert_eq!(nextest(long), counts(5, 3, 4));
        let coloured = "\u{1b}[32;1m Summary\u{1b}[0m [ 1s] \u{1b}[1m1\u{1b}[0m test run: 1 passed, 2 skipped";
        assert_eq!(nextest(coloured), counts(1, 0, 2));
        let result = "test result: FAILED. 4 passed; 1 failed; 2 ignored; 0 measured; 9 filtered out; finished in 0.2s";
        assert_eq!(libtest(result), counts(4, 1, 2));
        assert_eq!(nextest(result), None, "shown by nextest as a failed test's output");
        assert_eq!(libtest(&format!("    {result}")), None, "shown by libtest as a test's output");
        assert_eq!(libtest("test a_summary_of_things ... ok"), None);
        let passing = "        PASS [   0.120s] (3/9) stanchion-core::it locks::fifo";
        assert_eq!(passed(Runner::Nextest, passing).as_deref(), Some("locks::fifo"));
        assert_eq!(passed(Runner::Libtest, "test locks::fifo ... ok\n").as_deref(), Some("locks::fifo"));
        assert_eq!(passed(Runner::Libtest, "test locks::fifo ... FAILED"), None);
    }

    #[test]
    fn a_second_try_is_told_and_is_no_pass() {
        let line = "  TRY 2 PASS [   0.120s] (3/9) stanchion-core::it locks::fifo";
        assert_eq!(second_try(Runner::Nextest, line).as_deref(), Some("locks::fifo"));
        assert_eq!(passed(Runner::Nextest, line), None, "or docs/guarantees.md would be content with it");
        assert_eq!(second_try(Runner::Libtest, line), None, "shown as a test's output");
        assert_eq!(second_try(Runner::Nextest, "  TRY 1 FAIL [   0.120s] (3/9) stanchion-core::it locks::fifo"), None);
    }
}
