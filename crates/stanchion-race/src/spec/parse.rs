//! From the text to a specification.

use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::calls::{Shape, calls, read};
use super::expect::{expect, ordered};
use super::problem::SpecError;
use super::reader::{Source, Table};
use super::target::{target, upstream};
use super::{Action, Call, Faults, Kind, Limits, Origin, Read, Spec};

/// Larger files are not specifications.
const TEXT_MAX: usize = 1 << 20;
/// What `stanchion audit` leaves above a value it cannot know.
const FILL_IN: &str = "# fill in:";

impl Spec {
    /// Reads a specification; `origin` is how its file is called.
    ///
    /// # If it fails
    /// Everything that is wrong is told at once, with its place.
    ///
    /// ```
    /// use stanchion_race::Spec;
    /// let wrong = Spec::parse("# fill in: the tool\nversion = 1\n", "probe.toml").unwrap_err();
    /// assert!(wrong.to_string().contains("the tool"));
    /// ```
    pub fn parse(text: &str, origin: &str) -> Result<Self, SpecError> {
        let source = Source::new(text);
        if text.len() > TEXT_MAX {
            source.wrong(0, "", "the file is larger than 1 MiB", "", "name the specification, not its data");
            return Err(SpecError::new(origin, source.into_problems()));
        }
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if let Some(what) = line.trim_start().strip_prefix(FILL_IN) {
                let next = "write the value below it, and delete the line";
                source.wrong(at, "", format!("still to be filled in: {}", what.trim()), "", next);
            }
            at += line.len();
        }
        let spec = match DeTable::parse(text) {
            Ok(table) => specification(&source.top(table.get_ref())),
            Err(error) => {
                source.wrong(error.span().map_or(0, |span| span.start), "", error.message(), "TOML", "");
                None
            }
        };
        let problems = source.into_problems();
        match spec.filter(|_| problems.is_empty()) {
            Some(spec) => Ok(spec),
            None => Err(SpecError::new(origin, problems)),
        }
    }
}

/// `None` only if a problem was told.
fn specification(top: &Table<'_, '_>) -> Option<Spec> {
    if top.integer("version", 1..=1, 0) == 0 && !top.has("version") {
        top.wrong("version", "`version` is needed", "1", "write version = 1 on the first line");
    }
    let name = top.text("name").unwrap_or_default();
    if !top.has("name") {
        top.wrong("name", "`name` is needed", "up to 200 characters", "say what is raced");
    } else if name.chars().count() > 200 {
        top.wrong("name", "the name is too long", "up to 200 characters", "");
    }
    let seed = top.has("seed").then(|| top.integer("seed", 0..=i64::MAX.unsigned_abs(), 0));
    let origin = top.table("origin").map(|it| origin(&it)).unwrap_or_default();
    if !top.has("target") {
        top.wrong("target", "[target] is needed", "", "say what is raced");
    }
    let table = top.table("target");
    let target = table.as_ref().and_then(target);
    let limits = top.table("limits");
    let limits = limits_of(limits.as_ref());
    let command = table.is_some_and(|it| it.has("command"));
    let shape = Shape { kind: target.as_ref().map(|it| it.kind), command, ordered: ordered(top) };
    let setup = calls(top, "setup", shape);
    let calls_of = calls(top, "call", shape);
    if !top.has("call") {
        top.wrong("call", "a [[call]] is needed", "1 to 100", "say what is called at the same time");
    }
    let in_round: usize = calls_of.iter().map(|call| call.times).sum();
    if in_round > limits.calls {
        let what = format!("one round has {in_round} calls, and only {} are allowed in all", limits.calls);
        top.wrong("call", what, "", "lower `times`, or raise `limits.calls`");
    }
    let read = top.table("read").and_then(|it| read(&it, shape));
    let teardown = calls(top, "teardown", shape);
    let faults = faults_of(top.table("faults").as_ref());
    let upstream = top.table("upstream").and_then(|it| upstream(&it));
    let expect = expect(top, read.as_ref(), upstream.is_some());
    if let Some(target) = target.as_ref().filter(|_| upstream.is_none()) {
        let mut all = target.command.iter().chain(target.env.values()).chain(&target.urls).chain([&target.cwd]);
        if all.any(super::Template::uses_upstream) {
            top.wrong("target", "{upstream} is used, and there is no [upstream]", "", "add an [upstream] table");
        }
    }
    if expect.as_ref().is_some_and(|it| it.linearizable.is_some()) && nothing_is_told(&calls_of, read.as_ref()) {
        let next = "add `gives`, or a call or [read] that looks";
        top.wrong("expect", "no operation gives anything that `linearizable` could judge", "", next);
    }
    top.finish();
    let (name, target) = (name.to_owned(), target?);
    Some(Spec {
        name,
        seed,
        origin,
        target,
        limits,
        setup,
        calls: calls_of,
        read,
        teardown,
        faults,
        upstream,
        expect: expect?,
    })
}

/// Operations, and none of them has an answer: every order explains them.
fn nothing_is_told(calls: &[Call], read: Option<&Read>) -> bool {
    let all = calls.iter().filter_map(|call| call.operation.as_ref()).chain(read.and_then(|it| it.operation.as_ref()));
    let mut all = all.peekable();
    all.peek().is_some() && all.all(|it| it.gives.is_none() && !it.error_is_no && it.action != Action::Acquire)
}

fn origin(table: &Table<'_, '_>) -> Origin {
    let text = |name| table.text(name).map(str::to_owned);
    let origin =
        Origin { code: text("code"), fingerprint: text("fingerprint"), read: text("read"), write: text("write") };
    table.finish();
    origin
}

fn limits_of(table: Option<&Table<'_, '_>>) -> Limits {
    let number = |name, most, default| table.map_or(default, |it| it.integer(name, 1..=most, default));
    let limits = Limits {
        calls: usize::try_from(number("calls", 100_000, 2000)).unwrap_or(2000),
        run: Duration::from_secs(number("seconds", 3600, 30)),
        rounds: number("rounds", 10_000, 20),
        call: Duration::from_secs(number("call_seconds", 300, 10)),
    };
    table.inspect(|it| it.finish());
    limits
}

fn faults_of(table: Option<&Table<'_, '_>>) -> Faults {
    let mut faults = Faults { delay_ms: (0, 50), pause_ms: 2000, restart_ms: 0, chance: 0.2 };
    let Some(table) = table else { return faults };
    faults.pause_ms = table.integer("pause_ms", 1..=60_000, faults.pause_ms);
    faults.restart_ms = table.integer("restart_ms", 0..=10_000, faults.restart_ms);
    if let Some(items) = table.items("delay_ms") {
        let number = |value: &DeValue<'_>| match value {
            DeValue::Integer(it) => u64::from_str_radix(it.as_str(), it.radix()).ok().filter(|ms| *ms <= 10_000),
            _ => None,
        };
        match items.iter().map(|item| number(item.value)).collect::<Option<Vec<_>>>().as_deref() {
            Some([from, to]) if from <= to => faults.delay_ms = (*from, *to),
            _ => table.wrong("delay_ms", "not such a range", "[from, to], each 0 to 10000", ""),
        }
    }
    if let Some(item) = table.item("chance") {
        let number = match item.value {
            DeValue::Integer(it) => it.as_str().parse().ok(),
            DeValue::Float(it) => it.as_str().parse().ok(),
            _ => None,
        };
        match number.filter(|chance| (0.0..=1.0).contains(chance)) {
            Some(chance) => faults.chance = chance,
            None => table.wrong("chance", "not such a number", "0 to 1", ""),
        }
    }
    table.finish();
    faults
}

impl Kind {
    pub(crate) fn is_http(self) -> bool {
        !matches!(self, Self::McpStdio)
    }
}
