//! A graph that is kept nowhere.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::{Changed, Graph, Memory, MemoryError, Mutation, Notice, Query, Selection};

/// A graph in this process alone, gone with it: for tests and examples.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use stanchion_memory::{GraphMemory, Memory as _, Query};
/// let (graph, notices) = GraphMemory::default().read(Query::All).await?;
/// assert!(graph.entities.is_empty() && notices.is_empty());
/// # Ok::<(), stanchion_memory::MemoryError>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct GraphMemory {
    graph: Mutex<Graph>,
    changes: watch::Sender<()>,
    /// What the one who waits for changes has seen.
    seen: tokio::sync::Mutex<watch::Receiver<()>>,
}

impl Default for GraphMemory {
    fn default() -> Self {
        let (changes, seen) = watch::channel(());
        Self { graph: Mutex::default(), changes, seen: seen.into() }
    }
}

#[async_trait]
impl Memory for GraphMemory {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        let outcome = {
            let mut graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
            let (plan, outcome) = graph.plan(&mutation)?;
            graph.apply(plan);
            outcome
        };
        self.changes.send_replace(());
        Ok(Changed { outcome, notices: Vec::new() })
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        let graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((graph.select(&query), Vec::new()))
    }

    async fn changed(&self) {
        // The sender is ours: it cannot be gone.
        self.seen.lock().await.changed().await.ok();
    }
}
