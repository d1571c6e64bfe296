//! A lock's row as it stands in the table.

use std::time::Duration;

use mysql_async::Row;
use stanchion_core::{Acquire, Error, ErrorKind, Mode, Result};

use super::line::{Held, Line};
use super::pool::{bytes, number, text};
use super::schema::Schema;
use super::text::NOW;

/// A row as [`read_line`] reads it.
pub(super) fn select(schema: &Schema) -> String {
    format!("SELECT k, rev, fence, owner, identity, since, ends, queue, {NOW} FROM {}", schema.table("locks"))
}

pub(super) fn read_line(row: &Row) -> Result<(Vec<u8>, Line)> {
    let at = |at| number(Some(row), at);
    let mut line = Line { rev: at(1)?, fence: at(2)?, now: at(8)?, ..Line::default() };
    let damaged = || {
        let key = text(row, 0).unwrap_or_default();
        Error::new(ErrorKind::Damaged, "a lock's row was not written by us")
            .with("table", "locks")
            .with("key", key.escape_debug())
            .hint("`stanchion lock release` clears it; later fences are above all that were given")
    };
    let owner = text(row, 3)?;
    if !owner.is_empty() {
        line.holder = Some(Held {
            owner: owner.parse().map_err(|_| damaged())?,
            mode: Mode::Exclusive,
            fence: line.fence,
            since: at(5)?,
            ends: at(6)?,
            identity: text(row, 4)?,
        });
    }
    if bytes(row, 7)?.is_some() {
        line.decode(&text(row, 7)?).ok_or_else(damaged)?;
    }
    Ok((bytes(row, 0)?.unwrap_or_default(), line))
}

/// Rounded up: the server must not end a lease before its holder does.
pub(super) fn micros(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX / 4)
}

/// The floor as the row can count it: half the range is left for all the numbers after it.
pub(super) fn floor(req: &Acquire) -> Result<u64> {
    if req.floor > u64::MAX / 4 {
        return Err(Error::new(ErrorKind::Invalid, "no fence can be above this floor").with("floor", req.floor));
    }
    Ok(req.floor)
}
