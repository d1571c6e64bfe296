//! The client over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::time::Instant;

use super::message::{Answer, Caller, INITIALIZED, TOOLS, initialize};
use super::server::Server;
use super::spec::{Call, Spec};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::Window;

struct Pipe {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Pipe {
    fn open(server: &mut Server) -> Outcome<Self> {
        let (input, output) = server.pipes()?;
        Ok(Self { input, output: BufReader::with_capacity(64 * 1024, output), line: Vec::new() })
    }

    fn send(&mut self, message: &str) -> Outcome {
        Ok(self.input.write_all(format!("{message}\n").as_bytes())?)
    }

    fn receive(&mut self) -> Outcome {
        self.line.clear();
        match self.output.read_until(b'\n', &mut self.line)? {
            0 => Err("error: the server closed its output".into()),
            _ => Ok(()),
        }
    }

    /// The result of a request that is alone.
    fn ask(&mut self, message: &str) -> Outcome<String> {
        self.send(message)?;
        loop {
            self.receive()?;
            if let Some(answer) = Answer::read(&self.line)? {
                return Ok(answer.result()?.to_owned());
            }
        }
    }
}

/// Tasks: how many calls are in flight.
pub(super) fn calls(job: &Job, spec: &Spec) -> Outcome<Tally> {
    let mut server = Server::start(spec)?;
    let mut pipe = Pipe::open(&mut server)?;
    pipe.ask(&initialize())?;
    pipe.send(INITIALIZED)?;
    let tools = pipe.ask(TOOLS)?;
    let mut caller = Caller::new(spec.call, &job.key, &tools)?;
    if spec.call == Call::OneKey {
        // Before any other: calls that come while the first one runs are told so, and are no replays.
        let mut first = Vec::new();
        caller.request(0, &mut first)?;
        pipe.ask(std::str::from_utf8(&first)?)?;
    }
    let window = Window::open(job)?;
    let mut tally = closed_loop(&mut pipe, &mut caller, job.tasks, window)?;
    tally.rss_kib = Some(server.pss_kib()?);
    Ok(tally)
}

/// Keeps `slots` calls in flight: each answer is followed by the next call of its slot. What was answered together
/// is asked together.
fn closed_loop(pipe: &mut Pipe, caller: &mut Caller, slots: usize, window: Window) -> Outcome<Tally> {
    let mut tally = Tally { tasks: vec![0; slots], ..Tally::default() };
    let step = slots as u64;
    let mut current: Vec<(u64, Instant)> = (0..step).map(|id| (id, Instant::now())).collect();
    let mut out = Vec::new();
    for id in 0..step {
        caller.request(id, &mut out)?;
        out.push(b'\n');
    }
    let mut open = slots;
    pipe.input.write_all(&out)?;
    out.clear();
    while open > 0 {
        pipe.receive()?;
        let Some(answer) = Answer::read(&pipe.line)? else { continue };
        let id: u64 = answer.id.ok_or("error: an answer without an id")?.get().parse()?;
        let slot = usize::try_from(id % step)?;
        let (asked_id, asked) = current[slot];
        if asked_id != id {
            return Err(format!("error: an answer to call {id} while call {asked_id} was open").into());
        }
        caller.check(id, answer.result()?)?;
        let now = Instant::now();
        if window.has(now) {
            tally.tasks[slot] += 1;
            tally.times.record(now - asked);
        }
        if now < window.end {
            current[slot] = (id + step, now);
            caller.request(id + step, &mut out)?;
            out.push(b'\n');
        } else {
            // An answer that comes a second time must not pass for the next one's.
            current[slot].0 = u64::MAX;
            open -= 1;
        }
        if !pipe.output.buffer().contains(&b'\n') && !out.is_empty() {
            pipe.input.write_all(&out)?;
            out.clear();
        }
    }
    Ok(tally)
}

/// One start.
pub(super) fn start(job: &Job, spec: &Spec) -> Outcome<Tally> {
    Window::open(job)?;
    let mut server = Server::start(spec)?;
    let mut pipe = Pipe::open(&mut server)?;
    pipe.ask(&initialize())?;
    let mut tally = Tally { tasks: vec![1], ..Tally::default() };
    tally.times.record(server.started.elapsed());
    Ok(tally)
}
