//! What the server says of itself, for `stanchion doctor`, and what that does to our promises.

use std::time::SystemTime;

use stanchion_core::{Capability, Error, ErrorKind, Hold, Purpose, Result, Survives};

use super::error::{Effect, read_only, unexpected};
use super::pool::{Pool, maybe, number, text};
use crate::doctor::of_capability;
use crate::{Durability, Finding};

/// The server's settings that our promises stand on.
#[derive(Debug)]
pub(super) struct Server {
    version: String,
    /// `innodb_flush_log_at_trx_commit`: 1 forces every commit to disk.
    flush: u64,
    /// The binary log is on, and may be flushed later than the commit.
    binlog_late: bool,
    /// Replicas read from here, and may take over without the newest commits. `None`: we may not see them.
    replicas: Option<u64>,
    galera: bool,
    pub(super) packet: usize,
    /// The server's clock less ours, in milliseconds, to within half a round trip.
    skew_ms: i64,
}

impl Server {
    /// Reads it; refuses one that cannot write or is too old.
    pub(super) async fn read(pool: &Pool) -> Result<Self> {
        let before = ours();
        let sql = "SELECT VERSION(), @@innodb_flush_log_at_trx_commit, @@log_bin AND @@sync_binlog <> 1, @@read_only, \
             @@innodb_read_only, @@max_allowed_packet, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000 AS UNSIGNED), @@log_bin";
        let rows = pool.one(sql, Effect::Read).await?;
        let row = rows.first().ok_or_else(|| unexpected("no settings"))?;
        let at = |at| number(Some(row), at);
        let version = text(row, 0)?;
        if !is_new_enough(&version) {
            return Err(Error::new(ErrorKind::Unsupported, "this server is too old")
                .with("version", version)
                .hint("use MySQL 8.0 or newer, or MariaDB 10.6 or newer"));
        }
        if at(3)? != 0 || at(4)? != 0 {
            return Err(read_only(&pool.target.shown));
        }
        let middle = before.midpoint(ours());
        let (replicas, galera) = others(pool, at(7)? != 0).await;
        Ok(Self {
            version,
            flush: at(1)?,
            binlog_late: at(2)? != 0,
            packet: usize::try_from(at(5)?).unwrap_or(usize::MAX),
            skew_ms: i64::try_from(at(6)?).unwrap_or(0) - middle,
            replicas,
            galera,
        })
    }

    pub(super) fn capability(&self, hold: Hold, durability: Durability) -> Capability {
        let power = self.flush == 1 && !self.binlog_late && hold == Hold::Lease;
        let weak = if self.flush == 0 {
            Some("innodb_flush_log_at_trx_commit=0: a crash of the server forgets its last second")
        } else if self.replicas.is_some_and(|replicas| replicas > 0) {
            // Not when they cannot be seen: hardly an application may, and every call with an effect would be refused.
            Some("an asynchronous replica may take over without the newest commits")
        } else if durability == Durability::Power && self.flush != 1 {
            Some("innodb_flush_log_at_trx_commit is not 1: a power cut forgets the last second")
        } else if durability == Durability::Power && self.binlog_late {
            Some("sync_binlog is not 1: after a power cut replicas and server may differ")
        } else {
            None
        };
        Capability {
            backend: "mysql",
            hold,
            clock: true,
            fair: hold == Hold::Lease,
            shared_between_processes: true,
            survives: if power { Survives::PowerLoss } else { Survives::ProcessCrash },
            purpose: Purpose::Correctness,
            weak,
        }
    }

    pub(super) fn findings(&self, capability: Capability) -> Vec<Finding> {
        let mut findings = of_capability(capability);
        findings.insert(0, Finding::fine("version", &self.version));
        findings.push(match self.flush {
            1 => Finding::fine("persistence", "every commit is forced to disk"),
            0 => Finding::weak("persistence", "commits are written once a second: a crash of the server forgets some")
                .fix("SET GLOBAL innodb_flush_log_at_trx_commit = 1"),
            _ => Finding::weak("persistence", "commits are forced to disk once a second: a power cut forgets some")
                .fix("SET GLOBAL innodb_flush_log_at_trx_commit = 1"),
        });
        if self.binlog_late {
            findings.push(
                Finding::weak("binlog", "the binary log is flushed later than the commit")
                    .fix("SET GLOBAL sync_binlog = 1"),
            );
        }
        findings.push(match self.replicas {
            Some(0) => Finding::fine("replication", "no replica reads from here"),
            None => Finding::weak("replication", "not known: this user may not see whether replicas read from here")
                .fix("GRANT PROCESS ON *.* TO this user, and ask again"),
            Some(n) => Finding::weak("replication", format!("{n} replicas may take over without the newest commits"))
                .fix("use semi-synchronous replication (AFTER_SYNC), and fail over to the replica that has all of it"),
        });
        if self.galera {
            findings.push(
                Finding::weak(
                    "cluster",
                    "Galera: calls to waiters do not leave a node, so waiting takes up to 3 s longer",
                )
                .fix("let all clients of one store use one node"),
            );
        }
        findings.push(if self.packet < 34 << 20 {
            Finding::weak("size", format!("a statement, and so a value, has at most {} bytes", self.packet))
                .fix("SET GLOBAL max_allowed_packet = 35651584")
        } else {
            Finding::fine("size", "values of 16 MiB fit")
        });
        findings.push(if self.skew_ms.abs() > 1000 {
            Finding::weak("clock", format!("the server's clock differs from ours by {} ms", self.skew_ms))
                .fix("let both keep their time by NTP; leases are judged by the server's clock alone")
        } else {
            Finding::fine("clock", format!("within {} ms of ours", self.skew_ms.abs() + 1))
        });
        findings
    }
}

/// Milliseconds of our own clock, for display only: no lease is judged by it.
#[expect(clippy::disallowed_methods, reason = "two clocks are compared to show how far they are apart")]
fn ours() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}

/// How many replicas read from here, and whether this is a node of Galera.
async fn others(pool: &Pool, log: bool) -> (Option<u64>, bool) {
    let replicas = if log { replicas(pool).await } else { Some(0) };
    let galera = match pool.one("SHOW STATUS LIKE 'wsrep_cluster_size'", Effect::Read).await {
        Ok(rows) => maybe(rows.first(), 1).ok().flatten().is_some_and(|size| size > 0),
        Err(_) => false,
    };
    (replicas, galera)
}

/// How many replicas read the log. `None`: without the right PROCESS one sees no threads but one's own.
async fn replicas(pool: &Pool) -> Option<u64> {
    // Refused without that right, whoever it came from.
    pool.one("SELECT COUNT(*) FROM information_schema.innodb_cmp", Effect::Read).await.ok()?;
    let sql =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE command IN ('Binlog Dump', 'Binlog Dump GTID')";
    number(pool.one(sql, Effect::Read).await.ok()?.first(), 0).ok()
}

fn is_new_enough(version: &str) -> bool {
    // Old replication protocols made MariaDB say 5.5.5- first.
    let text = version.strip_prefix("5.5.5-").unwrap_or(version);
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    let number = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if version.to_ascii_lowercase().contains("mariadb") { number >= (10, 6) } else { number >= (8, 0) }
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn versions_are_told_apart() {
        for (version, good) in [
            ("8.0.36", true),
            ("8.4.0-log", true),
            ("5.7.44", false),
            ("10.11.19-MariaDB-0+deb12u1", true),
            ("5.5.5-10.6.1-MariaDB", true),
            ("10.5.9-MariaDB", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_new_enough(version), good, "{version}");
        }
    }
}
