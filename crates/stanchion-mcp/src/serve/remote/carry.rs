//! A guarded call, carried to its end.
//!
//! When its caller goes away:
//! - a call with a key runs on, waiting or not: whoever asks again with the key finds its answer;
//! - one without a key that still waits is taken back;
//! - one without a key that runs and holds locks runs on, its connection to the upstream stays open, and its locks are held until
//!   it is answered, the connection ends or `max_hold` is over: to close the connection would cancel it, and nobody would learn
//!   when it has stopped writing;
//! - one without a key and without locks is cancelled: its connection to the upstream is closed, as if no gateway were there.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use stanchion_core::Key;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::headers::are_events;
use super::inner::{Head, Inner};
use super::meaning::{Meaning, meaning};
use super::teller::{Came, Teller};
use super::under_way::Place;
use super::upstream::{Failure, collect};
use crate::calls::Verdict;
use crate::flight::{Cancelled, Flight};
use crate::gate::{Answered, Guarded, Outgoing, Sent};
use crate::problem::{Problem, ProblemKind};
use crate::questions::{deadlock, nested};
use crate::stdio::FRAME_MAX;

pub(super) const CANCELLED: &str = "it was cancelled by its client, and its server has not answered yet";
pub(super) const STOPPED: &str = "the gateway was stopped before its server answered";
const LEFT: &str = "its client has gone, and its server has not answered yet";

pub(super) struct Carried {
    pub(super) guarded: Box<Guarded>,
    pub(super) flight: Arc<Flight>,
    pub(super) place: Place,
    pub(super) head: Head,
    pub(super) teller: Teller,
    /// Ends when the caller has gone.
    pub(super) gone: oneshot::Receiver<Infallible>,
}

impl Inner {
    pub(super) async fn carry(self: Arc<Self>, carried: Carried) {
        let Carried { guarded, flight, place, head, teller, gone } = carried;
        let locks: Vec<Key> = guarded.locks().cloned().collect();
        let came = Mutex::new(None);
        let mut note = None;
        let answered = {
            let aside = |frame: String| teller.aside(&frame);
            let send = async |outgoing| {
                tokio::select! {
                    biased;
                    sent = self.send(outgoing, head, &place, &teller, &came) => sent,
                    answer = place.answer_from_elsewhere() => Sent::Answer(answer),
                }
            };
            let running = Box::pin(self.gate.run(&guarded, &flight, aside, send));
            let leaving = self.leaving(&guarded, &flight, &locks, gone, &mut note);
            self.until_over(&guarded, &flight, &place, &locks, running, leaving).await
        };
        let recorded =
            answered.as_ref().filter(|answered| answered.from_server).and_then(|answered| answered.frame.clone());
        if let Some(mut answered) = answered {
            if place.is_cancelled() && !answered.from_server {
                // Who has cancelled a call is not told that its outcome is unknown.
                answered.frame = None;
            }
            teller.finish(answered, came.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        let notes: Vec<_> = note.into_iter().chain(place.over(recorded.as_deref())).collect();
        let has_note = !notes.is_empty();
        for note in notes {
            // In this order: what is still being written would stay.
            note.await.unwrap_or_default();
        }
        if has_note {
            self.gate.drop_note(&locks).await;
        }
        // Whoever waits for the last call to end may end the process then: it has to be told before.
        drop(place);
    }

    /// `None` if nobody is there to be told.
    async fn until_over(
        &self,
        guarded: &Guarded,
        flight: &Flight,
        place: &Place,
        locks: &[Key],
        running: impl Future<Output = Answered>,
        leaving: impl Future<Output = ()>,
    ) -> Option<Answered> {
        let asked = |locks: &[Key]| self.under_way.asked_under(&place.who, locks);
        let stuck = async {
            nested(flight, locks, asked).await;
            if flight.cancel() == Cancelled::WhileItRuns {
                std::future::pending().await
            }
        };
        let mut giving_up = self.giving_up.subscribe();
        let stopped = async { drop(giving_up.wait_for(|over| *over).await) };
        tokio::select! {
            biased;
            answered = running => Some(answered),
            () = leaving => {
                // Nobody is told; it is written down.
                self.gate.refuse(guarded, Problem::new(ProblemKind::OutcomeUnknown, LEFT), Verdict::Unknown);
                None
            }
            () = stuck => Some(self.gate.refuse(guarded, deadlock(), Verdict::Refused)),
            () = stopped => {
                let (kind, verdict) = match flight.cancel() {
                    Cancelled::BeforeItRan => (ProblemKind::UpstreamFailed, Verdict::Refused),
                    Cancelled::WhileItRuns => (ProblemKind::OutcomeUnknown, Verdict::Unknown),
                };
                Some(self.gate.refuse(guarded, Problem::new(kind, STOPPED), verdict))
            }
        }
    }

    /// Returns when the caller has gone and nobody needs the call any more; else never.
    async fn leaving(
        &self,
        guarded: &Guarded,
        flight: &Flight,
        locks: &[Key],
        gone: oneshot::Receiver<Infallible>,
        note: &mut Option<JoinHandle<()>>,
    ) {
        if gone.await.is_err() && !guarded.is_keyed() {
            match flight.cancel() {
                // The gate sees it by itself.
                Cancelled::BeforeItRan => {}
                Cancelled::WhileItRuns if locks.is_empty() => return,
                Cancelled::WhileItRuns => *note = Some(self.note(LEFT)(locks.to_vec())),
            }
        }
        std::future::pending().await
    }

    /// Says why locks are still held. In a task of its own: broken off, it could still be written when it is taken away again.
    pub(super) fn note(&self, why: &'static str) -> impl FnOnce(Vec<Key>) -> JoinHandle<()> {
        let gate = Arc::clone(&self.gate);
        move |locks| tokio::spawn(async move { gate.leave_note(&locks, why).await })
    }

    /// Sends the call, once.
    async fn send(
        &self,
        outgoing: Outgoing,
        mut head: Head,
        place: &Place,
        teller: &Teller,
        came: &Mutex<Option<Came>>,
    ) -> Sent {
        if let Some((name, value)) = outgoing.header {
            match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                (Ok(name), Ok(value)) => drop(head.headers.insert(name, value)),
                // Without its fence, it would be a call that nothing stops.
                _ => return Sent::NotSent("the fence cannot be sent: the policy names no good header".to_owned()),
            }
        }
        let answer = match self.upstream.send(head.clone().request(Bytes::from(outgoing.frame))).await {
            Ok(answer) => answer,
            Err(Failure::NotSent(why)) => return Sent::NotSent(why),
            Err(Failure::Lost(why)) => return Sent::Lost(why),
        };
        let (parts, body) = answer.into_parts();
        let keep = |what| *came.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
        if parts.status.is_success() && are_events(&parts.headers) {
            teller.open(Some(&parts.headers));
            return match self.read_events(body, &head, place, teller).await {
                Ok((piece, text)) => {
                    keep(Came::Event(piece));
                    Sent::Answer(text)
                }
                Err(why) => Sent::Lost(why),
            };
        }
        let body = match collect(body, FRAME_MAX).await {
            Ok(body) => body,
            Err(why) => return Sent::Lost(why),
        };
        match meaning(parts.status, &parts.headers, &body, &place.id) {
            Meaning::Answer(text) => {
                keep(Came::Whole(parts));
                Sent::Answer(text)
            }
            Meaning::Refused(why) => {
                keep(Came::Refusal(parts, body));
                Sent::NotSent(why)
            }
            Meaning::Lost(why) => Sent::Lost(why),
        }
    }
}
