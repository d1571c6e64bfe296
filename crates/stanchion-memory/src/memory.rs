//! Where a graph is kept, and what can go wrong there.

use std::fmt;

use async_trait::async_trait;
use stanchion_core::Error;

use crate::{EntityNotFound, Mutation, Outcome, Query, Selection};

/// A mutation that has happened, and will not be forgotten.
///
/// ```
/// use stanchion_memory::{Changed, Outcome};
/// let changed = Changed { outcome: Outcome::Deleted, notices: vec![] };
/// assert!(changed.notices.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What its caller is told.
    pub outcome: Outcome,
    /// What somebody should know besides, said once.
    pub notices: Vec<Notice>,
}

/// Something that is no failure of the call and must not pass in silence.
///
/// ```
/// let notice = stanchion_memory::Notice { kind: "file_damaged", text: "1 damaged line was set aside".into() };
/// assert_eq!(notice.to_string(), "1 damaged line was set aside");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// For programs: `file_damaged`, `file_replaced`, `file_deleted` or `file_converted`; on a shared store `graph_deleted` or
    /// `graph_reverted`.
    pub kind: &'static str,
    /// For people and models: what was found, and where it is now.
    pub text: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a call did not do what it should.
///
/// ```
/// use stanchion_memory::{EntityNotFound, MemoryError};
/// assert_eq!(MemoryError::from(EntityNotFound("Ada".into())).to_string(), "Entity with name Ada not found");
/// ```
#[derive(Debug)]
pub enum MemoryError {
    /// The call asks for what cannot be: nothing was changed.
    NotFound(EntityNotFound),
    /// Where the graph is kept: busy (`Contended`), full, damaged or away. The kind says whether anything was changed.
    Kept(Error),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(error) => error.fmt(f),
            Self::Kept(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MemoryError {}

impl From<EntityNotFound> for MemoryError {
    fn from(error: EntityNotFound) -> Self {
        Self::NotFound(error)
    }
}

impl From<Error> for MemoryError {
    fn from(error: Error) -> Self {
        Self::Kept(error)
    }
}

/// A graph that many processes share.
///
/// # Behavior
/// - `acknowledged_means_kept`: when `change` has returned, every later read of any process sees it.
/// - `a_mutation_is_whole`: readers see all of a mutation or nothing of it.
/// - `no_update_is_lost`: mutations of many processes at once all happen, one after the other.
/// - `a_failed_mutation_changes_nothing`: an error whose kind says "nothing ran" is true to it.
#[async_trait]
pub trait Memory: fmt::Debug + Send + Sync + 'static {
    /// Changes the graph, and returns when that will not be forgotten.
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError>;

    /// The graph as it is now, or a part of it. Waits for no lock.
    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError>;

    /// Returns when the graph is, or may be, another than at the call before; for whoever wants to be told.
    async fn changed(&self);
}
