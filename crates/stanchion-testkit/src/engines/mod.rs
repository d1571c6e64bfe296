//! Private real servers for tests: each on its own loopback port, in its own temporary folder, gone with the test.
//!
//! ```
//! use stanchion_testkit::engines::Redis;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # if let Err(skip) = Redis::try_start().await { return skip.report(); }
//! let redis = Redis::start().await;
//! println!("talk to {}", redis.url());
//! redis.pause(); // the server is stopped in the middle of whatever it did
//! redis.resume();
//! redis.kill(); // SIGKILL: nothing is flushed
//! redis.restart().await; // same port, same folder
//! # }
//! ```
//!
//! A server dies with the test process however that ends, `SIGKILL` included: a small shell holds the server, and the
//! test process holds the shell's standard input. End of file means "the test is gone": kill, remove the folder, exit.
//!
//! # Where the programs come from
//! From `PATH` (and the usual system folders), else from `target/engines/root`, where `cargo xtask engines` unpacks
//! distribution packages without changing the system. `STANCHION_ENGINES` names another folder than
//! `target/engines`; `STANCHION_ENGINES_ONLY=1` ignores the system's programs.
//!
//! A missing program **fails** the test wherever `cargo xtask engines` could have brought it. It is a visible skip
//! only where it cannot exist: use [`start_or_skip!`](crate::start_or_skip).

mod clock;
mod consul;
mod dynalite;
mod etcd;
mod locate;
mod moto;
mod mysql;
mod nats;
mod pgbouncer;
mod port;
mod postgres;
mod probe;
mod redis;
mod server;
mod shared;
mod starts;
mod template;
mod user;
mod watcher;
mod zookeeper;

pub use consul::{Consul, ConsulOptions};
pub use dynalite::{Dynalite, DynaliteOptions};
pub use etcd::{Etcd, EtcdCluster, EtcdOptions};
pub use locate::Skip;
pub use moto::Moto;
pub use mysql::{MariaDb, MariaDbOptions};
pub use nats::{Nats, NatsCluster, NatsOptions};
pub use pgbouncer::{PgBouncer, PoolMode};
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{Redis, RedisOptions, Valkey};
pub use server::Server;
pub use shared::{Shareable, Shared};
pub use zookeeper::{ZooKeeper, ZooKeeperEnsemble, ZooKeeperOptions};

/// Starts an engine, or leaves the test with a visible `SKIPPED` line where the engine cannot exist.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use stanchion_testkit::{engines::Valkey, start_or_skip};
/// let valkey = start_or_skip!(Valkey);
/// # assert!(valkey.port() > 0);
/// # }
/// ```
#[macro_export]
macro_rules! start_or_skip {
    ($engine:ty) => {
        match <$engine>::try_start().await {
            Ok(server) => server,
            Err(skip) => {
                skip.report();
                return;
            }
        }
    };
}
