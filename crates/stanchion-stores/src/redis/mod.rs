//! `redis:` — Redis and Valkey: leases with a queue and direct hand-off, and records.
//!
//! Everything of a namespace lives under one hash tag, so each script touches one slot of a cluster;
//! spread load with several namespaces. Each operation is one script, judged by the server's clock.
//!
//! | key | holds |
//! |---|---|
//! | `{ns}:locks` | a field per lock; its field `''` is the counter of versions and fences, which never expires |
//! | `{ns}:r:KEY` | a record: `v` value, `n` version, `w` written; expires by itself |
//! | `{ns}:fences` | the highest token that has touched each key; outlives the record |
//! | `{ns}:index` | the keys of all records, sorted |
//! | `{ns}:wake:ID` | the channel on which a process is called |
//! | `{ns}:writes` | the channel on which written keys are named |

pub(crate) mod combine;
mod doctor;
pub(crate) mod fault;
mod fused;
pub(crate) mod link;
mod locks;
pub(crate) mod options;
mod records;
pub(crate) mod reply;
pub(crate) mod script;
mod strength;
mod wake;

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind, Result, Survives};

use self::fused::RedisFused;
use self::link::Hub;
use self::locks::RedisLocks;
use self::options::Options;
use self::records::RedisStore;
use self::wake::Wake;
use crate::{Backend, Durability, Finding, OpenOptions, Opened, StoreUrl};

pub(crate) static BACKEND: Redis = Redis;

#[derive(Debug)]
pub(crate) struct Redis;

#[async_trait]
impl Backend for Redis {
    fn schemes(&self) -> &'static [&'static str] {
        &["redis", "rediss"]
    }

    fn help(&self) -> &'static str {
        "redis://[user:password@]host[:port][/db]   (Redis 6.2 or later, Valkey; rediss: with TLS)
  Leases by the server's clock, first come first served across processes. Weak unless the server writes
  every command to disk (appendonly yes, appendfsync always), never evicts, and has no replicas.
  ns=NAME              everything lives under {NAME}; default stanchion
  timeout=5s           for the answer to a command
  connect_timeout=5s   for a new connection
  wait=N               a lock counts when N replicas have it, too
  ca=PATH              rediss: trust this PEM file instead of the system's certificates
  cert=PATH, key=PATH  rediss: show this certificate"
    }

    async fn open(&self, mut url: StoreUrl, open: OpenOptions) -> Result<Opened> {
        let options = Options::read(&mut url)?;
        let shown = options.shown.clone();
        let namespace = options.namespace.clone();
        let hub = Arc::new(Hub::new(options)?);
        let (capability, cluster) = strength::examine(&hub).await?;
        if open.durability == Durability::Power && capability.survives < Survives::PowerLoss {
            return Err(Error::new(ErrorKind::Unsupported, "this Redis does not keep its writes through a power cut")
                .with("store", shown)
                .hint("set appendonly yes and appendfsync always, or open it with durability=process"));
        }
        let wake = Wake::new(Arc::clone(&hub), &namespace);
        let name = format!("{{{namespace}}}:locks");
        // A lock counts when enough replicas have it, a record at once: then the two are not one step.
        let together = !cluster && hub.options.replicas == 0;
        let locks = Arc::new(RedisLocks::new(Arc::clone(&hub), Arc::clone(&wake), name.clone(), capability));
        let records = Arc::new(RedisStore::new(hub, wake, &namespace, name, capability));
        let fused = together.then(|| RedisFused::new(Arc::clone(&records), Arc::clone(&locks)));
        Ok(Opened { locks, records: Some(records), fused: fused.map(|fused| Arc::new(fused) as _), shown })
    }

    async fn examine(&self, mut url: StoreUrl, open: OpenOptions) -> Result<Vec<Finding>> {
        doctor::look(&Hub::new(Options::read(&mut url)?)?, open.durability).await
    }
}
