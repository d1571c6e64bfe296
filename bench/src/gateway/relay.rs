//! `stanchion-bench relay -- CMD`: parses each line as JSON and passes it on. The least a gateway can do.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Outcome;

/// As much of a message as a gateway has to see: members are found, not read.
#[derive(Deserialize)]
#[expect(dead_code, reason = "parsing is the point")]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

pub(crate) fn main(command: &[String]) -> Outcome {
    let (program, words) = command.split_first().ok_or("no command")?;
    let mut server = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start {program}: {e}"))?;
    let input = server.stdin.take().ok_or("no pipe to the server")?;
    let output = server.stdout.take().ok_or("no pipe from the server")?;
    // The end of our input ends the server's; the end of its output ends us, whatever we still read.
    std::thread::spawn(move || {
        if let Err(fault) = pass(std::io::stdin(), input) {
            eprintln!("relay: error: {fault}");
        }
    });
    // Not the standard output of the library: that one would flush at every line.
    pass(output, std::fs::File::from(rustix::io::dup(std::io::stdout())?))?;
    server.wait()?;
    Ok(())
}

fn pass(from: impl Read, to: impl Write) -> Outcome {
    let mut from = BufReader::with_capacity(64 * 1024, from);
    let mut to = BufWriter::with_capacity(64 * 1024, to);
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Ok(to.flush()?);
        }
        serde_json::from_slice::<Envelope<'_>>(&line)?;
        to.write_all(&line)?;
        // Together what came together.
        if !from.buffer().contains(&b'\n') {
            to.flush()?;
        }
    }
}
