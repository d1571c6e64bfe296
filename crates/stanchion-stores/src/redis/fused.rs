//! A record and a lock, changed together: one script for each step.

use std::sync::Arc;

use ::redis::Value;
use async_trait::async_trait;
use stanchion_core::{Begin, Begun, Error, Finish, Finished, Fused, Key, Result, Version};

use super::combine::{More, Op};
use super::locks::RedisLocks;
use super::records::{RedisStore, check, write_value};
use super::reply::{self, int};
use super::script;

/// Claim, lock and mark in `begin.lua`; outcome and release in `finish.lua`.
#[derive(Debug)]
pub(super) struct RedisFused {
    records: Arc<RedisStore>,
    locks: Arc<RedisLocks>,
}

impl RedisFused {
    pub(super) fn new(records: Arc<RedisStore>, locks: Arc<RedisLocks>) -> Self {
        Self { records, locks }
    }

    fn version(&self, key: &Key, version: &Value) -> Result<Version> {
        int(version).map(Version::new).ok_or_else(|| self.garbled(key))
    }

    fn garbled(&self, key: &Key) -> Error {
        self.records.garbled(key)
    }
}

#[async_trait]
impl Fused for RedisFused {
    async fn begin(&self, begin: &Begin) -> Result<Begun> {
        check(&begin.key, &begin.granted, None)?;
        check(&begin.key, &begin.busy, None)?;
        let size = begin.granted.len() + begin.busy.len();
        let mut command = self.records.command(&script::BEGIN, &begin.key, begin.cond, (11, 256 + size));
        write_value(&mut command, &begin.granted, None);
        if let Some(lock) = &begin.lock {
            self.locks.once(lock, begin.owner)?.write(&mut command);
            command.arg(&begin.busy[..]);
        }
        let mut parts = self.records.run(&script::BEGIN, &command, &begin.key).await?;
        match (parts.as_slice(), &begin.lock) {
            ([Value::Int(1), version], None) => {
                Ok(Begun::Granted { version: self.version(&begin.key, version)?, grant: None })
            }
            ([Value::Int(1 | 2), version, answer], Some(lock)) => {
                let version = self.version(&begin.key, version)?;
                Ok(match self.locks.answered(lock, begin.owner, answer)? {
                    Ok(grant) => Begun::Granted { version, grant: Some(grant) },
                    Err(refused) => Begun::Busy { version, refused },
                })
            }
            _ => self.records.stands(&begin.key, begin.cond, &mut parts).map(Begun::Found),
        }
    }

    async fn finish(&self, finish: &Finish) -> Result<Finished> {
        check(&finish.key, &finish.value, finish.ttl)?;
        let room = (5, 128 + finish.value.len());
        let mut command = self.records.command(&script::FINISH, &finish.key, finish.cond, room);
        write_value(&mut command, &finish.value, finish.ttl);
        if let Some(grant) = &finish.grant {
            Op::new("R", &grant.key, grant.owner, More::Nothing).write(&mut command);
        }
        let mut parts = self.records.run(&script::FINISH, &command, &finish.key).await?;
        let (version, released) = match (parts.as_slice(), &finish.grant) {
            ([Value::Int(1), version], None) => (version, None),
            ([Value::Int(1), version, released], Some(_)) => {
                (version, Some(reply::released(released).ok_or_else(|| self.garbled(&finish.key))?))
            }
            _ => return self.records.stands(&finish.key, finish.cond, &mut parts).map(Finished::Found),
        };
        Ok(Finished::Written { version: self.version(&finish.key, version)?, released })
    }
}
