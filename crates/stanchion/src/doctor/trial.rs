//! Does it work? A lock and a record of our own, taken and given back, and how long a question takes.

use std::time::Duration;

use stanchion_core::text::duration;
use stanchion_core::{
    Acquire, Cond, Error, ErrorKind, Grant, Key, LockBackend, Owner, Page, RecordStore, Released, Renewal, Result,
    Version, Wait,
};
use stanchion_stores::{Finding, Opened};
use tokio::time::{Instant, timeout};

/// Each trial ends within this, whatever the store does.
const PATIENCE: Duration = Duration::from_secs(30);
/// If we die in the middle, what we took is gone after this.
const TTL: Duration = Duration::from_secs(10);
/// The lock of the trial.
const NAME: &str = "stanchion-doctor";
const LOOKS: usize = 9;
/// From here on renewals and hand-offs are felt.
const SLOW: Duration = Duration::from_millis(250);

pub(super) async fn all(store: &Opened) -> Vec<Finding> {
    let mut findings = vec![within("latency", latency(store)).await, within("locks", locks(&*store.locks)).await];
    findings.push(match &store.records {
        Some(kept) => within("records", records(&**kept)).await,
        None => Finding::fine("records", "this store keeps none: it only locks"),
    });
    findings
}

async fn within(topic: &'static str, trial: impl Future<Output = Result<Finding>>) -> Finding {
    match timeout(PATIENCE, trial).await {
        Ok(Ok(finding)) => finding,
        Ok(Err(error)) => super::broken(topic, &error),
        Err(_) => Finding::broken(topic, format!("no end of it within {}", duration(PATIENCE)))
            .fix("is the store stopped, or the network silent?"),
    }
}

/// The median of a few reads.
async fn latency(store: &Opened) -> Result<Finding> {
    let key = record_key("latency")?;
    let mut took = Vec::with_capacity(LOOKS);
    for _ in 0..LOOKS {
        let start = Instant::now();
        match &store.records {
            Some(records) => drop(records.get(&key).await?),
            None => drop(store.locks.list(NAME, Page::first(1)).await?),
        }
        took.push(start.elapsed());
    }
    took.sort_unstable();
    let median = took[LOOKS / 2];
    let says = format!("a read takes {} (median of {LOOKS})", fine_duration(median));
    Ok(if median > SLOW {
        Finding::weak("latency", says)
            .fix("use a store nearer to this machine, or longer ttls: three renewals must fit")
    } else {
        Finding::fine("latency", says)
    })
}

async fn locks(locks: &dyn LockBackend) -> Result<Finding> {
    let start = Instant::now();
    let (request, first) = take(locks).await?;
    let held = async {
        match locks.try_acquire(&request, Owner::random()).await {
            Err(error) if error.kind() == ErrorKind::Contended => {}
            Err(error) => return Err(error),
            Ok(second) => {
                locks.release(&second).await?;
                return Err(wrong("two owners held one lock"));
            }
        }
        match locks.renew(&first, TTL).await {
            Renewal::Renewed => Ok(()),
            Renewal::Lost => Err(wrong("a lock was lost before its time")),
            Renewal::Unknown(error) => Err(error),
        }
    }
    .await;
    let released = locks.release(&first).await;
    held?;
    if released? != Released::Released {
        return Err(wrong("a lock was lost before its time"));
    }
    let second = locks.try_acquire(&request, Owner::random()).await?;
    let released = locks.release(&second).await?;
    if second.fence.number() <= first.fence.number() || released != Released::Released {
        return Err(wrong("the fence of the next holder was not higher"));
    }
    let took = fine_duration(start.elapsed());
    Ok(Finding::fine(
        "locks",
        format!("taken, refused to another, renewed, released, taken with a higher fence: {took}"),
    ))
}

/// The trial's lock; where another doctor has it, one of our own. A store that keeps a file or a row for each name
/// would otherwise get one more with every visit.
async fn take(locks: &dyn LockBackend) -> Result<(Acquire, Grant)> {
    let usual = request(NAME)?;
    match locks.try_acquire(&usual, Owner::random()).await {
        Err(error) if error.kind() == ErrorKind::Contended => {
            let own = request(&format!("{NAME}/{}", Owner::random().to_hex()))?;
            let grant = locks.try_acquire(&own, Owner::random()).await?;
            Ok((own, grant))
        }
        taken => Ok((usual, taken?)),
    }
}

fn request(name: &str) -> Result<Acquire> {
    Ok(Acquire::new(Key::new(name)?).ttl(TTL)?.wait(Wait::No))
}

async fn records(records: &dyn RecordStore) -> Result<Finding> {
    let start = Instant::now();
    let (key, first) = write(records).await?;
    let kept = async {
        let second = records.put(&key, "two".into(), Cond::Version(first), Some(TTL)).await?;
        let read = records.get(&key).await?.ok_or_else(|| wrong("a record that was written is not there"))?;
        if read.value != "two" || read.version != second || second <= first {
            return Err(wrong("a read did not see the last write"));
        }
        match records.put(&key, "three".into(), Cond::Version(first), Some(TTL)).await {
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(second),
            Err(error) => Err(error),
            Ok(_) => Err(wrong("a write over a newer version was let through")),
        }
    }
    .await;
    match kept {
        Ok(second) => records.delete(&key, Cond::Version(second)).await?,
        Err(error) => {
            // Its ttl ends it in any case.
            if let Ok(Some(left)) = records.get(&key).await {
                records.delete(&key, Cond::Version(left.version)).await.ok();
            }
            return Err(error);
        }
    }
    if records.get(&key).await?.is_some() {
        return Err(wrong("a record that was deleted is there"));
    }
    let took = fine_duration(start.elapsed());
    Ok(Finding::fine("records", format!("written, read, refused over a newer version, deleted: {took}")))
}

fn wrong(what: &'static str) -> Error {
    Error::new(ErrorKind::Damaged, what).hint("do not use this store before you know why")
}

/// The first write, under a name that nobody else uses now: as with [`take`].
async fn write(records: &dyn RecordStore) -> Result<(Key, Version)> {
    let usual = record_key("trial")?;
    match records.put(&usual, "one".into(), Cond::Absent, Some(TTL)).await {
        Err(error) if error.kind() == ErrorKind::Conflict => {
            let own = record_key(&Owner::random().to_hex())?;
            let first = records.put(&own, "one".into(), Cond::Absent, Some(TTL)).await?;
            Ok((own, first))
        }
        written => Ok((usual, written?)),
    }
}

/// In our own space: no listing of users' records shows it. A lock's name cannot be there: it would be strange to who
/// lists locks at this moment.
fn record_key(name: &str) -> Result<Key> {
    Key::from_store(&format!("\u{1}doctor/{name}"))
}

/// Short times to the microsecond, where [`duration`] rounds to milliseconds.
fn fine_duration(time: Duration) -> String {
    if time < Duration::from_millis(10) { format!("{} µs", time.as_micros()) } else { duration(time) }
}
