//! A service that does nothing but remember what it was asked to do.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::Effect;
use crate::schedule::random::Random;
use crate::spec::{Spec, UpstreamFault, ValueTemplate, Vars};

/// Larger requests are cut off.
const BODY_MAX: usize = 1 << 20;
/// Silence that is taken for the end.
const QUIET: Duration = Duration::from_millis(50);
const QUIET_CHECKS_MAX: usize = 40;
/// More are not remembered; the round says so.
const RECORDED_MAX: usize = 100_000;

#[derive(Debug)]
struct State {
    random: Random,
    effects: Vec<Effect>,
    /// Done before under the same key, as services do that take one.
    keys: BTreeSet<String>,
    has_faults: bool,
    requests: usize,
    faults: BTreeMap<&'static str, usize>,
    overflow: bool,
}

#[derive(Debug)]
struct Settings {
    spec: Spec,
    state: Mutex<State>,
}

/// Stands in for a service until it is dropped.
#[derive(Debug)]
pub(crate) struct Recorder {
    address: SocketAddr,
    settings: Arc<Settings>,
    accepting: AbortHandle,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Settings {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    pub(crate) async fn start(spec: &Spec) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = State {
            random: Random::new(0),
            effects: Vec::new(),
            keys: BTreeSet::new(),
            has_faults: false,
            requests: 0,
            faults: BTreeMap::new(),
            overflow: false,
        };
        let settings = Arc::new(Settings { spec: spec.clone(), state: Mutex::new(state) });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&settings))).abort_handle();
        Ok(Self { address, settings, accepting })
    }

    /// What `{upstream}` is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Forgets everything; from now on requests meet faults, or not.
    pub(crate) fn begin(&self, seed: u64, has_faults: bool) {
        let mut state = self.settings.lock();
        state.random = Random::new(seed ^ 0x5ec0_4de4);
        state.effects.clear();
        state.keys.clear();
        (state.has_faults, state.faults, state.overflow) = (has_faults, BTreeMap::new(), false);
    }

    /// Waits until nothing more comes: a target may ask after it has answered.
    pub(crate) async fn quiet(&self) {
        let count = || self.settings.lock().requests;
        let mut before = count();
        for _ in 0..QUIET_CHECKS_MAX {
            tokio::time::sleep(QUIET).await;
            let now = count();
            if now == before {
                return;
            }
            before = now;
        }
    }

    /// What was done since the beginning, and how many requests met which fault; `None` if there was too much to remember.
    pub(crate) fn seen(&self) -> Option<(Vec<Effect>, BTreeMap<&'static str, usize>)> {
        let state = self.settings.lock();
        (!state.overflow).then(|| (state.effects.clone(), state.faults.clone()))
    }
}

async fn accept(listener: TcpListener, settings: Arc<Settings>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Fails at once again while the process has no file descriptors left.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let settings = Arc::clone(&settings);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, Arc::clone(&settings)));
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new());
            if let Err(error) = server.serve_connection(TokioIo::new(socket), service).await {
                tracing::debug!(%error, "a connection to the recorder ended early");
            }
        });
    }
}

/// A connection is cut by an error of the service.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cut")
    }
}

impl std::error::Error for Cut {}

impl From<Infallible> for Cut {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

async fn answer(request: Request<Incoming>, settings: Arc<Settings>) -> Result<Response<Full<Bytes>>, Cut> {
    let Some(upstream) = &settings.spec.upstream else { return Err(Cut) };
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE);
    let key = request.headers().get("idempotency-key").map(|key| format!("{:?} {}", key, request.uri()));
    let mut text = format!("{} {}\n", request.method(), request.uri());
    for (name, value) in request.headers() {
        text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    let Ok(body) = Limited::new(request.into_body(), BODY_MAX).collect().await else { return Err(Cut) };
    text.push_str(&String::from_utf8_lossy(&body.to_bytes()));
    let (fault, wait) = {
        let mut state = settings.lock();
        state.requests += 1;
        let may = is_change && state.has_faults && !upstream.faults.is_empty();
        let meets = may && state.random.chance(settings.spec.faults.chance);
        let which = state.random.index(upstream.faults.len());
        let fault = upstream.faults.get(which).copied().filter(|_| meets);
        if let Some(fault) = fault {
            *state.faults.entry(fault.name()).or_default() += 1;
        }
        let (from, to) = settings.spec.faults.delay_ms;
        let wait = from + state.random.below(to - from + 1);
        let is_done = is_change && !matches!(fault, Some(UpstreamFault::Reset | UpstreamFault::Error));
        // A service that takes keys does the same key once.
        if is_done && key.is_none_or(|key| state.keys.insert(key)) {
            match state.effects.len() < RECORDED_MAX {
                true => state.effects.push(Effect { text }),
                false => state.overflow = true,
            }
        }
        (fault, wait)
    };
    let status = match fault {
        Some(UpstreamFault::LostReply | UpstreamFault::Reset) => return Err(Cut),
        Some(UpstreamFault::Error) => 503,
        Some(UpstreamFault::Delay) => {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            upstream.status
        }
        None => upstream.status,
    };
    let vars = Vars::default();
    let mut response = Response::builder().status(status);
    for (name, value) in &upstream.headers {
        response = response.header(name, value.fill(&vars));
    }
    let body = match &upstream.body {
        ValueTemplate::Text(text) => text.fill(&vars),
        other => {
            if !upstream.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
                response = response.header("content-type", "application/json");
            }
            other.fill(&vars).to_string()
        }
    };
    response.body(Full::new(Bytes::from(body))).map_err(|_| Cut)
}
