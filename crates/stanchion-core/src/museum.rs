//! Planted bugs, for the evidence only.
//!
//! In a build with `--cfg stanchion_museum` one of them can be chosen by name while the program runs. In every other
//! build [`planted!`](crate::planted) is the word `false`, and not even the names are there. A cfg, and no feature:
//! features of all crates in a build are united, so one could reach a released program.

/// Whether the bug of this name is planted here.
#[cfg(not(stanchion_museum))]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($name:literal) => {
        false
    };
}

/// Whether the bug of this name is planted here.
#[cfg(stanchion_museum)]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($name:literal) => {
        $crate::museum::is_planted($name)
    };
}

#[cfg(stanchion_museum)]
mod chosen {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::sync::{PoisonError, RwLock};

    static CHOSEN: RwLock<&str> = RwLock::new("");
    static WALL_JUMP_MS: AtomicI64 = AtomicI64::new(0);

    /// From now on this bug is planted, in the whole process; none with an empty name.
    pub fn plant(name: &'static str) {
        *CHOSEN.write().unwrap_or_else(PoisonError::into_inner) = name;
    }

    #[must_use]
    pub fn is_planted(name: &str) -> bool {
        *CHOSEN.read().unwrap_or_else(PoisonError::into_inner) == name
    }

    /// Somebody sets the wall clock of this machine.
    pub fn set_wall_clock_back(by: std::time::Duration) {
        WALL_JUMP_MS.store(-i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    pub(crate) fn wall_jump_ms() -> i64 {
        WALL_JUMP_MS.load(Ordering::SeqCst)
    }
}

#[cfg(stanchion_museum)]
pub use chosen::*;
