//! Restarts, cuts, pauses and lost replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::jetstream;
use stanchion_core::{Cond, ErrorKind, Locks, LostReason, Owner, Ran, RecordStore as _, Released, Renewal, Version};
use stanchion_testkit::engines::Nats;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::time::Instant;

use super::{PATIENCE, key, make_stream, open, request, waiting};
use crate::common::faults;

async fn plain(url: &str) -> jetstream::Context {
    jetstream::new(async_nats::connect(url).await.unwrap())
}

#[tokio::test]
async fn a_restarted_server_is_found_again_and_has_kept_everything() {
    let server = Nats::start().await;
    let opened = open(&server.url()).await;
    let records = opened.records.unwrap();
    let held = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let version = records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
    server.kill();
    faults::loss_is_noticed(&*opened.locks, "k", PATIENCE).await;
    server.restart().await;
    // The lock outlived the server, and so this comes before the renewal.
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
    assert!(matches!(opened.locks.renew(&held, Duration::from_secs(5)).await, Renewal::Renewed));
    faults::still_held(&*opened.locks, &*opened.locks, &held).await;
    assert_eq!(records.get(&key("r")).await.unwrap().unwrap().version, version);
}

/// Every write that was acknowledged is there after `kill -9`; the memory bucket below shows that this can fail.
#[tokio::test]
async fn a_killed_server_forgets_nothing_that_it_acknowledged() {
    let server = Nats::start().await;
    for round in 0..5 {
        let records = open(&server.url()).await.records.unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&done);
        let writer = tokio::spawn(async move {
            let mut acknowledged: Vec<(usize, Version)> = Vec::new();
            for number in 0.. {
                match records.put(&key(&format!("r{round}/{number}")), "v".into(), Cond::Absent, None).await {
                    Ok(version) => acknowledged.push((number, version)),
                    Err(_) => break,
                }
                counted.fetch_add(1, Ordering::Relaxed);
            }
            acknowledged
        });
        // The kill comes in the middle of the following ones.
        eventually(PATIENCE, "there is something to lose", || async { done.load(Ordering::Relaxed) > 100 }).await;
        server.kill();
        let acknowledged = writer.await.unwrap();
        server.restart().await;
        let records = open(&server.url()).await.records.unwrap();
        for (number, version) in acknowledged {
            let found = records.get(&key(&format!("r{round}/{number}"))).await.unwrap();
            assert_eq!(found.map(|record| record.version), Some(version), "write {number} of round {round}");
        }
    }
}

/// The control: a bucket in memory does forget, and its capability says so.
#[tokio::test]
async fn a_bucket_in_memory_forgets_and_says_that_it_is_weak() {
    let server = Nats::start().await;
    make_stream(&server.url(), "fast", r#""storage":"memory","max_msgs_per_subject":1,"discard":"new""#).await;
    let url = format!("{}/?bucket=fast", server.url());
    let records = open(&url).await.records.unwrap();
    assert!(records.capability().weak.unwrap().contains("memory"));
    records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
    server.kill();
    server.restart().await;
    // The server kept the settings of the stream and lost what was in it.
    assert!(open(&url).await.records.unwrap().get(&key("r")).await.unwrap().is_none(), "void: it did not forget");
}

#[tokio::test]
async fn a_cut_connection_is_replaced_and_reads_do_not_notice() {
    let server = Nats::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Nats).await;
    let records = open(&server.url_at(proxy.port())).await.records.unwrap();
    records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
    for _ in 0..10 {
        proxy.cut_all();
        assert_eq!(records.get(&key("r")).await.unwrap().unwrap().value, "v");
    }
}

#[tokio::test]
async fn a_waiter_survives_the_restart_of_the_server() {
    let server = Nats::start().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let (tell, told) = tokio::sync::oneshot::channel();
    let waiter = tokio::spawn(async move {
        let (request, owner, until) = (waiting("k"), Owner::random(), Instant::now() + PATIENCE);
        let e = b.try_acquire(&request, owner).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Contended);
        tell.send(()).unwrap();
        while Instant::now() < until {
            drop(b.wait(&request, owner, until).await);
            if let Ok(grant) = b.try_acquire(&request, owner).await {
                return Some(grant);
            }
        }
        None
    });
    told.await.unwrap();
    server.restart().await;
    eventually(PATIENCE, "the release goes through", || async { a.release(&held).await.is_ok() }).await;
    assert!(waiter.await.unwrap().is_some(), "the waiter was never granted");
}

#[tokio::test]
async fn a_lost_reply_of_a_lock_is_outcome_unknown_and_asking_again_tells() {
    let server = Nats::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Nats).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    // Reads name the key as well, but not as the subject of the message.
    let write = format!("PUB $KV.stanchion.o.lock.{} ", faults::LOST);
    faults::lost_replies(&*locks, &proxy, || faults::lose(&proxy, &write)).await;
}

#[tokio::test]
async fn a_paused_server_ends_requests_by_the_timeout_and_leases_by_our_own_clock() {
    let server = Nats::start().await;
    let url = format!("{}/?timeout=300ms&connect_timeout=300ms", server.url());
    let opened = open(&url).await;
    let locks = Locks::shared(opened.locks);
    let lease = locks.acquire(&request("k").ttl(Duration::from_secs(1)).unwrap()).await.unwrap();
    let old = lease.grant().fence.number();
    server.pause();
    // A request that was just being served may still be answered.
    let records = opened.records.unwrap();
    let mut refusals = Vec::new();
    for number in 0..100 {
        if let Err(e) = records.put(&key(&format!("r{number}")), "v".into(), Cond::Absent, None).await {
            refusals.push(e.kind());
            break;
        }
    }
    assert_eq!(refusals, [ErrorKind::OutcomeUnknown]);
    assert_eq!(tokio::time::timeout(PATIENCE, lease.lost()).await.unwrap(), LostReason::Expired);
    assert_eq!(lease.fence().map(drop).unwrap_err().kind(), ErrorKind::LeaseLost, "nothing is believed longer");
    server.resume();
    let next = open(&url).await.locks;
    eventually(PATIENCE, "the next one gets it", || async {
        match next.try_acquire(&request("k"), Owner::random()).await {
            Ok(grant) => {
                assert!(grant.fence.number() > old);
                true
            }
            Err(e) => {
                assert!(e.ran() == Ran::No, "{e}");
                false
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_domain_of_jetstream_is_found_by_its_name() {
    let server = Nats::options().jetstream("domain: hub").start().await;
    let url = format!("{}/?domain=hub", server.url());
    let (opened, other) = (open(&url).await, open(&url).await);
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let waiter = tokio::spawn(async move {
        let (request, owner) = (waiting("k"), Owner::random());
        while other.locks.try_acquire(&request, owner).await.is_err() {
            other.locks.wait(&request, owner, Instant::now() + PATIENCE).await.unwrap();
        }
    });
    // The consumer that tells of the release stands in the domain before there is anything to tell.
    let hub = jetstream::with_domain(async_nats::connect(server.url()).await.unwrap(), "hub");
    eventually(PATIENCE, "the waiter listens", || async {
        hub.get_stream("KV_stanchion").await.unwrap().cached_info().state.consumer_count > 0
    })
    .await;
    opened.locks.release(&grant).await.unwrap();
    tokio::time::timeout(PATIENCE / 2, waiter).await.unwrap().unwrap();
    let records = opened.records.unwrap();
    records.put(&key("r"), "v".into(), Cond::Absent, Some(Duration::from_secs(60))).await.unwrap();
    assert_eq!(records.get(&key("r")).await.unwrap().unwrap().value, "v");
}

/// Memory of what this process saw saves trips; it never answers.
#[tokio::test]
async fn what_is_remembered_is_never_the_answer() {
    let server = Nats::start().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let first = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    a.release(&first).await.unwrap();
    // A remembers a free lock.
    let held = b.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let e = a.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.holder().unwrap().fence), (ErrorKind::Contended, Some(held.fence)));
    // B remembers its own.
    a.evict(&key("k")).await.unwrap();
    let next = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(matches!(b.renew(&held, Duration::from_secs(5)).await, Renewal::Lost));
    assert_eq!(b.release(&held).await.unwrap(), Released::NotHeld);
    assert!(first.fence.number() < held.fence.number() && held.fence.number() < next.fence.number());
    // And what stands there is what A wrote.
    assert_eq!(a.release(&next).await.unwrap(), Released::Released);
}

/// A put of a bare client overwrites what it has not seen; ours does not.
#[tokio::test]
async fn a_blind_put_loses_an_update_that_a_condition_keeps() {
    let server = Nats::start().await;
    let (a, b) = (open(&server.url()).await.records.unwrap(), open(&server.url()).await.records.unwrap());
    let number = |value: &[u8]| std::str::from_utf8(value).unwrap().parse::<u32>().unwrap();
    let counter = key("n");
    a.put(&counter, "0".into(), Cond::Absent, None).await.unwrap();
    let (seen_by_a, seen_by_b) = (a.get(&counter).await.unwrap().unwrap(), b.get(&counter).await.unwrap().unwrap());
    for (records, seen) in [(&a, seen_by_a), (&b, seen_by_b)] {
        let next = (number(&seen.value) + 1).to_string();
        if let Err(e) = records.put(&counter, next.into(), Cond::Version(seen.version), None).await {
            assert_eq!(e.kind(), ErrorKind::Conflict);
            let seen = records.get(&counter).await.unwrap().unwrap();
            let next = (number(&seen.value) + 1).to_string();
            records.put(&counter, next.into(), Cond::Version(seen.version), None).await.unwrap();
        }
    }
    assert_eq!(number(&a.get(&counter).await.unwrap().unwrap().value), 2);

    let bucket = plain(&server.url()).await.get_key_value("stanchion").await.unwrap();
    let (one, two) = (bucket.get("u.n").await.unwrap().unwrap(), bucket.get("u.n").await.unwrap().unwrap());
    for seen in [one, two] {
        bucket.put("u.n", (number(&seen) + 1).to_string().into()).await.unwrap();
    }
    assert_eq!(number(&a.get(&counter).await.unwrap().unwrap().value), 3, "void: two blind increments were both kept");
}

/// All names in the bucket, sorted.
async fn subjects(jetstream: &jetstream::Context) -> Vec<String> {
    let stream = jetstream.get_stream("KV_stanchion").await.unwrap();
    let mut names: Vec<String> = Vec::new();
    let mut listed = stream.info_with_subjects(">").await.unwrap();
    while let Some(Ok((name, _))) = futures_util::StreamExt::next(&mut listed).await {
        names.push(name);
    }
    names.sort();
    names
}

/// Marks of deleted keys and records that are over do not pile up; fences stay.
#[tokio::test]
async fn leftovers_are_removed_in_the_background_and_fences_are_kept() {
    let server = Nats::start().await;
    let opened = open(&server.url()).await;
    let records = opened.records.unwrap();
    let token = stanchion_core::FencingToken::from_parts(7, 7);
    for name in ["gone", "fenced"] {
        records.put(&key(name), "v".into(), Cond::Absent, None).await.unwrap();
    }
    records.touch(&key("fenced"), &token).await.unwrap();
    records
        .delete(&key("gone"), Cond::Version(records.get(&key("gone")).await.unwrap().unwrap().version))
        .await
        .unwrap();
    records.delete(&key("fenced"), Cond::Fence(token)).await.unwrap();
    records.put(&key("brief"), "v".into(), Cond::Absent, Some(Duration::from_millis(300))).await.unwrap();
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    opened.locks.release(&grant).await.unwrap();
    let jetstream = plain(&server.url()).await;
    eventually(Duration::from_secs(40), "only the fence and the clock are left", || async {
        subjects(&jetstream).await == ["$KV.stanchion.clock", "$KV.stanchion.u.fenced"]
    })
    .await;
    let old = stanchion_core::FencingToken::from_parts(6, 6);
    let e = records.touch(&key("fenced"), &old).await.unwrap_err();
    assert_eq!((e.kind(), e.floor()), (ErrorKind::FenceRejected, Some(7)));
    let version = records.put(&key("gone"), "v".into(), Cond::Absent, None).await.unwrap();
    assert!(version.get() > grant.fence.number());
}

/// A process that died, or whose records outlive it, leaves what nobody asks for again: others find it by and by.
#[tokio::test]
async fn what_nobody_asks_for_again_is_swept_and_its_fence_is_kept() {
    let server = Nats::start().await;
    let gone = open(&server.url()).await.records.unwrap();
    let token = stanchion_core::FencingToken::from_parts(7, 7);
    let brief = Some(Duration::from_millis(1500));
    for name in ["brief", "fenced"] {
        gone.put(&key(name), "v".into(), Cond::Absent, brief).await.unwrap();
    }
    gone.touch(&key("fenced"), &token).await.unwrap();
    drop(gone);
    let records = open(&server.url()).await.records.unwrap();
    let jetstream = plain(&server.url()).await;
    let there = subjects(&jetstream).await;
    assert!(there.contains(&"$KV.stanchion.u.brief".to_owned()), "void: {there:?}");
    // Nothing but writes of other keys, which live for days.
    let days = Some(Duration::from_secs(72 * 3600));
    let number = AtomicUsize::new(0);
    eventually(3 * PATIENCE, "what is over is gone", || async {
        for _ in 0..128 {
            let key = key(&format!("days/{}", number.fetch_add(1, Ordering::Relaxed)));
            records.put(&key, "v".into(), Cond::Absent, days).await.unwrap();
        }
        !subjects(&jetstream).await.contains(&"$KV.stanchion.u.brief".to_owned())
    })
    .await;
    let old = stanchion_core::FencingToken::from_parts(6, 6);
    let e = records.touch(&key("fenced"), &old).await.unwrap_err();
    assert_eq!((e.kind(), e.floor()), (ErrorKind::FenceRejected, Some(7)));
    let kept = records.scan("days/", stanchion_core::Page::first(10_000)).await.unwrap();
    assert_eq!(kept.len(), number.into_inner(), "what lives is kept");
}

/// The server's time is asked for once for all who need it, and so is its silence.
#[tokio::test]
async fn readers_share_the_failure_to_learn_the_servers_time() {
    let server = Nats::start().await;
    let brief = Some(Duration::from_secs(600));
    open(&server.url()).await.records.unwrap().put(&key("r"), "v".into(), Cond::Absent, brief).await.unwrap();
    let proxy = FaultProxy::start(server.addr(), Protocol::Nats).await;
    let records = open(&format!("{}/?timeout=1s", server.url_at(proxy.port()))).await.records.unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    proxy.set_plan(Plan::on(move |message| {
        if !message.contains("PUB $KV.stanchion.clock ") {
            return Fault::Deliver;
        }
        count.fetch_add(1, Ordering::Relaxed);
        Fault::Delay(PATIENCE)
    }));
    let started = Instant::now();
    let reads = (0..8).map(|_| {
        let records = Arc::clone(&records);
        tokio::spawn(async move { records.get(&key("r")).await.map(drop) })
    });
    for read in reads.collect::<Vec<_>>() {
        assert_eq!(read.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert!(asked.load(Ordering::Relaxed) > 0, "void: nobody asked for the time");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}: one after another", started.elapsed());
}
