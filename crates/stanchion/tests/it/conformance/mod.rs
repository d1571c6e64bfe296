//! The official conformance suite, against our fixture directly and through the gateway.
//!
//! The suite speaks HTTP and knows nothing of gateways: what passes directly and fails behind one was broken by it.

mod suite;

use std::path::{Path, PathBuf};
use std::process::Command;

use stanchion_testkit::peers::Peers;
use stanchion_testkit::peers_or_skip;
use stanchion_testkit::process::Child;

use self::suite::Report;
use crate::support::{Home, PATIENCE};

const FIXTURE: &str = "fixture/main.mjs";
/// A server on standard output cannot hang up in the middle of a call, which the suite wants to see: the gateway does.
const HANG_UP: &str = "1s";
/// Fewer direct passes prove nothing about a gateway.
const ENOUGH: usize = 80;

#[tokio::test]
async fn what_passes_directly_passes_through_the_gateway_2025_11_25() {
    let peers = peers_or_skip!();
    compare(&peers, "2025-11-25").await;
}

#[tokio::test]
async fn what_passes_directly_passes_through_the_gateway_2026_07_28() {
    let peers = peers_or_skip!();
    compare(&peers, "2026-07-28").await;
}

/// The control: a comparison that finds nothing lost behind this server would find nothing anywhere.
#[tokio::test]
async fn checks_that_another_server_fails_count_as_lost() {
    let peers = peers_or_skip!();
    let (_fixture, url) = start(&peers, FIXTURE).await;
    let direct = direct(&peers, "2025-11-25", &url);
    let (_ledger, url) = start(&peers, "servers/ledger.mjs").await;
    let other = suite::run(&peers, "2025-11-25", &url);
    let lost = lost(&direct, &other);
    assert!(lost.iter().any(|check| check.contains("prompts-list")), "the ledger has no prompts, yet {lost:?}");
    assert!(other.passed().any(|check| check.scenario == "ping"), "even the ledger answers pings");
}

/// What is behind the gateway.
#[derive(Clone, Copy, Debug)]
enum Upstream {
    Http,
    Stdio,
}

impl Upstream {
    fn name(self) -> &'static str {
        match self {
            Upstream::Http => "http",
            Upstream::Stdio => "stdio",
        }
    }
}

async fn compare(peers: &Peers, requirements: &str) {
    let (_fixture, url) = start(peers, FIXTURE).await;
    let direct = direct(peers, requirements, &url);
    let home = Home::new();
    let mut gateway = serve(&home, peers, &url);
    for upstream in [Upstream::Http, Upstream::Stdio] {
        let line = format!("stanchion: serving {} at", upstream.name());
        let url = gateway.expect_line(&line, PATIENCE).await;
        let through = suite::run(peers, requirements, &url);
        let lost = lost(&direct, &through);
        let (count, of) = (lost.len(), direct.passed().count());
        assert!(
            lost.is_empty(),
            "{requirements} through {upstream:?} lost {count} of {of} checks:\n{}",
            lost.join("\n")
        );
        eprintln!("{requirements} through {upstream:?}: {of} of {of} checks");
    }
}

/// `stanchion serve` in front of the running fixture, and of one that it starts itself. It tells both addresses.
fn serve(home: &Home, peers: &Peers, url: &str) -> Child {
    let (node, script) = (peers.node().display(), path(FIXTURE));
    let script = script.display();
    let text = format!(
        "[servers.http]\nurl = '{url}'\n[servers.stdio]\ncommand = ['{node}', '{script}', '--stdio']\nhang_up = '{HANG_UP}'\n"
    );
    gateway(home, &text)
}

/// `stanchion serve` with this policy. It tells where its servers are.
pub(crate) fn gateway(home: &Home, text: &str) -> Child {
    let policy = home.path("stanchion.toml");
    std::fs::write(&policy, text).expect("the policy");
    let serve = home.command(&["serve", "--listen", "127.0.0.1:0", "--policy", policy.to_str().expect("a plain path")]);
    // It speaks on standard error, and a child is listened to on standard output.
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"exec "$@" 2>&1"#, "sh"]).arg(serve.get_program()).args(serve.get_args());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    Child::spawn(&mut shell)
}

/// What passes directly and does not pass through.
fn lost(direct: &Report, through: &Report) -> Vec<String> {
    let lost = direct.passed().filter(|check| !through.passes(check));
    lost.map(|check| format!("{check}: {}", through.says(check))).collect()
}

/// The suite against the fixture itself. The run is void with too few passes, and so is a fixture that fails anything.
fn direct(peers: &Peers, requirements: &str, url: &str) -> Report {
    let report = suite::run(peers, requirements, url);
    let passes = report.passed().count();
    assert!(passes >= ENOUGH, "void: only {passes} direct checks pass, not {ENOUGH}\n{}", report.failures());
    assert!(report.failures().is_empty(), "the fixture itself fails:\n{}", report.failures());
    report
}

/// A script over HTTP, and its address.
async fn start(peers: &Peers, script: &str) -> (Child, String) {
    let mut command = Command::new(peers.node());
    command.arg(path(script)).args(["--http", "0", "--while-stdin"]);
    let mut child = Child::spawn(&mut command);
    let url = child.expect_line("listening", PATIENCE).await;
    (child, url)
}

fn path(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../stanchion-mcp/tests").join(script)
}
