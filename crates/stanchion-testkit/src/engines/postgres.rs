//! PostgreSQL: `initdb` runs once into a template, every server gets a copy.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::locate::{self, Program, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;
use super::template::{copy_tree, template};
use super::user::unprivileged;

/// Part of the template's name; raise it with every change to what [`install`] does.
const RECIPE: u32 = 1;

/// One role needs its password, so that a wrong one can be tried; everybody else is trusted.
const ACCESS: &str = "local all all trust
host all secret_user 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
";

const SETTINGS: &[&str] =
    &["listen_addresses=127.0.0.1", "max_connections=200", "shared_buffers=16MB", "logging_collector=off"];

/// A private PostgreSQL server. User `postgres` needs no password; role `secret_user` needs `secret`.
///
/// ```
/// use stanchion_testkit::{engines::Postgres, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let postgres = start_or_skip!(Postgres);
/// let (client, connection) = tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls).await.unwrap();
/// # tokio::spawn(connection);
/// assert!(client.batch_execute("SELECT 1").await.is_ok());
/// # }
/// ```
#[derive(Debug)]
pub struct Postgres {
    server: Server,
}

/// How to start a PostgreSQL server.
///
/// ```
/// # use stanchion_testkit::engines::Postgres;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = Postgres::try_start().await { return skip.report(); }
/// let postgres = Postgres::options().setting("log_statement=all").start().await;
/// # assert!(postgres.port() > 0);
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct PostgresOptions {
    settings: Vec<String>,
    fsync: bool,
}

impl PostgresOptions {
    /// Adds a setting, `name=value`.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Postgres;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Postgres::try_start().await { return skip.report(); }
    /// let postgres = Postgres::options().setting("log_statement=all").start().await;
    /// let (client, connection) = tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls).await.unwrap();
    /// # tokio::spawn(connection);
    /// let row = client.query_one("SHOW log_statement", &[]).await.unwrap();
    /// assert_eq!(row.get::<_, String>(0), "all");
    /// # }
    /// ```
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Waits for the disk at every commit. Off by default: it matters for power loss only, not for a kill.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Postgres;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Postgres::try_start().await { return skip.report(); }
    /// let postgres = Postgres::options().fsync(true).start().await;
    /// let (client, connection) = tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls).await.unwrap();
    /// # tokio::spawn(connection);
    /// let row = client.query_one("SHOW fsync", &[]).await.unwrap();
    /// assert_eq!(row.get::<_, String>(0), "on");
    /// # }
    /// ```
    pub fn fsync(mut self, on: bool) -> Self {
        self.fsync = on;
        self
    }

    /// Starts PostgreSQL with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Postgres;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Postgres::try_start().await { return skip.report(); }
    /// let postgres = Postgres::options().setting("max_connections=20").start().await;
    /// assert!(postgres.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> Postgres {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts PostgreSQL with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Postgres;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Postgres::options().setting("max_connections=20").try_start().await {
    ///     Ok(postgres) => assert!(postgres.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<Postgres, Skip> {
        let program = locate::find("postgres", "postgres")?;
        let port = Port::reserve();
        let user = unprivileged();
        let dir = private_dir("pg", user);
        let made = template("pg", RECIPE, &program, |work, user| install(&program, work, user));
        copy_tree(&made, &dir.path().join("data"), user);
        let fsync = if self.fsync { "fsync=on" } else { "fsync=off" };
        let number = format!("port={}", port.number());
        let mut args: Vec<OsString> = ["-D", "data"].map(OsString::from).into();
        let settings = SETTINGS.iter().copied().chain([fsync, &number]).chain(self.settings.iter().map(String::as_str));
        args.extend(settings.flat_map(|setting| ["-c", setting]).map(OsString::from));
        // The socket folder must not depend on the working folder, which PostgreSQL changes to its data.
        args.extend(["-c".into(), OsString::from(format!("unix_socket_directories={}", dir.path().display()))]);
        let spec = Spec { engine: "postgres", program, args, user, stop: Signal::INT, probe: Probe::Postgres };
        Ok(Postgres { server: Server::start(spec, dir, port).await })
    }
}

starts!(Postgres, PostgresOptions, "Starts a server with one empty database, `postgres`.");

impl Postgres {
    /// The URL for user `postgres`, who needs no password.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Postgres, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let postgres = start_or_skip!(Postgres);
    /// assert_eq!(postgres.url(), format!("postgres://postgres@127.0.0.1:{}/postgres", postgres.port()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Postgres, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let postgres = start_or_skip!(Postgres);
    /// assert_eq!(postgres.url_at(4321), "postgres://postgres@127.0.0.1:4321/postgres");
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    }

    /// The URL for role `secret_user` with `password`; only `secret` is right.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Postgres, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let postgres = start_or_skip!(Postgres);
    /// for (password, right) in [("secret", true), ("wrong", false)] {
    ///     let url = postgres.url_with_password(password);
    ///     assert_eq!(tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok(), right);
    /// }
    /// # }
    /// ```
    pub fn url_with_password(&self, password: &str) -> String {
        format!("postgres://secret_user:{password}@127.0.0.1:{}/postgres", self.port())
    }
}

impl Deref for Postgres {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Shareable for Postgres {
    const NAME: &'static str = "postgres";

    async fn start_to_share() -> Result<Postgres, Skip> {
        Postgres::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> Postgres {
        Postgres { server }
    }
}

/// Fills the template's folder.
fn install(postgres: &Program, work: &Path, user: Option<u32>) {
    let data = work.join("data");
    let mut initdb = postgres.sibling("initdb").command(user);
    initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1", "-D"]);
    run(initdb.arg(&data), "");
    // With -j a statement ends at an empty line.
    let mut single = postgres.command(user);
    single.args(["--single", "-j", "-D"]).arg(&data).arg("postgres");
    run(&mut single, "CREATE ROLE secret_user LOGIN PASSWORD 'secret';\n\n");
    fs::write(data.join("pg_hba.conf"), ACCESS).expect("initdb made this folder");
}

fn run(command: &mut Command, input: &str) {
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = command.spawn().and_then(|mut child| {
        child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()))?;
        child.wait_with_output()
    });
    let output = started.unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && !text.contains("ERROR:"), "{command:?} failed:\n{text}");
}
