//! One client, one server behind a pipe, and what happens between them.
//!
//! Looking at a frame never waits and changes little, so that pumps can look at many and write them together; what takes
//! time is started afterwards, in a task of its own.

mod carry;
mod table;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stanchion_core::ClaimId;
use tokio::sync::{oneshot, watch};

use self::table::{CALLS, Entry, Table};
use crate::flight::{Cancelled, Flight};
use crate::frame::{Frame, Id, Kind};
use crate::gate::{Answered, Caller, Gate, Guarded, Plan};
use crate::outlet::Outlet;
use crate::problem::{Problem, ProblemKind};
use crate::splice;

/// The other end, towards the client. Its methods are called from tasks and must not wait.
pub trait Client: Send + Sync + 'static {
    /// The answer to one of its requests.
    fn answer(&self, id: &Id, answered: Answered);
    /// Something that it should see while one of its requests is under way.
    fn aside(&self, id: &Id, frame: &str);
    /// Something that belongs to none of its requests.
    fn say(&self, frame: &str);
    /// Waits while it does not read what was said to it: the one method that may. For pumps.
    fn wait_for_room(&self) {}
}

/// What is to be done with a frame of the client.
#[derive(Debug)]
pub(crate) enum FromClient {
    /// Pass it on as it is.
    Pass,
    /// Start this.
    Start(Box<Job>),
    /// Answer this, and pass nothing on.
    Answer(Option<Id>, String),
    /// It has been dealt with.
    Dealt,
}

/// What is to be done with a frame of the server.
#[derive(Debug)]
pub(crate) enum FromServer<'a> {
    /// Pass it on.
    Pass(Cow<'a, str>),
    /// Somebody here waits for it.
    Deliver(oneshot::Sender<String>),
    /// A further answer to a call whose own answer is being recorded: passed on, it would arrive first.
    Surplus,
    /// The answer to a call that is not waited for any more: its client has been told that nobody knows.
    Late(Option<ClaimId>),
    /// It is no message.
    Noise,
}

/// A call that takes time.
#[derive(Debug)]
pub(crate) struct Job {
    id: Id,
    raw_id: String,
    bytes: usize,
    flight: Arc<Flight>,
    what: What,
}

#[derive(Debug)]
enum What {
    Guarded(Box<Guarded>),
    /// Nothing is known of the tool yet.
    AskFirst {
        frame: String,
        caller: Caller,
    },
}

/// How far its end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    No,
    /// What waits is refused; what was sent stays unanswered.
    ServerGone,
    /// What still runs is not waited for.
    GivingUp,
}

/// What is between a client and its server.
///
/// ```
/// # #[cfg(unix)] {
/// use std::io::{BufRead as _, BufReader, Write as _};
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, Idempotency, Key, Locks, MemoryStore};
/// use stanchion_mcp::{Caller, Gate, Outlet, Session, policy::PolicyFile, stdio};
///
/// let store = MemoryStore::new();
/// let (records, locks) = (Arc::new(store.clone()), Arc::new(CasLock::new(store)));
/// let claims = Idempotency::new(records.clone(), locks.clone());
/// let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), records)
///     .default_lock(Key::new("mcp:notes")?);
///
/// let (to_server, mut server) = UnixStream::pair()?;
/// let (to_client, client) = UnixStream::pair()?;
/// let outlet = Outlet::new("client", to_client)?;
/// let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
/// let session = Session::new(
///     Arc::new(gate), Outlet::new("server", to_server.try_clone()?)?,
///     Arc::new(stdio::PipeClient(outlet.clone())), runtime.handle().clone(),
/// );
/// // The server: it answers whatever it is asked.
/// std::thread::spawn(move || {
///     let lines = BufReader::new(server.try_clone().unwrap()).lines();
///     for line in lines.map_while(Result::ok) {
///         let asked: serde_json::Value = serde_json::from_str(&line).unwrap();
///         writeln!(server, r#"{{"id":{},"result":{{"tools":[]}}}}"#, asked["id"]).unwrap();
///     }
/// });
/// let pump = session.clone();
/// std::thread::spawn(move || stdio::pump_server(&pump, to_server, &outlet, stdio::FRAME_MAX, |noise| panic!("{noise}")));
/// let call = &b"{\"id\":1.0,\"method\":\"tools/call\",\"params\":{\"name\":\"add\"}}\n"[..];
/// stdio::pump_client(&session, call, &Caller::new("alice"), stdio::FRAME_MAX)?;
/// let mut answer = String::new();
/// BufReader::new(client).read_line(&mut answer)?;
/// assert_eq!(answer, "{\"id\":1.0,\"result\":{\"tools\":[]}}\n");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    gate: Arc<Gate>,
    to_server: Outlet,
    client: Arc<dyn Client>,
    runtime: tokio::runtime::Handle,
    table: Mutex<Table>,
    ending: watch::Sender<Ending>,
    /// Requests of our own have ids that no client has.
    own: String,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("server", &self.gate.server()).finish_non_exhaustive()
    }
}

impl Session {
    /// A session whose calls run on this runtime.
    #[must_use]
    pub fn new(
        gate: Arc<Gate>,
        to_server: Outlet,
        client: Arc<dyn Client>,
        runtime: tokio::runtime::Handle,
    ) -> Arc<Self> {
        let own = format!("stanchion-{}-", stanchion_core::Owner::random().to_hex());
        let (ending, _) = watch::channel(Ending::No);
        Arc::new(Self { gate, to_server, client, runtime, table: Mutex::default(), ending, own })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a frame of the client.
    pub(crate) fn look_at_client(&self, text: &str, caller: &Caller) -> FromClient {
        let frame = match Frame::parse(text) {
            Ok(frame) => frame,
            // Passed on, a server that reads more leniently than we do could take it for a call that nobody guards.
            Err(e) => return refused(None, "null", ProblemKind::ParseError, &format!("this line is no message: {e}")),
        };
        match (frame.kind(), frame.method()) {
            (_, Some("tools/call")) => self.look_at_call(&frame, caller),
            (Kind::Notification, Some("notifications/cancelled")) => self.look_at_cancel(&frame),
            (Kind::Request, Some("initialize" | "server/discover")) => {
                if let Some(id) = frame.id() {
                    self.table().introduces(id);
                }
                FromClient::Pass
            }
            (Kind::Response, _) => {
                if let Some(id) = frame.id() {
                    self.table().answered(&id);
                }
                FromClient::Pass
            }
            _ => FromClient::Pass,
        }
    }

    fn look_at_call(&self, frame: &Frame<'_>, caller: &Caller) -> FromClient {
        let (Some(id), Some(raw_id)) = (frame.id(), frame.raw_id()) else {
            return refused(None, "null", ProblemKind::InvalidRequest, "a tools/call needs an id: a text or a number");
        };
        if self.table().is_taken(&id) {
            // Answered under its id, this would be taken for the answer to the call that runs.
            let what = format!("the id {id} belongs to a call that is under way; this one was dropped");
            return refused(None, "null", ProblemKind::InvalidRequest, &what);
        }
        let what = match self.gate.plan(frame, caller) {
            Ok(Plan::Pass) => return FromClient::Pass,
            Ok(Plan::Guard(guarded)) => What::Guarded(guarded),
            Ok(Plan::AskHints) => What::AskFirst { frame: frame.text().to_owned(), caller: caller.clone() },
            Err((problem, modern)) => return FromClient::Answer(Some(id), problem.frame(raw_id, modern)),
        };
        let (raw_id, bytes) = (raw_id.to_owned(), frame.text().len());
        FromClient::Start(Box::new(Job { id, raw_id, bytes, flight: Arc::default(), what }))
    }

    /// A call that waits here is taken back here; one that runs is its server's affair.
    fn look_at_cancel(&self, frame: &Frame<'_>) -> FromClient {
        let Some(id) = cancelled_id(frame) else { return FromClient::Pass };
        let mut table = self.table();
        let Some(entry) = table.calls.get_mut(&id) else { return FromClient::Pass };
        match entry.flight.cancel() {
            Cancelled::BeforeItRan => FromClient::Dealt,
            Cancelled::WhileItRuns => {
                entry.cancelled = true;
                let (gate, locks) = (Arc::clone(&self.gate), entry.locks.clone());
                let why = "it was cancelled by its client, and its server has not answered yet";
                entry.note = Some(self.runtime.spawn(async move { gate.leave_note(&locks, why).await }));
                FromClient::Pass
            }
        }
    }

    /// Looks at a frame of the server.
    pub(crate) fn look_at_server<'a>(&self, text: &'a str) -> FromServer<'a> {
        let Ok(frame) = Frame::parse(text) else { return FromServer::Noise };
        match (frame.kind(), frame.method()) {
            (Kind::Response, _) => {
                let Some(id) = frame.id() else { return FromServer::Pass(text.into()) };
                let mut table = self.table();
                if let Some(waiting) = table.waiting_for(&id) {
                    return FromServer::Deliver(waiting);
                }
                if table.calls.contains_key(&id) {
                    return FromServer::Surplus;
                }
                if let Some(receipt) = table.late(&id) {
                    return FromServer::Late(receipt);
                }
                match table.is_introduction(&id) {
                    true => FromServer::Pass(self.gate.advertise(&frame)),
                    false => FromServer::Pass(text.into()),
                }
            }
            (Kind::Request, Some("sampling/createMessage" | "elicitation/create")) => {
                if let Some(id) = frame.id() {
                    self.table().asked(id);
                }
                FromServer::Pass(text.into())
            }
            (Kind::Notification, Some("notifications/tools/list_changed")) => {
                self.gate.tools_changed();
                FromServer::Pass(text.into())
            }
            (Kind::Notification, Some("notifications/cancelled")) => {
                if let Some(id) = cancelled_id(&frame) {
                    self.table().answered(&id);
                }
                FromServer::Pass(text.into())
            }
            _ => FromServer::Pass(text.into()),
        }
    }

    /// Starts what was found to take time.
    pub(crate) fn start(self: &Arc<Self>, job: Job) {
        let entry = Entry::new(Arc::clone(&job.flight), job.bytes);
        if !self.table().begin(job.id.clone(), entry) {
            let problem =
                Problem::new(ProblemKind::RateLimited, format!("{CALLS} calls, or very large ones, are under way"));
            let frame = problem.retry_after(Duration::from_secs(1)).frame(&job.raw_id, false);
            return self.client.answer(&job.id, Answered::ours(Some(frame)));
        }
        let session = Arc::clone(self);
        self.runtime.spawn(async move { session.carry(job).await });
    }

    /// The client is told, as an answer or as a message of its own.
    pub(crate) fn tell(&self, id: Option<&Id>, frame: String) {
        match id {
            Some(id) => self.client.answer(id, Answered::ours(Some(frame))),
            None => self.client.say(&frame),
        }
    }

    /// Sends a message on to the server. If that does not read any more, its end will be seen by others.
    pub(crate) fn pass(&self, frame: &str) {
        self.to_server.post(format!("{frame}\n").as_bytes());
    }

    /// The way to the server.
    #[must_use]
    pub const fn to_server(&self) -> &Outlet {
        &self.to_server
    }

    /// The server is gone: whatever was sent to it stays unanswered.
    pub fn server_gone(&self) {
        self.to_server.close();
        self.table().server_gone();
        self.ending.send_if_modified(|ending| std::mem::replace(ending, (*ending).max(Ending::ServerGone)) != *ending);
    }

    /// An answer could not be read. Its call, if it can be told whose it was, ends as unknown.
    pub(crate) fn unreadable(&self, head: &[u8], tail: &[u8]) -> bool {
        let mut table = self.table();
        let whose: Vec<Id> = table.calls.keys().filter(|id| table::names(head, tail, id)).cloned().collect();
        let [id] = &whose[..] else { return false };
        drop(table.waiting_for(id));
        true
    }

    /// The answer to a call that was given up is what repetitions should get.
    pub(crate) fn late(&self, receipt: Option<ClaimId>, frame: &str) {
        let (Some(receipt), gate, frame) = (receipt, Arc::clone(&self.gate), frame.to_owned()) else { return };
        self.runtime.spawn(async move { gate.settle_late(receipt, &frame).await });
    }

    pub(crate) fn wait_for_client(&self) {
        self.client.wait_for_room();
    }

    /// Is the guarded call with this id under way?
    pub(crate) fn is_under_way(&self, id: &Id) -> bool {
        self.table().calls.contains_key(id)
    }

    /// Is it under way with a key, so that its answer is worth something without its caller?
    pub(crate) fn is_keyed(&self, id: &Id) -> bool {
        self.table().calls.get(id).is_some_and(|entry| entry.receipt.is_some())
    }

    /// How many guarded calls are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.table().under_way()
    }

    /// Waits until no guarded call is under way, at most this long; then what still runs is unknown, and recorded as that.
    pub async fn drain(&self, within: Duration) {
        let mut idle = self.table().idle.subscribe();
        let quiet = async {
            // The sender is in our own table: it is not gone.
            while self.under_way() > 0 && idle.changed().await.is_ok() {}
        };
        if tokio::time::timeout(within, quiet).await.is_err() {
            tracing::warn!(calls = self.under_way(), "calls were still running when their client had gone");
            self.ending.send_replace(Ending::GivingUp);
        }
        // With the store away this could last for ever; what is not recorded then is unknown to everybody anyway.
        if tokio::time::timeout(within, self.gate.settled()).await.is_err() {
            tracing::warn!("what has become of some calls could not be recorded");
        }
    }
}

fn refused(id: Option<Id>, raw_id: &str, kind: ProblemKind, what: &str) -> FromClient {
    FromClient::Answer(id, Problem::new(kind, what).frame(raw_id, false))
}

/// The request that a cancellation is about.
pub(crate) fn cancelled_id(frame: &Frame<'_>) -> Option<Id> {
    let params = splice::members(frame.params()?.get())?;
    let (_, raw) = params.into_iter().find(|(name, _)| name == "requestId")?;
    Id::of(raw)
}
