//! A strict reader of race specifications: every key, and no other; and every rule that the page states about one file.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    version: u32,
    name: String,
    seed: Option<u64>,
    origin: Option<Origin>,
    pub(super) target: Target,
    limits: Option<Limits>,
    #[serde(default)]
    setup: Vec<Call>,
    pub(super) call: Vec<Call>,
    pub(super) read: Option<Call>,
    #[serde(default)]
    teardown: Vec<Call>,
    faults: Option<Faults>,
    upstream: Option<Upstream>,
    pub(super) expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    code: Option<String>,
    #[serde(rename = "fingerprint")]
    _fingerprint: Option<String>,
    #[serde(rename = "read")]
    _read: Option<String>,
    #[serde(rename = "write")]
    _write: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) kind: String,
    #[serde(default)]
    pub(super) command: Vec<String>,
    #[serde(rename = "cwd")]
    _cwd: Option<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default = "two")]
    pub(super) instances: u32,
    #[serde(default)]
    urls: Vec<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    start_seconds: Option<u32>,
}

const fn two() -> u32 {
    2
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    calls: Option<u32>,
    seconds: Option<u32>,
    rounds: Option<u32>,
    call_seconds: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) arguments: toml::Table,
    pub(super) method: Option<String>,
    pub(super) path: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<toml::Value>,
    times: Option<u32>,
    #[serde(default)]
    pub(super) faults: Vec<String>,
    select: Option<String>,
    #[serde(rename = "operation")]
    _operation: Option<toml::Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Faults {
    delay_ms: Option<[u32; 2]>,
    pause_ms: Option<u32>,
    restart_ms: Option<u32>,
    chance: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Upstream {
    status: Option<u16>,
    #[serde(default, rename = "headers")]
    _headers: BTreeMap<String, String>,
    #[serde(rename = "body")]
    _body: Option<toml::Value>,
    #[serde(default)]
    faults: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    select: Option<String>,
    is: toml::Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) every: Option<String>,
    pub(super) once: Option<String>,
    unique: Option<bool>,
    count: Option<toml::Value>,
    sum: Option<Sum>,
    effects: Option<String>,
    answers: Option<bool>,
    pub(super) readable: Option<bool>,
    linearizable: Option<String>,
}

/// Reads a specification, or fails the test.
pub(super) fn read(text: &str) -> Spec {
    let spec: Spec = toml::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(spec.version == 1 && spec.name.chars().count() <= 200 && spec.seed.is_none_or(|it| it < 1 << 63), "{text}");
    assert!(spec.origin.as_ref().is_none_or(|it| it.code.is_some()), "{text}");
    target(&spec.target, text);
    let within = |value: Option<u32>, most: u32| value.is_none_or(|value| (1..=most).contains(&value));
    assert!(
        spec.limits.as_ref().is_none_or(|it| within(it.calls, 100_000)
            && within(it.seconds, 3600)
            && within(it.rounds, 10_000)
            && within(it.call_seconds, 300)),
        "{text}"
    );
    assert!(!spec.call.is_empty(), "{text}");
    let is_mcp = spec.target.kind.starts_with("mcp");
    let all = spec.setup.iter().chain(&spec.call).chain(&spec.read).chain(&spec.teardown);
    all.for_each(|it| call(it, is_mcp, text));
    let faults = |list: &[String], known: &[&str]| list.iter().all(|fault| known.contains(&fault.as_str()));
    let known = ["delay", "lost-reply", "duplicate", "reset", "pause", "kill"];
    assert!(spec.call.iter().all(|it| faults(&it.faults, &known)), "{text}");
    assert!(spec.read.iter().all(|it| it.faults.is_empty() && it.times.is_none()), "{text}");
    assert!(
        spec.upstream.as_ref().is_none_or(|it| faults(&it.faults, &["delay", "lost-reply", "reset", "error"])
            && it.status.is_none_or(|it| (100..600).contains(&it))),
        "{text}"
    );
    assert!(
        spec.faults.as_ref().is_none_or(|it| it.delay_ms.is_none_or(|it| it.iter().all(|ms| *ms <= 10_000))
            && within(it.pause_ms, 60_000)
            && it.restart_ms.is_none_or(|ms| ms <= 10_000)
            && it.chance.is_none_or(|it| (0.0..=1.0).contains(&it))),
        "{text}"
    );
    expect(&spec, text);
    spec
}

fn target(target: &Target, text: &str) {
    assert!(target.start_seconds.is_none_or(|it| (1..=120).contains(&it)), "{text}");
    assert!((1..=16).contains(&target.instances) && target.command.len() <= 100, "{text}");
    match target.kind.as_str() {
        "mcp-stdio" => {
            assert!(!target.command.is_empty() && target.urls.is_empty() && target.headers.is_empty(), "{text}");
        }
        "mcp-http" | "http" if target.command.is_empty() => assert!((1..=16).contains(&target.urls.len()), "{text}"),
        "mcp-http" | "http" => assert!(target.urls.len() == 1 && target.urls[0].contains("{port}"), "{text}"),
        other => panic!("{other}\n{text}"),
    }
}

fn call(call: &Call, is_mcp: bool, text: &str) {
    if is_mcp {
        assert!(call.tool.is_some() && call.method.is_none() && call.path.is_none() && call.body.is_none(), "{text}");
        assert!(call.headers.is_empty(), "{text}");
    } else {
        assert!(call.tool.is_none() && call.arguments.is_empty() && call.path.is_some(), "{text}");
        let method = call.method.as_deref().unwrap_or("GET");
        assert!(["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method), "{text}");
    }
    assert!(call.times.is_none_or(|it| (1..=10_000).contains(&it)), "{text}");
}

fn expect(spec: &Spec, text: &str) {
    let Expect { every, once, unique, count, sum, effects, answers, readable, linearizable } = &spec.expect;
    let of_state = [every.is_some(), once.is_some(), unique.is_some(), count.is_some(), sum.is_some()];
    let is_state = of_state.contains(&true) || readable.is_some() || linearizable.is_some();
    assert!(is_state || effects.is_some() || answers.is_some(), "{text}");
    assert!(!is_state || spec.read.is_some(), "{text}");
    assert!(effects.is_none() || spec.upstream.is_some() && effects.as_deref() == Some("once"), "{text}");
    let selects = spec.read.as_ref().is_some_and(|read| read.select.is_some());
    assert!((unique.is_none() && count.is_none()) || selects, "{text}");
    assert!([unique, answers, readable].iter().all(|it| **it != Some(false)), "{text}");
    let models = ["register", "counter", "set", "mutex"];
    assert!(linearizable.as_deref().is_none_or(|it| models.contains(&it)), "{text}");
    if let Some(Sum { select, is }) = sum {
        assert!(select.as_ref().is_none_or(|it| it.starts_with('/')), "{text}");
        assert!(is.is_integer() || ["before", "before+acknowledged"].map(Some).contains(&is.as_str()), "{text}");
    }
}

#[test]
fn the_examples_of_the_page_are_what_the_page_describes() {
    let page = include_str!("../../../../../docs/race-spec.md");
    let mut kinds = Vec::new();
    for block in page.split("```toml\n").skip(1) {
        let spec = read(block.split("```").next().unwrap());
        kinds.push(spec.target.kind);
    }
    assert_eq!(kinds, ["mcp-stdio", "mcp-http", "http"]);
    assert!(page.contains("A race that is not reproduced is not refuted."));
}

#[test]
fn a_key_that_the_page_does_not_know_is_refused() {
    let text = "version = 1\nname = 'x'\n[target]\nkind = 'http'\nurls = ['http://127.0.0.1:1']\n[[call]]\npath = '/'\n[expect]\nanswers = true\n";
    assert_eq!(read(text).call.len(), 1);
    assert!(toml::from_str::<Spec>(&format!("{text}[targett]\n")).is_err());
    assert!(toml::from_str::<Spec>(&text.replace("path =", "pth =")).is_err());
}
