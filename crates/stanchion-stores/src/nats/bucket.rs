//! The bucket: made when it is missing, and checked for what would break a promise.

use serde::Deserialize;
use serde_json::json;
use stanchion_core::{Capability, Error, ErrorKind, Hold, Purpose, Result, Survives};

use super::api::Api;
use super::fault::{Fault, code};

/// The first version with everything that we use.
const OLDEST: (i64, i64, i64) = (2, 9, 0);

/// How the stream behind the bucket is set up.
#[derive(Debug, Deserialize)]
pub(super) struct Stream {
    pub(super) config: Config,
    pub(super) cluster: Option<Cluster>,
    pub(super) state: State,
}

#[derive(Debug, Deserialize)]
pub(super) struct Config {
    #[serde(default)]
    pub(super) subjects: Vec<String>,
    pub(super) max_age: i64,
    pub(super) max_msgs: i64,
    pub(super) max_bytes: i64,
    pub(super) max_msgs_per_subject: i64,
    pub(super) discard: String,
    pub(super) storage: String,
    pub(super) num_replicas: u32,
    #[serde(default)]
    pub(super) sealed: bool,
    #[serde(default)]
    pub(super) deny_delete: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cluster {
    pub(super) leader: Option<String>,
    #[serde(default)]
    pub(super) replicas: Vec<Replica>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Replica {
    pub(super) name: String,
    pub(super) current: bool,
    #[serde(default)]
    pub(super) offline: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct State {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) last_seq: u64,
}

/// The bucket is there and fit for use; what it can promise, and whether messages may be removed from it.
pub(super) async fn prepare(api: &Api) -> Result<(Capability, bool)> {
    let link = api.hub.link().await.map_err(|fault| api.error(fault, false))?;
    let (major, minor, patch) = OLDEST;
    if !link.client.is_server_compatible(major, minor, patch) {
        return Err(Error::new(ErrorKind::Unsupported, "this NATS is too old")
            .with("version", link.client.server_info().version)
            .with("store", api.shown())
            .hint("it must be 2.9 or later"));
    }
    let stream = match look(api).await {
        Err(fault) if fault.is(code::NO_STREAM) => {
            make(api).await?;
            look(api).await
        }
        found => found,
    };
    let stream = stream.map_err(|fault| {
        // A server without JetStream has nobody who answers to its subjects.
        let off = matches!(fault, Fault::Nobody);
        let error = api.error(fault, false);
        if off {
            Error::new(ErrorKind::Unsupported, "JetStream is off, or its domain is another one")
                .with("store", api.shown())
                .hint("start nats-server with -js, or give domain=NAME")
        } else {
            error
        }
    })?;
    check(&stream.config, api)?;
    Ok((judge(&stream.config), removable(&stream.config)))
}

pub(super) async fn look(api: &Api) -> Result<Stream, Fault> {
    let answer = api.ask("STREAM.INFO", &json!({})).await?;
    serde_json::from_slice(&answer).map_err(|_| Fault::Garbled)
}

/// The command that makes the bucket by hand.
fn command(api: &Api) -> String {
    let options = &api.hub.options;
    format!("nats kv add {} --history=1 --storage=file --replicas={}", options.bucket, options.replicas)
}

/// As `nats kv add` makes it, but open for the removal of messages: else the marks of deleted keys stay for ever.
async fn make(api: &Api) -> Result<()> {
    let config = json!({
        "name": api.stream,
        "description": "stanchion",
        "subjects": [api.subjects.all()],
        "storage": "file",
        "num_replicas": api.hub.options.replicas,
        "max_msgs_per_subject": 1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "discard": "new",
        "allow_rollup_hdrs": true,
    });
    match api.order("STREAM.CREATE", &config).await {
        Ok(_) => Ok(()),
        // Somebody else was faster; what they made is checked like any other.
        Err(fault) if fault.is(code::STREAM_EXISTS) => Ok(()),
        Err(Fault::Denied(answer)) => {
            Err(Error::new(ErrorKind::Denied, "the bucket is missing, and this user may not make it")
                .with("store", api.shown())
                .with("answer", answer)
                .hint(format!("as a user who may: {}", command(api))))
        }
        // Making it twice is harmless, so an answer that is lost is no different from one that says no.
        Err(fault) => Err(api.error(fault, false).with("while", "making the bucket").with("by hand", command(api))),
    }
}

/// Refuses what would lose records, fences or the order of versions.
fn check(config: &Config, api: &Api) -> Result<()> {
    let evicts = config.discard == "old" && (config.max_msgs > 0 || config.max_bytes > 0);
    let wrong = if !config.subjects.contains(&api.subjects.all()) {
        "it does not take the subjects of a bucket (a mirror?)"
    } else if config.max_age > 0 {
        "it has a ttl, which would forget locks and fences"
    } else if evicts {
        "it discards old messages when it is full, which would forget locks and fences"
    } else if config.sealed {
        "it is sealed"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Unsupported, "this bucket cannot be used")
        .with("why", wrong)
        .with("store", api.shown())
        .hint(format!("choose another bucket=, or delete it and make it by: {}", command(api))))
}

/// With older values behind it, a mark that is removed would bring back the value before it.
pub(super) const fn removable(config: &Config) -> bool {
    config.max_msgs_per_subject == 1 && !config.deny_delete
}

fn judge(config: &Config) -> Capability {
    let memory = config.storage != "file";
    let weak = if memory {
        Some("the bucket is kept in memory: a restart of the server forgets it")
    } else if config.num_replicas > 1 {
        Some("the crash of a server's machine may make the cluster forget: NATS answers before it syncs to disk")
    } else {
        None
    };
    Capability {
        backend: "nats",
        hold: Hold::Lease,
        clock: false,
        fair: false,
        shared_between_processes: true,
        survives: Survives::ProcessCrash,
        purpose: Purpose::Correctness,
        weak,
    }
}
