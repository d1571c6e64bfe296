//! The control: a memory that writes its file where it is, as most programs do.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind};
use stanchion_memory::{
    Changed, Graph, Memory, MemoryError, MemoryServer, Mutation, Notice, Query, Selection, from_jsonl, serve_stdio,
    to_jsonl,
};

#[derive(Debug)]
struct Naive {
    path: PathBuf,
    graph: Mutex<Graph>,
}

#[async_trait]
impl Memory for Naive {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        let mut graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        let (plan, outcome) = graph.plan(&mutation)?;
        graph.apply(plan);
        let (entities, relations) = (graph.entities().to_vec(), graph.relations().to_vec());
        let failed = |e| MemoryError::from(Error::new(ErrorKind::Unavailable, "cannot write").because(e));
        // stanchion-audit: ignore RC302 -- the control, which has to tear its file
        std::fs::write(&self.path, to_jsonl(&Selection { entities, relations })).map_err(failed)?;
        Ok(Changed { outcome, notices: Vec::new() })
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        Ok((self.graph.lock().unwrap_or_else(PoisonError::into_inner).select(&query), Vec::new()))
    }

    async fn changed(&self) {
        std::future::pending().await
    }
}

pub(super) fn run(arguments: &[String]) -> ExitCode {
    let [path] = arguments else { return ExitCode::from(2) };
    let (Selection { entities, relations }, _) = from_jsonl(&std::fs::read(path).unwrap_or_default());
    let memory = Naive { path: path.into(), graph: Mutex::new(Graph::new(entities, relations)) };
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build() else {
        return ExitCode::FAILURE;
    };
    match runtime.block_on(serve_stdio(MemoryServer::new(Arc::new(memory)))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
