//! MariaDB: `mariadb-install-db` runs once into a template, every server gets a copy.

use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::locate::{self, Program, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;
use super::template::{copy_tree, template};
use super::user::{give_to, unprivileged};

/// Part of the template's name; raise it with every change to what [`install`] does.
const RECIPE: u32 = 1;

/// Small files: a server lives for seconds, and its folder is copied.
const SIZES: [&str; 3] =
    ["--innodb-log-file-size=4M", "--innodb-data-file-path=ibdata1:1M:autoextend", "--innodb-autoextend-increment=1"];

const SETTINGS: [&str; 7] = [
    "--bind-address=127.0.0.1",
    "--max-connections=300",
    "--innodb-buffer-pool-size=16M",
    "--key-buffer-size=1M",
    "--performance-schema=OFF",
    "--skip-name-resolve",
    "--open-files-limit=1000",
];

/// One user needs a password and owns its database; one may only use what is there; `root` needs none.
const USERS: &str = "CREATE DATABASE app;
CREATE DATABASE bare;
FLUSH PRIVILEGES;
CREATE USER 'secret_user'@'127.0.0.1' IDENTIFIED BY 'secret';
GRANT ALL ON app.* TO 'secret_user'@'127.0.0.1';
CREATE USER 'reader'@'127.0.0.1' IDENTIFIED BY 'secret';
GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO 'reader'@'127.0.0.1';
";

/// A private MariaDB server. User `root` needs no password; `secret_user` needs `secret`, and so does `reader`, who may
/// create nothing. There are two empty databases, `app` and `bare`; only `root` may use the second.
///
/// ```
/// use stanchion_testkit::{engines::MariaDb, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = start_or_skip!(MariaDb);
/// assert_eq!(server.ask("SELECT 1 + 1").unwrap().trim(), "2");
/// # }
/// ```
#[derive(Debug)]
pub struct MariaDb {
    server: Server,
}

/// How to start a MariaDB server.
///
/// ```
/// # use stanchion_testkit::engines::MariaDb;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = MariaDb::try_start().await { return skip.report(); }
/// let server = MariaDb::options().setting("read-only=1").start().await;
/// assert_eq!(server.ask("SELECT @@read_only").unwrap().trim(), "1");
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct MariaDbOptions {
    settings: Vec<String>,
    fsync: bool,
}

impl MariaDbOptions {
    /// Adds a setting, `name=value`.
    ///
    /// ```
    /// # use stanchion_testkit::engines::MariaDb;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = MariaDb::try_start().await { return skip.report(); }
    /// let server = MariaDb::options().setting("max-allowed-packet=2M").start().await;
    /// assert_eq!(server.ask("SELECT @@max_allowed_packet").unwrap().trim(), "2097152");
    /// # }
    /// ```
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Forces every commit to disk. Off by default: it matters for power loss only, not for a kill.
    ///
    /// ```
    /// # use stanchion_testkit::engines::MariaDb;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = MariaDb::try_start().await { return skip.report(); }
    /// let server = MariaDb::options().fsync(true).start().await;
    /// assert_eq!(server.ask("SELECT @@innodb_flush_log_at_trx_commit").unwrap().trim(), "1");
    /// # }
    /// ```
    pub fn fsync(mut self, on: bool) -> Self {
        self.fsync = on;
        self
    }

    /// Starts MariaDB with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::MariaDb;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = MariaDb::try_start().await { return skip.report(); }
    /// let server = MariaDb::options().setting("max-connections=20").start().await;
    /// assert!(server.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> MariaDb {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts MariaDB with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::MariaDb;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match MariaDb::options().fsync(true).try_start().await {
    ///     Ok(server) => assert!(server.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<MariaDb, Skip> {
        let program = locate::find("mariadb", "mariadbd")?;
        let port = Port::reserve();
        let user = unprivileged();
        let dir = private_dir("maria", user);
        let made = template("maria", RECIPE, &program, |work, user| install(&program, work, user));
        copy_tree(&made, &dir.path().join("data"), user);
        // 2: handed to the kernel at every commit, so that the death of the server loses nothing.
        let flush = format!("--innodb-flush-log-at-trx-commit={}", if self.fsync { 1 } else { 2 });
        let mut args: Vec<OsString> = ["--no-defaults".into(), flush.into()].into();
        args.push(format!("--port={}", port.number()).into());
        // Relative paths would begin at the program's own folder.
        let places = [("--datadir=", "data"), ("--pid-file=", "pid"), ("--socket=", "s")];
        args.extend(places.map(|(name, place)| option(name, dir.path().join(place))));
        args.extend(share(&program));
        args.extend(SIZES.iter().chain(&SETTINGS).map(OsString::from));
        args.extend(self.settings.iter().map(|setting| OsString::from(format!("--{setting}"))));
        let spec = Spec { engine: "mariadb", program, args, user, stop: Signal::TERM, probe: Probe::Mysql };
        Ok(MariaDb { server: Server::start(spec, dir, port).await })
    }
}

starts!(MariaDb, MariaDbOptions, "Starts a server.");

impl MariaDb {
    /// The URL for user `root`, who needs no password, and database `app`.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::MariaDb, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(MariaDb);
    /// assert_eq!(server.url(), format!("mysql://root@127.0.0.1:{}/app", server.port()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::MariaDb, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(MariaDb);
    /// assert_eq!(server.url_at(4321), "mysql://root@127.0.0.1:4321/app");
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        format!("mysql://root@127.0.0.1:{port}/app")
    }

    /// The URL for another user of database `app`.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::MariaDb, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(MariaDb);
    /// assert!(server.url_for("secret_user", "secret").starts_with("mysql://secret_user:secret@127.0.0.1:"));
    /// # }
    /// ```
    pub fn url_for(&self, user: &str, password: &str) -> String {
        format!("mysql://{user}:{password}@127.0.0.1:{}/app", self.port())
    }

    /// The words that start the `mariadb` client program as `root` in database `app`.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::MariaDb, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(MariaDb);
    /// let words = server.client();
    /// let done = std::process::Command::new(&words[0]).args(&words[1..]).args(["--execute", "SELECT 1"]).output();
    /// assert!(done.unwrap().status.success());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When there is no such program.
    pub fn client(&self) -> Vec<OsString> {
        let mut words = locate::find("mariadb", "mariadb").unwrap_or_else(|skip| panic!("{skip}")).words();
        words.extend(["--no-defaults", "--user=root", "--host=127.0.0.1", "--database=app"].map(OsString::from));
        words.push(format!("--port={}", self.port()).into());
        words
    }

    /// Runs statements in that program; what it prints, or its complaint.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::MariaDb, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(MariaDb);
    /// assert!(server.ask("SELECT nothing").unwrap_err().contains("Unknown column"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When there is no such program.
    pub fn ask(&self, sql: &str) -> Result<String, String> {
        let words = self.client();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["--batch", "--skip-column-names", "--execute", sql]).stdin(Stdio::null());
        let output = command.output().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

impl Deref for MariaDb {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Shareable for MariaDb {
    const NAME: &'static str = "mariadb";

    async fn start_to_share() -> Result<MariaDb, Skip> {
        MariaDb::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> MariaDb {
        MariaDb { server }
    }
}

/// Messages and character sets of a server that was unpacked elsewhere than where it was built for.
fn share(server: &Program) -> Vec<OsString> {
    let usr = usr(server);
    let folder = usr.join("share/mysql");
    if !folder.is_dir() {
        return Vec::new();
    }
    vec![
        option("--basedir=", usr.clone()),
        option("--lc-messages-dir=", folder.clone()),
        option("--character-sets-dir=", folder.join("charsets")),
        option("--plugin-dir=", usr.join("lib/mysql/plugin")),
    ]
}

fn usr(server: &Program) -> PathBuf {
    server.path.parent().and_then(Path::parent).unwrap_or(Path::new("/usr")).to_owned()
}

fn option(name: &str, path: PathBuf) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Fills the template's folder.
fn install(server: &Program, work: &Path, user: Option<u32>) {
    let users = work.join("users.sql");
    fs::write(&users, USERS).expect("our own folder");
    give_to(&users, user);
    let installer = Program { path: usr(server).join("bin/mariadb-install-db"), libraries: server.libraries.clone() };
    let mut install = installer.command(user);
    install.args([
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
    ]);
    install
        .arg(option("--extra-file=", users))
        .arg(option("--basedir=", usr(server)))
        .arg(option("--datadir=", work.join("data")));
    install.args(SIZES).current_dir(work).stdin(Stdio::null());
    let output = install.output().unwrap_or_else(|e| panic!("cannot run {}: {e}", installer.path.display()));
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "mariadb-install-db failed:\n{}", String::from_utf8_lossy(&text));
}
