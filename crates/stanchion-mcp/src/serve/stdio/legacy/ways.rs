//! Where the messages of one session's server go: to the request they belong to, or to whichever stream is open.

use std::sync::Arc;

use super::state::State;
use super::streams::Streams;
use crate::frame::{Frame, Id, Kind};
use crate::gate::Answered;
use crate::serve::stdio::events::{Event, Inlet};
use crate::session::Client;
use crate::splice;
use crate::stdio::PassOn;

impl Client for Streams {
    fn answer(&self, id: &Id, answered: Answered) {
        let event = answered.frame.map(|frame| Event::answer(frame, answered.replayed));
        let mut state = self.lock();
        state.answer(id, event);
        self.count(&state);
    }

    fn aside(&self, id: &Id, frame: &str) {
        let mut state = self.lock();
        if let Some(number) = state.by_id.get(id).copied() {
            state.put(number, Event::aside(frame.to_owned()));
        }
    }

    fn say(&self, frame: &str) {
        self.lock().tell_whoever_listens(frame, false);
    }
}

/// The server's side: called from the thread that reads it, which may wait a little.
pub(super) struct FromServer(pub(super) Arc<Streams>);

/// Where one message goes.
enum Way {
    Answer(Id),
    Progress(u64),
    Any { prefer_standing: bool },
}

impl PassOn for FromServer {
    fn pass(&mut self, text: &str) {
        let Ok(frame) = Frame::parse(text) else { return };
        let mut state = self.0.lock();
        let way = state.way(&frame);
        if let Some(inlet) = state.inlet(&way) {
            // Not under the lock: tasks need it.
            drop(state);
            inlet.wait_for_room();
            state = self.0.lock();
        }
        match way {
            Way::Answer(id) => {
                state.answer(&id, Some(Event::answer(text.to_owned(), false)));
                self.0.count(&state);
            }
            Way::Progress(number) => {
                state.put(number, Event::aside(text.to_owned()));
            }
            Way::Any { prefer_standing } => state.tell_whoever_listens(text, prefer_standing),
        }
    }

    fn flush(&mut self) {}
}

impl State {
    fn way(&self, frame: &Frame<'_>) -> Way {
        let any = Way::Any { prefer_standing: frame.method().is_some_and(is_about_no_request) };
        match (frame.kind(), frame.method()) {
            (Kind::Response, _) => frame.id().map_or(any, Way::Answer),
            (_, Some("notifications/progress")) => progress_token(frame)
                .and_then(|token| self.by_token.get(&token))
                .map_or(any, |number| Way::Progress(*number)),
            _ => any,
        }
    }

    /// The connection that it goes to first.
    fn inlet(&self, way: &Way) -> Option<Inlet> {
        let standing = || self.standing.filter(|number| self.is_connected(*number));
        let youngest = || self.youngest(u64::MAX, true);
        let number = match way {
            Way::Answer(id) => self.by_id.get(id).copied(),
            Way::Progress(number) => Some(*number),
            Way::Any { prefer_standing: true } => standing().or_else(youngest),
            Way::Any { prefer_standing: false } => youngest().or_else(standing),
        };
        self.line(number?)
    }

    /// Says it to somebody who listens; else on a stream to which its client is likely to come back; else to whoever comes.
    fn tell_whoever_listens(&mut self, frame: &str, prefer_standing: bool) {
        let event = || Event::aside(frame.to_owned());
        let standing = |state: &mut Self| {
            let standing = state.standing.filter(|number| state.is_connected(*number));
            standing.is_some_and(|number| state.put(number, event()))
        };
        let youngest = |state: &mut Self| {
            let mut below = u64::MAX;
            while let Some(number) = state.youngest(below, true) {
                if state.put(number, event()) {
                    return true;
                }
                below = number;
            }
            false
        };
        let first = if prefer_standing { standing(self) } else { youngest(self) };
        let told = first || if prefer_standing { youngest(self) } else { standing(self) };
        let cut = if prefer_standing { None } else { self.youngest(u64::MAX, false) };
        if !told && cut.is_none_or(|number| !self.put(number, event())) {
            self.keep_for_later(frame);
        }
    }
}

fn is_about_no_request(method: &str) -> bool {
    method.ends_with("/list_changed") || method == "notifications/resources/updated"
}

/// The token of a progress notification.
pub(in crate::serve::stdio) fn progress_token(frame: &Frame<'_>) -> Option<Id> {
    let params = splice::members(frame.params()?.get())?;
    let (_, raw) = params.into_iter().find(|(name, _)| name == "progressToken")?;
    Id::of(raw)
}
