//! Messages on lines, between a client and `rmcp`: bounded, and nothing that comes is passed over in silence.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    CustomRequest, MetaObject, RequestId, RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use stanchion_mcp::stdio::FRAME_MAX;
use stanchion_mcp::{Problem, ProblemKind};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;

use super::Session;
use super::handler::shape_of;
use crate::jsonl::mend_surrogates;

/// So many requests are worked on at the same time. A client that sends more, and reads no answers, waits.
const AT_ONCE: u32 = 32;
/// So many subscriptions one client may have; they are open for as long as it likes.
const LISTENS: usize = 32;
/// How long what is under way may take to end after the end of input.
const DRAIN: Duration = Duration::from_secs(5);
const LISTEN: &str = "subscriptions/listen";

/// The transport that `rmcp` gets.
#[derive(Debug)]
pub(super) struct Lines<W> {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    out: Arc<Out<W>>,
    reader: AbortHandle,
}

/// The way out, and what is still to be answered there.
#[derive(Debug)]
struct Out<W> {
    writer: tokio::sync::Mutex<W>,
    open: Mutex<HashMap<RequestId, Open>>,
    slots: Arc<Semaphore>,
    broken: Notify,
}

/// A request that has not been answered.
#[derive(Debug)]
enum Open {
    /// Holds its slot until the answer is written.
    Call(OwnedSemaphorePermit),
    /// Its client does not want to know any more. It goes on, and its answer is dropped.
    TakenBack(OwnedSemaphorePermit),
    Listen,
}

impl<W> Drop for Lines<W> {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl<W: AsyncWrite + Unpin + Send + 'static> Lines<W> {
    pub(super) fn start(read: impl AsyncRead + Unpin + Send + 'static, write: W, session: Arc<Session>) -> Self {
        let slots = Arc::new(Semaphore::new(AT_ONCE as usize));
        let out = Out { writer: write.into(), open: Mutex::default(), slots, broken: Notify::new() };
        let out = Arc::new(out);
        let (to, incoming) = mpsc::channel(1);
        let reading = Reading { out: Arc::clone(&out), to };
        let reader = tokio::spawn(async move {
            tokio::select! {
                () = reading.run(BufReader::new(read)) => {}
                () = reading.out.broken.notified() => tracing::debug!("nobody reads our answers any more"),
            }
            // Those who listen are told that nothing more will come; the others end by themselves.
            session.over.send_replace(true);
            let all = tokio::time::timeout(DRAIN, reading.out.slots.acquire_many(AT_ONCE)).await;
            if all.is_err() {
                tracing::warn!("calls were still under way {DRAIN:?} after the end of input");
            }
        });
        Self { incoming, out, reader: reader.abort_handle() }
    }
}

impl<W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let out = Arc::clone(&self.out);
        async move {
            let id = match &item {
                ServerJsonRpcMessage::Response(response) => Some(&response.id),
                ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            let open = id.and_then(|id| out.open().remove(id));
            if matches!(open, Some(Open::TakenBack(_))) {
                return Ok(());
            }
            let mut line = serde_json::to_vec(&item)?;
            drop(item);
            line.push(b'\n');
            let written = out.write(&line).await;
            drop(open);
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.reader.abort();
        Ok(())
    }
}

impl<W> Out<W> {
    fn open(&self) -> MutexGuard<'_, HashMap<RequestId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: AsyncWrite + Unpin> Out<W> {
    async fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        let written = async {
            writer.write_all(line).await?;
            writer.flush().await
        };
        let written = written.await;
        if written.is_err() {
            self.broken.notify_one();
        }
        written
    }

    /// What is wrong with a message.
    async fn refuse(&self, id: Option<&RequestId>, kind: ProblemKind, why: impl Into<String>) {
        let id = id.map_or_else(|| "null".to_owned(), |id| json!(id).to_string());
        let frame = Problem::new(kind, why).frame(&id, false) + "\n";
        // Who does not read is noticed where it is written.
        self.write(frame.as_bytes()).await.ok();
    }
}

/// The way in.
struct Reading<W> {
    out: Arc<Out<W>>,
    to: mpsc::Sender<ClientJsonRpcMessage>,
}

impl<W: AsyncWrite + Unpin> Reading<W> {
    async fn run(&self, mut from: impl AsyncBufRead + Unpin) {
        let mut line = Vec::new();
        loop {
            line.clear();
            match read_line(&mut from, &mut line).await {
                Ok(Read::Line) => self.look_at(&line).await,
                Ok(Read::TooLong) => {
                    let why = format!("the message has more than {FRAME_MAX} bytes");
                    self.out.refuse(None, ProblemKind::InvalidRequest, why).await;
                }
                Ok(Read::End) => return,
                Err(error) => return tracing::warn!(%error, "the input cannot be read"),
            }
            // One huge message must not cost its size for ever.
            if line.capacity() > 1 << 20 {
                line = Vec::new();
            }
        }
    }

    async fn look_at(&self, line: &[u8]) {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return;
        }
        let message = serde_json::from_slice(line).or_else(|error| match mended(line) {
            Some(text) => serde_json::from_str(&text),
            None => Err(error),
        });
        let message = match message {
            Ok(Value::Object(message)) => message,
            Ok(_) => return self.out.refuse(None, ProblemKind::InvalidRequest, "the message is no object").await,
            Err(error) => return self.out.refuse(None, ProblemKind::ParseError, error.to_string()).await,
        };
        if let Err((id, why)) = self.pass_on(message).await {
            self.out.refuse(id.as_ref(), ProblemKind::InvalidRequest, why).await;
        }
    }

    async fn pass_on(&self, mut message: Map<String, Value>) -> Result<(), (Option<RequestId>, String)> {
        let id = message.remove("id");
        let known: Option<RequestId> = id.clone().and_then(|id| serde_json::from_value(id).ok());
        let bad = |why: &str| Err((known.clone(), why.to_owned()));
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return bad("jsonrpc is not \"2.0\"");
        }
        let is_answer = message.contains_key("result") || message.contains_key("error");
        let method = match message.remove("method") {
            Some(Value::String(method)) if !is_answer => method,
            // We ask for nothing, so this answers nothing of ours.
            None if is_answer => return Ok(()),
            _ => return bad("it is neither a request, nor a notification, nor an answer"),
        };
        let params = match message.remove("params") {
            None => None,
            Some(Value::Object(params)) => Some(params),
            Some(_) => return bad("params is no object"),
        };
        match (known.clone(), id) {
            (Some(id), _) => self.request(id, method, params).await.map_err(|why| (known, why)),
            (None, None) => {
                self.notification(&method, params).await;
                Ok(())
            }
            (None, Some(_)) => bad("an id is a text or a whole number"),
        }
    }

    async fn request(&self, id: RequestId, method: String, params: Option<Map<String, Value>>) -> Result<(), String> {
        let request = request_of(method, params)?;
        let open = match request.method() == LISTEN {
            false => Open::Call(Arc::clone(&self.out.slots).acquire_owned().await.map_err(|e| e.to_string())?),
            true => Open::Listen,
        };
        {
            let mut all = self.out.open();
            if all.contains_key(&id) {
                return Err("the id is that of a request which has not been answered".to_owned());
            }
            let listens = all.values().filter(|open| matches!(open, Open::Listen)).count();
            if matches!(open, Open::Listen) && listens >= LISTENS {
                return Err(format!("there are {LISTENS} subscriptions already"));
            }
            all.insert(id.clone(), open);
        }
        self.hand_over(ClientJsonRpcMessage::request(request, id)).await;
        Ok(())
    }

    /// Only one notification is of interest: that a request is taken back.
    async fn notification(&self, method: &str, params: Option<Map<String, Value>>) {
        let id = params.and_then(|mut params| params.remove("requestId"));
        let Some(id) = id.filter(|_| method == "notifications/cancelled") else { return };
        let Ok(id) = serde_json::from_value::<RequestId>(id) else { return };
        let is_listen = {
            let mut all = self.out.open();
            match all.remove(&id) {
                None => return,
                Some(Open::Call(slot) | Open::TakenBack(slot)) => {
                    all.insert(id.clone(), Open::TakenBack(slot));
                    false
                }
                Some(Open::Listen) => true,
            }
        };
        if is_listen {
            let params = CancelledNotificationParam::new(Some(id), None);
            let notification = ClientNotification::from(CancelledNotification::new(params));
            self.hand_over(ClientJsonRpcMessage::notification(notification)).await;
        }
    }

    async fn hand_over(&self, message: ClientJsonRpcMessage) {
        if self.to.send(message).await.is_err() {
            tracing::debug!("the server has ended");
        }
    }
}

/// What `rmcp` makes of a request, except that calls of tools keep everything that they came with, and that wrong params are not
/// passed over.
fn request_of(method: String, mut params: Option<Map<String, Value>>) -> Result<ClientRequest, String> {
    let as_it_came = match (&params, shape_of(&method)) {
        _ if method == "tools/call" => true,
        (Some(params), Some(shape)) => shape.is_wrong(params),
        _ => false,
    };
    if !as_it_came {
        let mut message = json!({"method": method});
        if let Some(params) = params {
            message["params"] = params.into();
        }
        return serde_json::from_value(message).map_err(|error| error.to_string());
    }
    let meta = match params.as_mut().and_then(|params| params.remove("_meta")) {
        None => None,
        Some(Value::Object(meta)) => Some(RequestMetaObject(MetaObject(meta))),
        Some(_) => return Err("_meta is no object".to_owned()),
    };
    let mut request = CustomRequest::new(method, params.map(Value::Object));
    if let Some(meta) = meta {
        request.extensions.insert(meta);
    }
    Ok(request.into())
}

/// What was cut out of a text in the middle of a character, read as the official server and files of it are read: with U+FFFD in
/// its place. `None`, if there is no such place.
pub(super) fn mended(message: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(message);
    mend_surrogates(&text).or(match text {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    })
}

enum Read {
    Line,
    /// It has been skipped.
    TooLong,
    End,
}

/// The next line without its end. The last one may have none.
async fn read_line(from: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<Read> {
    let mut too_long = false;
    let done = |too_long| if too_long { Read::TooLong } else { Read::Line };
    loop {
        let found = from.fill_buf().await?;
        if found.is_empty() {
            return Ok(if line.is_empty() && !too_long { Read::End } else { done(too_long) });
        }
        let end = memchr::memchr(b'\n', found);
        let piece = &found[..end.unwrap_or(found.len())];
        too_long |= line.len() + piece.len() > FRAME_MAX;
        match too_long {
            true => line.clear(),
            false => line.extend_from_slice(piece),
        }
        let used = piece.len() + usize::from(end.is_some());
        from.consume(used);
        if end.is_some() {
            return Ok(done(too_long));
        }
    }
}
