//! One guarded call, from the claim to the answer.

use std::convert::Infallible;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use stanchion_core::claim::Response;
use stanchion_core::{Answer, ClaimId, Error, ErrorKind, Pass, Policy, Reply, Settlement};

use super::{Gate, Guarded};
use crate::answer::{flagged, frame_of, is_kept, reply_of};
use crate::calls::{CallLine, Verdict};
use crate::flight::Flight;
use crate::frame::Frame;
use crate::problem::Problem;
use crate::rule::Fencing;
use crate::splice::{self, quoted};
use crate::tool_call::{CAPABILITIES, FENCE, TASKS};

/// How often a caller that waits is told so.
const TICK: Duration = Duration::from_secs(2);

/// What goes to the server.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// The call, with what the policy adds.
    pub frame: String,
    /// The fence, where the policy hands it on as a header: name and value.
    pub header: Option<(String, String)>,
}

/// What came of sending it.
#[derive(Debug)]
pub enum Sent {
    /// This answer.
    Answer(String),
    /// It has certainly not reached the server, for this reason.
    NotSent(String),
    /// It may have, and no answer will come.
    Lost(String),
}

/// What the caller gets.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answered {
    /// The frame; `None` for a call that its caller has taken back.
    pub frame: Option<String>,
    /// It was said to an earlier call.
    pub replayed: bool,
    /// It is what the server said to this very call.
    pub from_server: bool,
}

impl Answered {
    /// Words of our own.
    pub(crate) const fn ours(frame: Option<String>) -> Self {
        Self { frame, replayed: false, from_server: false }
    }
}

impl Gate {
    /// Runs a call. `aside` gets what its caller should see meanwhile; `send` is called at most once.
    ///
    /// Dropped before it was sent, nothing ran; dropped later, its outcome becomes unknown.
    pub async fn run<Sending>(
        &self,
        guarded: &Guarded,
        flight: &Flight,
        aside: impl Fn(String) + Sync,
        send: impl FnOnce(Outgoing) -> Sending,
    ) -> Answered
    where
        Sending: Future<Output = Sent>,
    {
        let started = Instant::now();
        let begun: OnceLock<(Instant, u64)> = OnceLock::new();
        let told = Mutex::new(None);
        let (begun_at, words) = (&begun, &told);
        let work = |pass: Pass| async move {
            if !flight.begin() {
                return Reply::NoEffect(Response::new("", "taken back by its caller"));
            }
            begun_at.get_or_init(|| (Instant::now(), pass.epoch));
            let Some(outgoing) = guarded.outgoing(&pass) else {
                let why =
                    "the call has no place for its fence: params, _meta or arguments are no object, or have it twice";
                return Reply::NoEffect(Response::new(crate::answer::NOT_SENT, why));
            };
            let sending = send(outgoing);
            let limit = guarded.rule.max_hold;
            let Ok(sent) = tokio::time::timeout(limit, sending).await else {
                let limit = stanchion_core::text::duration(limit);
                tracing::warn!(
                    server = self.server,
                    tool = guarded.line.tool,
                    "no answer within {limit}: the lock is given up"
                );
                return Reply::Unknown(format!("the server has not answered within {limit} (max_hold)"));
            };
            match sent {
                Sent::Answer(frame) => {
                    let reply = Frame::parse(&frame).map_or_else(
                        |e| Reply::Unknown(format!("the answer is no message: {e}")),
                        |frame| reply_of(&frame),
                    );
                    *words.lock().unwrap_or_else(PoisonError::into_inner) = Some((frame, reply.clone()));
                    reply
                }
                Sent::NotSent(why) => Reply::NoEffect(Response::new(crate::answer::NOT_SENT, why)),
                Sent::Lost(why) => Reply::Unknown(why),
            }
        };
        let result = tokio::select! {
            biased;
            result = guarded.guard.call(&guarded.call, work) => Some(result),
            () = flight.cancelled() => None,
            never = self.tell_waiting(guarded, flight, &aside) => match never {},
        };
        let ended = Instant::now();
        let (answered, verdict, detail) = match result {
            None => (Answered::ours(None), Verdict::Cancelled, None),
            Some(Ok(_)) if flight.is_cancelled() => (Answered::ours(None), Verdict::Cancelled, None),
            Some(Ok(answer)) => {
                let verdict = verdict(&answer);
                (guarded.answered(&answer, told.into_inner().unwrap_or_else(PoisonError::into_inner)), verdict, None)
            }
            Some(Err(error)) => {
                let problem = self.refused(guarded, error).await;
                let frame = guarded.refusal(&problem);
                (Answered::ours(Some(frame)), Verdict::Refused, Some(problem.kind().as_str().to_owned()))
            }
        };
        let micros = |from: Instant, to: Instant| u64::try_from((to - from).as_micros()).unwrap_or(u64::MAX);
        self.written_down(CallLine {
            verdict,
            detail,
            epoch: begun.get().map_or(0, |(_, epoch)| *epoch),
            waited_us: micros(started, begun.get().map_or(ended, |(at, _)| *at)),
            held_us: begun.get().map_or(0, |(at, _)| micros(*at, ended)),
            took_us: micros(started, ended),
            ..guarded.line.clone()
        });
        answered
    }

    /// Refuses a call that the guard was not asked about, or whose end is not waited for.
    pub(crate) fn refuse(&self, guarded: &Guarded, problem: Problem, verdict: Verdict) -> Answered {
        let problem = problem.receipt(guarded.receipt()).key(guarded.key.as_deref());
        let detail = Some(problem.kind().as_str().to_owned());
        self.written_down(CallLine { verdict, detail, ..guarded.line.clone() });
        Answered::ours(Some(guarded.refusal(&problem)))
    }

    /// An answer that came after its call was given up as unknown. Only that is changed by it.
    pub(crate) async fn settle_late(&self, receipt: ClaimId, frame: &str) {
        let Ok(frame) = Frame::parse(frame) else { return };
        let kept = |response| Policy::default().kept_of(response);
        let told = match reply_of(&frame) {
            Reply::Done(response) => Settlement::Done(kept(response)),
            Reply::Failed(response) => Settlement::Failed(kept(response)),
            Reply::NoEffect(_) | Reply::Suspended(_) | Reply::Unknown(_) => return,
        };
        let settled =
            self.claims.settle(&receipt, told, "the gateway", "the server answered after the call was given up").await;
        match settled {
            Ok(_) => tracing::info!(%receipt, "a late answer has settled its call"),
            Err(error) => tracing::warn!(%receipt, %error, "a late answer could not settle its call"),
        }
    }

    async fn refused(&self, guarded: &Guarded, error: Error) -> Problem {
        let busy = error.kind() == ErrorKind::Contended;
        let unreadable = error.kind() == ErrorKind::Unexpected;
        let mut problem = Problem::from(error).receipt(guarded.receipt()).key(guarded.key.as_deref());
        if busy {
            problem = problem.note(self.note(guarded).await);
        }
        if unreadable {
            tracing::error!(server = self.server, tool = guarded.line.tool, "a call was refused by a fault of ours");
        }
        problem
    }

    /// Tells a caller that gave a progress token what it waits for. Never ends.
    async fn tell_waiting(&self, guarded: &Guarded, flight: &Flight, aside: &impl Fn(String)) -> Infallible {
        let Some(token) = &guarded.progress_token else { return std::future::pending().await };
        for tick in 1_u32.. {
            tokio::time::sleep(TICK).await;
            let what = quoted(&self.waiting_for(guarded).await);
            if flight.is_running() {
                break;
            }
            // It must grow with each message, and the server's own messages, which come later, begin at 0.
            let progress = -1.0 / f64::from(tick);
            aside(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress:.9},"message":{what}}}}}"#
            ));
        }
        std::future::pending().await
    }
}

impl Guarded {
    /// The call as the server gets it; `None` if the policy wants a fence in it and there is no place for one.
    fn outgoing(&self, pass: &Pass) -> Option<Outgoing> {
        let frame = self.without_tasks();
        let plain = || Some(Outgoing { frame: frame.clone(), header: None });
        let Some(fence) = &pass.fence else { return plain() };
        let token = quoted(&fence.to_string());
        let path: &[&str] = match &self.rule.fencing {
            Fencing::None => return plain(),
            Fencing::Header(name) => {
                let header = Some((name.clone(), fence.to_string()));
                return Some(Outgoing { frame, header });
            }
            Fencing::Meta => &["params", "_meta", FENCE],
            Fencing::Argument(name) => &["params", "arguments", name],
        };
        Some(Outgoing { frame: splice::set(&frame, path, &token)?, header: None })
    }

    /// Under a lock the server may not make a task of the call: it would go on after its answer, when the lock is free again. So it
    /// is not told that the client understands tasks.
    fn without_tasks(&self) -> String {
        let tasks = ["params", "_meta", CAPABILITIES, "extensions", TASKS];
        let under_lock = self.allows_tasks && !self.call.locks.is_empty();
        let spliced = if under_lock { splice::remove(&self.frame, &tasks) } else { None };
        spliced.unwrap_or_else(|| self.frame.clone())
    }

    fn answered(&self, answer: &Answer, told: Option<(String, Reply)>) -> Answered {
        // The server's own words, if they are what repetitions will be given.
        if let Some((frame, reply)) = told
            && reply == answer.reply
            && !answer.replayed
        {
            let frame = if answer.recorded && !answer.degraded { frame } else { flagged(&frame, answer) };
            return Answered { frame: Some(frame), replayed: false, from_server: true };
        }
        let frame = frame_of(answer, &self.raw_id, self.modern);
        Answered { frame: Some(frame), replayed: answer.replayed && is_kept(answer), from_server: false }
    }
}

const fn verdict(answer: &Answer) -> Verdict {
    match &answer.reply {
        Reply::Unknown(_) => Verdict::Unknown,
        _ if answer.replayed => Verdict::Replayed,
        Reply::Done(_) => Verdict::Done,
        Reply::Failed(_) => Verdict::Failed,
        Reply::NoEffect(_) => Verdict::NoEffect,
        Reply::Suspended(_) => Verdict::Suspended,
    }
}
