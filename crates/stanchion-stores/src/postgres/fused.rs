//! Claim and lock in one trip, outcome and release in one: `mode=lease` only, where both are rows.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Begin, Begun, Cond, Error, ErrorKind, FencingToken, Finish, Finished, Fused, Grant, Key, Record, Released, Result,
    Times, Version, contended, refused, slots_disagree,
};
use tokio_postgres::types::Type;

use super::error::Effect;
use super::lease::{Answer, PostgresLocks, floor, millis, numbers};
use super::pool::{Param, Pool, column, unexpected};
use super::records::{Condition, check_size, watch_name};
use super::schema::Schema;

/// How often the counter is lifted for one beginning.
const LIFTS: u32 = 3;

/// Records and lease locks of one schema, changed together.
#[derive(Debug)]
pub(crate) struct PostgresFused {
    pool: Arc<Pool>,
    locks: Arc<PostgresLocks>,
    namespace: String,
    begin: String,
    finish: String,
    lift: String,
}

/// What a function says, as `fused.sql` describes it.
#[derive(Debug)]
enum Told {
    Written(Version),
    Granted(Version, u64),
    /// The lock's answer; `None`: the counter has to be lifted first.
    Busy(Version, Option<Answer>),
    Released(Version, Released),
    Refused(Option<FencingToken>),
    Found(Option<Record>),
}

impl PostgresFused {
    pub(crate) fn new(pool: Arc<Pool>, locks: Arc<PostgresLocks>, schema: &Schema) -> Self {
        let numbered = |count: usize| (1..=count).map(|i| format!("${i}")).collect::<Vec<_>>().join(", ");
        Self {
            pool,
            locks,
            namespace: schema.name().to_owned(),
            begin: schema.sql(&format!("SELECT stanchion.fused_begin({}) AS answer", numbered(15))),
            finish: schema.sql(&format!("SELECT stanchion.fused_finish({}) AS answer", numbered(11))),
            lift: schema.sql("SELECT stanchion.lift($1)"),
        }
    }

    async fn try_begin(&self, begin: &Begin, cond: Cond) -> Result<Told> {
        let (c, hash) = (Condition::from(cond), watch_name(&self.namespace, &begin.key));
        let lock = begin.lock.as_deref();
        let owner = begin.owner.to_hex();
        let (name, identity) = (lock.map(|lock| lock.key.as_str()), lock.map(|lock| lock.identity.encode()));
        let (mode, slots) = lock.map_or((1, 0), |lock| numbers(lock.mode));
        let (ttl, floor) = (lock.map(|lock| millis(lock.ttl)), lock.map(floor).transpose()?.unwrap_or(0));
        let params: [Param<'_>; 15] = [
            (&begin.key.as_str(), Type::TEXT),
            (&c.kind, Type::INT4),
            (&c.version, Type::INT8),
            (&c.fence, Type::INT8),
            (&c.nonce, Type::INT8),
            (&hash, Type::TEXT),
            (&&begin.granted[..], Type::BYTEA),
            (&&begin.busy[..], Type::BYTEA),
            (&name, Type::TEXT),
            (&owner, Type::TEXT),
            (&mode, Type::INT4),
            (&slots, Type::INT4),
            (&ttl, Type::INT8),
            (&identity, Type::TEXT),
            (&floor, Type::INT8),
        ];
        let row = self.pool.one(&self.begin, &params, Effect::Write).await?;
        Told::parse(column(&row, "answer")?)
    }

    /// The beginning's outcome; `Err(version)`: `busy` stands there, and the counter has to be lifted.
    fn begun(&self, begin: &Begin, cond: Cond, told: Told) -> Result<Result<Begun, Version>> {
        Ok(Ok(match (told, &begin.lock) {
            (Told::Written(version), None) => Begun::Granted { version, grant: None },
            (Told::Granted(version, fence), Some(lock)) => {
                self.locks.tidy_sometimes();
                let fence = FencingToken::new(fence, begin.owner);
                let grant = Grant::new(lock.key.clone(), begin.owner, fence, lock.mode, lock.ttl);
                Begun::Granted { version, grant: Some(grant) }
            }
            (Told::Busy(version, None), Some(_)) => return Ok(Err(version)),
            (Told::Busy(version, Some(Answer::Contended(_, holder))), Some(lock)) => {
                Begun::Busy { version, refused: contended(&lock.key, holder) }
            }
            // No wait can end this one; whoever asks for the lock by itself is told the same.
            (Told::Busy(version, Some(Answer::Slots(held))), Some(lock)) => {
                let asked = numbers(lock.mode).1.cast_unsigned();
                Begun::Busy { version, refused: slots_disagree(&lock.key, asked, held) }
            }
            (Told::Found(record), _) => Begun::Found(record),
            (Told::Refused(seen), _) => return Err(token_refused(&begin.key, cond, seen)),
            _ => return Err(unexpected("fused_begin")),
        }))
    }
}

#[async_trait]
impl Fused for PostgresFused {
    async fn begin(&self, begin: &Begin) -> Result<Begun> {
        check_size(&begin.key, &begin.granted)?;
        check_size(&begin.key, &begin.busy)?;
        let mut cond = begin.cond;
        for _ in 0..LIFTS {
            let told = self.try_begin(begin, cond).await.map_err(|e| stands(e, cond != begin.cond))?;
            match self.begun(begin, cond, told)? {
                Ok(begun) => return Ok(begun),
                // The first after a crash of the server, or a floor above all numbers. The claim stands meanwhile.
                Err(version) => {
                    cond = Cond::Version(version);
                    let floor = begin.lock.as_deref().map(floor).transpose()?.unwrap_or(0);
                    let lifted = self.pool.run(&self.lift, &[(&floor, Type::INT8)], Effect::Write).await;
                    lifted.map_err(|e| stands(e, true))?;
                }
            }
        }
        Err(stands(unexpected("the counter cannot be lifted"), true))
    }

    async fn finish(&self, finish: &Finish) -> Result<Finished> {
        check_size(&finish.key, &finish.value)?;
        let (c, hash) = (Condition::from(finish.cond), watch_name(&self.namespace, &finish.key));
        let (ttl, grant) = (finish.ttl.map(millis), finish.grant.as_ref());
        let (name, owner) = (grant.map(|grant| grant.key.as_str()), grant.map(|grant| grant.owner.to_hex()));
        let mode = grant.map_or(1, |grant| numbers(grant.mode).0);
        let params: [Param<'_>; 11] = [
            (&finish.key.as_str(), Type::TEXT),
            (&c.kind, Type::INT4),
            (&c.version, Type::INT8),
            (&c.fence, Type::INT8),
            (&c.nonce, Type::INT8),
            (&hash, Type::TEXT),
            (&&finish.value[..], Type::BYTEA),
            (&ttl, Type::INT8),
            (&name, Type::TEXT),
            (&owner, Type::TEXT),
            (&mode, Type::INT4),
        ];
        let row = self.pool.one(&self.finish, &params, Effect::Write).await?;
        match Told::parse(column(&row, "answer")?)? {
            Told::Written(version) => Ok(Finished::Written { version, released: None }),
            Told::Released(version, released) => Ok(Finished::Written { version, released: Some(released) }),
            Told::Found(record) => Ok(Finished::Found(record)),
            Told::Refused(seen) => Err(token_refused(&finish.key, finish.cond, seen)),
            Told::Granted(..) | Told::Busy(..) => Err(unexpected("fused_finish")),
        }
    }
}

/// A beginning that stopped after its claim was written has to be taken back by the caller.
fn stands(e: Error, claimed: bool) -> Error {
    if !claimed {
        return e;
    }
    Error::new(ErrorKind::OutcomeUnknown, "the beginning of a call stopped half-way").because(e)
}

fn token_refused(key: &Key, cond: Cond, seen: Option<FencingToken>) -> Error {
    match cond {
        Cond::Fence(asked) => refused(key, asked, seen),
        Cond::Absent | Cond::Version(_) => unexpected("a refused token where there is none"),
    }
}

impl Told {
    fn parse(answer: &[u8]) -> Result<Self> {
        // Only a found record has a second part; a label in a lock's answer may hold anything.
        let found = answer.first() == Some(&b'f');
        let end = answer.iter().position(|b| found && *b == b'\n').unwrap_or(answer.len());
        let odd = || unexpected("neither begun nor finished");
        let line = std::str::from_utf8(&answer[..end]).map_err(|_| odd())?;
        Self::read(line, answer.get(end + 1..).unwrap_or_default()).ok_or_else(odd)?
    }

    fn read(line: &str, value: &[u8]) -> Option<Result<Self>> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let version = || first.parse().ok().map(Version::new);
        Some(Ok(match word {
            "w" => Self::Written(version()?),
            "g" => Self::Granted(version()?, more.parse().ok()?),
            "b" => match Answer::parse(more) {
                Ok(answer) => Self::Busy(version()?, answer),
                Err(e) => return Some(Err(e)),
            },
            "r" => Self::Released(version()?, Released::Released),
            "x" => Self::Released(version()?, Released::NotHeld),
            "t" => Self::Refused(token(rest)?),
            "n" => Self::Found(None),
            "f" => {
                let mut numbers = more.splitn(3, ' ');
                let mut ms = || numbers.next()?.parse::<i64>().ok().map(|ms| ms.max(0).cast_unsigned());
                let times = Times { written_ms: ms()?, now_ms: ms()? };
                let fence = token(numbers.next().unwrap_or_default())?;
                let value = Bytes::copy_from_slice(value);
                Self::Found(Some(Record { value, version: version()?, fence, times: Some(times) }))
            }
            _ => return None,
        }))
    }
}

/// `Some(None)`: there is none.
fn token(text: &str) -> Option<Option<FencingToken>> {
    if text.is_empty() {
        return Some(None);
    }
    let (number, nonce) = text.split_once(' ')?;
    let parts = (number.parse::<i64>().ok()?.cast_unsigned(), nonce.parse::<i64>().ok()?.cast_unsigned());
    Some(Some(FencingToken::from_parts(parts.0, parts.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_found_value_may_hold_anything() {
        let told = Told::parse(b"f 7 100 350 9 -1\nf 1 2 3\n\xff").unwrap();
        let Told::Found(Some(record)) = told else { panic!("{told:?}") };
        assert_eq!((&record.value[..], record.version.get()), (&b"f 1 2 3\n\xff"[..], 7));
        assert_eq!(record.fence, Some(FencingToken::from_parts(9, u64::MAX)));
        assert_eq!(record.times.unwrap().age().as_millis(), 250);
        assert!(matches!(Told::parse(b"f 7 100 350\n").unwrap(), Told::Found(Some(r)) if r.fence.is_none()));
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in ["", "q", "g 1", "g x 2", "f 7", "t 5", "b 1 q", "w"] {
            assert!(Told::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
