//! Every engine that is tried, started privately behind fault proxies.

use std::ops::Deref;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use stanchion_testkit::engines::{Consul, Dynalite, Etcd, MariaDb, Nats, Postgres, Redis, Server, Skip, ZooKeeper};
use stanchion_testkit::{FaultProxy, Protocol};

use super::orders::Protected;

/// The nodes of a Redlock.
const NODES: usize = 5;

type Starting<'a> = Pin<Box<dyn Future<Output = Result<Ground, Skip>> + Send + 'a>>;

/// One engine, as it is tried.
#[derive(Debug)]
pub struct Engine {
    pub name: &'static str,
    pub(super) start: for<'a> fn(&'a Path) -> Starting<'a>,
}

/// Every engine. To add one: write how it is started, add the line.
pub const ENGINES: &[Engine] = &[
    Engine { name: "file", start: |folder| Box::pin(async { Ok(files(folder)) }) },
    Engine { name: "sqlite", start: |folder| Box::pin(async { Ok(sqlite(folder, "")) }) },
    Engine { name: "sqlite-lease", start: |folder| Box::pin(async { Ok(sqlite(folder, "?locks=lease")) }) },
    Engine { name: "redis", start: |_| Box::pin(redis()) },
    Engine { name: "redlock", start: |folder| Box::pin(redlock(folder)) },
    Engine { name: "postgres", start: |_| Box::pin(postgres()) },
    Engine { name: "mysql", start: |_| Box::pin(mysql()) },
    Engine { name: "etcd", start: |_| Box::pin(etcd()) },
    Engine { name: "zookeeper", start: |_| Box::pin(zookeeper()) },
    Engine { name: "consul", start: |_| Box::pin(consul()) },
    Engine { name: "nats", start: |_| Box::pin(nats()) },
    Engine { name: "dynamodb", start: |_| Box::pin(dynamodb()) },
];

/// A started engine.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) version: String,
    /// Through the proxies.
    pub(super) url: String,
    /// Past them.
    pub(super) direct: String,
    pub(super) protected: Protected,
    pub(super) machines: Vec<Machine>,
    pub(super) proxies: Vec<FaultProxy>,
    /// Whether the protocol lets a request come twice.
    pub(super) doubles: bool,
    /// Whether a server that is killed keeps what it acknowledged; else it is stopped in its own clean way.
    pub(super) survives_kills: bool,
    /// Whether a holder that stands still loses its lock.
    pub(super) leases: bool,
    pub(super) lease: Duration,
    /// A lock whose holder died is free by then.
    pub(super) takeover: Duration,
}

pub(super) enum Machine {
    /// Its clock can be moved.
    Redis(Box<Redis>),
    Other(Box<dyn Deref<Target = Server> + Send + Sync>),
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Machine").field(&self.server().port()).finish()
    }
}

impl Machine {
    pub(super) fn server(&self) -> &Server {
        match self {
            Self::Redis(redis) => redis,
            Self::Other(server) => server,
        }
    }

    pub(super) const fn has_clock(&self) -> bool {
        matches!(self, Self::Redis(_))
    }

    /// Whether it could: only some have a clock of their own.
    pub(super) fn set_clock(&self, seconds: i64) -> bool {
        if let Self::Redis(redis) = self {
            redis.set_clock(seconds);
        }
        self.has_clock()
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn files(folder: &Path) -> Ground {
    let url = format!("file:{}", folder.join("locks").display());
    Ground { version: "kernel locks".into(), protected: Protected::Files, leases: false, ..local(url) }
}

fn sqlite(folder: &Path, options: &str) -> Ground {
    let url = format!("sqlite:{}{options}", folder.join("store.db").display());
    Ground { leases: !options.is_empty(), ..local(url) }
}

fn local(url: String) -> Ground {
    Ground {
        version: "bundled".into(),
        direct: url.clone(),
        url,
        protected: Protected::Records,
        machines: Vec::new(),
        proxies: Vec::new(),
        doubles: true,
        survives_kills: true,
        leases: true,
        lease: SECOND,
        takeover: SECOND,
    }
}

/// One server behind one proxy; `url` tells where it is at some port.
async fn single<E: Deref<Target = Server> + Send + Sync + 'static>(
    server: E,
    protocol: Protocol,
    url: impl Fn(&E, u16) -> String,
) -> Ground {
    let proxy = FaultProxy::start(server.addr(), protocol).await;
    Ground {
        version: server.version().to_owned(),
        direct: url(&server, server.port()),
        ..local(url(&server, proxy.port()))
    }
    .behind(proxy, Machine::Other(Box::new(server)))
}

impl Ground {
    fn behind(mut self, proxy: FaultProxy, machine: Machine) -> Self {
        self.proxies.push(proxy);
        self.machines.push(machine);
        self
    }

    /// Where sessions are counted in seconds.
    const fn slower(mut self, lease: Duration, takeover: Duration) -> Self {
        (self.lease, self.takeover) = (lease, takeover);
        self
    }
}

async fn redis() -> Result<Ground, Skip> {
    let server = Redis::options().aof(true).own_clock().try_start().await?;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let ground = Ground { version: version(&server), direct: server.url(), ..local(server.url_at(proxy.port())) };
    Ok(ground.behind(proxy, Machine::Redis(Box::new(server))))
}

/// What a server started through the shim says of itself is the shim's word; the log has its own.
fn version(server: &Redis) -> String {
    let log = server.log();
    let after = log.split("version=").nth(1).and_then(|rest| rest.split([',', ' ']).next());
    after.unwrap_or_else(|| server.version()).to_owned()
}

async fn redlock(folder: &Path) -> Result<Ground, Skip> {
    let (mut direct, mut proxied) = (Vec::new(), Vec::new());
    let mut ground = local(String::new());
    for _ in 0..NODES {
        let server = Redis::options().aof(true).own_clock().try_start().await?;
        let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
        ground.version = format!("{NODES} x {}", version(&server));
        direct.push(format!("127.0.0.1:{}", server.port()));
        proxied.push(format!("127.0.0.1:{}", proxy.port()));
        ground = ground.behind(proxy, Machine::Redis(Box::new(server)));
    }
    // Each node keeps all it acknowledged, so a restarted one needs no quarantine.
    let url = |nodes: Vec<String>| format!("redlock://{}/?quarantine=0s", nodes.join(","));
    (ground.direct, ground.url) = (url(direct), url(proxied));
    ground.protected = Protected::Elsewhere(format!("sqlite:{}", folder.join("protected.db").display()));
    Ok(ground)
}

async fn postgres() -> Result<Ground, Skip> {
    let server = Postgres::try_start().await?;
    let url = |server: &Postgres, port| format!("{}?sslmode=disable", server.url_at(port));
    Ok(single(server, Protocol::Postgres, url).await)
}

async fn mysql() -> Result<Ground, Skip> {
    let url = |server: &MariaDb, port| format!("{}?ssl-mode=disabled", server.url_at(port));
    Ok(single(MariaDb::try_start().await?, Protocol::Mysql, url).await)
}

async fn etcd() -> Result<Ground, Skip> {
    let ground = single(Etcd::try_start().await?, Protocol::Grpc, Etcd::url_at).await;
    Ok(Ground { doubles: false, ..ground }.slower(SECOND, 5 * SECOND))
}

async fn zookeeper() -> Result<Ground, Skip> {
    let ground = single(ZooKeeper::try_start().await?, Protocol::ZooKeeper, ZooKeeper::url_at).await;
    Ok(ground.slower(SECOND, 3 * SECOND))
}

async fn consul() -> Result<Ground, Skip> {
    let url = |server: &Consul, port| format!("{}?lock_delay=0s", server.url_at(port));
    let ground = single(Consul::options().disk(true).try_start().await?, Protocol::Http, url).await;
    Ok(ground.slower(SECOND, 5 * SECOND))
}

async fn nats() -> Result<Ground, Skip> {
    // docs/record.md, 134: without our code, 2 of 150 kills of this server lost acknowledged keys.
    let ground = single(Nats::try_start().await?, Protocol::Nats, Nats::url_at).await;
    Ok(Ground { survives_kills: false, ..ground })
}

async fn dynamodb() -> Result<Ground, Skip> {
    let server = Dynalite::options().on_disk(true).try_start().await?;
    let version = format!("dynalite {} (emulator)", server.version());
    Ok(Ground { version, ..single(server, Protocol::Http, Dynalite::url_at).await })
}
