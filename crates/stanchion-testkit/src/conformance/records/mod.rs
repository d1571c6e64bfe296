//! The cases of [`RecordStore`], one per bullet.

mod fences;
mod reads;
mod replies;
mod sequences;
mod writes;

use std::sync::Arc;

use stanchion_core::RecordStore;

use super::StoreFactory;

pub use fences::{
    equal_number_of_another_owner_is_refused, fence_outlives_the_record, fence_write_needs_the_touch,
    touch_raises_the_fence_and_reads,
};
pub(super) use reads::watch;
pub use reads::{changed_wakes_on_a_write, get_sees_the_last_put, scan_is_sorted_and_paged};
pub use replies::a_lost_reply_is_outcome_unknown;
pub use sequences::any_sequence_is_answered_as_a_map_would;
pub use writes::{
    cas_race_keeps_every_increment, delete_needs_its_condition, put_absent_only_once,
    put_version_refuses_a_stale_version, ttl_expires_by_the_store_clock, versions_grow_for_ever,
};

crate::__conformance_names! { records [crate::__conformance_list] }

/// Two clients of the same store, so that nothing passes by a cache inside one of them.
async fn two(store: &StoreFactory) -> Option<(Arc<dyn RecordStore>, Arc<dyn RecordStore>)> {
    Some((store.records().await?, store.records().await?))
}
