//! What `stanchion doctor` finds out about an ensemble.

use std::time::{Duration, SystemTime};

use stanchion_core::{Result, TTL_DEFAULT};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::sessions::Sessions;
use super::store::{CAPABILITY, Store};
use crate::Finding;
use crate::doctor::of_capability;

pub(super) async fn examine(store: &Store) -> Result<Vec<Finding>> {
    let mut findings = of_capability(CAPABILITY);
    findings.push(
        Finding::fine(
            "persistence",
            "a server writes to disk before it answers; whether that was turned off cannot be seen",
        )
        .fix("leave forceSync out of zoo.cfg"),
    );
    let mut modes = Vec::new();
    for server in store.options().servers.split(',') {
        match status(server, store.options().connect_timeout).await {
            Some(text) => findings.extend(judge(server, &text, &mut modes)),
            None => findings.push(
                Finding::weak("server", format!("{server} does not tell its state"))
                    .fix("start it, or allow `srvr` in its 4lw.commands.whitelist"),
            ),
        }
    }
    findings.push(replication(&modes));
    findings.push(sessions(store).await?);
    findings.push(clock(store.now_ms().await?));
    findings.push(
        Finding::weak("tls", "this connection is not encrypted")
            .fix("go through a tunnel, or stay in a network you trust"),
    );
    Ok(findings)
}

/// The answer to the four letter word `srvr`.
async fn status(server: &str, patience: Duration) -> Option<String> {
    let asked = async {
        let mut stream = TcpStream::connect(server).await.ok()?;
        stream.write_all(b"srvr").await.ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.ok()?;
        Some(text)
    };
    timeout(patience, asked).await.ok().flatten().filter(|text| text.contains("Mode:"))
}

fn judge(server: &str, text: &str, modes: &mut Vec<String>) -> Vec<Finding> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let version = line("Zookeeper version:").and_then(|text| text.split(['-', ',']).next()).unwrap_or("unknown");
    let mode = line("Mode:").unwrap_or("unknown");
    modes.push(mode.to_owned());
    let old = version.split('.').filter_map(|part| part.parse::<u32>().ok()).collect::<Vec<_>>() < vec![3, 6];
    let says = format!("{server}: {version}, {mode}");
    vec![if old { Finding::broken("version", says).fix("use 3.6 or later") } else { Finding::fine("version", says) }]
}

fn replication(modes: &[String]) -> Finding {
    let count = |mode: &str| modes.iter().filter(|found| *found == mode).count();
    match (count("standalone"), count("leader"), count("follower")) {
        (0, 0, 0) => {
            Finding::weak("replication", "no server told whether it has a leader").fix("name all servers in the URL")
        }
        (0, 0, _) => Finding::weak("replication", "the leader is not among the servers of the URL")
            .fix("name all servers in the URL, so that one of them is always reached"),
        (0, leaders, followers) => Finding::fine("replication", format!("{leaders} leader, {followers} followers")),
        _ => Finding::weak("replication", "one server alone: while it is away nothing can be locked or written")
            .fix("run three servers or more"),
    }
}

async fn sessions(store: &Store) -> Result<Finding> {
    let session = Sessions::new(std::sync::Arc::clone(store.options())).of(TTL_DEFAULT);
    let link = session.link().await.map_err(|fault| store.error(fault, false))?;
    let (sure, timeout) = (link.sure(), link.client.session_timeout());
    let says = format!(
        "a session for leases of {TTL_DEFAULT:?} lives {timeout:?}; the longest ttl of such a session is {sure:?}"
    );
    Ok(if sure < TTL_DEFAULT {
        Finding::weak("sessions", says).fix("raise maxSessionTimeout of the servers, or ask for shorter leases")
    } else {
        Finding::fine("sessions", says)
    })
}

/// The leader's clock against ours. No lease depends on it; the end of a record does, when the leader changes.
#[expect(clippy::disallowed_methods, reason = "two wall clocks are compared on purpose, and nothing is decided by it")]
fn clock(now_ms: u64) -> Finding {
    let ours = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let theirs = Duration::from_millis(now_ms);
    let skew = ours.abs_diff(theirs);
    let says = format!("the leader's clock is {:.1} s away from ours", skew.as_secs_f64());
    if skew > Duration::from_secs(5) {
        Finding::weak("clock", says).fix("let all servers set their clocks by NTP: records expire by the leader's")
    } else {
        Finding::fine("clock", says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grade;

    #[test]
    fn an_old_server_is_broken_and_a_lonely_one_weak() {
        let mut modes = Vec::new();
        let found = judge("h", "Zookeeper version: 3.5.9-abc, built on x\nMode: standalone\n", &mut modes);
        assert_eq!(found[0].grade, Grade::Broken, "{found:?}");
        let found = judge("h", "Zookeeper version: 3.8.0-abc, built on x\nMode: standalone\n", &mut modes);
        assert_eq!(found[0].grade, Grade::Fine, "{found:?}");
        assert_eq!(replication(&modes).grade, Grade::Weak);
        assert_eq!(replication(&["leader".into(), "follower".into()]).grade, Grade::Fine);
        assert_eq!(replication(&["follower".into()]).grade, Grade::Weak);
    }
}
