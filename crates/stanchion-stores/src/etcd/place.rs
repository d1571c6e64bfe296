//! Where the owners of this process stand, and the names of their entries.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use prost::Message;
use stanchion_core::{Key, Owner, Result};
use tokio::time::Instant;

use super::fault::Fault;
use super::line::Line;
use super::proto::{Delete, Deleted};
use super::session::Session;
use crate::line::Wake;

const DELETE: &str = "/etcdserverpb.KV/DeleteRange";
/// Keys whose names are kept for later.
const NAMES_MOST: usize = 4096;

/// Where an owner of this process stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) name: Vec<u8>,
    /// Writes to this name whose answers have not come, and perhaps never will.
    pub(super) open: u32,
    pub(super) session: Arc<Session>,
    /// The entry's order, once it is known.
    pub(super) order: Option<i64>,
    /// What it waits for.
    pub(super) behind: Option<Behind>,
}

#[derive(Debug, Clone)]
pub(super) struct Behind {
    pub(super) wake: Wake,
    /// The name of the entry that has to leave; `None` if it may be any.
    pub(super) name: Option<Bytes>,
    /// The revision at which the line was seen.
    pub(super) seen: i64,
}

impl Line {
    pub(super) fn places(&self) -> std::sync::MutexGuard<'_, HashMap<Owner, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn place(&self, owner: Owner) -> Option<Place> {
        self.places().get(&owner).cloned()
    }

    /// A write to the name of a place. `None`: the place is ours no more, and its name may be another's.
    pub(super) async fn write_at<A: Message + Default>(
        &self,
        owner: Owner,
        name: &[u8],
        path: &'static str,
        message: &impl Message,
    ) -> Result<Option<A>, Fault> {
        let count = |step: fn(&mut u32)| {
            let mut places = self.places();
            let place = places.get_mut(&owner).filter(|place| place.name == name);
            place.map(|place| step(&mut place.open)).is_some()
        };
        if !count(|open| *open += 1) {
            return Ok(None);
        }
        let answer = self.hub.write(path, message).await;
        if !answer.as_ref().is_err_and(Fault::is_unknown) {
            count(|open| *open -= 1);
        }
        answer.map(Some)
    }

    /// The entry of a place that was ours until now is deleted. Its name serves again, unless a write to it may still be under way.
    fn give_name(&self, key: &Key, left: Place) {
        if left.open == 0 {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            if used.len() >= NAMES_MOST {
                used.clear();
            }
            used.entry(key.clone()).or_default().push(left.name);
        }
    }

    pub(super) fn take_name(&self, key: &Key) -> Option<Vec<u8>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).get_mut(key)?.pop()
    }

    /// Deletes the entry of an owner that has left; whether it was there.
    pub(super) async fn delete(&self, key: &Key, owner: Owner) -> Result<bool> {
        let Some(place) = self.place(owner) else { return Ok(false) };
        let delete = Delete { key: place.name.clone(), range_end: Vec::new() };
        let deleted: Option<Deleted> =
            self.write_at(owner, &place.name, DELETE, &delete).await.map_err(|fault| self.error(fault, key, true))?;
        self.deadlines.forget(owner);
        let left = self.places().remove(&owner);
        let there = deleted.is_some_and(|deleted| deleted.deleted > 0);
        if let Some(left) = left.filter(|left| there && left.name == place.name) {
            self.give_name(key, left);
        }
        Ok(there)
    }

    /// The owner does not stand in line any more.
    pub(super) fn forget(&self, owner: Owner) {
        self.deadlines.forget(owner);
        self.places().remove(&owner);
    }

    /// The entry that was `left` is deleted, and forgotten unless the owner has come in again since.
    pub(super) fn forget_place(&self, key: &Key, owner: Owner, left: &Place) {
        let mut places = self.places();
        match (left.order, places.get(&owner).map(|now| now.order)) {
            // An attempt was under way whose entry came before or after the delete: deleted again, by its order.
            (None, Some(Some(_))) => self.deadlines.set(key, owner, Instant::now()),
            (left, Some(now)) if left != now => {}
            _ => {
                self.deadlines.forget(owner);
                if let Some(gone) = places.remove(&owner).filter(|gone| gone.name == left.name) {
                    drop(places);
                    self.give_name(key, gone);
                }
            }
        }
    }
}
