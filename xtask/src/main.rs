//! Chores of the workspace: `cargo xtask <command>`.
//!
//! Plain `std` only, so that the first `cargo xtask test` of a clean checkout starts within seconds.

mod bench;
mod check;
mod dependencies;
mod engines;
mod evidence;
mod fuzz;
mod guarantees;
mod museum;
mod packages;
mod peers;
mod rules;
mod shared;
mod shell;
mod sources;
mod summary;
mod test;

use std::process::ExitCode;

use shell::{Outcome, say};

struct Subcommand {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

/// Every subcommand, one file each. To add one: write the file, add the line.
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "engines",
        about: "bring the servers that the tests need; quick when they are there",
        run: engines::run,
    },
    Subcommand {
        name: "peers",
        about: "bring the MCP servers, clients and suites that the tests need; quick when they are there",
        run: peers::run,
    },
    Subcommand { name: "bench", about: "measure beside raw clients and peers: bench locks [--help]", run: bench::run },
    Subcommand {
        name: "evidence",
        about: "every layer of evidence, and docs/evidence.md from it: evidence [--seconds N] [--seed S] [--layer NAME]",
        run: evidence::run,
    },
    Subcommand {
        name: "fuzz",
        about: "mutated inputs: fuzz TARGET [--seconds N] [--seed S] [--replay FILE]",
        run: fuzz::run,
    },
    Subcommand {
        name: "check",
        about: "paths in documents, rule pages, licences, forbidden dependencies",
        run: check::run,
    },
    Subcommand {
        name: "museum",
        about: "compile what stands behind --cfg stanchion_museum; evidence --layer museum runs it",
        run: museum::run,
    },
    Subcommand { name: "rules", about: "write docs/rules from the auditor's rules", run: rules::run },
    Subcommand {
        name: "test",
        about: "engines, peers, all tests, all doc tests, one summary: test [FILTER...]",
        run: test::run,
    },
];

fn main() -> ExitCode {
    if let Some(ended) = museum::stand_in() {
        return ended;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wanted = args.first().map(String::as_str);
    let Some(subcommand) = SUBCOMMANDS.iter().find(|s| Some(s.name) == wanted) else {
        say("usage: cargo xtask <command> [arguments]\n");
        SUBCOMMANDS.iter().for_each(|s| say(&format!("  {:<14} {}", s.name, s.about)));
        let asked_for_help = matches!(wanted, None | Some("help" | "--help" | "-h"));
        return if asked_for_help { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    match (subcommand.run)(&args[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask {}: {reason}", subcommand.name);
            ExitCode::FAILURE
        }
    }
}
