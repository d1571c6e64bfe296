//! ZooKeeper.

use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::locate::{self, Program, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;

/// A private ZooKeeper server with short ticks, so that sessions may be short. Without options nothing is forced to
/// disk; a killed server still finds what it had written.
///
/// ```
/// use stanchion_testkit::{engines::ZooKeeper, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let zookeeper = start_or_skip!(ZooKeeper);
/// assert_eq!(zookeeper.url(), format!("zookeeper://127.0.0.1:{}", zookeeper.port()));
/// # }
/// ```
#[derive(Debug)]
pub struct ZooKeeper {
    server: Server,
}

/// How to start a ZooKeeper server.
///
/// ```
/// # use stanchion_testkit::engines::ZooKeeper;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = ZooKeeper::try_start().await { return skip.report(); }
/// let zookeeper = ZooKeeper::options().line("maxClientCnxns=10").start().await;
/// assert!(zookeeper.pid().is_some());
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct ZooKeeperOptions {
    fsync: bool,
    lines: String,
    /// Its number in an ensemble.
    id: Option<usize>,
}

/// What a server needs at run time, so that a start reads as few files as possible.
const JARS: [&str; 14] = [
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-nop",
    "netty-common",
    "netty-buffer",
    "netty-handler",
    "netty-transport",
    "netty-transport-native-epoll",
    "metrics-core",
    "snappy-java",
    "commons-cli",
    "commons-io",
    "findbugs-annotations",
];

/// A start costs 0.35 s of processor time with these, 0.5 s without; the log is not made 64 MB long in advance.
const JAVA: &str = "-Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx64m -XX:-UsePerfData \
                    -Dzookeeper.preAllocSize=64";

impl ZooKeeperOptions {
    /// Forces every write to disk before it is answered.
    ///
    /// ```
    /// # use stanchion_testkit::engines::ZooKeeper;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = ZooKeeper::try_start().await { return skip.report(); }
    /// let zookeeper = ZooKeeper::options().fsync(true).start().await;
    /// assert!(zookeeper.pid().is_some());
    /// # }
    /// ```
    pub fn fsync(mut self, on: bool) -> Self {
        self.fsync = on;
        self
    }

    /// Adds a line to `zoo.cfg`; a later line wins over ours.
    ///
    /// ```
    /// # use stanchion_testkit::engines::ZooKeeper;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = ZooKeeper::try_start().await { return skip.report(); }
    /// let zookeeper = ZooKeeper::options().line("tickTime=200").start().await;
    /// assert!(zookeeper.pid().is_some());
    /// # }
    /// ```
    pub fn line(mut self, line: impl AsRef<str>) -> Self {
        self.lines.push_str(line.as_ref());
        self.lines.push('\n');
        self
    }

    /// Starts ZooKeeper with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::ZooKeeper;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = ZooKeeper::try_start().await { return skip.report(); }
    /// let zookeeper = ZooKeeper::options().start().await;
    /// assert!(zookeeper.version().starts_with("3."));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> ZooKeeper {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts ZooKeeper with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::ZooKeeper;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match ZooKeeper::options().try_start().await {
    ///     Ok(zookeeper) => assert!(zookeeper.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<ZooKeeper, Skip> {
        let (script, java) = (locate::find("zookeeper", "zkServer.sh")?, locate::find("zookeeper", "java")?);
        let (port, dir) = (Port::reserve(), private_dir("zookeeper", None));
        let config = format!(
            "tickTime=100\ndataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n\
             4lw.commands.whitelist=*\nmaxClientCnxns=0\nmaxSessionTimeout=3600000\nforceSync={}\n{}",
            dir.path().join("data").display(),
            port.number(),
            if self.fsync { "yes" } else { "no" },
            self.lines,
        );
        fs::write(dir.path().join("zoo.cfg"), config).unwrap_or_else(|e| panic!("zoo.cfg: {e}"));
        if let Some(id) = self.id {
            let data = dir.path().join("data");
            let written = fs::create_dir(&data).and_then(|()| fs::write(data.join("myid"), id.to_string()));
            written.unwrap_or_else(|e| panic!("myid: {e}"));
        }
        let program = launcher(dir.path(), &script, &java);
        let args = vec![OsString::from("zoo.cfg")];
        let spec = Spec { engine: "zookeeper", program, args, user: None, stop: Signal::TERM, probe: Probe::ZooKeeper };
        Ok(ZooKeeper { server: Server::start(spec, dir, port).await })
    }
}

/// A program that tells its version without a virtual machine, and becomes the server otherwise.
fn launcher(dir: &Path, script: &Program, java: &Program) -> Program {
    let own = script.path.parent().map(|bin| bin.join("../../java")).unwrap_or_default();
    let jar = |folder: &Path, name: &str| Some(folder.join(format!("{name}.jar"))).filter(|path| path.is_file());
    let find = |name: &&str| jar(&own, name).or_else(|| jar(Path::new("/usr/share/java"), name));
    let jars: Vec<String> = JARS.iter().filter_map(find).map(|path| path.display().to_string()).collect();
    let versioned = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("zookeeper-3.").map(str::to_owned);
    let names = fs::read_dir(&own).into_iter().flatten().flatten().map(|entry| entry.path());
    let version = names.filter_map(|path| versioned(&path)).next().unwrap_or_default();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'zookeeper 3.{}'; exit; }}\n\
         exec '{}' {JAVA} -cp '{}' org.apache.zookeeper.server.quorum.QuorumPeerMain \"$@\"\n",
        version.trim_end_matches(".jar"),
        java.path.display(),
        jars.join(":"),
    );
    let path = dir.join("zookeeper");
    let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
    written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Program { path, libraries: java.libraries.clone() }
}

starts!(ZooKeeper, ZooKeeperOptions, "Starts a server with default options.");

impl ZooKeeper {
    /// The URL of this server.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::ZooKeeper, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let zookeeper = start_or_skip!(ZooKeeper);
    /// assert!(zookeeper.url().starts_with("zookeeper://127.0.0.1:"));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::ZooKeeper, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let zookeeper = start_or_skip!(ZooKeeper);
    /// assert_eq!(zookeeper.url_at(7), "zookeeper://127.0.0.1:7");
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        format!("zookeeper://127.0.0.1:{port}")
    }
}

impl Deref for ZooKeeper {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Shareable for ZooKeeper {
    const NAME: &'static str = "zookeeper";

    async fn start_to_share() -> Result<ZooKeeper, Skip> {
        ZooKeeper::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> ZooKeeper {
        ZooKeeper { server }
    }
}

/// Three private servers that elect a leader.
///
/// ```
/// use stanchion_testkit::{engines::ZooKeeperEnsemble, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ensemble = start_or_skip!(ZooKeeperEnsemble);
/// assert!(ensemble.leader().await.is_some());
/// # }
/// ```
#[derive(Debug)]
pub struct ZooKeeperEnsemble {
    servers: [ZooKeeper; 3],
    _between: Vec<Port>,
}

impl ZooKeeperEnsemble {
    /// Starts the three and waits until they serve, or says why they cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::ZooKeeperEnsemble;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match ZooKeeperEnsemble::try_start().await {
    ///     Ok(ensemble) => assert_eq!(ensemble.servers().len(), 3),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the servers could exist here but do not, or do not become ready.
    pub async fn try_start() -> Result<ZooKeeperEnsemble, Skip> {
        let between: Vec<Port> = (0..6).map(|_| Port::reserve()).collect();
        let mut lines = "initLimit=100\nsyncLimit=20\n".to_owned();
        for (at, pair) in between.chunks(2).enumerate() {
            lines += &format!("server.{}=127.0.0.1:{}:{}\n", at + 1, pair[0].number(), pair[1].number());
        }
        let member = |id| ZooKeeperOptions { id: Some(id), lines: lines.clone(), ..ZooKeeper::options() }.try_start();
        // None is ready before a second one is there.
        let (a, b, c) = tokio::join!(member(1), member(2), member(3));
        Ok(ZooKeeperEnsemble { servers: [a?, b?, c?], _between: between })
    }

    /// The servers.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::ZooKeeperEnsemble, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let ensemble = start_or_skip!(ZooKeeperEnsemble);
    /// assert!(ensemble.servers().iter().all(|server| server.pid().is_some()));
    /// # }
    /// ```
    pub fn servers(&self) -> &[ZooKeeper; 3] {
        &self.servers
    }

    /// The server that leads just now.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::ZooKeeperEnsemble, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let ensemble = start_or_skip!(ZooKeeperEnsemble);
    /// assert!(ensemble.leader().await.is_some());
    /// # }
    /// ```
    pub async fn leader(&self) -> Option<&ZooKeeper> {
        for server in &self.servers {
            if super::probe::srvr(server.port()).await.is_ok_and(|text| text.contains("Mode: leader")) {
                return Some(server);
            }
        }
        None
    }

    /// The URL that names all three.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::ZooKeeperEnsemble, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let ensemble = start_or_skip!(ZooKeeperEnsemble);
    /// assert_eq!(ensemble.url().matches("127.0.0.1").count(), 3);
    /// # }
    /// ```
    pub fn url(&self) -> String {
        let servers: Vec<String> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        format!("zookeeper://{}", servers.join(","))
    }
}
