//! Finds races in source code: lost updates, locks of too small a scope, effects that happen twice.
//!
//! Files are parsed, and every entry point (a tool, a route, a timer, any function nobody else calls) is followed through its
//! calls, across files. What it reads, writes, locks and sends becomes a trace, and rules judge traces: *between this read
//! and that write, can somebody else come?* What library calls do is data (`models/*.toml`), and names of the program's own
//! functions and variables decide nothing.
//!
//! ```
//! use stanchion_audit::{audit, config::Config, format::{Format, Look}};
//!
//! let folder = tempfile::tempdir()?;
//! let code = "\
//! import json
//! def add(note):
//!     with open('/data/notes.json') as file:
//!         notes = json.load(file)
//!     notes.append(note)
//!     with open('/data/notes.json', 'w') as file:
//!         json.dump(notes, file)
//! ";
//! std::fs::write(folder.path().join("notes.py"), code)?;
//! let config = Config::parse("stanchion-audit.toml", "instances = 'many'").map_err(|mut all| all.remove(0))?;
//! let audited = audit(folder.path(), &[folder.path().to_owned()], &config)?;
//! let found: Vec<_> = audited.report.open().map(|finding| (finding.code, finding.line)).collect();
//! assert!(found.contains(&("RC101", 7)), "{found:?}");
//! let mut text = Vec::new();
//! Format::Text.write(&mut text, &audited.report, &|path| audited.text(path), Look::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What it cannot do: it proves nothing absent. Code that it does not follow (reflection, unknown libraries, other programs)
//! has no effect in its eyes; each rule's page says what the rule does not find.
//!
//! | module | what is there |
//! |---|---|
//! | [`config`] | what is looked at, and how |
//! | [`catalogue`] | the rules and their pages |
//! | [`finding`] | what a rule found, and its fingerprint |
//! | [`format`](mod@format) | text, agent, JSON, SARIF, GitHub, JUnit |
//! | [`baseline`], [`diff`] | only what is new |
//! | [`checklist`], [`deploy`] | deployment checklists with a grade; how many instances run |

mod advice;
mod audit;
pub mod baseline;
pub mod catalogue;
pub mod checklist;
pub mod config;
mod copies;
#[doc(hidden)]
pub mod corpus;
pub mod deploy;
pub mod diff;
mod engine;
pub mod error;
pub mod finding;
pub mod format;
mod frontend;
mod hir;
mod models;
mod pipeline;
pub mod probe;
mod program;
mod resolve;
mod rules;
mod schema;
mod sql;
mod suppress;
mod walk;

pub use self::pipeline::{Audited, Progress, audit, audit_and_tell};
