//! Cases with other processes, which are killed and stopped: for every store that processes share.
//!
//! The other processes are the test binary itself, run again with one test as its `main`:
//!
//! ```no_run
//! use stanchion_testkit::conformance::{Client, StoreFactory};
//!
//! async fn my_store() -> StoreFactory {
//!     let url = "mystore://127.0.0.1:9999".to_owned();
//!     let opened = url.clone();
//!     StoreFactory::new(move || open(opened.clone())).url(url)
//! }
//!
//! async fn open(url: String) -> Client {
//! # drop(url);
//!     todo!("open the store")
//! }
//!
//! stanchion_testkit::process_tests!(my_store_processes, my_store, open);
//! # fn main() {}
//! ```
//!
//! The exact totals are checked against a control: the same schedule without the protection must lose data, or the
//! case panics as void. So a pass means that the store saved something that would have been lost.

mod counting;
mod killed;
mod stopped;
mod taker;

use std::process::Command;
use std::time::Duration;

use super::support::not_applicable;
use super::{Outcome, StoreFactory};
use crate::process::Child;

pub use counting::five_processes_times_ten_increments_keep_every_one;
pub use killed::a_killed_holder_is_taken_over;
pub use stopped::a_stopped_holder_cannot_write_past_its_fence;
pub use taker::taker_main;

crate::__conformance_names! { process [crate::__conformance_list] }

/// Holds the URL for a process that is a taker.
const TAKER: &str = "STANCHION_TAKER";

/// One other process. See [`taker_main`] for what it understands.
struct Taker {
    child: Child,
    patience: Duration,
}

impl Taker {
    /// Starts one, and waits until its store is open.
    async fn start(store: &StoreFactory) -> Self {
        let (url, test) = store.other_process().expect("checked by `alone`");
        let test = test.split_once("::").map_or(test, |(_, path)| path);
        let mut command = Command::new(std::env::current_exe().expect("the test's own program"));
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(TAKER, url);
        let mut child = Child::spawn(&mut command);
        child.expect_line("READY", store.patient()).await;
        Self { child, patience: store.patient() }
    }

    fn tell(&mut self, command: &str) {
        self.child.write_line(command);
    }

    /// The next answer, without the word that all answers begin with.
    async fn answer(&mut self) -> String {
        // The taker's own limits are shorter; this one is for a taker that died.
        self.child.expect_line("TAKER", self.patience * 4).await
    }

    async fn ask(&mut self, command: &str) -> String {
        self.tell(command);
        self.answer().await
    }

    /// Asks, and returns what follows after the expected first word.
    async fn expect(&mut self, command: &str, word: &str) -> String {
        let answer = self.ask(command).await;
        let rest = answer.strip_prefix(word);
        rest.unwrap_or_else(|| panic!("{command}: expected {word}, got {answer:?}")).trim().to_owned()
    }
}

/// Why there are no other processes, if so.
async fn alone(store: &StoreFactory) -> Option<Outcome> {
    if !store.open().await.locks.capability().shared_between_processes {
        return Some(not_applicable("processes do not share the store"));
    }
    store.other_process().is_none().then(|| not_applicable("the factory has no `url`, or `process_tests!` is not used"))
}
