//! The guard that others use without our code: `guards/zookeeper`.

use std::process::{Command, Output};
use std::time::Duration;

use stanchion_core::{Acquire, Grant, LockBackend, Owner, Wait};
use stanchion_testkit::engines::ZooKeeper;
use stanchion_testkit::eventually;
use stanchion_testkit::peers::Peers;
use zookeeper_client::{Acls, Client, CreateMode};

use super::{PATIENCE, key, open, request};
use crate::common::example::guards;

#[path = "../../../guards/zookeeper/examples/guard.rs"]
#[expect(unreachable_pub, reason = "to be copied into other programs")]
mod example;

const LOCK: &str = "account 7";
const LINE: &str = "/stanchion/locks/account%207";

/// A lease that has ended, and the one after it.
async fn two_leases(locks: &dyn LockBackend) -> (Grant, Grant) {
    let short = request(LOCK).ttl(Duration::from_millis(50)).unwrap();
    let first = locks.try_acquire(&short, Owner::random()).await.unwrap();
    let next = Acquire::new(key(LOCK)).wait(Wait::No);
    let second = std::sync::Mutex::new(None);
    eventually(PATIENCE, "the first lease ends and the second begins", || async {
        let grant = locks.try_acquire(&next, Owner::random()).await.ok();
        let held = grant.is_some();
        *second.lock().unwrap() = grant;
        held
    })
    .await;
    (first, second.into_inner().unwrap().unwrap())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test]
async fn the_example_in_python_runs_and_is_refused() {
    let example = guards("zookeeper").join("examples/guard.py");
    let python = match Peers::find() {
        Ok(peers) => peers.python().to_owned(),
        Err(skip) => return skip.report(),
    };
    let server = ZooKeeper::start().await;
    let locks = open(&server.url()).await.locks;
    let (old, new) = two_leases(&*locks).await;
    let run = |grant: &Grant| {
        let mut command = Command::new(&python);
        command.arg(&example).args([&format!("127.0.0.1:{}", server.port()), "/stanchion", "/app/account-7"]);
        command.env("STANCHION_LOCK", LOCK).env("STANCHION_LEASE_ID", grant.fence.lease_id());
        command.output().unwrap()
    };
    let refused = run(&old);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(text(&refused).starts_with("refused"), "{refused:?}");
    for count in 1..3 {
        let written = run(&new);
        assert_eq!((text(&written), written.status.code()), (format!("count is {count}"), Some(0)), "{written:?}");
    }
    locks.release(&new).await.unwrap();
    assert_eq!(run(&new).status.code(), Some(3), "after the release");
}

/// A locks, A reads, A's lease ends, B locks, B reads, A writes, B writes. Both add one.
#[tokio::test]
async fn an_unchecked_write_loses_an_update_and_a_checked_one_does_not() {
    let server = ZooKeeper::start().await;
    let locks = open(&server.url()).await.locks;
    let client = Client::connect(&format!("127.0.0.1:{}", server.port())).await.unwrap();
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    for (path, checked) in [("/unchecked", false), ("/checked", true)] {
        client.create(path, b"0", &options).await.unwrap();
        let first = {
            let short = request(LOCK).ttl(Duration::from_millis(200)).unwrap();
            locks.try_acquire(&short, Owner::random()).await.unwrap()
        };
        let a = example::lock_node(&client, LINE, &first.fence.lease_id()).await.unwrap();
        let seen_by_a = client.get_data(path).await.unwrap();
        eventually(PATIENCE, "the lease of A ends", || async { client.check_stat(&a).await.unwrap().is_none() }).await;
        let second = locks.try_acquire(&request(LOCK), Owner::random()).await.unwrap();
        let b = example::lock_node(&client, LINE, &second.fence.lease_id()).await.unwrap();
        let seen_by_b = client.get_data(path).await.unwrap();
        assert_eq!((seen_by_a.0.as_slice(), seen_by_b.0.as_slice()), (&b"0"[..], &b"0"[..]));
        let mut acknowledged = 0;
        for (lock, stat) in [(&a, seen_by_a.1), (&b, seen_by_b.1)] {
            let written = match checked {
                true => example::write(&client, lock, path, 0, stat.version).await.is_ok(),
                false => client.set_data(path, b"1", None).await.is_ok(),
            };
            acknowledged += u32::from(written);
        }
        let kept: u32 = String::from_utf8(client.get_data(path).await.unwrap().0).unwrap().parse().unwrap();
        match checked {
            true => assert_eq!((kept, acknowledged), (1, 1), "the late write is refused"),
            false => assert_eq!((kept, acknowledged), (1, 2), "void: without the check an update must get lost"),
        }
        locks.release(&second).await.unwrap();
    }
}
