//! Pumps between pipes: newline-delimited messages, read and written many at a time.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;

use crate::frame::Id;
use crate::gate::{Answered, Caller};
use crate::lines::{Line, Lines, one_line};
use crate::outlet::Outlet;
use crate::problem::{Problem, ProblemKind};
use crate::session::{Client, FromClient, FromServer, Session};

/// The longest message that is taken, unless set otherwise.
pub const FRAME_MAX: usize = 64 << 20;
/// So much of the beginning and of the end of a message is looked at for its id.
const ENDS: usize = 512;
/// What is collected before it is written.
const BATCH: usize = 64 << 10;

/// A client at the other end of a pipe.
#[derive(Debug)]
pub struct PipeClient(pub Outlet);

impl PipeClient {
    fn post(&self, frame: &str) {
        self.0.post(format!("{frame}\n").as_bytes());
    }
}

impl Client for PipeClient {
    fn answer(&self, _id: &Id, answered: Answered) {
        if let Some(frame) = &answered.frame {
            self.post(frame);
        }
    }
    fn aside(&self, _id: &Id, frame: &str) {
        self.post(frame);
    }
    fn say(&self, frame: &str) {
        self.post(frame);
    }
    fn wait_for_room(&self) {
        self.0.wait_for_room();
    }
}

/// Carries the client's messages to the server until there are no more.
///
/// # Errors
/// The client cannot be read.
pub fn pump_client(session: &Arc<Session>, from: impl Read, caller: &Caller, most: usize) -> io::Result<()> {
    let mut lines = Lines::new(from, most);
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        // Much of what it sends is answered by us: it is not read faster than it reads.
        session.wait_for_client();
        match lines.next()? {
            Line::End => {
                session.to_server().send(&batch);
                return Ok(());
            }
            Line::TooLong { bytes, .. } => {
                let what = format!("a message of {bytes} bytes is over the limit of {most}");
                tracing::warn!("{what}; it was dropped");
                session.tell(None, Problem::new(ProblemKind::InvalidRequest, what).frame("null", false));
            }
            Line::Whole(line) => client_line(session, line, caller, &mut batch),
        }
        if !batch.is_empty() && (batch.len() >= BATCH || !lines.has_more()) {
            session.to_server().send(&batch);
            batch.clear();
        }
    }
}

fn client_line(session: &Arc<Session>, line: &[u8], caller: &Caller, batch: &mut Vec<u8>) {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(e) => {
            let problem = Problem::new(ProblemKind::ParseError, format!("this line is not UTF-8: {e}"));
            return session.tell(None, problem.frame("null", false));
        }
    };
    if text.trim_ascii().is_empty() {
        return pass(batch, line);
    }
    let clean = one_line(text.strip_suffix('\r').unwrap_or(text));
    let text = if let Cow::Owned(clean) = &clean { clean } else { text };
    // Batches were in one version of the protocol; each of their messages stands for itself.
    for frame in elements(text).unwrap_or_else(|| vec![text]) {
        match session.look_at_client(frame, caller) {
            FromClient::Pass => pass(batch, frame.as_bytes()),
            FromClient::Dealt => {}
            FromClient::Answer(id, answer) => session.tell(id.as_ref(), answer),
            FromClient::Start(job) => {
                // It must not overtake what came before it.
                session.to_server().send(batch);
                batch.clear();
                session.start(*job);
            }
        }
    }
}

/// Where the server's messages go that nobody here waits for.
pub(crate) trait PassOn {
    fn pass(&mut self, frame: &str);
    /// A line that looks like a message and that we cannot read. Its client may.
    fn pass_unread(&mut self, _line: &[u8]) {}
    /// What was passed must be there before anything else is said.
    fn flush(&mut self);
}

/// Carries the server's messages to a client at the other end of a pipe, until there are no more. Lines that are no messages
/// go to `noise`.
///
/// # Errors
/// The server cannot be read.
pub fn pump_server(
    session: &Session,
    from: impl Read,
    to: &Outlet,
    most: usize,
    noise: impl FnMut(&str),
) -> io::Result<()> {
    pump_to(session, from, &mut Batch { to, bytes: Vec::with_capacity(BATCH) }, most, noise)
}

struct Batch<'a> {
    to: &'a Outlet,
    bytes: Vec<u8>,
}

impl PassOn for Batch<'_> {
    fn pass(&mut self, frame: &str) {
        pass(&mut self.bytes, frame.as_bytes());
        if self.bytes.len() >= BATCH {
            self.flush();
        }
    }
    fn pass_unread(&mut self, line: &[u8]) {
        pass(&mut self.bytes, line);
    }
    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            self.to.send(&self.bytes);
            self.bytes.clear();
        }
    }
}

pub(crate) fn pump_to(
    session: &Session,
    from: impl Read,
    to: &mut impl PassOn,
    most: usize,
    mut noise: impl FnMut(&str),
) -> io::Result<()> {
    let mut lines = Lines::new(from, most);
    loop {
        match lines.next()? {
            Line::End => {
                to.flush();
                return Ok(());
            }
            Line::TooLong { head, tail, bytes } => {
                noise(&format!("(a line of {bytes} bytes, over the limit of {most}, was dropped)"));
                to.flush();
                session.unreadable(head, tail);
            }
            Line::Whole(line) => server_line(session, line, to, &mut noise),
        }
        if !lines.has_more() {
            to.flush();
        }
    }
}

fn server_line(session: &Session, line: &[u8], to: &mut impl PassOn, noise: &mut impl FnMut(&str)) {
    let Ok(text) = std::str::from_utf8(line) else { return unread(session, line, to, noise) };
    if text.trim_ascii().is_empty() {
        return;
    }
    for frame in elements(text).unwrap_or_else(|| vec![text]) {
        match session.look_at_server(frame) {
            FromServer::Pass(frame) => to.pass(&frame),
            FromServer::Noise => unread(session, frame.as_bytes(), to, noise),
            FromServer::Surplus => noise(&format!("(a second answer, dropped) {frame}")),
            FromServer::Late(receipt) => {
                noise(&format!("(an answer that came after its call was given up, kept for repetitions) {frame}"));
                session.late(receipt, frame);
            }
            FromServer::Deliver(waiting) => {
                // The answer must not overtake what the server said before it.
                to.flush();
                // Who does not wait any more has been told something else.
                waiting.send(frame.to_owned()).unwrap_or_default();
            }
        }
    }
}

/// If it can be seen whose answer it was, that call ends now, as unknown. What looks like a message is passed on.
fn unread(session: &Session, line: &[u8], to: &mut impl PassOn, noise: &mut impl FnMut(&str)) {
    noise(&String::from_utf8_lossy(&line[..line.len().min(1000)]));
    to.flush();
    let looks_like_one = line.trim_ascii_start().starts_with(b"{");
    let ends = (&line[..line.len().min(ENDS)], &line[line.len().saturating_sub(ENDS)..]);
    if looks_like_one && !session.unreadable(ends.0, ends.1) {
        to.pass_unread(line);
    }
}

fn pass(batch: &mut Vec<u8>, line: &[u8]) {
    batch.extend_from_slice(line);
    batch.push(b'\n');
}

/// The messages of a batch; `None` if it is none.
pub(crate) fn elements(text: &str) -> Option<Vec<&str>> {
    if !text.trim_ascii_start().starts_with('[') {
        return None;
    }
    let raw: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).ok()?;
    Some(raw.into_iter().map(serde_json::value::RawValue::get).collect())
}
