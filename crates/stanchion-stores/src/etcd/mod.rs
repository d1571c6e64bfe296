//! `etcd:` — etcd 3.4 or later: a line of keys for each lock, carried by a lease, and records.
//!
//! Everything is judged inside one transaction of etcd; what lies where is said in `names.rs`. Our own thin client speaks
//! gRPC over `tonic`'s channel, because the usual client needs `protoc` on every machine that builds it.

mod doctor;
mod fault;
mod heard;
mod line;
mod link;
mod locks;
mod names;
mod options;
mod place;
mod proto;
mod records;
mod session;
mod sweep;
mod txn;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{Capability, Error, ErrorKind, Hold, Purpose, Result, Survives};

use self::line::Line;
use self::link::Hub;
use self::locks::EtcdLocks;
use self::names::Names;
use self::options::Options;
use self::proto::{Nothing, Op, Status, Txn, TxnAnswer};
use self::records::{EtcdStore, TXN};
use self::watch::Watches;
use crate::{Backend, Finding, OpenOptions, Opened, StoreUrl};

pub(crate) static BACKEND: Etcd = Etcd;

const STATUS: &str = "/etcdserverpb.Maintenance/Status";
const OLDEST: (u32, u32) = (3, 4);

#[derive(Debug)]
pub(crate) struct Etcd;

#[async_trait]
impl Backend for Etcd {
    fn schemes(&self) -> &'static [&'static str] {
        &["etcd", "etcds"]
    }

    fn help(&self) -> &'static str {
        "etcd://[user:password@]host[:2379][,host…]/   (etcd 3.4 or later; etcds: with TLS)
  Leases, first come first served; what a majority has acknowledged is kept. The lock of a process that died is free
  after 1.5 times its ttl (at least 2 s), and a record may outlive its ttl by a twentieth and 3 s: etcd counts
  leases in seconds. Of holders that share a lock, one that came earlier may get its grant, with its lower fence, after
  a later one. A value takes up to 1.5 MiB, unless the server allows more.
  ns=NAME              everything lives under NAME/; default stanchion
  timeout=5s           for the answer to a call
  connect_timeout=5s   for a new connection, per host
  tls=true             the same as etcds:
  ca=PATH              trust this PEM file instead of the system's certificates
  cert=PATH&key=PATH   show this certificate"
    }

    async fn open(&self, mut url: StoreUrl, _: OpenOptions) -> Result<Opened> {
        let options = Options::read(&mut url)?;
        let hub = Arc::new(Hub::new(options)?);
        let names = Names::new(&hub.options.namespace);
        check(&hub, &names).await?;
        let watches = Arc::new(Watches::new(Arc::clone(&hub)));
        let line = Line::new(Arc::clone(&hub), Arc::clone(&watches), names.clone());
        let shown = hub.options.shown.clone();
        let locks = Arc::new(EtcdLocks::new(line, CAPABILITY));
        let records = Arc::new(EtcdStore::new(hub, watches, names, CAPABILITY));
        Ok(Opened { locks, records: Some(records), fused: None, shown })
    }

    async fn examine(&self, mut url: StoreUrl, _: OpenOptions) -> Result<Vec<Finding>> {
        let hub = Hub::new(Options::read(&mut url)?)?;
        check(&hub, &Names::new(&hub.options.namespace)).await?;
        Ok(doctor::examine(&hub, CAPABILITY).await)
    }
}

/// A write is acknowledged when a majority has forced it to disk.
const CAPABILITY: Capability = Capability {
    backend: "etcd",
    hold: Hold::Lease,
    clock: false,
    fair: true,
    shared_between_processes: true,
    survives: Survives::PowerLoss,
    purpose: Purpose::Correctness,
    weak: None,
};

/// Whether this is an etcd that we can speak to, and may.
async fn check(hub: &Hub, names: &Names) -> Result<()> {
    let fail = |fault: fault::Fault| fault.into_error(&hub.options.shown, false);
    let status: Status = hub.read(STATUS, &Nothing {}).await.map_err(fail)?;
    let mut numbers = status.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < OLDEST {
        return Err(Error::new(ErrorKind::Unsupported, "this etcd is too old")
            .with("version", status.version)
            .with("store", &hub.options.shown)
            .hint("use etcd 3.4 or later"));
    }
    let read = Txn::always(vec![Op::read(&names.lift())]);
    hub.read::<TxnAnswer>(TXN, &read).await.map_err(fail).map(drop)
}
