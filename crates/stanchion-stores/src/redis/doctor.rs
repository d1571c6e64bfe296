//! What `stanchion doctor` finds about a Redis: what its own settings do to our promises.

use std::collections::BTreeMap;

use ::redis::Value;
use stanchion_core::Result;

use super::link::Hub;
use super::reply::{int, text};
use super::strength;
use crate::doctor::{clock, power_is_asked_for, wall_ms, with_causes};
use crate::{Durability, Finding};

const SETTINGS: [&str; 5] = ["appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy"];

/// Looks at the server as it is now.
pub(super) async fn look(hub: &Hub, asked: Durability) -> Result<Vec<Finding>> {
    let (capability, cluster) = strength::examine(hub).await?;
    let mut pipe = ::redis::pipe();
    pipe.cmd("TIME").cmd("INFO").arg("all").cmd("CLUSTER").arg("INFO");
    for setting in SETTINGS {
        pipe.cmd("CONFIG").arg("GET").arg(setting);
    }
    let before = wall_ms();
    let answers = hub.send_both(&pipe).await.map_err(|fault| fault.into_error(&hub.options.shown, false))?;
    let after = wall_ms();
    let facts = Facts::read(&answers);
    let mut found = vec![facts.version(), facts.role(), facts.persistence(), facts.eviction()];
    found.extend(facts.memory());
    found.extend(facts.replication(hub.options.replicas));
    found.extend(cluster.then(|| facts.cluster()));
    found.extend(now_ms(answers.first()).map(|now| clock(before, now, after)));
    found.extend(power_is_asked_for(asked, capability));
    Ok(with_causes(capability, found))
}

fn now_ms(answer: Option<&Value>) -> Option<u64> {
    let Some(Value::Array(parts)) = answer else { return None };
    let (secs, micros) = (int(parts.first()?)?, int(parts.get(1)?)?);
    Some(secs.saturating_mul(1000) + micros / 1000)
}

/// `INFO`, `CLUSTER INFO` and `CONFIG GET`, as far as the server let us read them.
#[derive(Debug, Default)]
struct Facts {
    info: BTreeMap<String, String>,
    cluster: BTreeMap<String, String>,
    settings: BTreeMap<&'static str, String>,
}

impl Facts {
    fn read(answers: &[Value]) -> Self {
        let lines = |at: usize| answers.get(at).and_then(text).map(pairs).unwrap_or_default();
        let setting = |at: usize| match answers.get(at) {
            Some(Value::Array(pair)) => pair.get(1).and_then(text),
            Some(Value::Map(pairs)) => pairs.first().and_then(|(_, value)| text(value)),
            _ => None,
        };
        let settings = SETTINGS.iter().enumerate().filter_map(|(i, name)| Some((*name, setting(i + 3)?.to_owned())));
        Self { info: lines(1), cluster: lines(2), settings: settings.collect() }
    }

    fn info(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> u64 {
        self.info(name).parse().unwrap_or(0)
    }

    fn setting(&self, name: &'static str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    fn version(&self) -> Finding {
        let valkey = self.info("valkey_version");
        let (name, version) =
            if valkey.is_empty() { ("Redis", self.info("redis_version")) } else { ("Valkey", valkey) };
        let mut parts = self.info("redis_version").split('.').map_while(|part| part.parse::<u32>().ok());
        let number = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if number < (6, 2) {
            return Finding::broken("version", format!("{name} {version}: too old"))
                .fix("use Redis 6.2 or later, or Valkey");
        }
        Finding::fine("version", format!("{name} {version}"))
    }

    fn role(&self) -> Finding {
        match self.info("role") {
            "slave" => Finding::broken("role", "a replica: it refuses writes").fix(format!(
                "give the primary's address, {}:{}",
                self.info("master_host"),
                self.info("master_port")
            )),
            _ => Finding::fine("role", "primary"),
        }
    }

    fn persistence(&self) -> Finding {
        let topic = "persistence";
        let fix = "CONFIG SET appendonly yes, CONFIG SET appendfsync always, and the same in redis.conf";
        let Some(aof) = self.setting("appendonly") else {
            return Finding::weak(topic, "the server does not let us read how it keeps its data")
                .fix("let this user run CONFIG GET, or ask who runs it for appendonly yes and appendfsync always");
        };
        if aof == "yes" && !matches!(self.info("aof_last_write_status"), "" | "ok") {
            return Finding::broken(topic, "the append-only file cannot be written").fix("look into the server's log");
        }
        match (aof, self.setting("appendfsync")) {
            ("yes", Some("always")) => Finding::fine(topic, "every write is on disk before it is answered"),
            ("yes", Some("everysec")) => {
                Finding::weak(topic, "AOF once a second: a power cut loses up to two seconds").fix(fix)
            }
            ("yes", _) => Finding::weak(topic, "AOF when the system likes: a power cut loses half a minute").fix(fix),
            _ if self.setting("save").is_some_and(|save| !save.is_empty()) => {
                Finding::weak(topic, "snapshots only: a crash forgets all since the last one").fix(fix)
            }
            _ => Finding::weak(topic, "none: a restart forgets every lock and every record").fix(fix),
        }
    }

    fn eviction(&self) -> Finding {
        let fix = "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf";
        let limited = self.setting("maxmemory").is_some_and(|limit| limit != "0");
        match self.setting("maxmemory-policy") {
            Some("noeviction") => Finding::fine("eviction", "never"),
            Some(policy) if limited => {
                Finding::broken("eviction", format!("{policy}: locks and records disappear when memory is short"))
                    .fix(fix)
            }
            Some(policy) => {
                Finding::weak("eviction", format!("{policy}: data would disappear as soon as maxmemory is set"))
                    .fix(fix)
            }
            None => Finding::weak("eviction", "the server does not let us read its policy")
                .fix("ask who runs it for maxmemory-policy noeviction"),
        }
    }

    fn memory(&self) -> Option<Finding> {
        let (used, limit) = (self.number("used_memory"), self.number("maxmemory"));
        (limit > 0).then(|| {
            let says = format!("{} of {} MiB in use", used >> 20, limit >> 20);
            if used / 9 >= limit / 10 {
                Finding::weak("memory", says).fix("raise maxmemory: a full server refuses writes")
            } else {
                Finding::fine("memory", says)
            }
        })
    }

    fn replication(&self, waits_for: u32) -> Vec<Finding> {
        let count = self.number("connected_slaves");
        if self.info("role") == "slave" {
            return Vec::new();
        }
        if count == 0 {
            let alone = Finding::fine("replication", "no replicas: nothing can take over without the newest writes");
            return if waits_for == 0 {
                vec![alone]
            } else {
                vec![
                    Finding::broken("replication", format!("no replicas, and wait={waits_for}: no lock can be taken"))
                        .fix("connect replicas, or take wait= out of the store's URL"),
                ]
            };
        }
        let written = self.number("master_repl_offset");
        let behind = (0..count).filter_map(|i| {
            let line = self.info.get(&format!("slave{i}"))?;
            let part = |name: &str| line.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            let bytes = written.saturating_sub(part("offset")?.parse().ok()?);
            Some(format!("{} {} bytes behind", part("state")?, bytes))
        });
        let behind = behind.collect::<Vec<_>>().join(", ");
        let says = format!("{count} replicas ({behind}): a fail-over may lose the newest writes");
        let fix = if waits_for == 0 {
            "add wait=N to the store's URL, so that locks count only when N replicas have them; records stay weak. For both use postgres: or etcd:"
        } else {
            "locks wait for replicas, records do not: for both use postgres: or etcd:"
        };
        vec![Finding::weak("replication", says).fix(fix)]
    }

    fn cluster(&self) -> Finding {
        match self.cluster.get("cluster_state").map(String::as_str) {
            Some("ok") => Finding::fine("cluster", "healthy; everything of one namespace lives on one node"),
            _ => Finding::broken("cluster", "some slots have no node: part of the data cannot be reached")
                .fix("redis-cli --cluster check HOST:PORT"),
        }
    }
}

fn pairs(lines: &str) -> BTreeMap<String, String> {
    lines.lines().filter_map(|line| line.split_once(':')).map(|(a, b)| (a.to_owned(), b.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grade;

    fn facts(info: &str, settings: &[(&'static str, &str)]) -> Facts {
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Facts { info: pairs(info), cluster: BTreeMap::new(), settings }
    }

    #[test]
    fn each_weakness_has_its_grade_and_a_fix() {
        let old = facts("redis_version:5.0.14", &[]);
        assert_eq!(old.version().grade, Grade::Broken);
        assert_eq!(facts("redis_version:7.0.15", &[]).version().grade, Grade::Fine);
        let replica = facts("role:slave\r\nmaster_host:db1\r\nmaster_port:6379\r\n", &[]);
        assert!(replica.role().fix.unwrap().contains("db1:6379"));
        for (fsync, grade) in [("always", Grade::Fine), ("everysec", Grade::Weak), ("no", Grade::Weak)] {
            let facts = facts("", &[("appendonly", "yes"), ("appendfsync", fsync)]);
            assert_eq!(facts.persistence().grade, grade, "{fsync}");
        }
        assert!(facts("", &[("appendonly", "no"), ("save", "3600 1")]).persistence().says.contains("snapshots"));
        let sick = facts("aof_last_write_status:err", &[("appendonly", "yes"), ("appendfsync", "always")]);
        assert_eq!(sick.persistence().grade, Grade::Broken);
        assert_eq!(facts("", &[]).persistence().grade, Grade::Weak, "what cannot be read is not believed");
        let evicts = facts("", &[("maxmemory", "1000"), ("maxmemory-policy", "allkeys-lru")]);
        assert_eq!(evicts.eviction().grade, Grade::Broken);
        assert_eq!(facts("used_memory:95\nmaxmemory:100", &[]).memory().unwrap().grade, Grade::Weak);
        let led = facts(
            "role:master\nconnected_slaves:1\nslave0:ip=a,port=1,state=online,offset=90,lag=1\nmaster_repl_offset:100",
            &[],
        );
        let [finding] = &led.replication(0)[..] else { panic!("one finding") };
        assert!(finding.grade == Grade::Weak && finding.says.contains("online 10 bytes behind"), "{finding:?}");
        assert_eq!(facts("role:master", &[]).replication(1)[0].grade, Grade::Broken);
    }
}
