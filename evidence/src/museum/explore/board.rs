//! Where requests wait until the schedule lets them through.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Step;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    Through,
    /// It is carried out, and its answer never comes.
    Unanswered,
}

#[derive(Debug)]
struct Request {
    client: usize,
    what: String,
    may_be_lost: bool,
    go: oneshot::Sender<Passed>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Request>,
    dead: Vec<usize>,
    told: Vec<String>,
}

/// All that is between the clients and what they talk to. A client that is dead is one whose requests go nowhere any
/// more: unlike a dropped future it cleans nothing up.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<State>>);

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the schedule lets this request of the client through.
    pub async fn pass(&self, client: usize, what: impl Into<String>, may_be_lost: bool) -> Passed {
        let (go, gone) = oneshot::channel();
        if !self.is_dead(client) {
            self.state().waiting.push(Request { client, what: what.into(), may_be_lost, go });
        }
        match gone.await {
            Ok(passed) => passed,
            Err(_) => std::future::pending().await,
        }
    }

    /// A line of the printed schedule that is no request.
    pub fn tell(&self, what: impl Into<String>) {
        self.state().told.push(what.into());
    }

    pub(super) fn told(&self) -> Vec<String> {
        self.state().told.clone()
    }

    pub(super) fn is_dead(&self, client: usize) -> bool {
        self.state().dead.contains(&client)
    }

    /// Clients with a request, and whether the answer to it may be lost.
    pub(super) fn waiting(&self) -> Vec<(usize, bool)> {
        let state = self.state();
        let mut waiting: Vec<(usize, bool)> = Vec::new();
        for request in &state.waiting {
            if !waiting.iter().any(|(client, _)| *client == request.client) {
                waiting.push((request.client, request.may_be_lost));
            }
        }
        waiting.sort_unstable();
        waiting
    }

    pub(super) fn take(&self, step: Step) {
        let mut state = self.state();
        match step {
            Step::Pass(client) | Step::Lose(client) => {
                let Some(place) = state.waiting.iter().position(|request| request.client == client) else { return };
                let request = state.waiting.remove(place);
                let (passed, note) = match step {
                    Step::Lose(_) => (Passed::Unanswered, ", and the answer is lost"),
                    _ => (Passed::Through, ""),
                };
                let line = format!("{} {}{note}", name(client), request.what);
                state.told.push(line);
                // Whoever gave up waiting hears of nothing.
                request.go.send(passed).ok();
            }
            Step::Kill(client) => {
                state.told.push(format!("{} is killed", name(client)));
                state.dead.push(client);
                state.waiting.retain(|request| request.client != client);
            }
            Step::Tick(time) => state.told.push(format!("{time:?} pass")),
            Step::Forget => state.told.push("the lock service restarts and has forgotten everything".to_owned()),
        }
    }
}

fn name(client: usize) -> char {
    char::from(b'A' + u8::try_from(client).unwrap_or(25).min(25))
}
