//! Taking a lock away from those who hold it.

use std::collections::HashSet;

use stanchion_core::{Key, Released, Result};

use super::api::{OPS_MOST, Op};
use super::http::Http;
use super::name::Names;
use super::queue;

/// How often it looks again because something has changed.
const TRIES: usize = 64;

/// Evicts those who hold the lock now, and nobody who comes after them.
pub(super) async fn evict(http: &Http, names: &Names, key: &Key) -> Result<Released> {
    let (mut meant, mut some): (Option<HashSet<u64>>, bool) = (None, false);
    for _ in 0..TRIES {
        let line = queue::look(http, names, key).await?;
        let holders = line.holders(key);
        let meant = meant.get_or_insert_with(|| holders.iter().map(|spot| spot.order).collect());
        // By its order: one that has moved to another session meanwhile is the same holder.
        let left: Vec<_> = holders.into_iter().filter(|spot| meant.contains(&spot.order)).collect();
        if left.is_empty() {
            return Ok(if some { Released::Released } else { Released::NotHeld });
        }
        let mut all = true;
        for piece in left.chunks(OPS_MOST / 2) {
            let ops: Vec<Op<'_>> =
                piece.iter().flat_map(|spot| [Op::unchanged(&spot.name, spot.index), Op::delete(&spot.name)]).collect();
            let done = http.write(&ops).await.map_err(|e| e.with("key", key))?.is_ok();
            (all, some) = (all && done, some || done);
        }
        if all {
            return Ok(Released::Released);
        }
    }
    Err(http.restless(key))
}
