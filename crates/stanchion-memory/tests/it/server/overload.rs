//! A client that does not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use stanchion_memory::{
    Changed, Entity, GraphMemory, Memory, MemoryError, MemoryServer, Mutation, Notice, Query, Selection, serve_lines,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// Counts how often it was asked.
#[derive(Debug, Default)]
struct Counting {
    graph: GraphMemory,
    reads: AtomicUsize,
}

#[async_trait::async_trait]
impl Memory for Counting {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        self.graph.change(mutation).await
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.graph.read(query).await
    }

    async fn changed(&self) {
        self.graph.changed().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_no_answers_is_not_worked_for() {
    const CALLS: usize = 1000;
    let memory = Arc::new(Counting::default());
    let large = Entity { name: "large".into(), entity_type: "t".into(), observations: vec!["x".repeat(100_000)] };
    memory.change(Mutation::CreateEntities(vec![large])).await.unwrap();
    // The way in is wide, the way out is narrow.
    let (mut to, input) = tokio::io::duplex(1 << 20);
    let (answers, output) = tokio::io::duplex(1 << 10);
    let serving = tokio::spawn(serve_lines(MemoryServer::new(memory.clone()), input, output));
    for id in 0..CALLS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "read_graph"}});
        to.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    }
    // All have been sent; it works on some and stops.
    let reads = || memory.reads.load(Ordering::SeqCst);
    let mut stood = 0;
    let mut last = 0;
    stanchion_testkit::eventually(Duration::from_secs(20), "it stops to work", || {
        let now = reads();
        stood = if now > 0 && now == last { stood + 1 } else { 0 };
        last = now;
        std::future::ready(stood > 20)
    })
    .await;
    let worked = reads();
    assert!(worked <= 40, "{worked} answers of 100 kB are kept for a client that does not read");
    // When it reads, everything is answered.
    let mut lines = BufReader::new(answers).lines();
    let mut answered = 0;
    while answered < CALLS {
        let line = tokio::time::timeout(super::support::SOON, lines.next_line()).await.unwrap().unwrap();
        assert!(line.unwrap().contains("xxx"));
        answered += 1;
    }
    assert_eq!(reads(), CALLS);
    drop(to);
    serving.await.unwrap().unwrap();
}
