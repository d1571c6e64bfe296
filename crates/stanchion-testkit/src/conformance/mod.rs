//! The contract of a backend, as tests: one case per `# Behavior` bullet of [`RecordStore`], [`LockBackend`]
//! and [`Fused`], with the same name; and the cases of [`Locks`] on top of a backend.
//!
//! A backend's test binary says how to open its store, and gets one test per case:
//!
//! ```
//! use std::sync::Arc;
//! use stanchion_core::{CasLock, MemoryStore};
//! use stanchion_testkit::conformance::{Client, StoreFactory};
//!
//! async fn memory() -> StoreFactory {
//!     let store = MemoryStore::new();
//!     StoreFactory::new(move || {
//!         let store = store.clone();
//!         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
//!     })
//! }
//!
//! stanchion_testkit::conformance_tests!(memory_conformance, memory, except: [
//!     a_lost_reply_is_outcome_unknown, // there is no wire
//!     waiters_are_served_in_order,     // not fair
//! ]);
//! # fn main() {}
//! ```
//!
//! A case that does not apply to a store says so and why; the test fails unless the case is listed under `except`,
//! and it fails as well when a listed case does apply. So the list is the honest table of what a backend leaves out.
//!
//! - A backend without records: `suites: [locks, leases]`.
//! - A backend with [`Fused`], or the same steps one by one: [`Client::fused`], [`Client::separate`], `suites: [fused]`.
//! - Cases with other processes, which are killed and stopped: [`process`] and [`process_tests!`](crate::process_tests).
//! - Everything in one go, for instance against a server of one's own: [`run_all`].
//!
//! [`Fused`]: stanchion_core::Fused
//! [`RecordStore`]: stanchion_core::RecordStore
//! [`LockBackend`]: stanchion_core::LockBackend
//! [`Locks`]: stanchion_core::Locks

mod cases;
mod factory;
pub mod fused;
pub mod leases;
pub mod locks;
pub mod process;
pub mod records;
mod run;
mod sequences;
mod support;

use std::fmt;

pub use factory::{BoxFuture, Client, Faults, StoreFactory};
pub use run::{run_all, run_case};

/// How a case ended that did not fail; a failing case panics.
///
/// ```
/// use stanchion_testkit::conformance::Outcome;
/// let outcome = Outcome::NotApplicable("the store has no records".into());
/// assert_ne!(outcome, Outcome::Passed);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The store behaves as the bullet says.
    Passed,
    /// The bullet says nothing about this store, for this reason.
    NotApplicable(String),
}

/// One bullet of a trait's `# Behavior`, as a test.
///
/// ```
/// use stanchion_testkit::conformance::records;
/// assert!(records::CASES.iter().any(|case| case.name == "put_absent_only_once"));
/// ```
#[derive(Clone, Copy)]
pub struct Case {
    /// The bullet's name.
    pub name: &'static str,
    /// Runs it; panics if the store behaves otherwise.
    pub run: for<'a> fn(&'a StoreFactory) -> BoxFuture<'a, Outcome>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
