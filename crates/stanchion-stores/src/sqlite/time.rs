//! The store's time: one clock for all processes of a machine, which neither steps nor stops.
//!
//! The wall clock can be set, so no ttl is judged by it. `CLOCK_BOOTTIME` cannot, counts suspend, and is the
//! same for all processes; but it begins anew with each boot. So the store keeps an offset per boot:
//! store time = offset + time since boot. Whoever opens the store first after a boot chooses the offset so
//! that time goes on from the last write, plus what the wall clock says has passed since then. If the wall
//! clock was set back, nothing is added: records then live longer, never shorter. Only a wall clock that was
//! wrongly set *forward* across a reboot ends a ttl early; there is no better witness on a machine that was off.
//!
//! Where the system tells no boot from another, store time is the wall clock, held so that it never goes back.

use stanchion_core::{Clock, SystemClock};

/// What the database remembers about time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// The boot that `offset_ms` belongs to; empty where boots cannot be told apart.
    pub(super) boot: String,
    pub(super) offset_ms: i64,
    /// Store time and wall time of the last write.
    pub(super) last_ms: i64,
    pub(super) last_wall_ms: i64,
}

#[derive(Debug, Clone)]
pub(super) struct StoreClock {
    boot: String,
    offset_ms: i64,
    /// The latest time we know of: nothing may be earlier.
    floor_ms: i64,
}

impl StoreClock {
    /// The clock of the present boot, and what to keep if that is new. `kept` is `None` for a new store,
    /// whose time begins as the wall clock's, so that people can read it.
    pub(super) fn resume(kept: Option<&Kept>) -> (Self, Option<Kept>) {
        Self::resume_at(kept, boot_id(), since_boot_ms(), wall_ms())
    }

    fn resume_at(kept: Option<&Kept>, boot: String, since_boot: i64, wall: i64) -> (Self, Option<Kept>) {
        if let Some(kept) = kept
            && kept.boot == boot
        {
            return (Self { boot, offset_ms: kept.offset_ms, floor_ms: kept.last_ms }, None);
        }
        let now = kept.map_or(wall, |kept| kept.last_ms + (wall - kept.last_wall_ms).max(0));
        let offset_ms = now - since_boot;
        let kept = Kept { boot: boot.clone(), offset_ms, last_ms: now, last_wall_ms: wall };
        (Self { boot, offset_ms, floor_ms: now }, Some(kept))
    }

    pub(super) fn now_ms(&mut self) -> i64 {
        let now = if self.boot.is_empty() { wall_ms() } else { self.offset_ms + since_boot_ms() };
        self.floor_ms = self.floor_ms.max(now);
        self.floor_ms
    }

    /// Another process has written at `ms`.
    pub(super) fn seen(&mut self, ms: i64) {
        // Only the wall clock can be behind; with a boot clock this is the same clock, rounded down.
        self.floor_ms = self.floor_ms.max(ms);
    }
}

pub(super) fn wall_ms() -> i64 {
    i64::try_from(crate::file::wall_us() / 1000).unwrap_or(i64::MAX)
}

fn since_boot_ms() -> i64 {
    i64::try_from(SystemClock.now().since_boot().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Kept {
        Kept { boot: "one".into(), offset_ms: 1000, last_ms: 5000, last_wall_ms: 80_000 }
    }

    fn now_after(boot: &str, since_boot: i64, wall: i64) -> i64 {
        let (clock, _) = StoreClock::resume_at(Some(&kept()), boot.into(), since_boot, wall);
        clock.offset_ms + since_boot
    }

    #[test]
    fn a_wall_clock_that_steps_within_a_boot_changes_nothing() {
        assert_eq!(now_after("one", 4500, 0), 5500);
        assert_eq!(now_after("one", 4500, 9_999_999), 5500);
    }

    #[test]
    fn time_goes_on_over_a_reboot() {
        assert_eq!(now_after("two", 10, 80_700), 5700);
    }

    #[test]
    fn a_wall_clock_set_back_over_a_reboot_does_not_turn_time_back() {
        assert_eq!(now_after("two", 10, 0), 5000);
    }
}
