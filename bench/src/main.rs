//! Stanchion beside raw clients and other libraries: `cargo xtask bench locks|stores|guard|gateway|memory|audit|race`.
//!
//! Every subject runs in processes of its own, which this program starts as `stanchion-bench worker JOB`. A round
//! runs every subject once, so a slow minute of the machine hits all of them; ratios are taken inside one round.
//! Nothing here asserts a time: targets are printed beside their results.

mod arguments;
mod audit;
mod cell;
mod crew;
mod document;
mod engines;
mod gateway;
mod guard;
mod histogram;
mod job;
mod locks;
mod machine;
mod memory;
mod pause;
mod peers;
mod plan;
mod race;
mod report;
mod results;
mod subjects;
mod suite;
mod target;
mod worker;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, What};

/// A failure, for the reader of the terminal.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Outcome<T = ()> = Result<T, Fault>;

fn main() -> ExitCode {
    let done = match Arguments::parse().what {
        What::Worker { job } => worker::main(&job).map(|()| true),
        What::Locks(options) if options.store.is_empty() => locks::SUITE.run(&options),
        What::Locks(options) | What::Stores(options) => locks::stores::SUITE.run(&options.of_its_stores()),
        What::Guard(options) => guard::SUITE.run(&options),
        What::Gateway(options) => gateway::run(&options),
        What::Memory(options) => memory::run(&options),
        What::Audit(options) => audit::run(&options),
        What::Race(options) => race::run(&options),
        What::AppendServer { file } => memory::append_server(&file).map(|()| true),
        What::EchoServer { http } => gateway::echo::main(http).map(|()| true),
        What::Relay { command } => gateway::relay::main(&command).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("stanchion-bench: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// One line on standard output; a closed pipe is the reader's choice.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}
