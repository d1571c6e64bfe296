//! hyper without a lock library: `acquire` and `release` of a key under a session, and a hop over a blocking query.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::address;
use super::hop::{Player, play};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

#[derive(Clone)]
struct Agent {
    pool: Pool<HttpConnector, Full<Bytes>>,
    base: String,
}

impl Agent {
    fn new(job: &Job) -> Outcome<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let pool = Pool::builder(TokioExecutor::new()).build(connector);
        Ok(Self { pool, base: format!("http://{}/v1", address(job)?) })
    }

    /// The body, and the index of the answer.
    async fn ask(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Outcome<(Bytes, u64)> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let answer = self.pool.request(request.body(Full::new(body.into()))?).await?;
        let index = answer.headers().get("x-consul-index").and_then(|text| text.to_str().ok()?.parse().ok());
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status.is_success() { Ok((body, index.unwrap_or(0))) } else { Err(format!("{path}: {status}").into()) }
    }

    async fn put(&self, path: &str, body: impl Into<Bytes>) -> Outcome {
        match self.ask(Method::PUT, path, body).await?.0.trim_ascii() {
            b"true" => Ok(()),
            other => Err(format!("{path}: {}", String::from_utf8_lossy(other)).into()),
        }
    }
}

struct Pair {
    agent: Agent,
    acquire: String,
    release: String,
}

impl Client for Pair {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.agent.put(&self.acquire, "owner").await
    }

    async fn give(&mut self, (): ()) -> Outcome {
        self.agent.put(&self.release, "").await
    }
}

pub(super) fn pair(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let agent = Agent::new(job)?;
        let (made, _) = agent.ask(Method::PUT, "/session/create", r#"{"TTL": "60s", "LockDelay": "0s"}"#).await?;
        let made: serde_json::Value = serde_json::from_slice(&made)?;
        let session = made["ID"].as_str().ok_or("no session")?;
        let client = |task| {
            let path = |verb: &str| format!("/kv/bench/{}?{verb}={session}", job.key_of(task));
            Pair { agent: agent.clone(), acquire: path("acquire"), release: path("release") }
        };
        run_tasks(job, (0..job.tasks).map(client).collect()).await
    })
}

struct Hop {
    agent: Agent,
    index: u64,
    ear: String,
    other: String,
    key: String,
    calls: u64,
}

impl Player for Hop {
    async fn call(&mut self) -> Outcome {
        // Writing what stands there already wakes nobody.
        self.calls += 1;
        self.agent.put(&self.other, self.calls.to_string()).await
    }

    async fn hear(&mut self) -> Outcome {
        let path = format!("{}?wait=60s&index={}", self.ear, self.index);
        self.index = self.agent.ask(Method::GET, &path, "").await?.1;
        Ok(())
    }

    async fn write(&mut self) -> Outcome {
        self.agent.put(&self.key, self.calls.to_string()).await
    }
}

pub(super) fn hop(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let agent = Agent::new(job)?;
        let [ear, other] = [job.process, 1 - job.process].map(|process| format!("/kv/{}-ear-{process}", job.key));
        agent.put(&ear, "").await?;
        let index = agent.ask(Method::GET, &ear, "").await?.1;
        play(job, Hop { agent, index, ear, other, key: format!("/kv/{}", job.key), calls: 0 }).await
    })
}
