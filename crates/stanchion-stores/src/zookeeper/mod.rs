//! `zookeeper:` — Apache ZooKeeper: leases as ephemeral nodes in a fair line, and records.
//!
//! A lock is a line of ephemeral nodes, ordered by the transaction that made each; a record is one node. What is where:
//! `names.rs`. Sessions and what is sure about them: `link.rs` and `sessions.rs`. Why no write can hit the wrong
//! incarnation of a record's node: `cell.rs` and `tidy.rs`.

mod cell;
mod clock;
mod doctor;
mod fault;
mod link;
mod locks;
mod names;
mod options;
mod queue;
mod records;
mod seats;
mod sessions;
mod store;
mod tidy;

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::Result;

use self::locks::ZooKeeperLocks;
use self::options::Options;
use self::records::ZooKeeperStore;
use self::store::Store;
use crate::{Backend, Finding, OpenOptions, Opened, StoreUrl};

pub(crate) static BACKEND: ZooKeeper = ZooKeeper;

#[derive(Debug)]
pub(crate) struct ZooKeeper;

#[async_trait]
impl Backend for ZooKeeper {
    fn schemes(&self) -> &'static [&'static str] {
        &["zookeeper", "zk"]
    }

    fn help(&self) -> &'static str {
        "zookeeper://[user:password@]host[:port][,host…][/chroot]   (ZooKeeper 3.6 or later; also zk:)
  Leases as ephemeral nodes, first come first served across processes; fences are transaction numbers. A dead holder is
  noticed when its session ends: up to 2.5 x ttl, and never before 2 ticks of the server (4 s by default). A ttl over
  about three quarters of maxSessionTimeout (31 s by default) is refused; ticks are up to 6 s. Of holders that share a
  lock, one that came earlier may get its grant, with its lower fence, after a later one. Values up to 1,000,000 bytes. Records expire by the
  leader's clock. No TLS: go through a tunnel.
  ns=NAME              everything lives under /chroot/NAME; default stanchion
  acl=open|creator     who may see the nodes: everybody, or the user of the login; default creator with a login
  timeout=5s           for the answer to a request
  connect_timeout=5s   for a new connection
  tidy=60s             how often records that are gone are cleared away"
    }

    async fn open(&self, mut url: StoreUrl, _: OpenOptions) -> Result<Opened> {
        // ZooKeeper has every write on disk before it answers, so any durability is given.
        let options = Arc::new(Options::read(&mut url)?);
        let shown = options.shown.clone();
        let store = Arc::new(Store::open(options).await?);
        let locks = Arc::new(ZooKeeperLocks::new(Arc::clone(&store)));
        let records = Arc::new(ZooKeeperStore::new(store));
        Ok(Opened { locks, records: Some(records), fused: None, shown })
    }

    async fn examine(&self, mut url: StoreUrl, _: OpenOptions) -> Result<Vec<Finding>> {
        let options = Arc::new(Options::read(&mut url)?);
        doctor::examine(&Store::open(options).await?).await
    }
}
