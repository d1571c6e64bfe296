//! One of the instances: started, asked, stopped, killed, started again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::RwLock;
use tokio::time::{Instant, sleep, timeout_at};

use super::process::Process;
use super::{Link, stdio};
#[cfg(feature = "http")]
use super::{http, mcp_http, without_secrets};
use crate::spec::{Kind, Target, Vars};

/// What an instance is made from, again after it was killed.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) target: Arc<Target>,
    pub(crate) vars: Vars,
    /// Hosts beside loopback that may be spoken to.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "pipes lead nowhere else"))]
    pub(crate) allow_remote: Arc<[String]>,
    /// Is told if one is killed before it has ended by itself.
    pub(crate) cut_short: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Live {
    process: Option<Process>,
    link: Arc<Link>,
}

#[derive(Debug)]
pub(crate) struct Instance {
    plan: Plan,
    /// Held for writing while it is started again: calls wait for that. `Err` is why there is none.
    live: RwLock<Result<Live, String>>,
}

impl Instance {
    /// Starts it, or connects to it.
    pub(crate) async fn start(plan: Plan) -> Result<Self, String> {
        let live = plan.start().await?;
        Ok(Self { plan, live: RwLock::new(Ok(live)) })
    }

    /// Waits while it is being started again. `Err` says why there is nobody to ask.
    pub(crate) async fn link(&self) -> Result<Arc<Link>, String> {
        self.live.read().await.as_ref().map(|live| Arc::clone(&live.link)).map_err(String::clone)
    }

    /// Nobody comes back. A server that runs on is told so, and a guard has the time to write down what it did. Any other
    /// process is killed when it is dropped: that is quicker.
    pub(crate) async fn end(&self) {
        let target = &self.plan.target;
        if target.command.is_empty() {
            if let Ok(link) = self.link().await {
                link.end().await;
            }
        } else if target.is_guarded
            && let Ok(live) = self.live.write().await.as_mut()
        {
            live.link.close();
            if let Some(process) = live.process.as_mut() {
                process.leave().await;
            }
        }
    }

    pub(crate) async fn pause(&self, time: Duration) {
        let stop = |on| async move {
            if let Some(process) = self.live.read().await.as_ref().ok().and_then(|live| live.process.as_ref()) {
                process.stop(on);
            }
        };
        stop(true).await;
        sleep(time).await;
        stop(false).await;
    }

    /// Kills it, and starts it again after a while.
    ///
    /// # If it fails
    /// It does not start any more, and whoever asks for it is told so.
    pub(crate) async fn kill(&self, away: Duration) -> Result<(), String> {
        let mut live = self.live.write().await;
        let killed = std::mem::replace(&mut *live, Err("the process was killed".into()));
        if let Ok(Live { process: Some(mut process), .. }) = killed {
            process.kill();
            process.reap().await;
        }
        sleep(away).await;
        *live = self
            .plan
            .start_again()
            .await
            .map_err(|why| format!("the process does not start again after it was killed: {why}"));
        live.as_ref().map(|_| ()).map_err(String::clone)
    }

    /// What it did that no target may: ended, or wrote something that is no message.
    pub(crate) async fn trouble(&self) -> Option<String> {
        let mut live = self.live.write().await;
        let live = live.as_mut().ok()?;
        let trouble = live.link.trouble();
        let Some(process) = live.process.as_mut() else { return trouble };
        // Its output ends a moment before the process does, and how that ended says more.
        let has_ended = trouble.is_some() || process.ended().is_some();
        let ended = if has_ended { process.ends_soon().await } else { None };
        ended.or(trouble)
    }
}

/// Free now; somebody else may take it before the target does, and then it does not start.
pub(crate) fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

impl Plan {
    /// A port that the killed process leaves is not free at once for every server: then another one is taken, because that
    /// says nothing about what was left.
    async fn start_again(&self) -> Result<Live, String> {
        match (self.start().await, free_port()) {
            (Err(_), Ok(port)) if self.target.kind.is_http() => {
                let vars = Vars { port, ..self.vars.clone() };
                Self { vars, ..self.clone() }.start().await
            }
            (again, _) => again,
        }
    }

    async fn start(&self) -> Result<Live, String> {
        let until = Instant::now() + self.target.start;
        let seconds = self.target.start.as_secs();
        let mut process = None;
        if !self.target.command.is_empty() {
            let started = Process::start(&self.target, &self.vars, &self.cut_short).map_err(|error| {
                let program = self.target.command.first().map(|word| word.fill(&self.vars)).unwrap_or_default();
                format!("{program} could not be started: {error}")
            })?;
            process = Some(started);
        }
        let connected = match self.target.kind {
            Kind::McpStdio => match process.as_mut().and_then(Process::pipes) {
                Some((to, from)) => {
                    let link = stdio::Link::new(to, from);
                    let hello = timeout_at(until, link.initialize()).await;
                    // What it said instead is the better reason.
                    let said = || link.trouble().map_or(String::new(), |trouble| format!(": {trouble}"));
                    hello
                        .unwrap_or_else(|_| Err(format!("it did not answer in {seconds} s{}", said())))
                        .map(|()| Link::Stdio(link))
                }
                None => Err("it has no pipes".into()),
            },
            #[cfg(feature = "http")]
            kind => {
                let found = timeout_at(until, self.connect(kind, &mut process)).await;
                found.unwrap_or_else(|_| Err(format!("it did not answer in {seconds} s")))
            }
            #[cfg(not(feature = "http"))]
            Kind::Http | Kind::McpHttp => Err("this build cannot speak HTTP".into()),
        };
        match connected {
            Ok(link) => Ok(Live { process, link: Arc::new(link) }),
            Err(why) => {
                let Some(mut process) = process else { return Err(why) };
                // How it ends says more.
                let ended = process.ends_soon().await;
                Err(ended.unwrap_or_else(|| format!("{why}{}", process.last_words())))
            }
        }
    }

    /// Tries until it answers; the caller sets the limit.
    #[cfg(feature = "http")]
    async fn connect(&self, kind: Kind, process: &mut Option<Process>) -> Result<Link, String> {
        let urls = &self.target.urls;
        let url = if process.is_some() { urls.first() } else { urls.get(self.vars.i) };
        let url = url.map(|url| url.fill(&self.vars)).unwrap_or_default();
        let headers =
            self.target.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.fill(&self.vars)));
        let headers: Vec<_> = headers.collect();
        loop {
            let tried = match http::Address::find(&url, &self.allow_remote).await {
                Ok(address) if kind == Kind::Http => http::Link::open(address, headers.clone()).await.map(Link::Http),
                Ok(address) => mcp_http::Link::open(address, headers.clone()).await.map(Link::McpHttp),
                Err(why) => return Err(why),
            };
            match (tried, process.as_mut()) {
                (Ok(link), _) => return Ok(link),
                (Err(http::NotYet::Wrong(why)), _) => return Err(why),
                (Err(http::NotYet::Away(why)), None) => {
                    return Err(format!("{} does not answer: {why}", without_secrets(&url)));
                }
                (Err(http::NotYet::Away(_)), Some(process)) => {
                    if let Some(ended) = process.ended() {
                        return Err(ended);
                    }
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }
}
