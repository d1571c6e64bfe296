//! The sessions of the older eras over HTTP: whose they are, when they were last used, and what is under way in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, GetExtensions as _, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use stanchion_mcp::{Problem, ProblemKind};
use tokio::time::Instant;

use super::answers;
use super::keys::Caller;

/// So many clients of the eras with sessions may have one at the same time.
pub(super) const SESSIONS: usize = 1024;
/// So long a session is kept for a client that asks nothing and listens to nothing.
const SILENT: Duration = Duration::from_secs(30 * 60);

/// `rmcp`'s sessions, with what it does not know of them. Streams carry no ids of events: what was answered is not kept, so nobody
/// may think that it could be taken up again.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    known: Mutex<HashMap<SessionId, Arc<Known>>>,
}

impl Default for Sessions {
    fn default() -> Self {
        let mut inner = LocalSessionManager::default();
        // We look after that ourselves: it would also end those that listen.
        inner.session_config.keep_alive = None;
        inner.session_config.sse_retry = None;
        Self { inner, known: Mutex::default() }
    }
}

#[derive(Debug)]
struct Known {
    /// Set with `initialize`; before, it is nobody's.
    principal: OnceLock<Arc<str>>,
    uses: Mutex<Uses>,
}

#[derive(Debug)]
struct Uses {
    last: Instant,
    /// Streams that are open, those with answers among them.
    streams: usize,
    /// Requests that have not been answered, each with a number of its own.
    open: HashMap<RequestId, u64>,
    next: u64,
}

impl Known {
    fn new() -> Arc<Self> {
        let uses = Uses { last: Instant::now(), streams: 0, open: HashMap::new(), next: 0 };
        Arc::new(Self { principal: OnceLock::new(), uses: Mutex::new(uses) })
    }

    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        self.uses().last = Instant::now();
    }

    /// Since when nothing has been asked, answered or listened to.
    fn idle_since(&self) -> Option<Instant> {
        let uses = self.uses();
        (uses.streams == 0 && uses.open.is_empty()).then_some(uses.last)
    }

    /// `None`, if there is such a request.
    fn open(self: &Arc<Self>, id: &RequestId) -> Option<Opened> {
        let mut uses = self.uses();
        if uses.open.contains_key(id) {
            return None;
        }
        uses.next += 1;
        let number = uses.next;
        uses.open.insert(id.clone(), number);
        Some(Opened { known: Arc::clone(self), id: id.clone(), number })
    }

    /// The request that this answers.
    fn answered(self: &Arc<Self>, message: &ServerJsonRpcMessage) -> Option<Opened> {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => &response.id,
            ServerJsonRpcMessage::Error(error) => error.id.as_ref()?,
            _ => return None,
        };
        let number = *self.uses().open.get(id)?;
        Some(Opened { known: Arc::clone(self), id: id.clone(), number })
    }

    fn stream(self: &Arc<Self>) -> OpenStream {
        self.uses().streams += 1;
        OpenStream(Arc::clone(self))
    }
}

/// A request that is over when this is dropped. Its id may then be used by another.
#[derive(Debug)]
struct Opened {
    known: Arc<Known>,
    id: RequestId,
    number: u64,
}

impl Opened {
    /// It is not over yet; another look at its answer ends it.
    fn stays(mut self) {
        // The first number is 1.
        self.number = 0;
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut uses = self.known.uses();
        if uses.open.get(&self.id) == Some(&self.number) {
            uses.open.remove(&self.id);
        }
    }
}

#[derive(Debug)]
struct OpenStream(Arc<Known>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut uses = self.0.uses();
        uses.streams -= 1;
        uses.last = Instant::now();
    }
}

impl Sessions {
    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &SessionId) -> Result<Arc<Known>, LocalSessionManagerError> {
        let missing = || LocalSessionManagerError::SessionNotFound(Arc::clone(id));
        self.known().get(id).cloned().ok_or_else(missing)
    }

    /// Is it a session of this principal? If so, it counts as used.
    pub(super) fn is_of(&self, id: &str, principal: &str) -> bool {
        let known = self.known().get(id).cloned();
        let own = known.filter(|known| known.principal.get().is_some_and(|owner| **owner == *principal));
        own.inspect(|known| known.touch()).is_some()
    }

    /// Ends the sessions that have been idle for too long.
    pub(super) async fn sweep(&self, now: Instant) {
        let is_old = |known: &Known| known.idle_since().is_some_and(|since| now.duration_since(since) >= SILENT);
        let old: Vec<SessionId> =
            self.known().iter().filter(|(_, known)| is_old(known)).map(|(id, _)| Arc::clone(id)).collect();
        for id in old {
            self.end(&id).await;
        }
    }

    /// Makes room for one more, if need be by ending the one that has been idle for longest. `false`, if none is idle.
    pub(super) async fn make_room(&self) -> bool {
        let longest = {
            let known = self.known();
            if known.len() < SESSIONS {
                return true;
            }
            let idle = known.iter().filter_map(|(id, known)| Some((known.idle_since()?, id)));
            idle.min_by_key(|(since, _)| *since).map(|(_, id)| Arc::clone(id))
        };
        let Some(id) = longest else { return false };
        tracing::info!("there are {SESSIONS} sessions: the one that has been idle for longest makes room");
        self.end(&id).await;
        true
    }

    async fn end(&self, id: &SessionId) {
        if let Err(error) = self.close_session(id).await {
            tracing::debug!(%error, "a session could not be ended");
        }
    }
}

fn without_id(event: ServerSseMessage) -> ServerSseMessage {
    let mut bare = ServerSseMessage::default();
    bare.message = event.message;
    bare
}

fn refused(id: RequestId) -> ServerSseMessage {
    let why = "the id is that of a request which has not been answered";
    let said = answers::problem(&Problem::new(ProblemKind::InvalidRequest, why), false);
    let error = said.err().unwrap_or_else(|| answers::unusable(why.to_owned()));
    ServerSseMessage::from_message(ServerJsonRpcMessage::error(error, Some(id)))
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = Watched;

    async fn create_session(&self) -> Result<(SessionId, Watched), Self::Error> {
        let (id, inner) = self.inner.create_session().await?;
        let known = Known::new();
        self.known().insert(Arc::clone(&id), Arc::clone(&known));
        Ok((id, Watched { inner, known }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let known = self.find(id)?;
        if let ClientJsonRpcMessage::Request(request) = &message
            && let Some(parts) = request.request.extensions().get::<http::request::Parts>()
            && let Some(caller) = parts.extensions.get::<Caller>()
        {
            known.principal.get_or_init(|| Arc::clone(&caller.principal));
        }
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.known().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let known = self.find(id)?;
        let open_stream = known.stream();
        let opened = match &message {
            ClientJsonRpcMessage::Request(request) => match known.open(&request.id) {
                Some(opened) => Some(opened),
                None => return Ok(stream::iter([refused(request.id.clone())]).left_stream()),
            },
            _ => None,
        };
        let events = self.inner.create_stream(id, message).await?;
        // From here on it is over when it is answered, also if its client goes away before.
        opened.into_iter().for_each(Opened::stays);
        let events = events.map(move |event| {
            let known = &open_stream.0;
            drop(event.message.as_deref().and_then(|message| known.answered(message)));
            without_id(event)
        });
        Ok(events.right_stream())
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        // A call that is taken back goes on, and is answered: its id must not be free before that.
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && matches!(notification.notification, ClientNotification::CancelledNotification(_))
        {
            return Ok(());
        }
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open_stream = self.find(id)?.stream();
        let events = self.inner.create_standalone_stream(id).await?;
        Ok(events.map(move |event| {
            let _is_open = &open_stream;
            without_id(event)
        }))
    }

    /// Whoever asks for it is told before that it cannot be.
    async fn resume(
        &self,
        id: &SessionId,
        _last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Err::<stream::Empty<ServerSseMessage>, _>(LocalSessionManagerError::SessionNotFound(Arc::clone(id)))
    }
}

/// The way between a session and its server, on which we see what is answered.
pub(super) struct Watched {
    inner: SessionTransport,
    known: Arc<Known>,
}

impl Transport<RoleServer> for Watched {
    type Error = <SessionTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = self.known.answered(&item);
        let sent = self.inner.send(item);
        async move {
            let sent = sent.await;
            drop(answered);
            sent
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.inner.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_that_is_idle_for_too_long_ends_and_one_that_is_used_does_not() {
        let sessions = Sessions::default();
        let (idle, _idle) = sessions.create_session().await.unwrap();
        let (used, _used) = sessions.create_session().await.unwrap();
        let stream = sessions.find(&used).unwrap().stream();
        let is_there = async |id: &SessionId| sessions.has_session(id).await.unwrap();
        sessions.sweep(Instant::now() + SILENT - Duration::from_secs(1)).await;
        assert!(is_there(&idle).await && is_there(&used).await);
        let later = Instant::now() + SILENT;
        sessions.sweep(later).await;
        assert!(!is_there(&idle).await && is_there(&used).await);
        drop(stream);
        sessions.sweep(later).await;
        assert!(is_there(&used).await, "it was used until now");
        sessions.sweep(Instant::now() + SILENT).await;
        assert!(!is_there(&used).await);
    }
}
