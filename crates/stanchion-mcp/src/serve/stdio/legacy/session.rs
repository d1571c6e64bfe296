//! One session: a client, its streams, and the process that was started for it.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::Sessions;
use super::streams::Streams;
use super::ways::FromServer;
use crate::frame::{Frame, Id};
use crate::gate::{Answered, Caller};
use crate::serve::stdio::child::{Child, Life};
use crate::serve::stdio::{GRACE, SETTLE, Server, UNREAD, words};
use crate::session::{Client as _, FromClient, Session, cancelled_id};

/// How long calls without a key may run on after their client has said goodbye.
const FAREWELL: Duration = Duration::from_secs(5);
/// How often it is looked whether those with a key have ended. Each of them is given up after its own `max_hold`.
const LOOK: Duration = Duration::from_millis(100);
/// Ids of calls that have ended are forgotten when there are so many.
const REMEMBERED: usize = 64;

#[derive(Debug)]
pub(super) struct Talk {
    pub(super) id: String,
    pub(super) principal: Arc<str>,
    pub(super) streams: Arc<Streams>,
    session: Arc<Session>,
    child: Arc<Child>,
    last_used: Mutex<Instant>,
    /// The server did not want to be initialised.
    refused: AtomicBool,
    /// Its client has said goodbye.
    left: AtomicBool,
    /// Calls that took time; some of them have ended.
    started: Mutex<HashSet<Id>>,
    idle: Duration,
    pub(super) hang_up: Option<Duration>,
    _slot: OwnedSemaphorePermit,
}

impl Talk {
    pub(super) async fn start(
        server: &Server,
        id: String,
        principal: Arc<str>,
        slot: OwnedSemaphorePermit,
    ) -> io::Result<Arc<Self>> {
        let streams = Arc::new(Streams::new());
        let from_server = FromServer(Arc::clone(&streams));
        let (session, child) = server.start(Arc::clone(&streams) as _, |_| Box::new(from_server)).await?;
        Ok(Arc::new(Self {
            id,
            principal,
            streams,
            session,
            child,
            last_used: Mutex::new(Instant::now()),
            refused: AtomicBool::new(false),
            left: AtomicBool::new(false),
            started: Mutex::default(),
            idle: server.limits.session_idle,
            hang_up: server.limits.hang_up,
            _slot: slot,
        }))
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn refused(&self) {
        self.refused.store(true, Ordering::Release);
    }

    pub(super) fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }

    pub(super) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    pub(super) fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    fn remember(&self, id: Id) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if started.len() >= REMEMBERED.max(2 * self.session.under_way()) {
            started.retain(|id| self.session.is_under_way(id));
        }
        started.insert(id);
    }

    /// Does a call run whose answer is worth something without its client?
    fn has_keyed(&self) -> bool {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.iter().any(|id| self.session.is_keyed(id))
    }

    pub(super) fn is_over(&self) -> bool {
        *self.child.life().borrow() != Life::Speaking
    }

    /// Is the server so far behind that it takes nothing more?
    pub(super) fn check_unread(&self) -> Result<(), words::Refused> {
        if self.session.to_server().waiting() <= UNREAD {
            return Ok(());
        }
        let what = "the server does not read what it is sent; nothing was executed; try again later";
        Err(words::refuse(StatusCode::SERVICE_UNAVAILABLE, "null", -32603, what))
    }

    /// Passes a message on, or starts what it asks for. Returns what is wrong with it, if it cannot be said under its id.
    pub(super) fn hand_over(&self, frame: &Frame<'_>, caller: &Caller) -> Option<String> {
        if frame.method() == Some("notifications/cancelled")
            && let Some(id) = cancelled_id(frame)
        {
            self.streams.cancelled(&id);
        }
        match self.session.look_at_client(frame.text(), caller) {
            FromClient::Pass => self.session.pass(frame.text()),
            FromClient::Start(job) => {
                frame.id().into_iter().for_each(|id| self.remember(id));
                self.session.start(*job);
            }
            FromClient::Dealt => {}
            FromClient::Answer(Some(id), frame) => self.streams.answer(&id, Answered::ours(Some(frame))),
            FromClient::Answer(None, frame) => return Some(frame),
        }
        None
    }

    /// Its client has gone. A call with a key runs on, as long as it may: whoever asks again is told its answer.
    pub(super) async fn say_farewell(&self) {
        self.streams.close_standing();
        while self.has_keyed() && !self.is_over() {
            tokio::time::sleep(LOOK).await;
        }
        self.end(FAREWELL).await;
    }

    /// Lets guarded calls finish for so long, then tells the server that nothing more comes, and ends it.
    pub(super) async fn end(&self, within: Duration) {
        self.streams.close_standing();
        self.session.drain(within).await;
        self.session.to_server().close();
        self.child.end(GRACE).await;
    }

    /// The server has gone: nobody waits for it in vain.
    async fn server_gone(&self) {
        let guarded = |id: &Id| self.session.is_under_way(id);
        self.streams.server_gone(guarded);
        self.session.drain(SETTLE).await;
        // Their answers are on their way; whoever gets none by then was passed on after all.
        tokio::time::timeout(GRACE, self.streams.quiet()).await.ok();
        self.streams.server_gone(|_| false);
        self.session.to_server().close();
        self.child.end(GRACE).await;
    }

    /// Returns when nobody has needed it for so long.
    async fn unused(&self) {
        loop {
            if self.streams.is_open() || self.session.under_way() > 0 {
                self.touch();
            }
            let at = *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) + self.idle;
            if at <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(at).await;
        }
    }
}

/// Sees a session to its end.
pub(super) async fn watch(sessions: Arc<Sessions>, talk: Arc<Talk>) {
    let mut life = talk.child.life();
    let silent = life.wait_for(|life| *life >= Life::Silent);
    let idle = tokio::select! {
        _ = silent => false,
        () = talk.unused() => true,
    };
    sessions.open().remove(&talk.id);
    if idle {
        tracing::info!(server = sessions.server.name(), "a session was not used any more and has ended");
        talk.end(Duration::ZERO).await;
    }
    talk.server_gone().await;
}
