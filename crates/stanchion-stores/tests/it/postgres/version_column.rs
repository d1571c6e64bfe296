//! `VersionColumn` on a real table, and the control that forgets the version.

use stanchion_core::ErrorKind;
use stanchion_core::sql::{Dialect, VersionColumn};
use stanchion_testkit::engines::Postgres;
use tokio_postgres::Client;

use crate::postgres::plain;

struct Counter {
    server: Postgres,
    table: VersionColumn,
    select: String,
    update: String,
}

impl Counter {
    async fn new() -> Self {
        let server = Postgres::start().await;
        let setup = "CREATE TABLE \"odd \"\"name\" (id int PRIMARY KEY, n int NOT NULL, version bigint NOT NULL);
            INSERT INTO \"odd \"\"name\" VALUES (1, 0, 1)";
        plain(&server.url()).await.batch_execute(setup).await.unwrap();
        let table = VersionColumn::new("public.odd \"name", "id", "version").unwrap();
        let select = table.select_sql(Dialect::Postgres, &["n"]).unwrap();
        let update = table.update_sql(Dialect::Postgres, &["n"]).unwrap();
        Self { server, table, select, update }
    }

    async fn read(&self, client: &Client) -> (i32, i64) {
        let row = client.query_one(&self.select, &[&1]).await.unwrap();
        (row.get(0), row.get(1))
    }

    async fn write(&self, client: &Client, n: i32, version: i64) -> stanchion_core::Result<()> {
        self.table.check(client.execute(&self.update, &[&n, &1, &version]).await.unwrap())
    }

    /// Both read, then both write. Returns the second writer's answer and the count at the end.
    async fn two_writers(&self) -> (stanchion_core::Result<()>, i32) {
        let (a, b) = (plain(&self.server.url()).await, plain(&self.server.url()).await);
        let (read_a, read_b) = (self.read(&a).await, self.read(&b).await);
        self.write(&a, read_a.0 + 1, read_a.1).await.unwrap();
        let second = self.write(&b, read_b.0 + 1, read_b.1).await;
        (second, self.read(&a).await.0)
    }
}

#[tokio::test]
async fn the_second_writer_of_one_version_is_refused() {
    let (second, n) = Counter::new().await.two_writers().await;
    assert_eq!((second.unwrap_err().kind(), n), (ErrorKind::Conflict, 1));
}

/// The control: without the version in WHERE both are acknowledged, and one is lost.
#[tokio::test]
async fn without_the_version_an_increment_is_lost() {
    let mut counter = Counter::new().await;
    counter.update = counter.update.replace(" AND \"version\" = $3", " AND $3::bigint IS NOT NULL");
    let (second, n) = counter.two_writers().await;
    assert!(second.is_ok() && n == 1, "the control must lose an update, or the tests beside it prove nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_version_column_keeps_every_increment() {
    let counter = std::sync::Arc::new(Counter::new().await);
    let workers: Vec<_> = (0..5)
        .map(|_| {
            let counter = std::sync::Arc::clone(&counter);
            tokio::spawn(async move {
                let client = plain(&counter.server.url()).await;
                for _ in 0..10 {
                    loop {
                        let (n, version) = counter.read(&client).await;
                        match counter.write(&client, n + 1, version).await {
                            Ok(()) => break,
                            Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict),
                        }
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let client = plain(&counter.server.url()).await;
    assert_eq!(counter.read(&client).await.0, 50);
}
