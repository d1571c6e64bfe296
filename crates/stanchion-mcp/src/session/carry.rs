//! One call that takes time, carried to its end.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::Key;

use super::{Ending, Job, Session, What};
use crate::calls::Verdict;
use crate::flight::{Cancelled, Flight};
use crate::frame::{Frame, Id};
use crate::gate::{Answered, Guarded, Outgoing, OwnRequest, Plan, Sent};
use crate::problem::{Problem, ProblemKind};
use crate::questions::{deadlock, nested};
use crate::tool_call::ToolCall;

/// How long the server is waited for to list its tools.
const LIST: Duration = Duration::from_secs(10);

/// What became of a call before it came to the guard.
enum Prepared {
    Guarded(Box<Guarded>),
    /// It needs none.
    Pass(String),
    Refused(String),
    TakenBack,
}

impl Session {
    pub(super) async fn carry(self: Arc<Self>, job: Job) {
        let Job { id, flight, what, .. } = job;
        let guarded = match self.prepare(what, &flight).await {
            Prepared::Guarded(guarded) => guarded,
            Prepared::Pass(frame) => {
                self.table().ended(&id);
                self.pass(&frame);
                return self.table().delivered();
            }
            Prepared::Refused(frame) => {
                self.table().ended(&id);
                return self.deliver(&id, Answered::ours(Some(frame)));
            }
            Prepared::TakenBack => {
                self.table().ended(&id);
                return self.deliver(&id, Answered::ours(None));
            }
        };
        let locks: Vec<Key> = guarded.locks().cloned().collect();
        if let Some(entry) = self.table().calls.get_mut(&id) {
            entry.locks.clone_from(&locks);
            entry.receipt = guarded.receipt();
        }
        let answered = self.guarded(&guarded, &id, &flight, &locks).await;
        let entry = self.table().ended(&id);
        self.deliver(&id, answered);
        if let Some(note) = entry.and_then(|entry| entry.note) {
            // In this order: what is still being written would stay.
            note.await.unwrap_or_default();
            self.gate.drop_note(&locks).await;
        }
    }

    fn deliver(&self, id: &Id, answered: Answered) {
        self.client.answer(id, answered);
        self.table().delivered();
    }

    async fn prepare(&self, what: What, flight: &Flight) -> Prepared {
        let (text, caller) = match what {
            What::Guarded(guarded) => return Prepared::Guarded(guarded),
            What::AskFirst { frame, caller } => (frame, caller),
        };
        let Ok(frame) = Frame::parse(&text) else { return Prepared::TakenBack };
        if let Ok(call) = ToolCall::of(&frame) {
            self.gate.learn_hints(&call.tool, call.era().as_deref(), |request| self.ask(request)).await;
        }
        if flight.is_cancelled() {
            return Prepared::TakenBack;
        }
        match self.gate.plan(&frame, &caller) {
            Ok(Plan::Guard(guarded)) => Prepared::Guarded(guarded),
            // From here on it cannot be taken back.
            Ok(Plan::Pass) if flight.begin() => Prepared::Pass(text.clone()),
            Ok(Plan::Pass) => Prepared::TakenBack,
            Ok(Plan::AskHints) => {
                let problem =
                    Problem::new(ProblemKind::UpstreamFailed, "the server's list of tools changes all the time");
                Prepared::Refused(problem.frame(frame.raw_id().unwrap_or("null"), false))
            }
            Err((problem, modern)) => Prepared::Refused(problem.frame(frame.raw_id().unwrap_or("null"), modern)),
        }
    }

    /// A request of our own.
    async fn ask(&self, request: OwnRequest) -> Option<String> {
        let (id, answer) = self.table().expect_own(&self.own)?;
        self.pass(&request.frame(&id));
        tokio::time::timeout(LIST, answer).await.ok()?.ok()
    }

    async fn guarded(&self, guarded: &Guarded, id: &Id, flight: &Flight, locks: &[Key]) -> Answered {
        let aside = |frame: String| self.client.aside(id, &frame);
        let mut running = std::pin::pin!(self.gate.run(guarded, flight, aside, |outgoing| self.send(id, outgoing)));
        let mut ending = self.ending.subscribe();
        // What only ends a call that waits; one that has been sent is past it.
        let refusal = tokio::select! {
            biased;
            answered = &mut running => return self.unless_cancelled(id, answered),
            () = nested(flight, locks, |locks| self.table().asked_under(locks)) => deadlock(),
            _ = ending.wait_for(|ending| *ending != Ending::No) => {
                Problem::new(ProblemKind::UpstreamFailed, "the server or the client has gone")
            }
        };
        if flight.cancel() == Cancelled::BeforeItRan {
            return self.gate.refuse(guarded, refusal, Verdict::Refused);
        }
        tokio::select! {
            biased;
            answered = &mut running => self.unless_cancelled(id, answered),
            _ = ending.wait_for(|ending| *ending == Ending::GivingUp) => {
                let why = "its client has gone, and it was not waited for any longer";
                self.gate.refuse(guarded, Problem::new(ProblemKind::OutcomeUnknown, why), Verdict::Unknown)
            }
        }
    }

    /// Who has cancelled a call is not told that its outcome is unknown; what the server itself says is passed on.
    fn unless_cancelled(&self, id: &Id, mut answered: Answered) -> Answered {
        if self.table().calls.get(id).is_some_and(|entry| entry.cancelled) && !answered.from_server {
            answered.frame = None;
        }
        answered
    }

    async fn send(&self, id: &Id, outgoing: Outgoing) -> Sent {
        if outgoing.header.is_some() {
            return Sent::NotSent("the policy hands the fence on as a header, and this server has none".to_owned());
        }
        let Some(answer) = self.table().expect(id) else {
            return Sent::NotSent("the server is not running".to_owned());
        };
        if !self.to_server.post(format!("{}\n", outgoing.frame).as_bytes()) {
            drop(self.table().waiting_for(id));
            return Sent::NotSent("the server does not read any more".to_owned());
        }
        match answer.await {
            Ok(frame) => Sent::Answer(frame),
            Err(_) => Sent::Lost("the server ended, or its answer could not be read, while the call ran".to_owned()),
        }
    }
}
