//! What the tests of several engines share.

#![cfg_attr(not(feature = "full"), allow(dead_code, reason = "no engine needs all of it"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

pub(crate) mod certificate;
pub(crate) mod example;
pub(crate) mod faults;
pub(crate) mod sessions;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod transaction;

use std::time::Duration;

use stanchion_core::{Acquire, Error, ErrorKind, Grant, Key, LockBackend, Owner, Wait};
use stanchion_stores::Opened;
use stanchion_testkit::conformance::{Client, StoreFactory};
use tokio::time::Instant;

pub(crate) async fn open(url: &str) -> Opened {
    stanchion_stores::open(url).await.unwrap_or_else(|e| panic!("{url}: {e}; {:?}", e.next_step()))
}

pub(crate) async fn refused(url: &str) -> Error {
    stanchion_stores::open(url).await.map(|_| ()).unwrap_err()
}

pub(crate) fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

pub(crate) fn request(text: &str) -> Acquire {
    Acquire::new(key(text)).wait(Wait::No)
}

pub(crate) fn waiting(text: &str) -> Acquire {
    Acquire::new(key(text)).wait(Wait::Forever)
}

/// A client of a store that takes both steps in one trip, if it says so.
pub(crate) async fn client(url: String) -> Client {
    let opened = open(&url).await;
    let client = Client::new(opened.locks, opened.records);
    match opened.fused {
        Some(fused) => client.fused(fused),
        None => client,
    }
}

/// A client of a store whose engine has nothing better than the steps one by one.
pub(crate) async fn separate_client(url: String) -> Client {
    let opened = open(&url).await;
    Client::new(opened.locks, opened.records).separate()
}

/// A namespace of its own: what a test does to all fences of one must not reach another test on the same server.
pub(crate) fn own_namespace() -> String {
    format!("ns={}", Owner::random().to_hex())
}

/// Opens clients of `url`; what is kept, such as the server, lives as long as the factory.
pub(crate) fn factory_of<Opening: Future<Output = Client> + Send + 'static>(
    kept: impl Send + Sync + 'static,
    url: String,
    client: fn(String) -> Opening,
) -> StoreFactory {
    let opened = url.clone();
    StoreFactory::new(move || {
        let _ = &kept;
        client(opened.clone())
    })
    .url(url)
}

/// Waits for the lock as `Locks` does: ask, wait, ask again.
pub(crate) async fn obtain(locks: &dyn LockBackend, request: &Acquire, owner: Owner, patience: Duration) -> Grant {
    let until = Instant::now() + patience;
    loop {
        match locks.try_acquire(request, owner).await {
            Ok(grant) => return grant,
            Err(e) if e.kind() == ErrorKind::Contended && Instant::now() < until => {}
            Err(e) => panic!("{e}"),
        }
        locks.wait(request, owner, until).await.unwrap();
    }
}
