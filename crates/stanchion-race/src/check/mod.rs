//! Checkers: what was seen by the clients of a race, and whether one correct service could have answered like that.
//!
//! | module | question | cost |
//! |---|---|---|
//! | [`order`] | do tokens and versions follow one order, and does real time agree with it? | O(n log n) |
//! | [`linear`] | is there an order of the calls on one key that explains every answer? | a search, with a deadline |
//! | [`cycle`] | is there an order of calls that touch several keys? | O(n log n) |
//!
//! Where the service hands out tokens or versions, the order is given and [`order`] is the one to use. [`linear`] is for
//! black boxes. All of them read the same [`History`].
//!
//! ```
//! use stanchion_race::check::{History, linear::{self, Limits}, model::Register};
//!
//! let history = History::parse(concat!(
//!     r#"{"client":1,"key":"note","call":0,"return":10,"do":"write","value":1}"#, "\n",
//!     r#"{"client":2,"key":"note","call":20,"return":30,"do":"read","got":null}"#, "\n",
//! ))?;
//! let verdict = linear::check(&Register::default(), &history, Limits::default());
//! let found = verdict.violation().expect("the acknowledged write is not there");
//! assert!(found.story(&history).contains("cannot be ordered"));
//! # Ok::<(), stanchion_race::check::BadLine>(())
//! ```

pub mod cycle;
mod history;
pub mod linear;
mod lines;
pub mod model;
pub mod order;

pub use history::{Full, History, Input, OPEN, Operation, Shown, Value};
pub use lines::BadLine;
