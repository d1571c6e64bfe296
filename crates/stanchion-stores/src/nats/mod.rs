//! `nats:` — NATS JetStream: records in a key-value bucket, and leases on them.
//!
//! A key is a subject of the bucket, and a record is the last message on it. Its version is the stream's sequence
//! number, which grows for ever. Every write says which message it replaces (`Nats-Expected-Last-Subject-Sequence`),
//! so nothing is overwritten unseen and a request that arrives twice has one effect. What is not the value travels in
//! the message's headers, so `nats kv get` shows the value itself.
//!
//! | subject | holds |
//! |---|---|
//! | `$KV.BUCKET.u.KEY` | a record of a user; [`subject`] says how a key is written |
//! | `$KV.BUCKET.o.SPACE.KEY` | a record of our own, such as a lock |
//! | `$KV.BUCKET.clock` | a message whose time tells what time it is on the server |
//!
//! Locks are `CasLock` over the records. A deleted record leaves a mark: for ever if it carries a fence, else until [`tidy`] removes it.

mod api;
mod bucket;
mod clock;
mod doctor;
mod entry;
mod fault;
mod known;
mod link;
mod options;
mod records;
mod scan;
mod subject;
mod tidy;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{CasLock, Error, ErrorKind, RecordStore, Result};

use self::api::Api;
use self::link::Hub;
use self::options::Options;
use self::records::NatsStore;
use crate::{Backend, Durability, Finding, OpenOptions, Opened, StoreUrl};

pub(crate) static BACKEND: Nats = Nats;

/// The `nats:` backend.
#[derive(Debug)]
pub(crate) struct Nats;

#[async_trait]
impl Backend for Nats {
    fn schemes(&self) -> &'static [&'static str] {
        &["nats", "natss"]
    }

    fn help(&self) -> &'static str {
        "nats://[user:password@|token@]host[:port][,host…]   (NATS 2.9 or later with JetStream; natss: with TLS)
  Leases and records in a key-value bucket, made when it is missing. A lease ends when nobody renewed it for its
  ttl, as each waiter saw it; the ttl of a record is judged by the server's clock. Not first come first served.
  Records that are over are removed in the background, those that nobody reads a few at a time.
  A kill of the server loses nothing. A crash of its machine may lose the newest writes, because NATS answers
  before it syncs to disk; with replicas>1 such a crash can also make the cluster forget, so that is weak.
  bucket=NAME          default stanchion
  replicas=1           for a bucket that is made now: 1, 3 or 5
  timeout=5s           for the answer to a request
  connect_timeout=5s   for a new connection
  creds=PATH           a credentials file, as from nsc
  domain=NAME          the JetStream domain
  inbox=PREFIX         where answers come, for accounts that may not listen on _INBOX
  ca=PATH              natss: trust this PEM file instead of the system's certificates
  cert=PATH, key=PATH  natss: show this certificate"
    }

    async fn open(&self, url: StoreUrl, open: OpenOptions) -> Result<Opened> {
        let store = connect(url, open).await?.0;
        let shown = store.shown().to_owned();
        let records: Arc<dyn RecordStore> = store;
        let locks = Arc::new(CasLock::new(Arc::clone(&records)));
        Ok(Opened { locks, records: Some(records), fused: None, shown })
    }

    async fn examine(&self, url: StoreUrl, open: OpenOptions) -> Result<Vec<Finding>> {
        let (store, api) = connect(url, open).await?;
        doctor::examine(&store, &api).await
    }
}

async fn connect(mut url: StoreUrl, open: OpenOptions) -> Result<(Arc<NatsStore>, Arc<Api>)> {
    let options = Options::read(&mut url)?;
    if open.durability == Durability::Power {
        return Err(Error::new(ErrorKind::Unsupported, "NATS does not show whether it syncs each write to disk")
            .with("store", options.shown)
            .hint("open it with durability=process, or take a store that does, such as postgres: or sqlite:"));
    }
    let api = Arc::new(Api::new(Hub::new(options)?));
    let (capability, removable) = bucket::prepare(&api).await?;
    Ok((NatsStore::start(Arc::clone(&api), capability, removable), api))
}
