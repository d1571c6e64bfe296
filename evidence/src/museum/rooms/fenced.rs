//! Two clients read, add one and write, under a lock that may end at any moment, fenced by the record store.

use bytes::Bytes;
use stanchion_core::{Acquire, CasLock, Cond, ErrorKind, LockBackend as _, Owner, RecordStore, Wait};

use super::super::explore::{Visit, World};
use super::{Notes, TTL, key};

#[derive(Debug, Default)]
struct Counted {
    acknowledged: u64,
    unanswered: u64,
}

pub fn number(value: Option<&[u8]>) -> u64 {
    value.and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(|text| text.parse().ok()).unwrap_or(0)
}

pub fn two_writers(world: &World) -> Visit {
    let notes = Notes::<Counted>::default();
    let clients = (0..2).map(|client| {
        let (locks, records, notes) = (CasLock::new(world.lock_wire(client)), world.wire(client), notes.clone());
        Box::pin(async move {
            let request = Acquire::new(key()).ttl(TTL).expect("a valid ttl").wait(Wait::No);
            for _ in 0..2 {
                let Ok(grant) = locks.try_acquire(&request, Owner::random()).await else { continue };
                if let Ok(found) = records.touch(&key(), &grant.fence).await {
                    let next = number(found.as_ref().map(|record| &record.value[..])) + 1;
                    let (value, cond) = (Bytes::from(next.to_string()), Cond::Fence(grant.fence));
                    match records.put(&key(), value, cond, None).await {
                        Ok(_) => notes.with(|counted| counted.acknowledged += 1),
                        Err(e) if e.kind() == ErrorKind::OutcomeUnknown => {
                            notes.with(|counted| counted.unanswered += 1)
                        }
                        Err(_) => {}
                    }
                    return;
                }
                // Fenced out; the lock goes back, answered or not.
                locks.release(&grant).await.ok();
            }
        }) as _
    });
    let records = world.records();
    Visit {
        clients: clients.collect(),
        is_broken: notes.watch(),
        judge: Box::pin(async move {
            let found = records.get(&key()).await.ok().flatten();
            let value = number(found.as_ref().map(|record| &record.value[..]));
            let Counted { acknowledged, unanswered } = notes.with(std::mem::take);
            if !(acknowledged..=acknowledged + unanswered).contains(&value) {
                notes.broken("S2", format!("{acknowledged} updates were acknowledged, and {value} are there"));
            }
            notes.verdict()
        }),
    }
}
