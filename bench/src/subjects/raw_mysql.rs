//! mysql_async without a lock library: a lease row, and the server's own GET_LOCK. One connection per task.

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Statement};

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS bench_lease (k VARCHAR(200) PRIMARY KEY, owner VARCHAR(40) NOT NULL,
  fence BIGINT NOT NULL, ends DATETIME(6) NOT NULL) ENGINE=InnoDB";
const ROW: &str = "INSERT IGNORE INTO bench_lease VALUES (?, '', 0, '2000-01-01')";
const ACQUIRE: &str = "UPDATE bench_lease SET owner = ?, fence = LAST_INSERT_ID(fence + 1), \
  ends = NOW(6) + INTERVAL 30 SECOND WHERE k = ? AND ends <= NOW(6)";
const RELEASE: &str = "UPDATE bench_lease SET ends = '2000-01-01' WHERE k = ? AND owner = ?";

struct Lease {
    connection: Conn,
    acquire: Statement,
    release: Statement,
    key: String,
    owner: String,
}

impl Client for Lease {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.connection.exec_drop(&self.acquire, (&self.owner, &self.key)).await?;
        match self.connection.last_insert_id() {
            Some(1..) if self.connection.affected_rows() == 1 => Ok(()),
            _ => Err("no fence".into()),
        }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        self.connection.exec_drop(&self.release, (&self.key, &self.owner)).await?;
        if self.connection.affected_rows() == 1 { Ok(()) } else { Err("nothing was released".into()) }
    }
}

pub(super) fn lease(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            let mut connection = Conn::from_url(place(job, 0)?).await?;
            let key = job.key_of(task);
            connection.query_drop(TABLE).await?;
            connection.exec_drop(ROW, (&key,)).await?;
            let (acquire, release) = (connection.prep(ACQUIRE).await?, connection.prep(RELEASE).await?);
            clients.push(Lease { connection, acquire, release, key, owner: format!("owner-{task}") });
        }
        run_tasks(job, clients).await
    })
}

struct Named {
    connection: Conn,
    get: Statement,
    release: Statement,
    key: String,
}

impl Client for Named {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        match self.connection.exec_first(&self.get, (&self.key,)).await? {
            Some(1_i64) => Ok(()),
            other => Err(format!("GET_LOCK said {other:?}").into()),
        }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        match self.connection.exec_first(&self.release, (&self.key,)).await? {
            Some(1_i64) => Ok(()),
            other => Err(format!("RELEASE_LOCK said {other:?}").into()),
        }
    }
}

/// No lease and no fence: it lives as long as its connection.
pub(super) fn get_lock(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            let mut connection = Conn::from_url(place(job, 0)?).await?;
            let get = connection.prep("SELECT GET_LOCK(?, 60)").await?;
            let release = connection.prep("SELECT RELEASE_LOCK(?)").await?;
            clients.push(Named { connection, get, release, key: job.key_of(task) });
        }
        run_tasks(job, clients).await
    })
}
