//! The one process for all callers: started when somebody needs it, and again after it has ended, but not at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::mirrored::Mirrored;
use super::router::{FromServer, Router};
use crate::frame::Id;
use crate::gate::Caller;
use crate::serve::stdio::child::{Child, Life};
use crate::serve::stdio::events::Ticket;
use crate::serve::stdio::{Failing, GRACE, SETTLE, Server};
use crate::session::{FromClient, Session};
use crate::splice::quoted;

/// How long a server that has ended is not started again: at first, and at most.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A server that has lived so long is not one that dies at once.
const HEALTHY: Duration = Duration::from_secs(30);

/// A process and who waits for it.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) session: Arc<Session>,
    pub(super) router: Arc<Router>,
    child: Arc<Child>,
    since: Instant,
    last_used: Mutex<Instant>,
    ended: OnceLock<Instant>,
}

impl Running {
    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_used(&self) -> Instant {
        if !self.router.is_quiet() || self.session.under_way() > 0 {
            self.touch();
        }
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_speaking(&self) -> bool {
        *self.child.life().borrow() == Life::Speaking
    }

    /// What is dropped when the client of a request has gone, or has its answer.
    pub(super) fn ticket(self: &Arc<Self>, number: u64) -> Ticket {
        struct Open(Arc<Running>, u64);
        impl Drop for Open {
            fn drop(&mut self) {
                if self.0.router.close(self.1) {
                    self.0.cancel(self.1, "its client has closed the stream");
                }
            }
        }
        Box::new(Open(Arc::clone(self), number))
    }

    /// The client does not want the answer. A keyed call runs on: whoever asks again is told its answer.
    pub(super) fn cancel(&self, number: u64, why: &str) {
        let id = Id::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        if self.session.is_keyed(&id) {
            return;
        }
        let frame = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number},"reason":{}}}}}"#,
            quoted(why)
        );
        if let FromClient::Pass = self.session.look_at_client(&frame, &Caller::new("")) {
            self.session.pass(&frame);
        }
    }

    /// Sees the process to its end.
    async fn watch(self: Arc<Self>) {
        // The sender is the child's own: it is not gone.
        self.child.life().wait_for(|life| *life >= Life::Silent).await.ok();
        self.ended.get_or_init(Instant::now);
        let guarded = |number: u64| self.session.is_under_way(&Id::Integer(i64::try_from(number).unwrap_or(i64::MAX)));
        self.router.server_gone(guarded);
        self.session.drain(SETTLE).await;
        // Their answers are on their way; whoever gets none by then was passed on after all.
        tokio::time::timeout(GRACE, self.router.quiet()).await.ok();
        self.router.server_gone(|_| false);
        self.child.end(GRACE).await;
    }

    async fn end(&self, within: Duration) {
        let deadline = Instant::now() + within;
        self.router.stop_listening();
        // Whoever is not answered in time is told so when the process has gone.
        tokio::time::timeout_at(deadline, self.router.quiet()).await.ok();
        self.session.drain(deadline.saturating_duration_since(Instant::now())).await;
        self.session.to_server().close();
        self.child.end(GRACE).await;
    }
}

/// Why there is no process.
#[derive(Debug)]
pub(super) struct NotRunning {
    pub(super) why: String,
    pub(super) retry_after: Duration,
}

#[derive(Debug)]
struct Slot {
    running: Option<Arc<Running>>,
    /// The next pause.
    pause: Duration,
    not_before: Option<Instant>,
    why: String,
}

#[derive(Debug)]
pub(super) struct Shared {
    server: Arc<Server>,
    slot: tokio::sync::Mutex<Slot>,
    /// It could not be started, or has ended early, the last time.
    failing: Failing,
    closing: AtomicBool,
}

impl Shared {
    pub(super) fn new(server: Arc<Server>) -> Self {
        let slot = Slot { running: None, pause: PAUSE, not_before: None, why: String::new() };
        let (failing, closing) = (Failing::default(), AtomicBool::new(false));
        Self { server, slot: tokio::sync::Mutex::new(slot), failing, closing }
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.failing.is() && !self.closing.load(Ordering::Acquire)
    }

    /// The process, if there is one.
    pub(super) async fn now(&self) -> Option<Arc<Running>> {
        self.slot.lock().await.running.clone().filter(|running| running.is_speaking())
    }

    /// The process; started if need be. One caller starts it, the others wait for that.
    pub(super) async fn running(self: &Arc<Self>, mirrored: &Arc<Mirrored>) -> Result<Arc<Running>, NotRunning> {
        let mut slot = self.slot.lock().await;
        if let Some(running) = &slot.running {
            if running.is_speaking() {
                // Under the lock of the slot: whoever ends idle ones sees it.
                running.touch();
                return Ok(Arc::clone(running));
            }
            let ended = *running.ended.get_or_init(Instant::now);
            if ended - running.since >= HEALTHY {
                slot.pause = PAUSE;
            }
            slot.failed(ended, "it has ended".to_owned());
            self.failing.set(true);
        }
        if self.closing.load(Ordering::Acquire) {
            return Err(NotRunning { why: "this gateway is stopping".to_owned(), retry_after: PAUSE });
        }
        if let Some(at) = slot.not_before {
            let left = at.saturating_duration_since(Instant::now());
            if left > PAUSE {
                let why = format!("the server {} is down: {}", self.server.name(), slot.why);
                return Err(NotRunning { why, retry_after: left });
            }
            tokio::time::sleep(left).await;
        }
        let router = Arc::new(Router::new(Arc::clone(mirrored)));
        let looking = Arc::new(OnceLock::new());
        let from_server = |to_server: &crate::outlet::Outlet| -> Box<dyn crate::stdio::PassOn + Send> {
            let (router, session) = (Arc::clone(&router), Arc::clone(&looking));
            Box::new(FromServer { router, to_server: to_server.clone(), session })
        };
        match self.server.start(Arc::clone(&router) as _, from_server).await {
            Ok((session, child)) => {
                looking.get_or_init(|| Arc::downgrade(&session));
                let now = Instant::now();
                let (last_used, ended) = (Mutex::new(now), OnceLock::new());
                let running = Arc::new(Running { session, router, child, since: now, last_used, ended });
                tokio::spawn(Arc::clone(&running).watch());
                tokio::spawn(Arc::clone(self).end_idle(Arc::clone(&running)));
                slot.running = Some(Arc::clone(&running));
                slot.not_before = None;
                self.failing.set(false);
                Ok(running)
            }
            Err(error) => {
                tracing::error!(server = self.server.name(), %error, "the server cannot be started");
                let why = format!("the server {} cannot be started: {error}", self.server.name());
                let retry_after = slot.pause;
                slot.failed(Instant::now(), error.to_string());
                self.failing.set(true);
                Err(NotRunning { why, retry_after })
            }
        }
    }

    /// Ends a process that nobody has needed for as long as a session may be idle. The next caller gets a new one.
    async fn end_idle(self: Arc<Self>, running: Arc<Running>) {
        let idle = self.server.limits.session_idle;
        let mut life = running.child.life();
        loop {
            let at = running.last_used() + idle;
            tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                _ = life.wait_for(|life| *life >= Life::Silent) => return,
            }
            let mut slot = self.slot.lock().await;
            if running.last_used() + idle <= Instant::now() {
                slot.running = slot.running.take().filter(|current| !Arc::ptr_eq(current, &running));
                drop(slot);
                return running.end(Duration::ZERO).await;
            }
        }
    }

    pub(super) async fn shut_down(&self, within: Duration) {
        self.closing.store(true, Ordering::Release);
        let running = self.slot.lock().await.running.take();
        if let Some(running) = running {
            running.end(within).await;
        }
    }
}

impl Slot {
    fn failed(&mut self, at: Instant, why: String) {
        self.running = None;
        self.not_before = Some(at + self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        self.why = why;
    }
}
