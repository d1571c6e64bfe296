//! A server that is a command: one process for each session in the older era, one for all callers in the era without sessions.

mod child;
mod events;
mod flow;
mod headers;
mod legacy;
mod message;
mod modern;
mod words;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::child::{Child, say};
pub use self::child::{Nursery, Program};
use self::legacy::Sessions;
use self::message::{Era, Message};
use self::modern::Modern;
use crate::gate::Gate;
use crate::outlet::Outlet;
use crate::serve::{Body, Endpoint, Request, Visitor, full};
use crate::session::{Client, Session};
use crate::stdio::{FRAME_MAX, PassOn, pump_to};

/// How long a server that was told to end may take, before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How long calls whose server has gone may take to be settled.
const SETTLE: Duration = Duration::from_secs(30);
/// A server that has not read so much takes nothing more.
const UNREAD: usize = 64 << 20;

/// What is bounded. The sessions are those of all servers together.
///
/// ```
/// let limits = stanchion_mcp::serve::StdioLimits::default();
/// assert_eq!(limits.session_idle.as_secs(), 30 * 60);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StdioLimits {
    /// How many sessions there may be.
    pub sessions: Arc<Semaphore>,
    /// After how long without a sign of its client a session ends.
    pub session_idle: Duration,
    /// After how long without a message the stream of a request ends, if its client can resume it. `None`: never.
    pub hang_up: Option<Duration>,
    /// The longest message.
    pub frame_max: usize,
}

impl Default for StdioLimits {
    fn default() -> Self {
        Self {
            sessions: Arc::new(Semaphore::new(256)),
            session_idle: Duration::from_secs(30 * 60),
            hang_up: None,
            frame_max: FRAME_MAX,
        }
    }
}

impl StdioLimits {
    /// At most so many sessions.
    ///
    /// ```
    /// # use stanchion_mcp::serve::StdioLimits;
    /// assert_eq!(StdioLimits::default().max_sessions(2).sessions.available_permits(), 2);
    /// ```
    #[must_use]
    pub fn max_sessions(mut self, most: usize) -> Self {
        self.sessions = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        self
    }

    /// After how long without a sign of its client a session ends.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_mcp::serve::StdioLimits;
    /// assert_eq!(StdioLimits::default().session_idle(Duration::from_secs(9)).session_idle.as_secs(), 9);
    /// ```
    #[must_use]
    pub const fn session_idle(mut self, idle: Duration) -> Self {
        self.session_idle = idle;
        self
    }

    /// After how long without a message the stream of a request ends, if its client can resume it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_mcp::serve::StdioLimits;
    /// let limits = StdioLimits::default();
    /// assert_eq!(limits.hang_up, None);
    /// assert_eq!(limits.hang_up(Some(Duration::from_secs(30))).hang_up.map(|time| time.as_secs()), Some(30));
    /// ```
    #[must_use]
    pub const fn hang_up(mut self, after: Option<Duration>) -> Self {
        self.hang_up = after;
        self
    }

    /// The longest message.
    ///
    /// ```
    /// # use stanchion_mcp::serve::StdioLimits;
    /// assert_eq!(StdioLimits::default().frame_max(1 << 20).frame_max, 1 << 20);
    /// ```
    #[must_use]
    pub const fn frame_max(mut self, bytes: usize) -> Self {
        self.frame_max = bytes;
        self
    }
}

impl PassOn for Box<dyn PassOn + Send> {
    fn pass(&mut self, frame: &str) {
        (**self).pass(frame);
    }
    fn flush(&mut self) {
        (**self).flush();
    }
}

/// A server that has failed counts as failing for so long: nobody may have needed it since.
const FAILED: Duration = Duration::from_secs(30);

/// Could it not be started, or has it ended early, the last time?
#[derive(Debug, Default)]
struct Failing(Mutex<Option<Instant>>);

impl Failing {
    fn set(&self, failed: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = failed.then(Instant::now);
    }

    fn is(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at.elapsed() < FAILED)
    }
}

/// How the server is started, and what guards it.
#[derive(Debug)]
struct Server {
    gate: Arc<Gate>,
    nursery: Nursery,
    program: Program,
    limits: StdioLimits,
}

impl Server {
    fn name(&self) -> &str {
        self.gate.server()
    }

    /// A process of it, with everything between it and its client.
    async fn start(
        &self,
        client: Arc<dyn Client>,
        pass_on: impl FnOnce(&Outlet) -> Box<dyn PassOn + Send>,
    ) -> io::Result<(Arc<Session>, Arc<Child>)> {
        let started = Child::start(&self.nursery, self.name(), &self.program).await?;
        let to_server = Outlet::new("server", started.stdin)?;
        let mut pass_on = pass_on(&to_server);
        let session = Session::new(Arc::clone(&self.gate), to_server, client, tokio::runtime::Handle::current());
        let (talk, most, name) = (Arc::clone(&session), self.limits.frame_max, self.name().to_owned());
        started.child.listen(self.name(), move || {
            let noise = |line: &str| say(&name, &format!("warning: on its standard output, and no message: {line}"));
            if let Err(error) = pump_to(&talk, started.stdout, &mut pass_on, most, noise) {
                tracing::warn!(server = name, %error, "the server cannot be read any more");
            }
            talk.server_gone();
        })?;
        Ok((session, started.child))
    }
}

/// One server that is a command.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
/// use stanchion_mcp::serve::{Nursery, Program, StdioEndpoint, StdioLimits};
/// use stanchion_mcp::{Gate, policy::PolicyFile};
/// let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
/// let claims = Idempotency::new(store.clone(), locks.clone());
/// let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), store);
/// let (program, nursery) = (Program::new(["notes-server"]), Nursery::start()?);
/// let endpoint = StdioEndpoint::new(Arc::new(gate), program, nursery, StdioLimits::default());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct StdioEndpoint {
    legacy: Arc<Sessions>,
    modern: Modern,
}

impl StdioEndpoint {
    /// Starts nothing yet: the first caller does.
    #[must_use]
    pub fn new(gate: Arc<Gate>, program: Program, nursery: Nursery, limits: StdioLimits) -> Self {
        let server = Arc::new(Server { gate, nursery, program, limits });
        Self { legacy: Arc::new(Sessions::new(Arc::clone(&server))), modern: Modern::new(server) }
    }

    async fn post(&self, request: &Request, visitor: Visitor) -> Response<Body> {
        if let Err(response) = headers::check_post(request.headers()) {
            return *response;
        }
        let message = match Message::read(request.body()) {
            Ok(message) => message,
            Err(response) => return *response,
        };
        match message.era(request.headers()) {
            Era::Modern => self.modern.post(request.headers(), &message, visitor).await,
            Era::Legacy => self.legacy.post(request.headers(), &message, visitor).await,
        }
    }
}

#[async_trait::async_trait]
impl Endpoint for StdioEndpoint {
    async fn handle(&self, request: Request, visitor: Visitor) -> Response<Body> {
        let is_modern = headers::version(request.headers()) == Some(message::MODERN);
        match *request.method() {
            Method::POST => self.post(&request, visitor).await,
            Method::GET if !is_modern => self.legacy.get(request.headers(), &visitor),
            Method::DELETE if !is_modern => self.legacy.delete(request.headers(), &visitor),
            _ => {
                let allowed = if is_modern { "POST" } else { "GET, POST, DELETE" };
                let mut response = Response::new(full("this method is not used here\n"));
                *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
                response.headers_mut().insert(http::header::ALLOW, http::HeaderValue::from_static(allowed));
                response
            }
        }
    }

    async fn is_ready(&self) -> bool {
        self.modern.is_ready() && self.legacy.is_ready()
    }

    async fn shut_down(&self, within: Duration) {
        tokio::join!(self.legacy.shut_down(within), self.modern.shut_down(within));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_forgotten_after_a_while() {
        let failing = Failing::default();
        assert!(!failing.is());
        failing.set(true);
        tokio::time::advance(FAILED - Duration::from_secs(1)).await;
        assert!(failing.is());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!failing.is());
        failing.set(true);
        failing.set(false);
        assert!(!failing.is());
    }
}
