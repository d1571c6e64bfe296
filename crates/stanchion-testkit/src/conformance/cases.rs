//! The names of all cases, once: the `CASES` lists and the generated tests both come from here.

/// Hands the names of a suite's cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_names {
    (records [$($then:tt)*] $($args:tt)*) => {
        $($then)*! { $($args)* [
            get_sees_the_last_put
            put_absent_only_once
            put_version_refuses_a_stale_version
            versions_grow_for_ever
            ttl_expires_by_the_store_clock
            delete_needs_its_condition
            touch_raises_the_fence_and_reads
            equal_number_of_another_owner_is_refused
            fence_write_needs_the_touch
            fence_outlives_the_record
            scan_is_sorted_and_paged
            changed_wakes_on_a_write
            cas_race_keeps_every_increment
            a_lost_reply_is_outcome_unknown
            any_sequence_is_answered_as_a_map_would
        ] }
    };
    (locks [$($then:tt)*] $($args:tt)*) => {
        $($then)*! { $($args)* [
            one_exclusive_holder
            contended_names_the_holder
            shared_holders_exclude_an_exclusive_one
            slots_admit_n_and_no_more
            fences_grow_for_ever
            the_fence_is_above_the_floor
            release_tells_whether_we_held
            release_by_another_owner_changes_nothing
            an_expired_lease_is_handed_on
            renewal_prolongs
            wait_wakes_on_release
            a_withdrawn_waiter_is_never_granted
            waiters_are_served_in_order
            list_shows_holders
            evict_frees_and_fences
            attempting_twice_with_one_owner_is_one_grant
            any_sequence_is_answered_as_one_holder_list_would
        ] }
    };
    (fused [$($then:tt)*] $($args:tt)*) => {
        $($then)*! { $($args)* [
            begin_marks_and_locks_together
            begin_on_a_busy_lock_leaves_the_claim
            begin_that_meets_a_record_changes_nothing
            of_many_beginnings_one_is_granted
            finish_writes_and_releases_together
            finish_with_a_stale_version_changes_nothing
            finish_after_the_lock_was_lost_still_writes
            an_answer_lost_in_begin_is_outcome_unknown
        ] }
    };
    (process [$($then:tt)*] $($args:tt)*) => {
        $($then)*! { $($args)* [
            a_killed_holder_is_taken_over
            a_stopped_holder_cannot_write_past_its_fence
            five_processes_times_ten_increments_keep_every_one
        ] }
    };
    (leases [$($then:tt)*] $($args:tt)*) => {
        $($then)*! { $($args)* [
            a_grant_after_giving_up_is_released
            tasks_of_one_process_are_served_in_order
            opposite_orders_never_dead_lock
            dropping_a_lease_releases_it
            lost_comes_before_the_store_hands_on
            a_late_renewal_never_revives
            release_after_loss_says_not_held
            max_hold_ends_the_lease
            all_or_nothing
        ] }
    };
}

/// A suite's `CASES`.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_list {
    ([$($case:ident)*]) => {
        /// The cases of this suite.
        ///
        /// ```
        /// use stanchion_testkit::conformance::{fused, leases, locks, process, records};
        /// for cases in [records::CASES, locks::CASES, leases::CASES, fused::CASES, process::CASES] {
        ///     assert!(!cases.is_empty());
        /// }
        /// ```
        pub static CASES: &[$crate::conformance::Case] = &[
            $($crate::conformance::Case { name: stringify!($case), run: |store| Box::pin($case(store)) }),*
        ];
    };
}

/// One test per case of a suite.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_suite {
    ($suite:ident $except:tt [$($case:ident)*]) => {
        mod $suite {
            $(#[test]
            fn $case() {
                let cases = $crate::conformance::$suite::CASES;
                $crate::conformance::run_case(cases, stringify!($case), super::factory, &super::EXCEPT);
            })*
        }
    };
}

/// One `#[test]` per conformance case, in a module of the given name.
///
/// `conformance_tests!(module, factory)` takes an `async fn() -> StoreFactory`, which every test calls once. Optional,
/// in this order: `suites: [records, locks, leases]` (that is the default; `fused` is for clients that have it) and
/// `except: [case, …]` with exactly those cases that do not apply to the store. See [`conformance`](crate::conformance).
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, MemoryStore};
/// use stanchion_testkit::conformance::{Client, StoreFactory};
///
/// async fn locks_only() -> StoreFactory {
///     let store = MemoryStore::new();
///     StoreFactory::new(move || {
///         let locks = CasLock::new(store.clone());
///         async move { Client::new(Arc::new(locks), None) }
///     })
/// }
///
/// stanchion_testkit::conformance_tests!(memory_locks, locks_only, suites: [locks, leases], except: [
///     waiters_are_served_in_order, // compare-and-swap has no queue
/// ]);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! conformance_tests {
    ($module:ident, $factory:expr $(, except: [$($except:ident),* $(,)?])? $(,)?) => {
        $crate::conformance_tests!($module, $factory, suites: [records, locks, leases], except: [$($($except),*)?]);
    };
    ($module:ident, $factory:expr, suites: [$($suite:ident),+ $(,)?] $(,)?) => {
        $crate::conformance_tests!($module, $factory, suites: [$($suite),+], except: []);
    };
    ($module:ident, $factory:expr, suites: [$($suite:ident),+ $(,)?], except: [$($except:ident),* $(,)?] $(,)?) => {
        mod $module {
            #[allow(unused_imports, reason = "the factory may be named by an absolute path")]
            use super::*;

            const EXCEPT: &[&str] = &[$(stringify!($except)),*];

            fn factory() -> $crate::conformance::BoxFuture<'static, $crate::conformance::StoreFactory> {
                Box::pin(($factory)())
            }

            $($crate::__conformance_names! { $suite [$crate::__conformance_suite] $suite [] })+
        }
    };
}

/// One `#[test]` per case with other processes, and the test that is those processes' `main`.
///
/// `process_tests!(module, factory, open)` takes an `async fn() -> StoreFactory` whose factory has a
/// [`url`](crate::conformance::StoreFactory::url), and an `async fn(url: String) -> Client`, which runs in the other
/// processes. Optional: `except: [case, …]`. See [`conformance::process`](crate::conformance::process).
///
/// ```
/// use stanchion_testkit::conformance::{Client, StoreFactory};
///
/// async fn my_store() -> StoreFactory {
///     let url = "mystore://127.0.0.1:9999";
///     StoreFactory::new(move || open(url.to_owned())).url(url)
/// }
///
/// async fn open(url: String) -> Client {
///     todo!("open the store at {url}")
/// }
///
/// stanchion_testkit::process_tests!(my_store_processes, my_store, open);
/// # fn main() {} // the tests run under `cargo test` of the crate that has them
/// ```
#[macro_export]
macro_rules! process_tests {
    ($module:ident, $factory:expr, $open:expr $(, except: [$($except:ident),* $(,)?])? $(,)?) => {
        mod $module {
            #[allow(unused_imports, reason = "the factory may be named by an absolute path")]
            use super::*;

            const EXCEPT: &[&str] = &[$($(stringify!($except)),*)?];

            fn factory() -> $crate::conformance::BoxFuture<'static, $crate::conformance::StoreFactory> {
                Box::pin(async { ($factory)().await.taker(concat!(module_path!(), "::taker_process")) })
            }

            /// Not a test: the other processes' `main`. Does nothing when it is run as a test.
            #[test]
            fn taker_process() {
                $crate::conformance::process::taker_main($open);
            }

            $crate::__conformance_names! { process [$crate::__conformance_suite] process [] }
        }
    };
}
