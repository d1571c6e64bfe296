//! The client over Streamable HTTP: one session, one connection per call in flight, all kept alive.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::message::{Answer, Caller, INITIALIZED, TOOLS, VERSION, initialize};
use super::server::Server;
use super::spec::{Spec, Transport};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::pause::Pause;
use crate::worker::{Client, Window, on_runtime, run_tasks};

/// An interpreter on a loaded machine takes seconds; nothing measured depends on it. It is shorter than the parent's
/// patience with this worker: a worker that is killed leaves the server behind.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two attempts to reach a server that starts: what a start-up time may be too long by.
const ATTEMPT: Duration = Duration::from_micros(500);
const SESSION: &str = "mcp-session-id";

/// Where the server is, and which session we have with it.
#[derive(Debug)]
struct Place {
    address: SocketAddr,
    path: String,
    session: Option<HeaderValue>,
    initialized: bool,
}

struct Reply {
    session: Option<HeaderValue>,
    message: Bytes,
}

struct Connection {
    place: Arc<Place>,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    async fn open(place: Arc<Place>) -> Outcome<Self> {
        let stream = TcpStream::connect(place.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // Its failures reach the one who sends.
            connection.await.ok();
        });
        Ok(Self { place, sender })
    }

    async fn post(&mut self, body: impl Into<Bytes>) -> Outcome<Reply> {
        let mut request = Request::post(self.place.path.as_str())
            .header(HOST, self.place.address.to_string())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(session) = &self.place.session {
            request = request.header(SESSION, session);
        }
        if self.place.initialized {
            request = request.header("mcp-protocol-version", VERSION);
        }
        let request = request.body(Full::new(body.into()))?;
        self.sender.ready().await?;
        let exchange = async {
            let (head, body) = self.sender.send_request(request).await?.into_parts();
            Ok::<_, hyper::Error>((head, body.collect().await?.to_bytes()))
        };
        let late = |_| "error: no answer within 20 s";
        let (head, body) = timeout(PATIENCE, exchange).await.map_err(late)??;
        if !head.status.is_success() {
            return Err(format!("error: HTTP {}: {}", head.status, String::from_utf8_lossy(&body)).into());
        }
        let stream =
            head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let message = match (head.status, stream) {
            (StatusCode::ACCEPTED, _) => Bytes::new(),
            (_, true) => last_event(&body)?,
            (_, false) => body,
        };
        Ok(Reply { session: head.headers.get(SESSION).cloned(), message })
    }

    async fn ask(&mut self, message: &str) -> Outcome<String> {
        let reply = self.post(message.to_owned()).await?;
        let answer = Answer::read(&reply.message)?.ok_or("error: no answer in the reply")?;
        Ok(answer.result()?.to_owned())
    }
}

/// The answer is the last event; before it there may be notifications.
fn last_event(stream: &Bytes) -> Outcome<Bytes> {
    let mut lines = stream.split(|byte| *byte == b'\n').rev();
    let data = lines.find_map(|line| line.strip_prefix(b"data:").map(<[u8]>::trim_ascii).filter(|d| !d.is_empty()));
    data.map(|data| stream.slice_ref(data)).ok_or_else(|| "error: an event stream without data".into())
}

impl Place {
    fn new(server: &Server, spec: &Spec) -> Outcome<Self> {
        let Transport::Http(path) = &spec.transport else { return Err("not an HTTP server".into()) };
        Ok(Self { address: server.address, path: path.clone(), session: None, initialized: false })
    }
}

/// Asks until `initialize` is answered. Before that a server may refuse connections, or answer with an error.
async fn first_answer(server: &mut Server, spec: &Spec) -> Outcome<(Place, Duration)> {
    let (place, pause) = (Arc::new(Place::new(server, spec)?), Pause::new()?);
    loop {
        server.check()?;
        let attempt = async { Connection::open(Arc::clone(&place)).await?.post(initialize()).await };
        let failure = match attempt.await {
            Ok(reply) => {
                let answered = server.started.elapsed();
                Answer::read(&reply.message)?.ok_or("error: no answer to initialize")?.result()?;
                let (address, path) = (place.address, place.path.clone());
                return Ok((Place { address, path, session: reply.session, initialized: true }, answered));
            }
            Err(failure) => failure,
        };
        if server.started.elapsed() > PATIENCE {
            return Err(format!("error: `initialize` was not answered within 20 s: {failure}").into());
        }
        pause.pause(ATTEMPT).await?;
    }
}

/// One call in flight.
struct Web {
    connection: Connection,
    caller: Caller,
    id: u64,
    step: u64,
}

impl Client for Web {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        let mut body = Vec::with_capacity(256);
        self.caller.request(self.id, &mut body)?;
        let reply = self.connection.post(body).await?;
        let answer = Answer::read(&reply.message)?.ok_or("error: no answer in the reply")?;
        if answer.id.is_none_or(|id| id.get().parse() != Ok(self.id)) {
            return Err(format!("error: an answer to another call than {}", self.id).into());
        }
        self.caller.check(self.id, answer.result()?)?;
        self.id += self.step;
        Ok(())
    }

    async fn give(&mut self, (): ()) -> Outcome {
        Ok(())
    }
}

/// Tasks: how many calls are in flight.
pub(super) fn calls(job: &Job, spec: &Spec) -> Outcome<Tally> {
    let mut server = Server::start(spec)?;
    on_runtime(async {
        let (place, _) = first_answer(&mut server, spec).await?;
        let place = Arc::new(place);
        let mut first = Connection::open(Arc::clone(&place)).await?;
        first.post(INITIALIZED).await?;
        let tools = first.ask(TOOLS).await?;
        let mut clients = Vec::new();
        for id in 0..job.tasks as u64 {
            let connection = Connection::open(Arc::clone(&place)).await?;
            let caller = Caller::new(spec.call, &job.key, &tools)?;
            clients.push(Web { connection, caller, id, step: job.tasks as u64 });
        }
        let mut tally = run_tasks(job, clients).await?;
        tally.rss_kib = Some(server.pss_kib()?);
        Ok(tally)
    })
}

/// One start.
pub(super) fn start(job: &Job, spec: &Spec) -> Outcome<Tally> {
    Window::open(job)?;
    let mut server = Server::start(spec)?;
    let (_, answered) = on_runtime(first_answer(&mut server, spec))?;
    let mut tally = Tally { tasks: vec![1], ..Tally::default() };
    tally.times.record(answered);
    Ok(tally)
}
