//! One session: its connection, replaced when it dies, and a new session when the old one has ended.
//!
//! The client library keeps requests that were made while it had no connection and sends them when it has one again. So
//! we ask only on a living connection, and hold the connection's driver ourselves: when an answer does not come in time
//! the driver is ended, and nothing of it is sent later. The session goes on with a new connection.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::ErrorKind;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use zookeeper_client::{self as zk, Client, OneshotWatcher, SessionInfo, SessionState};

use super::fault::Fault;
use super::options::Options;
use super::sessions::sure;

/// The library's first tries after a lost connection come within this.
const MOMENT: Duration = Duration::from_millis(250);

/// A session with a connection.
pub(super) struct Link {
    pub(super) client: Client,
    driver: Option<AbortHandle>,
    /// How long it may be silent.
    patience: Duration,
    /// Said before the driver is ended: a watcher of the library panics when it is asked after that.
    gone: watch::Sender<bool>,
}

impl Link {
    /// Waits for a watched change, at most until `end`. Also returns when the connection is given up.
    pub(super) async fn hear(&self, watcher: OneshotWatcher, end: Instant) {
        let mut gone = self.gone.subscribe();
        tokio::select! {
            biased;
            _ = gone.wait_for(|gone| *gone) => {}
            _ = watcher.changed() => {}
            () = tokio::time::sleep_until(end) => {}
        }
    }

    /// Names the session; entries made in it end with it.
    pub(super) fn session(&self) -> i64 {
        self.client.session_id().0
    }

    /// How long the session surely lives after a request was sent that was then answered.
    pub(super) fn sure(&self) -> Duration {
        sure(self.client.session_timeout(), self.patience)
    }
}

/// A session that is opened when it is needed first.
pub(super) struct Session {
    pub(super) options: Arc<Options>,
    /// The time-out that we ask for; the server may grant another.
    asked: Duration,
    /// How long a silent connection is believed in.
    patience: Duration,
    current: Mutex<Option<Arc<Link>>>,
    /// The session whose connection we have given up.
    resume: Mutex<Option<SessionInfo>>,
    // Held while connecting; remembers the last failure, so that those who waited for it share it.
    connecting: tokio::sync::Mutex<Option<(Instant, Fault)>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({}, {:?})", self.options.shown, self.asked)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub(super) fn new(options: Arc<Options>, asked: Duration, patience: Duration) -> Self {
        let (current, resume, connecting) = Default::default();
        Self { options, asked, patience, current, resume, connecting }
    }

    /// The answer to a request on `link`, within the time-out.
    pub(super) async fn ask<T, E>(
        &self,
        link: &Arc<Link>,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Fault>
    where
        Fault: From<E>,
    {
        match timeout(self.options.timeout, answer).await {
            Ok(answer) => answer.map_err(Fault::from),
            Err(_) => {
                self.retire(link);
                Err(Fault::Lost(format!("no answer within {:?}", self.options.timeout)))
            }
        }
    }

    /// After a lost answer the connection is not trusted again.
    fn retire(&self, link: &Arc<Link>) {
        link.gone.send_replace(true);
        if let Some(driver) = &link.driver {
            driver.abort();
        }
        let mut current = lock(&self.current);
        if current.as_ref().is_some_and(|now| Arc::ptr_eq(now, link)) {
            *lock(&self.resume) = Some(link.client.session().clone());
            *current = None;
        }
    }

    /// The session as it is now, if it is connected.
    pub(super) fn living(&self) -> Option<Arc<Link>> {
        lock(&self.current).as_ref().filter(|link| link.client.state() == SessionState::SyncConnected).cloned()
    }

    /// A session with a living connection; the same session as before if that has not ended.
    pub(super) async fn link(&self) -> Result<Arc<Link>, Fault> {
        if let Some(link) = self.living() {
            return Ok(link);
        }
        let asked = Instant::now();
        let mut last = self.connecting.lock().await;
        if let Some((at, fault)) = &*last
            && *at >= asked
        {
            return Err(fault.clone());
        }
        let until = asked + self.options.connect_timeout;
        let current = lock(&self.current).clone();
        let answer = match current {
            Some(link) => match self.back(&link).await {
                Some(answer) => answer.map(|()| link),
                None => self.connect(until).await,
            },
            None => self.connect(until).await,
        };
        *last = match &answer {
            Ok(link) => {
                *lock(&self.current) = Some(Arc::clone(link));
                None
            }
            Err(fault) => Some((Instant::now(), fault.clone())),
        };
        answer
    }

    /// Waits a moment for the library to get its connection back; `None` when we must see to it, because the session has
    /// ended, or because the library waits longer and longer between its tries.
    async fn back(&self, link: &Arc<Link>) -> Option<Result<(), Fault>> {
        let until = Instant::now() + MOMENT.min(self.options.connect_timeout);
        let mut watcher = link.client.state_watcher();
        let mut state = link.client.state();
        loop {
            match state {
                SessionState::SyncConnected => return Some(Ok(())),
                SessionState::AuthFailed => return Some(Err(Fault::Refused(zk::Error::AuthFailed))),
                SessionState::Expired | SessionState::Closed => return None,
                SessionState::Disconnected | SessionState::ConnectedReadOnly => {}
            }
            match timeout_at(until, watcher.changed()).await {
                Ok(next) => state = next,
                Err(_) => {
                    self.retire(link);
                    return None;
                }
            }
        }
    }

    async fn connect(&self, until: Instant) -> Result<Arc<Link>, Fault> {
        let resume = lock(&self.resume).take();
        if let Some(session) = resume {
            match self.establish(until, Some(session.clone())).await {
                Err(Fault::Expired) => {}
                Err(fault) => {
                    // It may still live when the servers are back.
                    *lock(&self.resume) = Some(session);
                    return Err(fault);
                }
                link => return link,
            }
        }
        self.establish(until, None).await
    }

    async fn establish(&self, until: Instant, session: Option<SessionInfo>) -> Result<Arc<Link>, Fault> {
        let options = &self.options;
        let mut connector = Client::connector()
            .with_session_timeout(self.asked)
            .with_connection_timeout(self.patience)
            .with_fail_eagerly();
        if let Some(login) = &options.login {
            connector = connector.with_auth("digest", login.as_bytes());
        }
        if let Some(session) = session {
            connector = connector.with_session(session);
        }
        let catch = Catch::default();
        match timeout_at(until, catch.watch(connector.connect(&options.servers))).await {
            Ok(Ok(client)) => {
                let (driver, gone) = (lock(&catch.0).take(), watch::Sender::new(false));
                Ok(Arc::new(Link { client, driver, patience: self.patience, gone }))
            }
            Ok(Err(zk::Error::SessionExpired)) => Err(Fault::Expired),
            Ok(Err(error @ zk::Error::AuthFailed)) => Err(Fault::Refused(error)),
            Ok(Err(zk::Error::NoHosts)) => Err(away("no server takes our connection".to_owned())),
            Ok(Err(error)) => Err(away(error.to_string())),
            Err(_) => Err(away(format!("no session within {:?}", options.connect_timeout))),
        }
    }
}

fn away(why: String) -> Fault {
    Fault::NotSent(ErrorKind::Unavailable, format!("ZooKeeper cannot be reached: {why}"))
}

/// Catches the task that drives a connection.
#[derive(Default)]
struct Catch(Mutex<Option<AbortHandle>>);

impl spawns_core::Spawn for Catch {
    fn spawn(&self, task: spawns_core::Task) {
        *lock(&self.0) = Some(tokio::spawn(Box::into_pin(task.future)).abort_handle());
    }
}

impl Catch {
    async fn watch<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let _scope = spawns_core::enter(self);
            future.as_mut().poll(context)
        })
        .await
    }
}
