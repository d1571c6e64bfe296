#![doc = include_str!("../README.md")]

mod auto;
pub mod check;
mod oracle;
mod recorder;
mod run;
mod schedule;
mod spec;
mod target;
mod verdict;

pub use auto::{Auto, AutoTarget, auto, without_value};
pub use oracle::Violation;
pub use run::{End, Options, Phase, Progress, ReadBack, Record, Watch, race};
pub use schedule::{Fault, Schedule, ScheduleError, Step};
pub use spec::{
    Action, Amount, Call, Expect, FaultKind, Faults, Kind, Limits, Model, Operation, Origin, Read, Request, Spec,
    SpecError, SpecProblem, Target, Template, Upstream, UpstreamFault, ValueTemplate,
};
pub use target::without_secrets;
pub use verdict::{Comparison, Ends, Found, Guarding, Line, Minimal, Outcome, Tone, Verdict};
