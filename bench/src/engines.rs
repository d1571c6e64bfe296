//! Private servers and folders, started when the first benchmark needs them and gone with this program.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use stanchion_testkit::engines::{Consul, Dynalite, Etcd, MariaDb, Nats, Postgres, Redis, Server, Skip, ZooKeeper};
use tempfile::TempDir;

use crate::Outcome;
use crate::plan::Store;

pub(crate) struct Engines {
    runtime: tokio::runtime::Runtime,
    redis: OnceCell<Result<Redis, String>>,
    postgres: OnceCell<Result<Postgres, String>>,
    mysql: OnceCell<Result<MariaDb, String>>,
    etcd: OnceCell<Result<Etcd, String>>,
    zookeeper: OnceCell<Result<ZooKeeper, String>>,
    consul: OnceCell<Result<Consul, String>>,
    nats: OnceCell<Result<Nats, String>>,
    dynamodb: OnceCell<Result<Dynalite, String>>,
    nodes: OnceCell<Result<Vec<Redis>, String>>,
    folder: TempDir,
    memory: TempDir,
}

impl Engines {
    pub(crate) fn new() -> Outcome<Self> {
        // Where files are memory, the cell costs least; where there is no such place, any folder does.
        let memory = Path::new("/dev/shm");
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            redis: OnceCell::new(),
            postgres: OnceCell::new(),
            mysql: OnceCell::new(),
            etcd: OnceCell::new(),
            zookeeper: OnceCell::new(),
            consul: OnceCell::new(),
            nats: OnceCell::new(),
            dynamodb: OnceCell::new(),
            nodes: OnceCell::new(),
            folder: tempfile::Builder::new().prefix("stanchion-bench-").tempdir()?,
            memory: if memory.is_dir() {
                TempDir::with_prefix_in("stanchion-bench-", memory)?
            } else {
                TempDir::new()?
            },
        })
    }

    /// Redis that keeps nothing on disk, or why there is none.
    pub(crate) fn redis(&self) -> Result<&Redis, String> {
        let start = || self.runtime.block_on(Redis::try_start()).map_err(|skip| skip.to_string());
        self.redis.get_or_init(start).as_ref().map_err(String::clone)
    }

    /// PostgreSQL with its own defaults for durability: every commit waits for the disk unless a session says no.
    pub(crate) fn postgres(&self) -> Result<&Postgres, String> {
        let start = || {
            let starting = Postgres::options().fsync(true).setting("shared_buffers=128MB").try_start();
            self.runtime.block_on(starting).map_err(|skip| skip.to_string())
        };
        self.postgres.get_or_init(start).as_ref().map_err(String::clone)
    }

    /// The URL of another engine, or why there is none. Those that keep data on disk force each commit to it.
    pub(crate) fn store(&self, store: Store) -> Result<String, String> {
        let url = match store {
            Store::Mysql => self.begin(&self.mysql, MariaDb::options().fsync(true).try_start())?.url(),
            Store::Etcd => self.begin(&self.etcd, Etcd::options().fsync(true).try_start())?.url(),
            Store::ZooKeeper => self.begin(&self.zookeeper, ZooKeeper::try_start())?.url(),
            Store::Consul => self.begin(&self.consul, Consul::try_start())?.url(),
            Store::Nats => self.begin(&self.nats, Nats::try_start())?.url(),
            Store::DynamoDb => self.begin(&self.dynamodb, Dynalite::try_start())?.url(),
            // The nodes have just been started, and nobody has a lock that they could have forgotten.
            Store::Redlock => self.nodes("?quarantine=0s")?,
            Store::RedlockByTime => self.nodes("?quarantine=0s&fence=time")?,
        };
        Ok(url)
    }

    fn begin<'c, E>(
        &self,
        cell: &'c OnceCell<Result<E, String>>,
        starting: impl Future<Output = Result<E, Skip>>,
    ) -> Result<&'c E, String> {
        let start = || self.runtime.block_on(starting).map_err(|skip| skip.to_string());
        cell.get_or_init(start).as_ref().map_err(String::clone)
    }

    fn nodes(&self, options: &str) -> Result<String, String> {
        let starting = async {
            let mut nodes = Vec::new();
            for _ in 0..5 {
                nodes.push(Redis::try_start().await?);
            }
            Ok(nodes)
        };
        let nodes = self.begin(&self.nodes, starting)?;
        let addresses: Vec<_> = nodes.iter().map(|node| node.addr().to_string()).collect();
        Ok(format!("redlock://{}/{options}", addresses.join(",")))
    }

    /// The servers that were started, with their versions.
    pub(crate) fn started(&self) -> Vec<String> {
        fn up<E>(cell: &OnceCell<Result<E, String>>) -> Option<&E> {
            cell.get()?.as_ref().ok()
        }
        let said = |name: &str, server: Option<&Server>, how: &str| {
            server.map(|server| format!("{name} {} ({how})", server.version()))
        };
        let nodes = up(&self.nodes).and_then(|nodes| nodes.first());
        [
            said("Redis", up(&self.redis).map(|e| &**e), "no persistence"),
            said("PostgreSQL", up(&self.postgres).map(|e| &**e), "fsync on"),
            said("MariaDB", up(&self.mysql).map(|e| &**e), "fsync on"),
            said("etcd", up(&self.etcd).map(|e| &**e), "one node, fsync on"),
            said("ZooKeeper", up(&self.zookeeper).map(|e| &**e), "one node, no fsync"),
            said("Consul", up(&self.consul).map(|e| &**e), "one server, in memory"),
            said("NATS", up(&self.nats).map(|e| &**e), "one server, file storage, its own fsync interval"),
            said("dynalite", up(&self.dynamodb).map(|e| &**e), "an emulator of DynamoDB, in memory"),
            said("5 x Redis", nodes.map(|e| &**e), "no persistence"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// A fresh folder on the disk of temporary files.
    pub(crate) fn fresh_folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A fresh cell, see [`Cell`](crate::cell::Cell).
    pub(crate) fn fresh_cell(&self) -> Outcome<PathBuf> {
        let path = self.memory.path().join("cell");
        std::fs::write(&path, [0; 8])?;
        Ok(path)
    }
}
