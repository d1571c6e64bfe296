//! `stanchion-evidence LAYER…`: runs layers, prints their reports; exit 0 held, 1 violated, 3 void.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use stanchion_evidence::budget::Budget;
use stanchion_evidence::report::{Meaning, Report};
use stanchion_evidence::{LAYERS, Layer};

#[derive(Parser)]
struct Arguments {
    /// Which layers to run; all of them, in order, if none is named.
    layers: Vec<String>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For each layer.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// One report per line.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    if let Some(code) = stanchion_evidence::worker::asked() {
        return code;
    }
    let arguments = Arguments::parse();
    let unknown: Vec<_> = arguments.layers.iter().filter(|name| !LAYERS.iter().any(|l| l.name == **name)).collect();
    if !unknown.is_empty() {
        let known: Vec<_> = LAYERS.iter().map(|layer| layer.name).collect();
        eprintln!("no layer is called {unknown:?}; there are {known:?}");
        return ExitCode::from(2);
    }
    let asked = |layer: &&Layer| arguments.layers.is_empty() || arguments.layers.iter().any(|name| name == layer.name);
    let reports: Vec<_> = LAYERS.iter().filter(asked).map(|layer| run(layer, &arguments)).collect();
    let meanings = || reports.iter().map(Report::meaning);
    if meanings().any(|meaning| meaning == Meaning::Violated) {
        ExitCode::from(1)
    } else if meanings().any(|meaning| meaning == Meaning::Void) {
        ExitCode::from(3)
    } else {
        ExitCode::SUCCESS
    }
}

fn run(layer: &Layer, arguments: &Arguments) -> Report {
    let start = Instant::now();
    let mut report = (layer.run)(&Budget { seed: arguments.seed, time: Duration::from_secs(arguments.seconds) });
    report.seconds = start.elapsed().as_secs_f64();
    let text = if arguments.json {
        serde_json::to_string(&report).expect("a report is plain data") + "\n"
    } else {
        report.text()
    };
    // Whoever stopped reading still gets the exit code.
    std::io::stdout().write_all(text.as_bytes()).ok();
    report
}
