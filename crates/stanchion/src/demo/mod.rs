//! `stanchion demo`: a race loses data, and a lock stops it. Every number is counted, none is written here.

mod args;
mod memory;
mod worker;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;
use stanchion_core::{Error, ErrorKind, Result};

pub(crate) use self::args::{DemoArgs, WorkerArgs};
use self::memory::Way;
pub(crate) use self::worker::worker;

use self::args::Mcp;
use crate::exit::{print, say};

/// What one round came to.
struct Round {
    name: &'static str,
    guarded: bool,
    acknowledged: u64,
    in_file: u64,
}

impl Round {
    /// Acknowledged, but not in the file.
    fn lost(&self) -> u64 {
        self.acknowledged.saturating_sub(self.in_file)
    }
}

pub(crate) fn run(args: &DemoArgs) -> Result<u8> {
    let dir = scratch()?;
    let result = rounds(args, &dir);
    // A folder that is left behind is no reason to hide the result.
    if let Err(error) = std::fs::remove_dir_all(&dir) {
        tracing::warn!(folder = %dir.display(), %error, "the demo's folder could not be removed");
    }
    let rounds = result?;
    if args.json {
        let rows = rounds.iter().map(
            |r| json!({ "round": r.name, "acknowledged": r.acknowledged, "in_file": r.in_file, "lost": r.lost() }),
        );
        print(
            &json!({ "processes": args.processes, "calls": args.calls, "rounds": rows.collect::<Vec<_>>() })
                .to_string(),
        );
    } else {
        show(&rounds);
    }
    Ok(u8::from(lost(&rounds, true) > 0))
}

fn lost(rounds: &[Round], guarded: bool) -> u64 {
    rounds.iter().filter(|round| round.guarded == guarded).map(Round::lost).sum()
}

fn rounds(args: &DemoArgs, dir: &Path) -> Result<Vec<Round>> {
    if !args.json {
        say(&format!(
            "A budget service keeps one number in a file. {} processes make {} calls each; every call adds 1.\n",
            args.processes, args.calls
        ));
    }
    let round = |name, guarded, kill| {
        if !args.json {
            say(&format!("  {name} …"));
        }
        race(args, dir, name, guarded, kill)
    };
    let mut rounds = vec![
        round("unguarded", false, false)?,
        round("guarded", true, false)?,
        round("guarded, one process killed", true, true)?,
    ];
    if args.mcp == Mcp::Auto
        && let Some(server) = memory::server(&args.mcp_server, args.json)
    {
        for (name, way) in [
            ("official MCP memory server", Way::Alone(&server)),
            ("the same behind `stanchion wrap`", Way::Wrapped(&server)),
            ("`stanchion memory` in its place", Way::Ours),
        ] {
            if !args.json {
                say(&format!("  {name} …"));
            }
            rounds.push(
                memory::race(way, dir, name)
                    .map_err(|e| Error::new(ErrorKind::Unexpected, "the memory server cannot be raced").because(e))?,
            );
        }
    }
    Ok(rounds)
}

/// Starts all, lets them go at once, and counts.
fn race(args: &DemoArgs, dir: &Path, name: &'static str, guarded: bool, kill: bool) -> Result<Round> {
    let file = dir.join("budget.json");
    let failed = |e| Error::new(ErrorKind::Unexpected, "the demo cannot be run").because(e);
    // stanchion-audit: ignore RC302 -- written before the processes are started
    std::fs::write(&file, worker::render(0)).map_err(failed)?;
    let mut team = (0..args.processes)
        .map(|_| start(args, &file, guarded))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(failed)?;
    for member in &mut team {
        let mut ready = [0; 1];
        member.out.read_exact(&mut ready).map_err(failed)?;
    }
    for member in &mut team {
        member.go.write_all(b"go\n").map_err(failed)?;
    }
    let acknowledged = count(team, kill.then_some(args.calls / 2)).map_err(failed)?;
    let in_file = worker::parse(&std::fs::read_to_string(&file).map_err(failed)?)?;
    Ok(Round { name, guarded, acknowledged, in_file })
}

struct Member {
    process: Child,
    go: ChildStdin,
    out: BufReader<std::process::ChildStdout>,
}

fn start(args: &DemoArgs, file: &Path, guarded: bool) -> std::io::Result<Member> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("__demo-worker").arg("--file").arg(file).arg("--calls").arg(args.calls.to_string());
    if guarded {
        command.arg("--guarded");
    }
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(go), Some(out)) = (process.stdin.take(), process.stdout.take()) else {
        return Err(std::io::Error::other("a worker has no pipes"));
    };
    Ok(Member { process, go, out: BufReader::new(out) })
}

/// Counts one line per acknowledged call. With `kill_after`, the first worker gets SIGKILL after so many.
fn count(team: Vec<Member>, kill_after: Option<u32>) -> std::io::Result<u64> {
    let (sender, receiver) = mpsc::channel();
    let mut first = true;
    for mut member in team {
        let sender = sender.clone();
        let kill_after = kill_after.filter(|_| std::mem::take(&mut first));
        std::thread::spawn(move || {
            let mut acknowledged = 0;
            for line in member.out.lines() {
                if line.is_err() {
                    break;
                }
                acknowledged += 1;
                if kill_after == Some(acknowledged) {
                    member.process.kill().unwrap_or_default();
                }
            }
            let ended = member.process.wait();
            sender.send(ended.map(|_| u64::from(acknowledged))).unwrap_or_default();
        });
    }
    drop(sender);
    receiver.iter().sum()
}

fn show(rounds: &[Round]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(["", "acknowledged", "in the file", "lost"]);
    for round in rounds {
        table.add_row([
            round.name.to_owned(),
            round.acknowledged.to_string(),
            round.in_file.to_string(),
            round.lost().to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    print(&format!("\n{table}\n"));
    match (lost(rounds, false), lost(rounds, true)) {
        (0, 0) => print("The unguarded round lost nothing this time; try --calls 2000."),
        (lost, 0) => {
            print(&format!("Unguarded, {lost} acknowledged calls are gone, and no error said so. Guarded, none."))
        }
        (_, lost) => print(&format!("GUARDED CALLS WERE LOST: {lost}. This is a bug; please report it.")),
    }
    print(
        "A killed process may have written its last call without telling us: then the file is ahead by one, never behind.",
    );
    print("\nThe same for your MCP servers:    stanchion wrap -- npx -y SERVER    (or `stanchion init`)");
    print("The same for your own commands:  stanchion run --lock NAME -- CMD");
}

fn scratch() -> Result<std::path::PathBuf> {
    let dir = std::env::temp_dir().join(format!("stanchion-demo-{:016x}", stanchion_core::Owner::random().nonce()));
    std::fs::create_dir(&dir).map_err(|e| {
        Error::new(ErrorKind::Denied, "the demo needs a folder for its file")
            .with("folder", dir.display())
            .because(e)
            .hint("set TMPDIR")
    })?;
    Ok(dir)
}
