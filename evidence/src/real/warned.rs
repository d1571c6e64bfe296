//! What `docs/guarantees.md` does not promise, done on purpose: whoever reads a warning can see what it is about.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stanchion_core::claim::Response;
use stanchion_core::{
    Acquire, Call, CallKey, Cond, Fingerprint, Guard, Key, LockBackend, Owner, Policy, RecordStore, Reply, Result,
    Scope, Wait,
};
use stanchion_stores::open;
use stanchion_testkit::engines::{Redis, Skip};
use tokio::time::Instant;

use crate::report::Table;

const HOUR: i64 = 3600;
/// How long a busy machine may take until a lease has ended.
const PATIENCE: Duration = Duration::from_secs(30);
/// A claim that broke off with its connection is over long before that.
const LEASE: Duration = Duration::from_secs(1);

type Seen = std::result::Result<String, String>;

/// One row for each cell, and why a row shows nothing: a warning of what does not happen is no warning.
pub(super) async fn table() -> (Table, Vec<String>) {
    let cells: [(&str, &str, Seen); 4] = [
        (
            "redis without persistence, killed and started again",
            "acknowledged records are gone, a keyed call happens twice (the store says that it is weak)",
            forgets().await,
        ),
        (
            "redis whose clock jumps an hour ahead",
            "two holders of one lock at the same time (their fences differ, and a store that checks them refuses one)",
            one_clock().await,
        ),
        (
            "redlock of five, the clocks of three jump an hour ahead",
            "two holders of one lock at the same time",
            majority_of_clocks().await,
        ),
        (
            "a holder that stood still past its lease writes without its fence",
            "an acknowledged update is lost",
            unfenced().await,
        ),
    ];
    told(cells)
}

fn told<const CELLS: usize>(cells: [(&str, &str, Seen); CELLS]) -> (Table, Vec<String>) {
    let not_seen = |(what, _, seen): &(&str, &str, Seen)| Some(format!("{what}: {}", seen.as_ref().err()?));
    let void = cells.iter().filter_map(not_seen).collect();
    let rows = cells.into_iter().map(|(what, warned, seen)| {
        let (seen, reproduced) = match seen {
            Ok(seen) => (seen, "yes"),
            Err(why) => (why, "NO"),
        };
        vec![what.to_owned(), warned.to_owned(), seen, reproduced.to_owned()]
    });
    let columns = ["what is done", "what we warn of", "seen", "reproduced"].map(str::to_owned).into();
    (Table { heading: "Not promised".into(), columns, rows: rows.collect() }, void)
}

fn said(e: impl std::fmt::Display) -> String {
    e.to_string()
}

fn skipped(skip: Skip) -> String {
    format!("not tried: {skip}")
}

fn absent() -> String {
    "the store has no records".to_owned()
}

async fn forgets() -> Seen {
    let server = Redis::try_start().await.map_err(skipped)?;
    let opened = open(&server.url()).await.map_err(said)?;
    let records = opened.records.ok_or_else(absent)?;
    let key = Key::new("kept").map_err(said)?;
    records.put(&key, "value".into(), Cond::Absent, None).await.map_err(said)?;
    let guard = Guard::new(Arc::clone(&records), opened.locks);
    let effects = AtomicU64::new(0);
    keyed(&guard, &effects).await.map_err(said)?;
    server.kill();
    server.restart().await;
    let left = patiently(|| records.get(&key)).await.map_err(said)?;
    // A call whose connection breaks may be told anything; what was done counts here.
    let again = || async {
        let told = keyed(&guard, &effects).await;
        if effects.load(Ordering::SeqCst) > 1 { Ok(()) } else { told }
    };
    patiently(again).await.map_err(said)?;
    match (left, effects.load(Ordering::SeqCst)) {
        (None, 2) => Ok("the record is gone, two effects under one key".to_owned()),
        (left, effects) => Err(format!("the record is {left:?}, {effects} effects")),
    }
}

async fn keyed(guard: &Guard, effects: &AtomicU64) -> Result<()> {
    let call = Call::new(Scope::new("p", "s", "t")?, Policy::default().allow_weak().lease(LEASE)?)
        .key(CallKey::new("once")?, Fingerprint::of_bytes(b"the same"));
    let work = |_| async {
        effects.fetch_add(1, Ordering::SeqCst);
        Reply::Done(Response::new("", "done"))
    };
    guard.call(&call, work).await.map(|_| ())
}

/// The store is found again soon after its restart.
async fn patiently<T, Fut: Future<Output = Result<T>>>(mut ask: impl FnMut() -> Fut) -> Result<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Err(_) if Instant::now() < until => tokio::time::sleep(Duration::from_millis(20)).await,
            answer => return answer,
        }
    }
}

async fn one_clock() -> Seen {
    let server = Redis::options().own_clock().try_start().await.map_err(skipped)?;
    two_holders(&open(&server.url()).await.map_err(said)?.locks, |ahead| server.set_clock(ahead)).await
}

async fn majority_of_clocks() -> Seen {
    let mut servers = Vec::new();
    for _ in 0..5 {
        servers.push(Redis::options().own_clock().try_start().await.map_err(skipped)?);
    }
    let places: Vec<_> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    let url = format!("redlock://{}/?quarantine=0s", places.join(","));
    let jump = |ahead| servers.iter().take(3).for_each(|server| server.set_clock(ahead));
    two_holders(&open(&url).await.map_err(said)?.locks, jump).await
}

async fn two_holders(locks: &Arc<dyn LockBackend>, jump: impl Fn(i64)) -> Seen {
    let request = Acquire::new(Key::new("k").map_err(said)?).wait(Wait::No);
    let asked = Instant::now();
    let first = locks.try_acquire(&request, Owner::random()).await.map_err(said)?;
    // A quorum is enough for the first grant: a node that took the lock only after its clock jumped has to jump again.
    let mut ahead = 0;
    let again = || {
        ahead += HOUR;
        jump(ahead);
        locks.try_acquire(&request, Owner::random())
    };
    let second = patiently(again).await.map_err(said)?;
    if asked.elapsed() >= first.ttl {
        return Err("the first lease had ended by itself".to_owned());
    }
    Ok(format!("two grants within the first lease, fences {} and {}", first.fence.number(), second.fence.number()))
}

/// On the embedded store with leases; it is the same everywhere.
async fn unfenced() -> Seen {
    let folder = tempfile::tempdir().map_err(said)?;
    let url = format!("sqlite:{}?locks=lease", folder.path().join("store.db").display());
    let opened = open(&url).await.map_err(said)?;
    let (locks, records) = (opened.locks, opened.records.ok_or_else(absent)?);
    let key = Key::new("k").map_err(said)?;
    let request = Acquire::new(key.clone()).ttl(Duration::from_millis(100)).map_err(said)?;
    locks.try_acquire(&request, Owner::random()).await.map_err(said)?;
    let stale = number(&*records, &key).await.map_err(said)?;
    // It stands still: nobody renews its lease.
    patiently(|| locks.try_acquire(&request, Owner::random())).await.map_err(said)?;
    let fresh = number(&*records, &key).await.map_err(said)?;
    write(&*records, &key, fresh + 1).await.map_err(said)?;
    write(&*records, &key, stale + 1).await.map_err(said)?;
    match number(&*records, &key).await.map_err(said)? {
        1 => Ok("2 acknowledged increments, and the number is 1".to_owned()),
        other => Err(format!("2 acknowledged increments, and the number is {other}")),
    }
}

async fn number(records: &dyn RecordStore, key: &Key) -> Result<u64> {
    let found = records.get(key).await?;
    Ok(found.and_then(|record| std::str::from_utf8(&record.value).ok()?.parse().ok()).unwrap_or(0))
}

/// Whatever is there.
async fn write(records: &dyn RecordStore, key: &Key, number: u64) -> Result<()> {
    let cond = records.get(key).await?.map_or(Cond::Absent, |record| Cond::Version(record.version));
    records.put(key, number.to_string().into(), cond, None).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_warning_of_what_does_not_happen_makes_the_layer_void() {
        let cells = [("a", "lost", Ok("lost".to_owned())), ("b", "lost", Err("all there".to_owned()))];
        assert_eq!(super::told(cells).1, ["b: all there"]);
    }

    #[tokio::test]
    async fn what_we_warn_of_happens() {
        let (table, _) = super::table().await;
        for row in &table.rows {
            assert!(row[3] == "yes" || row[2].starts_with("not tried"), "{row:?}");
        }
    }
}
