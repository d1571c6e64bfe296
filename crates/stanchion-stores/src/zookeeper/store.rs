//! What locks and records share: the plain session, the names, the clock, and the nodes that must be there.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future;
use stanchion_core::{Capability, Error, Hold, Key, Purpose, Result, Survives};
use zookeeper_client::{self as zk, CreateMode, MultiReadResult, Stat};

use super::cell::Seen;
use super::clock::Clock;
use super::fault::Fault;
use super::link::{Link, Session};
use super::names::Names;
use super::options::Options;

/// The session of records and listings. Nothing ends with it.
const PLAIN: Duration = Duration::from_secs(15);

pub(super) const CAPABILITY: Capability = Capability {
    backend: "zookeeper",
    hold: Hold::Lease,
    clock: true,
    fair: true,
    shared_between_processes: true,
    survives: Survives::PowerLoss,
    purpose: Purpose::Correctness,
    weak: None,
};

/// A node that may be missing: its data and what the server says of it.
pub(super) type Node = Option<(Vec<u8>, Stat)>;

#[derive(Debug)]
pub(super) struct Store {
    pub(super) session: Session,
    pub(super) names: Names,
    pub(super) clock: Clock,
}

impl Store {
    /// Connects, and makes the nodes that are missing.
    pub(super) async fn open(options: Arc<Options>) -> Result<Self> {
        let names = Names::new(&options.base);
        let timeout = options.timeout;
        let session = Session::new(options, PLAIN, timeout);
        let store = Self { session, names, clock: Clock::default() };
        store.prepare().await.map_err(|fault| store.error(fault, false))?;
        Ok(store)
    }

    pub(super) fn options(&self) -> &Arc<Options> {
        &self.session.options
    }

    pub(super) fn error(&self, fault: Fault, writes: bool) -> Error {
        fault.into_error(&self.options().shown, writes)
    }

    async fn prepare(&self) -> Result<(), Fault> {
        match self.tick().await {
            Err(fault) if fault.is(&zk::Error::NoNode) => self.found().await?,
            ticked => drop(ticked?),
        }
        // What is asked of the server that an old one cannot do.
        let link = self.session.link().await?;
        let nodes = self.read_all(&link, &[&self.names.epoch, &self.names.lift], false).await?;
        if nodes.iter().any(Option::is_none) {
            self.found().await?;
        }
        Ok(())
    }

    /// Makes the store's own nodes, those that are missing. Also after somebody has deleted them.
    pub(super) async fn found(&self) -> Result<(), Fault> {
        let link = self.session.link().await?;
        let options = CreateMode::Persistent.with_acls(self.options().acls());
        let ends = self.names.base.match_indices('/').map(|(at, _)| at).skip(1).chain([self.names.base.len()]);
        let parents = ends.map(|end| &self.names.base[..end]);
        let Names { locks, records, lift, epoch, clock, .. } = &self.names;
        let nodes = parents.chain([locks, records, lift, epoch, clock].map(String::as_str));
        for node in nodes {
            let data: &[u8] = if node == lift { b"0" } else { b"" };
            match self.session.ask(&link, link.client.create(node, data, &options)).await {
                Err(fault) if !fault.is(&zk::Error::NodeExists) => return Err(fault),
                _ => {}
            }
        }
        self.tick().await.map(drop)
    }

    /// The engine's time, from a write of the clock's node.
    async fn tick(&self) -> Result<u64, Fault> {
        let link = self.session.link().await?;
        let stat = self.session.ask(&link, link.client.set_data(&self.names.clock, b"", None)).await?;
        self.clock.written(stat.mtime);
        Ok(self.clock.now_ms().unwrap_or_default())
    }

    pub(super) async fn now_ms(&self) -> Result<u64> {
        match self.clock.now_ms() {
            Some(now) => Ok(now),
            // Nobody cares whether this write was done or not.
            None => self.tick().await.map_err(|fault| self.error(fault, false)),
        }
    }

    /// Reads several nodes at one moment; with `sync`, not before now.
    pub(super) async fn read_all(&self, link: &Arc<Link>, paths: &[&str], sync: bool) -> Result<Vec<Node>, Fault> {
        read_all(&self.session, link, paths, sync.then_some(&self.names.epoch)).await
    }

    /// The node of a record, asked again once on a fresh connection.
    pub(super) async fn look(&self, key: &Key, sync: bool) -> Result<Option<Seen>> {
        let path = self.names.record(key);
        // The epoch first: a server reads one after the other, and a node that was removed and made again in between must
        // not be seen with the epoch of its removal.
        let paths = [self.names.epoch.as_str(), &path];
        let mut nodes = self.try_look(&paths, sync).await;
        if let Err(Fault::Lost(_) | Fault::Expired) = nodes {
            nodes = self.try_look(&paths, sync).await;
        }
        let mut nodes = nodes.map_err(|fault| self.error(fault, false).with("key", key))?.into_iter();
        let epoch = nodes.next().flatten();
        self.seen(key, epoch, nodes.next().flatten())
    }

    async fn try_look(&self, paths: &[&str], sync: bool) -> Result<Vec<Node>, Fault> {
        let link = self.session.link().await?;
        self.read_all(&link, paths, sync).await
    }

    /// A record's node, and the epoch as it was read before that.
    pub(super) fn seen(&self, key: &Key, epoch: Node, node: Node) -> Result<Option<Seen>> {
        let Some((data, stat)) = node else { return Ok(None) };
        // Without the epoch nothing can be written; the next write makes it again.
        let epoch = epoch.map_or(-2, |(_, stat)| stat.version);
        self.clock.read(stat.mtime);
        Seen::new(data, &stat, epoch).map(Some).ok_or_else(|| self.damaged(key))
    }

    pub(super) fn damaged(&self, key: &Key) -> Error {
        Error::new(stanchion_core::ErrorKind::Damaged, "a stored node is not as we write it")
            .with("key", key)
            .with("store", &self.options().shown)
            .hint("another program has written under this path; choose another ns=")
    }
}

/// Reads several nodes at one moment; with `sync`, the server first catches up with the leader.
pub(super) async fn read_all(
    session: &Session,
    link: &Arc<Link>,
    paths: &[&str],
    sync: Option<&String>,
) -> Result<Vec<Node>, Fault> {
    let answers = {
        let mut reader = link.client.new_multi_reader();
        for path in paths {
            reader.add_get_data(path)?;
        }
        // Requests of one connection are served in their order, so both go out at once.
        let synced = sync.map(|path| link.client.sync(path));
        let synced = async {
            match synced {
                Some(synced) => synced.await,
                None => Ok(()),
            }
        };
        session.ask(link, future::try_join(synced, reader.commit())).await?.1
    };
    answers.into_iter().map(node).collect()
}

pub(super) fn node(answer: MultiReadResult) -> Result<Node, Fault> {
    match answer {
        MultiReadResult::Data { data, stat } => Ok(Some((data, stat))),
        MultiReadResult::Error { err: zk::Error::NoNode } => Ok(None),
        MultiReadResult::Error { err } => Err(err.into()),
        _ => Err(Fault::Garbled),
    }
}
