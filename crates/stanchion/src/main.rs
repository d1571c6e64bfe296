//! `stanchion`: the one binary. This file only chooses the verb and the exit code.

mod audit;
mod audit_verb;
mod calls;
mod claims;
mod cli;
mod demo;
mod doctor;
mod exit;
mod help;
mod init;
mod lock;
mod log;
mod memory;
mod output;
mod policy_verb;
mod progress;
mod proxy;
mod race_auto;
mod race_verb;
mod run;
mod serve;
mod store;
mod values;
mod wrap;

use std::process::ExitCode;

use clap::Parser as _;
use stanchion_core::{Error, ErrorKind, Result};

use crate::cli::{Cli, Verb};

fn main() -> ExitCode {
    // The second stage of `run`: before any parsing, because its arguments are the user's command.
    if let Some(code) = run::exec_stage() {
        return ExitCode::from(code);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(exit::mistyped(&error)),
    };
    log::init();
    match dispatch(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            exit::report(&error);
            ExitCode::from(exit::code(error.kind()))
        }
    }
}

fn dispatch(cli: &Cli) -> Result<u8> {
    match &cli.verb {
        Verb::Wrap(args) => block_on(wrap::run(cli, args)),
        Verb::Run(args) => block_on(run::run(cli, args)),
        Verb::Lock(verb) => block_on(lock::run(cli, verb)),
        Verb::Claims(verb) => block_on(claims::run(cli, verb)),
        Verb::Policy(verb) => policy_verb::run(verb),
        Verb::Calls(verb) => block_on(calls::run(cli, verb)),
        Verb::Why(args) => block_on(lock::why(cli, args)),
        Verb::Proxy(args) => block_on_all(proxy::run(cli, args)),
        Verb::Serve(args) => block_on_all(serve::run(cli, args)),
        Verb::Memory(args) if args.http.is_some() => block_on_all(memory::run(cli, args)),
        Verb::Memory(args) => block_on(memory::run(cli, args)),
        Verb::Init(args) => block_on(init::wrap(cli, args)),
        Verb::Unwrap(args) => block_on(init::unwrap(args)),
        Verb::Doctor(args) => block_on(doctor::run(cli, args)),
        Verb::Audit(args) => Ok(audit_verb::run(args)),
        Verb::Race(args) => block_on_all(race_verb::run(args)),
        Verb::Demo(args) => demo::run(args),
        Verb::DemoWorker(args) => block_on(demo::worker(args)),
        Verb::Completions { shell } => Ok(help::completions(*shell)),
        Verb::Man => help::man(),
        Verb::Help { topic } => help::run(topic.as_deref()),
    }
}

/// On all cores: for verbs that serve many callers.
fn block_on_all<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::new(ErrorKind::Unexpected, "the runtime cannot be started").because(e))?;
    runtime.block_on(work)
}

/// On this thread: the kernel ties a child's death signal to the thread that started it.
fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::new(ErrorKind::Unexpected, "the runtime cannot be started").because(e))?;
    let done = runtime.block_on(work);
    // A waiting thread must not keep a finished command from exiting.
    runtime.shutdown_background();
    done
}
