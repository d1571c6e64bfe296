//! Giving a lock back.

use std::sync::Arc;

use stanchion_core::{Grant, Released, Result};

use super::api::Op;
use super::place::Core;

impl Core {
    /// Deletes the entry of a grant if it is still its own.
    pub(super) async fn release(self: &Arc<Self>, grant: &Grant) -> Result<Released> {
        let Some(place) = self.place(grant.owner) else { return Ok(Released::NotHeld) };
        // By its index first: a copy of that which arrives late deletes nothing, whoever has the name by then.
        let by_index = (place.index > 0).then(|| Op::unchanged(&place.name, place.index));
        let by_session = [Some(&place.session), place.moving.as_ref()].into_iter().flatten();
        let by_session = by_session.map(|session| Op::held(&place.name, &session.id));
        let mut held = Err(false);
        for ours in by_index.into_iter().chain(by_session) {
            if !self.count_write(grant.owner, &place.name) {
                return Ok(Released::NotHeld);
            }
            let answer = self.http.write(&[ours, Op::delete(&place.name)]).await;
            held = answer.map_err(|e| e.with("key", &grant.key))?.map(drop).map_err(|refusal| refusal.nothing_there());
            if held != Err(false) {
                break;
            }
        }
        let left = self.leave(grant.owner);
        match (held, left) {
            (Ok(()), Some(left)) => self.give_name(&grant.key, left),
            // Its session was ended under it, and the owner itself says now that nothing more will come: no need for the delay.
            (Err(false), _) => self.clear_later(place.name),
            (Ok(()), None) | (Err(true), _) => {}
        }
        Ok(if held.is_ok() { Released::Released } else { Released::NotHeld })
    }
}
