//! `consul:` — leases as a line of names held by sessions, and records with Consul's index as their version.
//!
//! A thin client of our own: the one kept crate blocks in `Drop` and leaks sessions.
//!
//! | name | holds |
//! |---|---|
//! | `NS/l/KEY~/OWNER.MARK` | one who holds or waits, under the name that its first owner made; the order is its `CreateIndex`, its flags are its lock-delay in milliseconds |
//! | `NS/lift~` | what is added to every order, so that fences are above a floor |
//! | `NS/r/KEY~` | a record as it is; its version is its `ModifyIndex` |
//! | `NS/f/KEY~` | the highest token that has touched the key; outlives the record |
//! | `NS/t/KEY~` | beside a record with a ttl above 24 h: see `ttl.rs` |
//!
//! Both indexes are of Consul's log, which grows with every write of the cluster, for ever. Every write is one transaction, which goes
//! through the log; every read asks for `consistent`, which the leader answers after a majority has confirmed it.

mod api;
mod doctor;
mod evict;
mod fault;
mod http;
mod locks;
mod maker;
mod name;
mod options;
mod place;
mod queue;
mod records;
mod release;
mod session;
mod shift;
mod strength;
mod ttl;

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind, Result, Survives};
use tokio::sync::Semaphore;

use self::http::{Http, Shared};
use self::locks::ConsulLocks;
use self::maker::Maker;
use self::name::Names;
use self::options::Options;
use self::place::Core;
use self::records::ConsulStore;
use self::session::Sessions;
use self::strength::Facts;
use self::ttl::Ttls;
use crate::{Backend, Durability, Finding, OpenOptions, Opened, StoreUrl};

/// Questions that block at the same time, one connection each: an agent allows 200 for one client.
const BLOCKED_MOST: usize = 100;
/// How often ended laps are looked for.
const SWEEP_MINUTES: u32 = 60;

pub(crate) static BACKEND: Consul = Consul;

/// The `consul:` backend.
#[derive(Debug)]
pub(crate) struct Consul;

async fn connect(mut url: StoreUrl) -> Result<(Shared, Names, Facts)> {
    let options = Options::read(&mut url, std::env::var("CONSUL_HTTP_TOKEN").ok())?;
    let names = Names::new(options.namespace.clone());
    let http = Arc::new(Http::new(options)?);
    let facts = strength::examine(&http, &names).await?;
    Ok((http, names, facts))
}

#[async_trait]
impl Backend for Consul {
    fn schemes(&self) -> &'static [&'static str] {
        &["consul", "consuls"]
    }

    fn help(&self) -> &'static str {
        "consul://[token@]host[:8500]/   (Consul 1.7 or later; consuls: with TLS, port 8501; token also from CONSUL_HTTP_TOKEN)
  Leases first come first served across processes; what is written is agreed on by a majority and on disk. Weak in dev
  mode and behind a client agent. A dead holder's lock is handed on when its session ends, which Consul does between once
  and twice 1.5 x ttl (never below the agent's session_ttl_min, 10s if not set), and then after lock_delay. Records with a ttl
  end between once and twice their ttl, above 24h in steps of a day while a client runs. Values up to 375 KiB.
  Of holders that share a lock, one that came earlier may get its grant, with its lower fence, after a later one.
  ns=NAME              everything lives under NAME/; default stanchion
  dc=NAME              another datacenter than the agent's
  timeout=5s           for the answer to a request
  connect_timeout=5s   for a new connection
  lock_delay=15s       nobody follows so soon after a session was ended under its holder; 0s to 60s
  node=NAME            sessions hang on this registered node; if not set on the agent's own, and when that one leaves the
                       cluster, locks are lost and records with a ttl end early
  ca=PATH              consuls: trust this PEM file instead of the system's certificates
  cert=PATH key=PATH   consuls: show this certificate"
    }

    async fn open(&self, url: StoreUrl, open: OpenOptions) -> Result<Opened> {
        let (http, names, facts) = connect(url).await?;
        let (capability, shown) = (facts.capability(http.options.node.is_some()), http.options.shown.clone());
        if open.durability == Durability::Power && capability.survives < Survives::PowerLoss {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this Consul is not known to keep its writes through a power cut",
            )
            .with("store", shown)
            .hint("start the server with a data_dir and not in dev mode, or open it with durability=process"));
        }
        let maker = Arc::new(Maker::new(Arc::clone(&http)));
        let ttls = Arc::new(Ttls::new(Arc::clone(&maker), names.clone()));
        tokio::spawn(sweep(Arc::downgrade(&ttls)));
        let delay = http.options.lock_delay;
        let core = Core::new(Arc::clone(&http), Sessions::new(maker, delay));
        let blocked = Arc::new(Semaphore::new(BLOCKED_MOST));
        let locks = ConsulLocks::new(core, names.clone(), Arc::clone(&blocked), capability);
        let records = ConsulStore::new(http, names, ttls, blocked, capability);
        Ok(Opened { locks: Arc::new(locks), records: Some(Arc::new(records)), fused: None, shown })
    }

    async fn examine(&self, url: StoreUrl, _: OpenOptions) -> Result<Vec<Finding>> {
        let (http, _, facts) = connect(url).await?;
        let mut findings = crate::doctor::of_capability(facts.capability(http.options.node.is_some()));
        findings.extend(doctor::findings(&http, &facts).await?);
        Ok(findings)
    }
}

/// Looks for ended laps from time to time, until the store is dropped.
async fn sweep(ttls: Weak<Ttls>) {
    for minute in 1_u32.. {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let Some(ttls) = ttls.upgrade() else { return };
        if minute.is_multiple_of(SWEEP_MINUTES)
            && let Err(error) = ttls.sweep().await
        {
            tracing::debug!(%error, "could not look for ended laps");
        }
    }
}
