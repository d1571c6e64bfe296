//! Where the server is and how to talk to it, from the store's URL.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use mysql_async::{Conn, DriverError, Opts, OptsBuilder, SslOpts};
use stanchion_core::{Error, ErrorKind, Result};
use tokio::time::timeout;

use super::error::connecting;
use crate::StoreUrl;
use crate::address::{Address, timeouts};
use crate::url::percent_decode;

/// What every connection of ours is set to: times in UTC, each statement a transaction of its own that sees what is
/// committed, strict values, `\` as the escape character, and no statement that waits long for a row.
fn setup(timeout: Duration) -> String {
    // Less than our own patience: the server then says that nothing ran, and we do not have to guess.
    let seconds = (timeout.as_secs() / 2).clamp(1, 50);
    format!(
        "SET time_zone = '+00:00', autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
         innodb_lock_wait_timeout = {seconds}, tx_isolation = 'READ-COMMITTED'"
    )
}

/// One server, with everything needed to connect. Holds the password.
#[derive(Clone)]
pub(crate) struct Target {
    opts: Opts,
    /// `ssl-mode=preferred`: without TLS where the server has none.
    plain: Option<Opts>,
    pub(crate) timeout: Duration,
    connect_timeout: Duration,
    /// `host:port`, for errors.
    pub(crate) shown: String,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why)
        .hint("write mysql://user:password@host:port/database; escape special characters as %40")
}

impl Target {
    /// Takes the connection's options out of `url`.
    pub(crate) fn take(url: &mut StoreUrl) -> Result<Self> {
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's host is missing"))?.to_owned();
        let (user_info, place) = rest.rsplit_once('@').unwrap_or(("", &rest));
        let (address, database) = place.split_once('/').unwrap_or((place, ""));
        let Address { host, port } = Address::parse(&percent_decode(address), 3306)?;
        let database = percent_decode(database);
        if database.is_empty() || database.contains('/') {
            return Err(invalid("the store's database is missing"));
        }
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        let socket = url.take("socket");
        let second = Duration::from_secs(1);
        let [timeout, connect_timeout] = timeouts(url)?;
        let shown = socket.clone().unwrap_or_else(|| format!("{host}:{port}"));
        let base = OptsBuilder::default()
            .ip_or_hostname(host)
            .tcp_port(port)
            .user((!user.is_empty()).then(|| percent_decode(user)))
            .pass((!password.is_empty()).then(|| percent_decode(password)))
            .db_name(Some(database))
            .socket(socket.clone())
            // Left to itself the library changes over to the socket of a server that seems to be near.
            .prefer_socket(false)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(15 * second))
            // Rows that a condition found, not rows that came out different.
            .client_found_rows(true)
            .stmt_cache_size(0)
            .wait_timeout(Some(28_800));
        let mode = url.take_choice("ssl-mode", &["preferred", "disabled", "required", "verify_identity"])?;
        let ca = url.take("ssl-ca").map(PathBuf::from);
        let tls = tls(mode, ca)?;
        let preferred = mode == "preferred" && tls.is_some();
        let plain = preferred.then(|| Opts::from(base.clone()));
        Ok(Self { opts: base.ssl_opts(tls).into(), plain, timeout, connect_timeout, shown })
    }

    /// A new connection, with our settings.
    pub(crate) async fn connect(&self) -> Result<Conn> {
        let connected = timeout(self.connect_timeout, self.open()).await.map_err(|_| {
            Error::new(ErrorKind::Unavailable, "the database did not answer in time")
                .with("host", &self.shown)
                .with("connect_timeout", stanchion_core::text::duration(self.connect_timeout))
                .hint("is the server running, and are host and port right?")
        })?;
        connected.map_err(|e| connecting(e, &self.shown))
    }

    async fn open(&self) -> mysql_async::Result<Conn> {
        use mysql_async::prelude::Queryable as _;
        let mut conn = match (Conn::new(self.opts.clone()).await, &self.plain) {
            (Err(mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer)), Some(plain)) => {
                Conn::new(plain.clone()).await?
            }
            (connected, _) => connected?,
        };
        let setup = setup(self.timeout);
        match conn.query_drop(&setup).await {
            // MySQL 8 knows the isolation by its longer name alone.
            Err(mysql_async::Error::Server(e)) if e.code == 1193 => {
                conn.query_drop(setup.replace("tx_isolation", "transaction_isolation")).await?;
            }
            done => done?,
        }
        Ok(conn)
    }
}

/// `None`: no TLS.
fn tls(mode: &str, ca: Option<PathBuf>) -> Result<Option<SslOpts>> {
    if mode == "disabled" {
        return match ca {
            Some(_) => Err(invalid("ssl-ca= needs ssl-mode=required or verify_identity")),
            None => Ok(None),
        };
    }
    if let Some(path) = &ca
        && let Err(e) = std::fs::metadata(path)
    {
        return Err(Error::new(ErrorKind::Invalid, "the root certificates cannot be read")
            .with("ssl-ca", path.display())
            .because(e));
    }
    // As the database's own clients have it: `preferred` and `required` encrypt without asking who answers, unless an
    // authority is named. Then the certificate has to name the host, too: an authority may vouch for many.
    let named = ca.is_some();
    let trusting = !named && mode != "verify_identity";
    let opts = SslOpts::default()
        .with_root_certs(ca.map(|path| path.into()).into_iter().collect())
        .with_disable_built_in_roots(named)
        .with_danger_accept_invalid_certs(trusting);
    Ok(Some(opts))
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(text: &str) -> Result<Target> {
        Target::take(&mut StoreUrl::parse(text)?)
    }

    #[test]
    fn the_url_names_host_port_database_and_login() {
        let target = take("mysql://app:p%40ss@db:7000/orders?timeout=2s").unwrap();
        assert_eq!((target.opts.ip_or_hostname(), target.opts.tcp_port()), ("db", 7000));
        assert_eq!((target.opts.user(), target.opts.pass()), (Some("app"), Some("p@ss")));
        assert_eq!((target.opts.db_name(), target.timeout.as_secs()), (Some("orders"), 2));
        assert!(!format!("{target:?}").contains("p@ss"));
        assert_eq!(take("mysql://[::1]/x").unwrap().shown, "::1:3306");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in ["mysql:", "mysql://", "mysql://h", "mysql://h/", "mysql://h:x/d", "mysql://h/d?timeout=0s"] {
            assert_eq!(take(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
        assert!(take("mysql://h/d?ssl-mode=disabled&ssl-ca=/x").is_err());
    }
}
