//! What this server can promise, read from its own settings.

use ::redis::Value;
use stanchion_core::{Capability, Hold, Purpose, Result, Survives};

use super::link::Hub;
use super::reply::text;
use super::script;

/// Connects, loads the scripts, and reads how the server keeps its data, and whether it is part of a cluster: one
/// round trip.
pub(super) async fn examine(hub: &Hub) -> Result<(Capability, bool)> {
    let mut pipe = ::redis::pipe();
    for setting in ["appendonly", "appendfsync", "maxmemory-policy"] {
        pipe.cmd("CONFIG").arg("GET").arg(setting);
    }
    pipe.cmd("INFO").arg("replication").cmd("INFO").arg("cluster");
    pipe.add_command(script::LOCKS.load().clone());
    let fail = |fault: super::fault::Fault| fault.into_error(&hub.options.shown, false);
    let mut answers = hub.send_both(&pipe).await.map_err(fail)?;
    // A user without the right to run scripts can do nothing here; better to say so now.
    if let Some(Err(error)) = answers.pop().map(Value::extract_error) {
        return Err(fail(super::fault::Fault::lost(&error)));
    }
    let cluster = answers.get(4).and_then(text).is_some_and(|info| info.contains("cluster_enabled:1"));
    Ok((judge(&answers), cluster))
}

fn judge(answers: &[Value]) -> Capability {
    let setting = |at: usize| match answers.get(at) {
        Some(Value::Array(pair)) => pair.get(1).and_then(text),
        Some(Value::Map(pairs)) => pairs.first().and_then(|(_, value)| text(value)),
        _ => None,
    };
    let power = (setting(0), setting(1)) == (Some("yes"), Some("always"));
    let replicas = answers.get(3).and_then(text).and_then(|info| {
        info.lines().find_map(|line| line.strip_prefix("connected_slaves:")?.trim().parse::<u32>().ok())
    });
    let weak = match (power, setting(2), replicas) {
        _ if setting(0).is_none() => Some("the server does not let us read how it keeps its data"),
        (false, _, _) => {
            Some("a crash of the server may lose the newest writes: it needs appendonly yes and appendfsync always")
        }
        (_, policy, _) if policy != Some("noeviction") => {
            Some("the server may evict data: it needs maxmemory-policy noeviction")
        }
        (_, _, replicas) if replicas != Some(0) => Some("a fail-over to a replica may lose the newest writes"),
        _ => None,
    };
    Capability {
        backend: "redis",
        hold: Hold::Lease,
        clock: true,
        fair: true,
        shared_between_processes: true,
        survives: if power { Survives::PowerLoss } else { Survives::ProcessCrash },
        purpose: Purpose::Correctness,
        weak,
    }
}
