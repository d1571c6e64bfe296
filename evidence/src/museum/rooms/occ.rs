//! Two clients change one record without a lock.

use bytes::Bytes;
use stanchion_core::{Cond, ErrorKind, RecordStore, Versioned};

use super::super::explore::{Visit, World};
use super::fenced::number;
use super::{Notes, key};

#[derive(Debug, Default)]
struct Counted {
    acknowledged: u64,
    unanswered: u64,
}

/// Each adds one, twice.
pub fn two_counters(world: &World) -> Visit {
    let notes = Notes::<Counted>::default();
    let clients = (0..2).map(|client| {
        let (versioned, notes) = (Versioned::new(world.wire(client)), notes.clone());
        Box::pin(async move {
            let add = |before: Option<&[u8]>| Ok(Bytes::from((number(before) + 1).to_string()));
            for _ in 0..2 {
                match versioned.update(&key(), add).await {
                    Ok(_) => notes.with(|counted| counted.acknowledged += 1),
                    Err(e) if e.kind() == ErrorKind::OutcomeUnknown => notes.with(|counted| counted.unanswered += 1),
                    Err(_) => {}
                }
            }
        }) as _
    });
    let records = Versioned::new(world.records());
    Visit {
        clients: clients.collect(),
        is_broken: notes.watch(),
        judge: Box::pin(async move {
            let value = number(records.get(&key()).await.ok().flatten().as_ref().map(|(value, _)| &value[..]));
            let Counted { acknowledged, unanswered } = notes.with(std::mem::take);
            if !(acknowledged..=acknowledged + unanswered).contains(&value) {
                notes.broken("S5", format!("{acknowledged} updates were acknowledged, and {value} are there"));
            }
            notes.verdict()
        }),
    }
}

/// A changes what it has read; B meanwhile replaces the record by a new one of the same name.
pub fn replaced_meanwhile(world: &World) -> Visit {
    let notes = Notes::<bool>::default();
    let (a, b) = (world.wire(0), world.wire(1));
    let (changed, replaced) = (notes.clone(), notes.clone());
    let clients: Vec<super::super::explore::BoxFuture<()>> = vec![
        Box::pin(async move {
            let Ok(first) = a.put(&key(), Bytes::from("old"), Cond::Absent, None).await else { return };
            let Ok(Some(read)) = a.get(&key()).await else { return };
            let changes = a.put(&key(), Bytes::from("old, changed"), Cond::Version(read.version), None).await;
            if changes.is_ok() && read.version == first && changed.with(|replaced| *replaced) {
                changed.broken("S5", "a change of the old record was written over the new one");
            }
        }),
        Box::pin(async move {
            let Ok(Some(read)) = b.get(&key()).await else { return };
            let deleted = b.delete(&key(), Cond::Version(read.version)).await;
            let created = b.put(&key(), Bytes::from("new"), Cond::Absent, None).await;
            replaced.with(|done| *done = deleted.is_ok() && created.is_ok() && read.value == "old");
        }),
    ];
    Visit { clients, is_broken: notes.watch(), judge: Box::pin(async move { notes.verdict() }) }
}
