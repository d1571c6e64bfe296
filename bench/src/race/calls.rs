//! Real calls to real servers, raced and judged.

use std::path::Path;
use std::time::Duration;

use stanchion_race::{Options, Outcome as Said, Spec, Verdict, race};

use crate::Outcome;

/// The package's folder below `--peers`.
const PACKAGE: &str = "mcp/npm/node_modules/@modelcontextprotocol/server-memory";

/// How a run is made.
struct Plan<'a> {
    command: &'a [String],
    seed: u32,
    times: u32,
    rounds: u32,
}

fn run(plan: &Plan<'_>) -> Outcome<Verdict> {
    let words: Vec<String> =
        plan.command.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
    let Plan { seed, times, rounds, .. } = plan;
    let text = format!(
        r#"
        version = 1
        name = "memory"
        seed = {seed}
        [target]
        kind = "mcp-stdio"
        command = [{}]
        env = {{ HOME = "{{dir}}", MEMORY_FILE_PATH = "{{dir}}/memory.jsonl" }}
        start_seconds = 60
        [limits]
        calls = 100000
        seconds = 300
        rounds = {rounds}
        [[call]]
        tool = "create_entities"
        arguments = {{ entities = [{{ name = "{{id}}", entityType = "t", observations = [] }}] }}
        times = {times}
        [read]
        tool = "read_graph"
        select = "/entities/*/name"
        [expect]
        every = "{{id}}"
        unique = true
        "#,
        words.join(", ")
    );
    let spec = Spec::parse(&text, "bench").map_err(|wrong| wrong.to_string())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let verdict = runtime.block_on(race(&spec, &Options::default()));
    match verdict.reason {
        Some(why) => Err(why.into()),
        None => Ok(verdict),
    }
}

/// Seconds for so many calls to two instances of `stanchion memory`, from the start of the first process to the verdict.
pub(super) fn ours(calls: u32, seed: u32) -> Outcome<f64> {
    let program = std::env::current_exe()?.with_file_name("stanchion");
    let program = program.to_str().ok_or("the path of this program is no text")?;
    let command = [program, "--home", "{dir}/state", "memory"].map(str::to_owned);
    let times = (calls / 10).max(1);
    let verdict = run(&Plan { command: &command, seed, times, rounds: 10 })?;
    if verdict.outcome != Said::NothingFound || verdict.calls.acknowledged != usize::try_from(times * 10)? {
        return Err(format!("our own server is told to race, or did not answer: {verdict}").into());
    }
    Ok(Duration::from_millis(verdict.milliseconds).as_secs_f64())
}

/// Until the official server has lost something: seconds of racing, and seconds of the whole run with the smallest schedule.
pub(super) fn official(peers: Option<&Path>, seed: u32) -> Outcome<(f64, f64)> {
    let peers = peers.ok_or("no --peers; `cargo xtask bench` brings the packages")?;
    let script = peers.join(PACKAGE).join("dist/index.js").canonicalize();
    let script = script.map_err(|_| "the official server is not installed; `cargo xtask peers` brings it")?;
    let command = ["node".to_owned(), script.to_str().ok_or("its path is no text")?.to_owned()];
    let verdict = run(&Plan { command: &command, seed, times: 100, rounds: 20 })?;
    let found = verdict.found.as_ref().ok_or_else(|| format!("its race was not found: {verdict}"))?;
    // Rounds before it took about as long.
    let one = found.history.iter().map(|record| record.ended_us).max().unwrap_or(0);
    let racing = Duration::from_micros(one.saturating_mul(found.round + 1));
    Ok((racing.as_secs_f64(), Duration::from_millis(verdict.milliseconds).as_secs_f64()))
}
