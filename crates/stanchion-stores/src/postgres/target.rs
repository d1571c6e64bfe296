//! Where the server is and how to talk to it, from the store's URL.

use std::fmt;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::connecting;
use super::tls::{self, Check};
use crate::StoreUrl;

/// The options every connection takes; the first line of `finish`.
pub(crate) const OPTIONS: [&str; 5] = ["timeout", "sslmode", "sslrootcert", "application_name", "host"];

/// One server (or a list of candidates), with everything needed to connect.
#[derive(Clone)]
pub(crate) struct Target {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    pub(crate) timeout: Duration,
    /// `host:port`, for errors.
    pub(crate) shown: String,
}

impl Target {
    /// Takes the connection's options out of `url`.
    pub(crate) fn take(url: &mut StoreUrl) -> Result<Self> {
        // tokio-postgres puts the offending text into its error, which may be a password.
        let mut config: Config = format!("postgres:{}", url.rest()).parse().map_err(|_| {
            Error::new(ErrorKind::Invalid, "not a PostgreSQL address")
                .hint("write postgres://user:password@host:port/database; escape special characters as %40")
        })?;
        if let Some(host) = url.take("host") {
            config.host(host);
        }
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        config.application_name(url.take("application_name").unwrap_or_else(|| "stanchion".to_owned()));
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let roots = url.take("sslrootcert");
        let mode = url.take_choice("sslmode", &["prefer", "disable", "require", "verify-ca", "verify-full"])?;
        let check = match mode {
            "verify-full" => Check::ChainAndName,
            "verify-ca" => Check::Chain,
            // As in libpq: a root certificate turns `require` into `verify-ca`.
            "require" if roots.is_some() => Check::Chain,
            _ => Check::Nothing,
        };
        config.ssl_mode(match mode {
            "disable" => SslMode::Disable,
            "prefer" => SslMode::Prefer,
            _ => SslMode::Require,
        });
        let tls = (mode != "disable").then(|| tls::connector(check, roots.as_deref())).transpose()?;
        let timeout = url.take_duration("timeout")?.unwrap_or(Duration::from_secs(5));
        if timeout.is_zero() {
            return Err(Error::new(ErrorKind::Invalid, "a timeout of zero cannot succeed").with("option", "timeout"));
        }
        // A silent network must not look like a held lock for ever.
        config
            .connect_timeout(timeout)
            .keepalives_idle(Duration::from_secs(15))
            .tcp_user_timeout(timeout.max(Duration::from_secs(10)));
        let shown = shown(&config);
        Ok(Self { config, tls, timeout, shown })
    }

    /// A new connection. Its notifications go to `hear`; it ends when the client is dropped.
    pub(crate) async fn connect(&self, hear: impl Fn(Heard) + Send + 'static) -> Result<Client> {
        let slow = || Error::new(ErrorKind::Unavailable, "PostgreSQL did not answer in time").with("host", &self.shown);
        match &self.tls {
            None => {
                let connecting_to = self.config.connect(NoTls);
                let (client, connection) = timeout(self.timeout, connecting_to)
                    .await
                    .map_err(|_| slow())?
                    .map_err(|e| connecting(e, &self.shown))?;
                tokio::spawn(drive(connection, hear));
                Ok(client)
            }
            Some(tls) => {
                let connecting_to = self.config.connect(tls.clone());
                let (client, connection) = timeout(self.timeout, connecting_to)
                    .await
                    .map_err(|_| slow())?
                    .map_err(|e| connecting(e, &self.shown))?;
                tokio::spawn(drive(connection, hear));
                Ok(client)
            }
        }
    }

    /// Stops what `client` is running. Best effort: it may have ended already.
    pub(crate) async fn cancel(&self, client: &Client) {
        let token = client.cancel_token();
        let sent = async {
            match &self.tls {
                None => token.cancel_query(NoTls).await,
                Some(tls) => token.cancel_query(tls.clone()).await,
            }
        };
        if let Ok(Err(e)) = timeout(self.timeout, sent).await {
            tracing::debug!(error = %e, host = self.shown, "a statement could not be cancelled");
        }
    }
}

/// What a connection has to tell.
#[derive(Debug)]
pub(crate) enum Heard {
    Notification(String),
    Closed,
}

async fn drive<S, T>(mut connection: tokio_postgres::Connection<S, T>, hear: impl Fn(Heard))
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    loop {
        match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            Some(Ok(AsyncMessage::Notification(note))) => hear(Heard::Notification(note.payload().to_owned())),
            Some(Ok(_)) => {}
            Some(Err(e)) => {
                tracing::debug!(error = %e, "a PostgreSQL connection broke");
                break;
            }
            None => break,
        }
    }
    // Dropped first, so that whoever hears of the end finds the client closed.
    drop(connection);
    hear(Heard::Closed);
}

fn shown(config: &Config) -> String {
    let hosts: Vec<_> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(i, host)| {
            let port = config.get_ports().get(i).or(config.get_ports().first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        })
        .collect();
    hosts.join(",")
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.shown)
    }
}
