//! What this cluster can promise, read from its own settings.

use serde_json::Value;
use stanchion_core::{Capability, Error, ErrorKind, Hold, Purpose, Result, Survives};
use tokio::time::Instant;

use super::http::Http;
use super::name::Names;

/// What the agent says of itself and its servers.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) version: Option<String>,
    /// It is one of the servers.
    pub(super) server: Option<bool>,
    /// It keeps everything in memory.
    pub(super) dev: Option<bool>,
    /// The servers that vote.
    pub(super) peers: usize,
}

/// Connects, and asks whether we may read what we need.
pub(super) async fn examine(http: &Http, names: &Names) -> Result<Facts> {
    let peers = http.fact("/v1/status/peers").await?.and_then(|peers| peers.as_array().map(Vec::len)).unwrap_or(0);
    let itself = http.fact("/v1/agent/self").await?.unwrap_or(Value::Null);
    let flag = |path: &str| itself.pointer(path).and_then(Value::as_bool);
    let text = |path: &str| itself.pointer(path).and_then(Value::as_str);
    let facts = Facts {
        version: text("/Config/Version").map(str::to_owned),
        server: flag("/Config/Server"),
        dev: flag("/DebugConfig/DevMode"),
        peers,
    };
    if let Some(version) = facts.version.as_deref().filter(|version| too_old(version)) {
        return Err(Error::new(ErrorKind::Unsupported, "this Consul is too old")
            .with("version", version)
            .with("store", &http.options.shown)
            .hint("use 1.7 or later"));
    }
    // Reads of many names leave out silently what we may not see; this one does not.
    http.look(&names.nothing(), false, None, Instant::now()).await?;
    Ok(facts)
}

fn too_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    matches!((parts.next().flatten(), parts.next().flatten()), (Some(major), Some(minor)) if (major, minor) < (1, 7))
}

impl Facts {
    /// `own_node`: sessions hang on a node that was made for them.
    pub(super) fn capability(&self, own_node: bool) -> Capability {
        let weak = match (self.dev, self.server) {
            (Some(true), _) => {
                Some("the server runs in dev mode and keeps everything in memory: start it with a data_dir")
            }
            (None, _) => Some("the token does not let us read how the server keeps its data: it needs agent read"),
            (_, Some(false)) if self.peers < 2 => {
                Some("the only server is behind a client agent, which does not tell how it keeps its data")
            }
            (_, Some(false)) if !own_node => {
                Some("records with a ttl end when the node of this client agent leaves the cluster: see node=")
            }
            _ => None,
        };
        let disk = self.dev == Some(false);
        Capability {
            backend: "consul",
            hold: Hold::Lease,
            clock: false,
            fair: true,
            shared_between_processes: true,
            survives: if disk { Survives::PowerLoss } else { Survives::ProcessCrash },
            purpose: Purpose::Correctness,
            weak,
        }
    }
}
