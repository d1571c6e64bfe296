//! What `stanchion doctor` finds about a PostgreSQL: its settings, its standbys, and what sits in front of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::text::duration;
use stanchion_core::{Capability, Error, Result};
use tokio_postgres::SimpleQueryMessage;

use super::pool::{Pool, unexpected};
use super::probe::is_pooled;
use super::target::Target;
use crate::doctor::{clock, power_is_asked_for, wall_ms, with_causes};
use crate::{Durability, Finding};

/// Everything is text: a transaction pooler lets no prepared statement pass. Times are in milliseconds.
const ASK: &str = "\
SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'fsync', 'full_page_writes', \
'synchronous_commit', 'synchronous_standby_names', 'max_connections', 'statement_timeout', 'lock_timeout', \
'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout') \
UNION ALL SELECT 'connections', count(*)::text FROM pg_stat_activity WHERE backend_type = 'client backend' \
UNION ALL SELECT 'standbys', count(*)::text FROM pg_stat_replication \
UNION ALL SELECT 'standbys_in_step', count(*)::text FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum') \
UNION ALL SELECT 'lag_ms', coalesce(max(extract(epoch FROM replay_lag) * 1000), 0)::bigint::text \
FROM pg_stat_replication \
UNION ALL SELECT 'now_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text";

/// The store as it was opened.
pub(super) struct Patient<'a> {
    pub(super) pool: &'a Arc<Pool>,
    /// Where notifications come from, and whether that is an address of its own.
    pub(super) ears: &'a Target,
    pub(super) own_ears: bool,
    pub(super) capability: Capability,
    pub(super) asked: Durability,
}

/// Looks at the server as it is now.
pub(super) async fn look(patient: Patient<'_>) -> Result<Vec<Finding>> {
    let Patient { pool, ears, own_ears, capability, asked } = patient;
    let before = wall_ms();
    let answer = pool.script(ASK).await?;
    let after = wall_ms();
    let facts = Facts::read(&answer);
    let now_ms = facts.number("now_ms").ok_or_else(|| unexpected("no time"))?;
    let mut found = vec![Finding::fine("version", format!("PostgreSQL {}", facts.text("server_version")))];
    found.extend(facts.disk());
    found.push(facts.commit(asked));
    found.push(facts.replication());
    found.push(pooler(&pool.target, ears, own_ears).await?);
    found.push(facts.connections());
    found.extend(facts.timeouts(pool.target.timeout));
    found.push(clock(before, now_ms, after));
    found.extend(power_is_asked_for(asked, capability));
    Ok(with_causes(capability, found))
}

async fn pooler(target: &Target, ears: &Target, own_ears: bool) -> Result<Finding> {
    let pooled = is_behind_a_pooler(target).await?;
    if !pooled {
        return Ok(Finding::fine("pooler", "none that we can see: connections are our own"));
    }
    if !own_ears {
        return Ok(Finding::weak("pooler", "a transaction pooler: nobody is notified, so waiters poll")
            .fix("add listen_url=URL with the server's own address to the store's URL"));
    }
    let heard = is_behind_a_pooler(ears).await.map_err(|e: Error| e.with("option", "listen_url"))?;
    Ok(if heard {
        Finding::weak("pooler", "listen_url goes through a transaction pooler, too: waiters poll")
            .fix("give listen_url the server's own address")
    } else {
        Finding::fine("pooler", "a transaction pooler; notifications come by listen_url")
    })
}

async fn is_behind_a_pooler(target: &Target) -> Result<bool> {
    let client = target.connect(|_| ()).await?;
    is_pooled(target, &client).await
}

#[derive(Debug, Default)]
struct Facts(BTreeMap<String, String>);

impl Facts {
    fn read(answer: &[SimpleQueryMessage]) -> Self {
        let rows = answer.iter().filter_map(|m| if let SimpleQueryMessage::Row(row) = m { Some(row) } else { None });
        Self(rows.filter_map(|row| Some((row.get(0)?.to_owned(), row.get(1)?.to_owned()))).collect())
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }

    fn disk(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.push(match self.text("fsync") {
            "on" => Finding::fine("persistence", "fsync is on: what is committed is on disk"),
            _ => Finding::broken(
                "persistence",
                "fsync=off: a power cut may damage everything, a crash of the system, too",
            )
            .fix("ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();"),
        });
        if self.text("full_page_writes") == "off" {
            let torn = Finding::weak("pages", "full_page_writes=off: a power cut may tear a page");
            findings.push(torn.fix("ALTER SYSTEM SET full_page_writes = on, unless the file system never tears one"));
        }
        findings
    }

    /// Our statements set it for themselves, so the server's own value is only a fact.
    fn commit(&self, asked: Durability) -> Finding {
        let locks = match asked {
            Durability::Process => "grants of locks do not wait for it",
            Durability::Power => "grants of locks wait for it, too",
        };
        let setting = self.text("synchronous_commit");
        Finding::fine(
            "commit",
            format!("records wait for the disk, {locks} (the server's synchronous_commit: {setting})"),
        )
    }

    fn replication(&self) -> Finding {
        let standbys = self.number("standbys").unwrap_or(0);
        let in_step = self.number("standbys_in_step").unwrap_or(0);
        let names = !self.text("synchronous_standby_names").is_empty();
        let lag = duration(Duration::from_millis(self.number("lag_ms").unwrap_or(0)));
        match (standbys, names) {
            (0, true) => Finding::broken(
                "replication",
                "synchronous_standby_names is set and no standby is connected: commits wait for ever",
            )
            .fix("connect the standby, or ALTER SYSTEM RESET synchronous_standby_names"),
            (0, false) => Finding::fine("replication", "no standby: nothing can take over without the newest commits"),
            (_, true) if in_step > 0 => Finding::fine(
                "replication",
                format!("{standbys} standbys, {in_step} of them synchronous, {lag} behind"),
            ),
            _ => Finding::weak(
                "replication",
                format!(
                    "{standbys} asynchronous standbys, {lag} behind: one that takes over may lack the newest commits"
                ),
            )
            .fix("set synchronous_standby_names, and promote only a synchronous standby"),
        }
    }

    fn connections(&self) -> Finding {
        let (used, most) = (self.number("connections").unwrap_or(0), self.number("max_connections").unwrap_or(0));
        let says = format!("{used} of {most} in use; a store takes up to 6");
        if used + 6 > most {
            return Finding::weak("connections", says)
                .fix("raise max_connections, or put a pooler in front (mode=lease)");
        }
        Finding::fine("connections", says)
    }

    fn timeouts(&self, ours: Duration) -> Vec<Finding> {
        let set = |name: &str| self.number(name).filter(|ms| *ms > 0).map(Duration::from_millis);
        let mut findings = Vec::new();
        for name in ["statement_timeout", "lock_timeout", "transaction_timeout"] {
            if let Some(limit) = set(name).filter(|limit| *limit < ours) {
                let says =
                    format!("{name} is {}, below our timeout of {}: calls fail early", duration(limit), duration(ours));
                findings.push(Finding::weak("timeouts", says).fix(format!("ALTER ROLE … SET {name} = 0 for our role")));
            }
        }
        if let Some(limit) = set("idle_session_timeout") {
            let says = format!("idle_session_timeout is {}: idle connections are made anew", duration(limit));
            findings
                .push(Finding::weak("timeouts", says).fix("ALTER ROLE … SET idle_session_timeout = 0 for our role"));
        }
        if findings.is_empty() {
            findings.push(Finding::fine("timeouts", "none that is shorter than ours"));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grade;

    fn facts(pairs: &[(&str, &str)]) -> Facts {
        Facts(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn each_weakness_has_its_grade() {
        assert_eq!(facts(&[("fsync", "off")]).disk()[0].grade, Grade::Broken);
        assert_eq!(facts(&[("fsync", "on"), ("full_page_writes", "off")]).disk()[1].grade, Grade::Weak);
        for (standbys, in_step, names, grade) in [
            ("0", "0", "", Grade::Fine),
            ("0", "0", "*", Grade::Broken),
            ("2", "1", "*", Grade::Fine),
            ("2", "0", "*", Grade::Weak),
            ("1", "0", "", Grade::Weak),
        ] {
            let facts = [("standbys", standbys), ("standbys_in_step", in_step), ("synchronous_standby_names", names)];
            assert_eq!(self::facts(&facts).replication().grade, grade, "{facts:?}");
        }
        assert_eq!(facts(&[("connections", "98"), ("max_connections", "100")]).connections().grade, Grade::Weak);
        let ours = Duration::from_secs(5);
        assert_eq!(facts(&[("statement_timeout", "0")]).timeouts(ours)[0].grade, Grade::Fine);
        let early = facts(&[("statement_timeout", "1000"), ("idle_session_timeout", "60000")]).timeouts(ours);
        assert!(early.len() == 2 && early.iter().all(|finding| finding.grade == Grade::Weak), "{early:?}");
    }
}
