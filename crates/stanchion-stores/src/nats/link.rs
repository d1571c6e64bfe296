//! The connection: one for all requests, replaced when it dies.
//!
//! The library would reconnect by itself, and send then what waited meanwhile: a write could go out long after its
//! caller was told that the outcome is unknown. So each of its clients has one connection and ends with it; we make
//! the next one. A request is sent on a living connection, once; all that wait for an answer hear at once when the
//! connection ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::client::RequestErrorKind;
use async_nats::connection::State;
use async_nats::rustls::ClientConfig;
use async_nats::{Client, ConnectErrorKind, Event, HeaderMap, Message, Request, ServerError};
use bytes::Bytes;
use stanchion_core::{ErrorKind, Result};
use tokio::sync::Notify;
use tokio::time::{Duration, timeout};

use super::fault::Fault;
use super::options::Options;
use crate::connecting::Connecting;
use crate::tls::Files;

/// A connection to this port fails at once: here the library's own attempts to reconnect end.
const NOWHERE: &str = "nats://127.0.0.1:0";

/// How many refusals of the server are remembered; they only tell why a request is not answered.
const DENIALS: usize = 64;

/// A connection, and what the server said that we may not do on it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    /// Not trusted any more, although it has not ended.
    retired: AtomicBool,
    denials: Arc<Denials>,
}

#[derive(Debug, Default)]
struct Denials {
    said: Mutex<Vec<String>>,
    more: Notify,
}

impl Denials {
    fn add(&self, text: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() == DENIALS {
            said.remove(0);
        }
        said.push(text);
        drop(said);
        self.more.notify_waiters();
    }

    /// Our inbox is asked for once, so its refusal stands.
    fn of_inbox(&self, inbox: &str) -> Option<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().find(|text| text.contains("Subscription") && text.contains(inbox)).cloned()
    }

    /// One of a subject answers one request, which was not run; one of the inbox says nothing about the request.
    fn about(&self, subject: &str, inbox: &str) -> Option<Fault> {
        if let Some(text) = self.of_inbox(inbox) {
            return Some(Fault::Deaf(text));
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let at = said.iter().position(|text| text.contains("Publish") && text.contains(&format!("\"{subject}\"")))?;
        Some(Fault::Denied(said.remove(at)))
    }

    /// Ends when the server has refused this subject, or our inbox.
    async fn wait(&self, subject: &str, inbox: &str) -> Fault {
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            if let Some(fault) = self.about(subject, inbox) {
                return fault;
            }
            more.await;
        }
    }
}

impl Link {
    pub(super) fn lives(&self) -> bool {
        !self.retired.load(Ordering::Acquire) && self.client.connection_state() == State::Connected
    }
}

/// The servers, and the connection to one of them if there is one.
pub(super) struct Hub {
    pub(super) options: Options,
    tls: Option<ClientConfig>,
    current: Mutex<Option<Arc<Link>>>,
    connecting: Connecting<Fault>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hub({})", self.options.shown)
    }
}

impl Hub {
    pub(super) fn new(options: Options) -> Result<Self> {
        let tls = options.tls.as_ref().map(Files::config).transpose()?;
        options.connect()?;
        Ok(Self { options, tls, current: Mutex::default(), connecting: Connecting::default() })
    }

    /// Sends a request that changes something: once, whatever happens.
    pub(super) async fn write(&self, subject: &str, headers: HeaderMap, payload: Bytes) -> Result<Message, Fault> {
        let link = self.link().await?;
        self.send(&link, subject, Some(headers), payload).await
    }

    /// Sends a request that changes nothing; once more if the connection broke.
    pub(super) async fn read(&self, subject: &str, payload: Bytes) -> Result<Message, Fault> {
        let link = self.link().await?;
        match self.send(&link, subject, None, payload.clone()).await {
            Err(Fault::Cut) => {
                let link = self.link().await?;
                self.send(&link, subject, None, payload).await
            }
            answer => answer,
        }
    }

    pub(super) async fn send(
        &self,
        link: &Arc<Link>,
        subject: &str,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, Fault> {
        let request = Request { headers, ..Request::new().payload(payload).timeout(Some(self.options.timeout)) };
        let inbox = self.options.inbox.as_deref().unwrap_or("_INBOX");
        // Known before anything is sent.
        if let Some(text) = link.denials.of_inbox(inbox) {
            return Err(Fault::Denied(text));
        }
        let answer = tokio::select! {
            biased;
            answer = link.client.send_request(subject.to_owned(), request) => answer,
            fault = link.denials.wait(subject, inbox) => return Err(fault),
        };
        answer.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => Fault::Nobody,
            RequestErrorKind::MaxPayloadExceeded => Fault::NotSent(ErrorKind::Invalid, error.to_string()),
            RequestErrorKind::InvalidSubject => Fault::NotSent(ErrorKind::Unexpected, error.to_string()),
            RequestErrorKind::TimedOut => {
                self.retire(link);
                Fault::Silent
            }
            RequestErrorKind::Other => {
                self.retire(link);
                Fault::Cut
            }
        })
    }

    /// After a lost answer the connection is not trusted again: a half-dead one would swallow every
    /// request until the kernel gives up on it, minutes later.
    pub(super) fn retire(&self, link: &Arc<Link>) {
        link.retired.store(true, Ordering::Release);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|now| Arc::ptr_eq(now, link)) {
            *current = None;
        }
    }

    fn living(&self) -> Option<Arc<Link>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|link| link.lives()).cloned()
    }

    pub(super) async fn link(&self) -> Result<Arc<Link>, Fault> {
        // Boxed, or every request would carry the room for connecting.
        let connect = || async {
            let link = Arc::new(Box::pin(self.connect()).await?);
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&link));
            Ok(link)
        };
        self.connecting.link(|| self.living(), connect).await
    }

    /// To the first server that takes us, in the order of the URL. One that refuses us ends the search.
    async fn connect(&self) -> Result<Link, Fault> {
        let unreachable = |why: String| Fault::NotSent(ErrorKind::Unavailable, why);
        let mut fault = unreachable("no server is given".to_owned());
        for server in &self.options.servers {
            match timeout(self.options.connect_timeout, self.connect_to(&server.to_string())).await {
                Ok(Ok(link)) => return Ok(link),
                Ok(Err(denied @ Fault::NotSent(ErrorKind::Denied, _))) => return Err(denied),
                Ok(Err(other)) => fault = other,
                Err(_) => fault = unreachable(format!("{server}: no answer in time")),
            }
        }
        Err(fault)
    }

    async fn connect_to(&self, server: &str) -> Result<Link, Fault> {
        let denials = Arc::new(Denials::default());
        let heard = Arc::clone(&denials);
        let options = self.options.connect().map_err(|e| Fault::NotSent(e.kind(), e.to_string()))?;
        let mut options = options
            .name("stanchion")
            .ignore_discovered_servers()
            .max_reconnects(1)
            .ping_interval(Duration::from_secs(10))
            .connection_timeout(self.options.connect_timeout)
            .request_timeout(Some(self.options.timeout))
            .require_tls(self.tls.is_some())
            .event_callback(move |event| {
                if let Event::ServerError(ServerError::Other(text)) = event {
                    heard.add(text);
                }
                std::future::ready(())
            });
        if let Some(tls) = &self.tls {
            options = options.tls_client_config(tls.clone());
        }
        if let Some(inbox) = &self.options.inbox {
            options = options.custom_inbox_prefix(inbox);
        }
        let client = options.connect(format!("nats://{server}")).await.map_err(|error| {
            let kind = match error.kind() {
                ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => ErrorKind::Denied,
                _ => ErrorKind::Unavailable,
            };
            Fault::NotSent(kind, format!("{server}: {error}"))
        })?;
        client.set_server_pool(NOWHERE).await.map_err(|_| Fault::NotSent(ErrorKind::Unavailable, server.to_owned()))?;
        Ok(Link { client, retired: AtomicBool::new(false), denials })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Denials {
        let denials = Denials::default();
        denials.add(text.to_owned());
        denials
    }

    /// The server takes a request although it does not take our inbox, so a write may be stored.
    #[test]
    fn a_refused_inbox_says_nothing_about_a_write() {
        let denials = said("Permissions Violation for Subscription to \"_INBOX.abc.*\"");
        for _ in 0..2 {
            let fault = denials.about("$KV.b.u.a", "_INBOX").unwrap();
            assert_eq!(fault.clone().into_error("s", true).kind(), ErrorKind::OutcomeUnknown);
            assert_eq!(fault.into_error("s", false).kind(), ErrorKind::Denied);
        }
    }

    #[test]
    fn a_refused_subject_answers_one_request_which_was_not_run() {
        let denials = said("Permissions Violation for Publish to \"$KV.b.u.a\"");
        assert!(denials.about("$KV.b.u.b", "_INBOX").is_none());
        let fault = denials.about("$KV.b.u.a", "_INBOX").unwrap();
        assert_eq!(fault.into_error("s", true).kind(), ErrorKind::Denied);
        assert!(denials.about("$KV.b.u.a", "_INBOX").is_none());
    }
}
