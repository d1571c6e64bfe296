//! The queue under load: whoever stands in it is served, in order.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, Locks, Owner, Page, Released};
use stanchion_testkit::engines::MariaDb;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};
use tokio::task::JoinSet;

use super::{PATIENCE, key, open, request, waiting};

const ROUNDS: usize = 25;
/// Half of the time that a waiter has to take its turn.
const STILL: Duration = Duration::from_millis(250);

/// More than all connections of the clients together, and fewer than one statement may name.
const COPIES: usize = 60;

/// Everything that was ever written to the rows of locks: the holder, and those who wait.
struct History<'a>(&'a MariaDb);

impl<'a> History<'a> {
    fn begin(server: &'a MariaDb) -> Self {
        let table = "CREATE TABLE history (k VARBINARY(32), rev BIGINT UNSIGNED, owner VARBINARY(32), queue LONGBLOB)";
        server.ask(&format!("{table} ENGINE=MyISAM")).unwrap();
        for event in ["INSERT", "UPDATE"] {
            let trigger = format!(
                "CREATE TRIGGER on_{event} AFTER {event} ON stanchion_locks FOR EACH ROW \
                 INSERT INTO history VALUES (NEW.k, NEW.rev, NEW.owner, NEW.queue)"
            );
            server.ask(&trigger).unwrap();
        }
        // Each connection needs a copy of the table, and each copy reads the triggers anew. Where connections that run
        // begin to open copies, MariaDB 10.11 reads a trigger wrongly once in some hundred times ("Unknown trigger has an
        // error in its body: 'Query was empty'" [1064]), keeps that copy, and refuses every write for which it is used.
        // So the copies are all opened here, by one statement.
        let copies: Vec<_> = (0..COPIES).map(|copy| format!("stanchion_locks AS l{copy}")).collect();
        server.ask(&format!("SELECT 1 FROM {} LIMIT 0", copies.join(", "))).unwrap();
        Self(server)
    }

    fn read(&self, key: &str) -> Vec<(String, Vec<String>)> {
        let sql =
            format!("SELECT CONCAT('+', owner), COALESCE(HEX(queue), '') FROM history WHERE k = '{key}' ORDER BY rev");
        let rows = self.0.ask(&sql).unwrap();
        let state = |row: &str| {
            let (owner, queue) = row.split_once('\t').unwrap();
            let queue: Vec<u8> =
                (0..queue.len()).step_by(2).map(|at| u8::from_str_radix(&queue[at..at + 2], 16).unwrap()).collect();
            let queue = String::from_utf8(queue).unwrap();
            let waiters = queue.lines().filter_map(|line| line.strip_prefix('w')?.split('\u{1f}').next());
            (owner[1..].to_owned(), waiters.map(str::to_owned).collect())
        };
        rows.lines().map(state).collect()
    }
}

/// The longest time between two answers of the server while `work` was done.
async fn pulse(server: &MariaDb, work: impl Future<Output = ()>) -> Duration {
    let records = open(&server.url()).await.records.unwrap();
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    tokio::pin!(work);
    loop {
        let beat = async {
            records.get(&key("pulse")).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        let done = tokio::select! {
            () = &mut work => true,
            () = beat => false,
        };
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if done {
            return longest;
        }
    }
}

/// Each of eight tasks of each client takes the lock and gives it back.
async fn crowd(clients: &[Locks], name: &str) {
    let mut tasks = JoinSet::new();
    for (client, locks) in clients.iter().enumerate() {
        for _ in 0..8 {
            let (locks, request) = (locks.clone(), waiting(name));
            tasks.spawn(async move {
                for round in 0..ROUNDS {
                    let failed =
                        |what: &str, why: &dyn Debug| Err(format!("client {client}, round {round}, {what}: {why:?}"));
                    let lease = match locks.acquire(&request).await {
                        Ok(lease) => lease,
                        Err(e) => return failed("acquire", &e),
                    };
                    match lease.release().await {
                        Ok(Released::Released) => {}
                        other => return failed("release", &other),
                    }
                }
                Ok(())
            });
        }
    }
    let ends = tokio::time::timeout(5 * PATIENCE, tasks.join_all()).await.expect("everybody is served");
    let failures: Vec<String> = ends.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{name}: {failures:#?}");
}

/// Nobody gives up here, so a waiter leaves the queue only as the holder. One that is told of its turn too late, or never,
/// is passed over, and its place is written out of the row. Only where the machine itself stood still is that no fault.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_waiter_of_a_live_client_loses_its_turn() {
    // One cache of open tables for all connections: see [`History::begin`].
    let server = MariaDb::options().setting("table-open-cache-instances=1").start().await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(Locks::new(open(&server.url()).await.locks));
    }
    let history = History::begin(&server);
    for name in ["a", "b", "c", "d", "e"] {
        if pulse(&server, crowd(&clients, name)).await > STILL {
            continue;
        }
        let (mut holder, mut line, mut grants, mut waited) = (String::new(), Vec::new(), 0, 0);
        for (owner, waiters) in history.read(name) {
            if !owner.is_empty() && owner != holder {
                grants += 1;
                if let Some(first) = line.first() {
                    assert_eq!(*first, owner, "the first one is served");
                    line.remove(0);
                    waited += 1;
                }
            }
            assert!(waiters.starts_with(&line), "somebody was passed over: {line:?} became {waiters:?}");
            (holder, line) = (owner, waiters);
        }
        assert_eq!(grants, 4 * 8 * ROUNDS);
        assert!(waited > grants / 2, "void: only {waited} of {grants} had to wait");
        assert!(line.is_empty(), "nobody is left: {line:?}");
        return;
    }
    panic!("void: the machine stood still again and again");
}

/// What the tasks of a client want of a row goes into one write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_dropped_takes_no_other_with_it() {
    let server = MariaDb::start().await;
    let locks = open(&server.url()).await.locks;
    for _ in 0..20 {
        let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
        let (mut kept, mut owners) = (JoinSet::new(), Vec::new());
        for number in 0..16 {
            let (locks, owner) = (Arc::clone(&locks), Owner::random());
            owners.push(owner);
            let attempt = async move { locks.try_acquire(&waiting("k"), owner).await.map(|_| ()).unwrap_err().kind() };
            if number % 2 == 0 {
                let dropped = tokio::spawn(attempt);
                tokio::task::yield_now().await;
                dropped.abort();
            } else {
                kept.spawn(attempt);
            }
        }
        let answers = tokio::time::timeout(PATIENCE, kept.join_all()).await.expect("all are answered");
        assert_eq!(answers, [ErrorKind::Contended; 8]);
        for owner in owners {
            locks.withdraw(&waiting("k"), owner).await;
        }
        assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    }
    assert!(locks.list("k", Page::first(1)).await.unwrap().is_empty(), "nobody is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_told_to_all_whose_changes_went_together() {
    let server = MariaDb::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Mysql).await;
    let locks = open(&format!("{}?ssl-mode=disabled", server.url_at(proxy.port()))).await.locks;
    locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    proxy.set_plan(Plan::first("queue = _binary", Fault::LoseReply));
    let owners = [(); 8].map(|()| Owner::random());
    let attempts = || async {
        let mut tasks = JoinSet::new();
        for owner in owners {
            let locks = Arc::clone(&locks);
            tasks.spawn(async move { locks.try_acquire(&waiting("k"), owner).await.map(|_| ()).unwrap_err().kind() });
        }
        tasks.join_all().await
    };
    let answers = attempts().await;
    let unknown = answers.iter().filter(|kind| **kind == ErrorKind::OutcomeUnknown).count();
    assert!(unknown > 0, "void: no answer was lost");
    assert_eq!(answers.iter().filter(|kind| **kind == ErrorKind::Contended).count(), 8 - unknown, "{answers:?}");
    assert_eq!(attempts().await, [ErrorKind::Contended; 8]);
    assert_eq!(locks.list("k", Page::first(1)).await.unwrap()[0].waiters.len(), 8, "each stands there once");
}
