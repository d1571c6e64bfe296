//! The guard on the memory store: what callers are told, state by state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stanchion_core::claim::{Claim, Response, Runner, State};
use stanchion_core::pause::hold;
use stanchion_core::{
    Acquire, Answer, Breaker, Call, CallKey, CasLock, ChaosStore, Cond, Effect, ErrorKind, Fingerprint, Guard,
    Idempotency, InFlight, Key, Limiter, Locks, ManualClock, MemoryStore, OnStoreDown, Policy, Probe, Reconcile,
    RecordStore, Reply, Scope, Settlement, Wait,
};

struct Bench {
    guard: Guard,
    store: MemoryStore,
    clock: Arc<ManualClock>,
    effects: Arc<AtomicU32>,
}

fn bench() -> Bench {
    let clock = Arc::new(ManualClock::default());
    let store = MemoryStore::with_clock(clock.clone());
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store.clone())));
    Bench { guard, store, clock, effects: Arc::default() }
}

fn policy() -> Policy {
    Policy::default().allow_weak()
}

fn call(key: &str, policy: Policy) -> Call {
    asked(key, "{}", policy)
}

fn asked(key: &str, payload: &str, policy: Policy) -> Call {
    let scope = Scope::new("alice", "billing", "send").expect("a scope");
    Call::new(scope, policy).key(CallKey::new(key).expect("a key"), Fingerprint::of_json(payload).expect("JSON"))
}

fn done(body: &'static str) -> Reply {
    Reply::Done(Response::new("", body))
}

impl Bench {
    async fn run(&self, call: &Call, reply: Reply) -> stanchion_core::Result<Answer> {
        let effects = Arc::clone(&self.effects);
        self.guard
            .call(call, |_| async move {
                effects.fetch_add(1, Ordering::SeqCst);
                reply
            })
            .await
    }

    fn effects(&self) -> u32 {
        self.effects.load(Ordering::SeqCst)
    }

    /// Rewrites the claim as if another machine had made it.
    async fn move_far_away(&self, call: &Call) {
        let record = self.store.get(&claim_key(call)).await.expect("a sound store").expect("a claim");
        let mut claim = Claim::decode(&record.value).expect("a claim");
        claim.runner = Arc::new(Runner { host: "far-away".into(), pid: 1, ..Runner::default() });
        let cond = Cond::Version(record.version);
        self.store.put(&claim_key(call), claim.encode(), cond, None).await.expect("a sound store");
    }

    async fn state(&self, call: &Call) -> &'static str {
        let claim = self.guard.claims().get(&call.claim_id().expect("a key")).await.expect("a sound store");
        claim.map_or("absent", |claim| claim.state.name())
    }
}

#[tokio::test]
async fn a_repetition_gets_the_first_answer_and_runs_nothing() {
    let bench = bench();
    let call = call("k", policy());
    let first = bench.run(&call, done("one")).await.unwrap();
    let again = bench.run(&call, done("two")).await.unwrap();
    assert_eq!((first.replayed, again.replayed), (false, true));
    assert_eq!((first.reply, again.reply), (done("one"), done("one")));
    assert_eq!((first.receipt, again.receipt), (call.claim_id(), call.claim_id()));
    assert_eq!(bench.effects(), 1);
}

#[tokio::test]
async fn a_final_failure_is_repeated_and_a_call_without_effect_runs_again() {
    let bench = bench();
    let failing = call("final", policy());
    let failure = Reply::Failed(Response::new("", "no such order"));
    bench.run(&failing, failure.clone()).await.unwrap();
    assert_eq!(bench.run(&failing, done("never")).await.unwrap().reply, failure);
    assert_eq!(bench.effects(), 1);

    let refused = call("refused", policy());
    bench.run(&refused, Reply::NoEffect(Response::new("", "connection refused"))).await.unwrap();
    assert_eq!(bench.state(&refused).await, "retryable");
    assert_eq!(bench.run(&refused, done("at last")).await.unwrap().reply, done("at last"));
}

#[tokio::test]
async fn an_unknown_outcome_is_never_run_again_unless_the_tool_is_idempotent() {
    let bench = bench();
    let once = call("once", policy());
    bench.run(&once, Reply::Unknown("timeout".into())).await.unwrap();
    let again = bench.run(&once, done("twice")).await.unwrap();
    assert_eq!((again.reply, again.replayed), (Reply::Unknown("timeout".into()), true));
    assert_eq!(bench.effects(), 1);

    let safe = call("safe", policy().effect(Effect::Idempotent));
    bench.run(&safe, Reply::Unknown("timeout".into())).await.unwrap();
    assert_eq!(bench.run(&safe, done("again")).await.unwrap().reply, done("again"));
}

#[tokio::test]
async fn another_payload_and_another_principal_never_see_the_answer() {
    let bench = bench();
    bench.run(&asked("k", r#"{"amount": 1}"#, policy()), done("secret")).await.unwrap();
    let reused = bench.run(&asked("k", r#"{"amount": 2}"#, policy()), done("x")).await.unwrap_err();
    assert_eq!(reused.kind(), ErrorKind::KeyReused);
    assert!(!format!("{reused:?}").contains("secret"));
    let same = bench.run(&asked("k", r#"{ "amount" : 1.0 }"#, policy()), done("x")).await.unwrap();
    assert_eq!(same.reply, done("secret"), "the same payload, spelled otherwise");

    let scope = Scope::new("bob", "billing", "send").unwrap();
    let bobs =
        Call::new(scope, policy()).key(CallKey::new("k").unwrap(), Fingerprint::of_json(r#"{"amount": 1}"#).unwrap());
    assert_eq!(bench.run(&bobs, done("bob's own")).await.unwrap().reply, done("bob's own"));
}

#[tokio::test]
async fn while_a_call_runs_a_repetition_is_rejected_waits_or_attaches() {
    let bench = Arc::new(bench());
    let (free, hold) = tokio::sync::oneshot::channel::<()>();
    let first = call("k", policy());
    let running = tokio::spawn({
        let (bench, first) = (Arc::clone(&bench), first.clone());
        async move {
            let work = |_| async move {
                hold.await.ok();
                done("slow")
            };
            bench.guard.call(&first, work).await.unwrap()
        }
    });
    while bench.state(&first).await != "dispatched" {
        tokio::task::yield_now().await;
    }
    let rejected = bench.run(&first, done("second")).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::InProgress);
    assert!(rejected.retry_after().is_some());
    let short = policy().in_flight(InFlight::Wait(Duration::from_millis(20)));
    assert_eq!(bench.run(&call("k", short), done("x")).await.unwrap_err().kind(), ErrorKind::InProgress);
    let attached = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move { bench.run(&call("k", policy().in_flight(InFlight::Attach)), done("x")).await.unwrap() }
    });
    tokio::task::yield_now().await;
    free.send(()).unwrap();
    assert_eq!(attached.await.unwrap().reply, done("slow"));
    assert_eq!(running.await.unwrap().reply, done("slow"));
    assert_eq!(bench.effects(), 0, "only the first one ran");
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_an_unknown_outcome_never_a_free_key() {
    let bench = bench();
    let call = call("k", policy());
    let started = Arc::new(tokio::sync::Notify::new());
    let signal = Arc::clone(&started);
    let work = |_| async move {
        signal.notify_one();
        std::future::pending::<Reply>().await
    };
    tokio::select! {
        _ = bench.guard.call(&call, work) => panic!("the work never ends"),
        () = started.notified() => {}
    }
    bench.guard.claims().settled().await;
    assert_eq!(bench.state(&call).await, "unknown");
    assert!(matches!(bench.run(&call, done("twice")).await.unwrap().reply, Reply::Unknown(_)));
    assert_eq!(bench.effects(), 0);
}

#[tokio::test]
async fn a_caller_that_goes_away_before_the_work_leaves_the_key_free() {
    let bench = bench();
    let lock = Acquire::new(Key::new("budget").unwrap());
    let holder = Call::new(Scope::new("a", "b", "c").unwrap(), policy()).lock(lock.clone());
    let held = bench.guard.call(&holder, |_| std::future::pending::<Reply>());
    tokio::pin!(held);
    let keyed = call("k", policy()).lock(lock.wait(Wait::Forever));
    tokio::select! {
        biased;
        _ = &mut held => panic!("the holder never ends"),
        _ = bench.run(&keyed, done("x")) => panic!("the lock is taken"),
        () = async { while bench.state(&keyed).await != "claimed" { tokio::task::yield_now().await } } => {}
    }
    bench.guard.claims().settled().await;
    assert_eq!(bench.state(&keyed).await, "retryable");
    assert_eq!(bench.effects(), 0);
}

#[tokio::test]
async fn a_busy_lock_is_reported_with_its_holder_and_nothing_ran() {
    let bench = bench();
    let lock = Acquire::new(Key::new("budget").unwrap()).wait(Wait::No);
    let other = Call::new(Scope::new("a", "b", "c").unwrap(), policy()).lock(lock.clone());
    let keyed = call("k", policy()).lock(lock);
    let answer = bench
        .guard
        .call(&other, |_| async {
            let busy = bench.run(&keyed, done("x")).await.unwrap_err();
            assert_eq!(busy.kind(), ErrorKind::Contended);
            assert!(busy.holder().is_some());
            done("held")
        })
        .await;
    assert_eq!(answer.unwrap().reply, done("held"));
    assert_eq!(bench.effects(), 0);
    assert_eq!(bench.run(&keyed, done("now")).await.unwrap().reply, done("now"));
}

#[tokio::test]
async fn several_locks_are_held_together_and_given_back() {
    let bench = bench();
    let both = call("k", policy())
        .lock(Acquire::new(Key::new("b").unwrap()).wait(Wait::No))
        .lock(Acquire::new(Key::new("a").unwrap()).wait(Wait::No));
    let answer = bench
        .guard
        .call(&both, |pass| async move {
            assert!(pass.fence.is_some() && pass.epoch == 1);
            done("x")
        })
        .await
        .unwrap();
    assert_eq!(answer.reply, done("x"));
    let other = call("other", policy()).lock(Acquire::new(Key::new("a").unwrap()).wait(Wait::No));
    bench.run(&other, done("y")).await.unwrap();
}

#[tokio::test]
async fn a_dead_owner_before_the_mark_is_taken_over_and_after_it_is_unknown() {
    let bench = bench();
    for (point, expected) in [("claimed", "done"), ("dispatched", "unknown")] {
        let call = call(point, policy());
        // The record of an owner that died there.
        let mut wish = stanchion_core::claim::Wish::new(
            call.scope.clone(),
            call.key.as_ref().unwrap().0.clone(),
            call.key.as_ref().unwrap().1,
        );
        wish.lease = Duration::from_secs(30);
        let stanchion_core::claim::Asked::Claim(claim) = stanchion_core::claim::ask(None, false, &wish) else {
            panic!("the key is free")
        };
        let by = claim.attempt;
        let left = match point {
            "claimed" => claim,
            _ => claim.step(stanchion_core::claim::Event::Dispatch { by }).unwrap(),
        };
        bench.store.put(&claim_key(&call), left.encode(), Cond::Absent, None).await.unwrap();
        assert_eq!(bench.run(&call, done("x")).await.unwrap_err().kind(), ErrorKind::InProgress, "it may live");
        bench.clock.advance(Duration::from_secs(31));
        bench.run(&call, done("x")).await.unwrap();
        assert_eq!(bench.state(&call).await, expected);
    }
    assert_eq!(bench.effects(), 1);
}

fn claim_key(call: &Call) -> Key {
    call.claim_id().expect("a key").record_key()
}

#[tokio::test]
async fn answers_are_forgotten_before_keys_and_old_keys_are_refused() {
    let bench = bench();
    let keep = policy().keep(Duration::from_secs(60), Duration::from_secs(3600)).unwrap();
    let call_ = call("k", keep.clone());
    bench.run(&call_, done("body")).await.unwrap();
    bench.clock.advance(Duration::from_secs(61));
    let late = bench.run(&call_, done("twice")).await.unwrap();
    assert_eq!(bench.state(&call_).await, "tombstone");
    let Reply::Done(response) = late.reply else { panic!("it was done: {:?}", late.reply) };
    assert_eq!((response.bytes(), response.body.len()), (None, 4));
    assert_eq!(bench.effects(), 1);

    // Once the key is forgotten, too, only a key that carries its time can be told apart from a new one.
    let sent = 1_700_000_000_000;
    let key = |key: CallKey| Call::new(call_.scope.clone(), keep.clone()).key(key, Fingerprint::of_json("{}").unwrap());
    let old = key(CallKey::new("old").unwrap().first_sent(sent));
    assert_eq!(bench.run(&old, done("x")).await.unwrap_err().kind(), ErrorKind::KeyExpired);
    assert_eq!(bench.effects(), 1);
}

#[tokio::test]
async fn a_derived_key_catches_a_double_dispatch_and_lets_a_later_call_through() {
    let bench = bench();
    let asked = Fingerprint::of_json(r#"{"to": "bob"}"#).unwrap();
    let call = Call::new(Scope::new("a", "b", "c").unwrap(), policy())
        .key(CallKey::derived(asked, Duration::from_secs(2)).unwrap(), asked);
    bench.run(&call, done("one")).await.unwrap();
    assert!(bench.run(&call, done("two")).await.unwrap().replayed);
    bench.clock.advance(Duration::from_millis(2001));
    assert_eq!(bench.run(&call, done("three")).await.unwrap().reply, done("three"));
    assert_eq!(bench.effects(), 2);
}

#[tokio::test]
async fn an_answer_over_the_cap_is_done_without_a_body_and_never_run_again() {
    let bench = bench();
    let call = call("k", policy().response_cap(3).unwrap());
    assert_eq!(bench.run(&call, done("four")).await.unwrap().reply, done("four"));
    let again = bench.run(&call, done("x")).await.unwrap();
    assert_eq!(again.reply.response().unwrap().bytes(), None);
    assert_eq!(again.reply.response().unwrap().body.len(), 4);
    assert_eq!(bench.effects(), 1);
}

#[tokio::test]
async fn a_weak_store_refuses_what_must_not_be_repeated() {
    let bench = bench();
    let call_ = call("k", Policy::default());
    assert_eq!(bench.run(&call_, done("x")).await.unwrap_err().kind(), ErrorKind::Unsupported);
    let probed = call("k", Policy::default().effect(Effect::Reconcilable));
    assert_eq!(
        bench.run(&probed, done("x")).await.unwrap_err().kind(),
        ErrorKind::Unsupported,
        "no probe without a record"
    );
    bench.run(&call("k", Policy::default().effect(Effect::Idempotent)), done("x")).await.unwrap();
}

#[tokio::test]
async fn a_malformed_record_stops_the_key_and_says_so() {
    let bench = bench();
    let call = call("k", policy());
    bench.store.put(&claim_key(&call), "stc1 nonsense".into(), Cond::Absent, None).await.unwrap();
    let damaged = bench.run(&call, done("x")).await.unwrap_err();
    assert_eq!((damaged.kind(), bench.effects()), (ErrorKind::Damaged, 0));
    assert!(damaged.next_step().is_some());
    assert_eq!(bench.guard.claims().sweep().await.unwrap().damaged, 1);
}

#[tokio::test]
async fn a_suspended_call_is_replayed_continued_and_done() {
    let bench = bench();
    let first = call("k", policy());
    let question = Reply::Suspended(Response::new("", "which account?"));
    bench.run(&first, question.clone()).await.unwrap();
    assert_eq!(bench.run(&first, done("x")).await.unwrap().reply, question, "a re-issue gets the question again");
    let next = first.clone().round(Fingerprint::of_bytes(b"account 7"));
    assert_eq!(bench.run(&next, done("paid")).await.unwrap().reply, done("paid"));
    assert_eq!(bench.run(&next, done("y")).await.unwrap().reply, done("paid"));
    assert_eq!(bench.run(&first, done("z")).await.unwrap().reply, done("paid"));
    assert_eq!(bench.effects(), 2, "two rounds");

    let forgotten = call("forgotten", policy());
    bench.run(&forgotten, question).await.unwrap();
    bench.clock.advance(Duration::from_secs(3601));
    assert!(matches!(bench.run(&forgotten, done("x")).await.unwrap().reply, Reply::Unknown(_)));
}

#[tokio::test]
async fn limits_stand_before_the_call_and_say_when_to_come_back() {
    let Bench { guard, store, effects, .. } = bench();
    let rated = guard.clone().rate(Limiter::new(store, 2, Duration::from_secs(60)).unwrap());
    for key in ["a", "b"] {
        rated.call(&call(key, policy()), |_| async { done("x") }).await.unwrap();
    }
    let refused = rated.call(&call("c", policy()), |_| async { done("x") }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Limited);
    assert!(refused.retry_after().is_some_and(|wait| wait <= Duration::from_secs(60)));

    let single = guard.clone().concurrency(1);
    let inner = single.clone();
    let outer = call("outer", policy());
    let outer = single.call(&outer, |_| async move {
        let refused = inner.call(&call("inner", policy()), |_| async { done("x") }).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Limited);
        done("outer")
    });
    outer.await.unwrap();
    single.call(&call("inner", policy()), |_| async { done("x") }).await.unwrap();

    let broken = guard.breaker(Breaker::new(2, Duration::from_secs(60)).unwrap());
    for key in ["x", "y"] {
        broken.call(&call(key, policy()), |_| async { Reply::Unknown("timeout".into()) }).await.unwrap();
    }
    let held_back = broken.call(&call("z", policy()), |_| async { done("x") }).await.unwrap_err();
    assert_eq!(held_back.kind(), ErrorKind::Limited);
    assert_eq!(effects.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_store_that_is_away_refuses_by_default_and_each_softer_policy_is_loud() {
    let store = MemoryStore::new();
    let away = ChaosStore::new(store.clone(), "error=1".parse().unwrap());
    let guard = Guard::new(Arc::new(away), Arc::new(CasLock::new(store)));
    let refused = guard.call(&call("k", policy()), |_| async { done("x") }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);

    let soft = guard.clone().on_store_down(OnStoreDown::Local);
    let first = soft.call(&call("k", policy()), |_| async { done("local") }).await.unwrap();
    assert!(first.degraded);
    let again = soft.call(&call("k", policy()), |_| async { done("twice") }).await.unwrap();
    assert_eq!((again.reply, again.replayed, again.degraded), (done("local"), true, true));

    let reading = guard.on_store_down(OnStoreDown::ReadOnly);
    let refused = reading.call(&call("other", policy()), |_| async { done("x") }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    reading.call(&call("other", policy().effect(Effect::ReadOnly)), |_| async { done("read") }).await.unwrap();
}

#[tokio::test]
async fn settling_needs_an_unknown_claim_and_not_executed_needs_proof() {
    let bench = bench();
    let call_ = call("k", policy());
    bench.run(&call_, Reply::Unknown("timeout".into())).await.unwrap();
    let id = call_.claim_id().unwrap();
    let claims = bench.guard.claims();
    let free = Settlement::NotExecuted { waited: None };
    let denied = claims.settle(&id, free.clone(), "ann", "not in the ledger").await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied, "we, the owner, are alive");
    bench.clock.advance(Duration::from_secs(601));
    let denied = claims.settle(&id, free.clone(), "ann", "not in the ledger").await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied, "and no wait makes us dead");

    // The same claim, of a process far away: only its silence can be a proof.
    bench.move_far_away(&call_).await;
    let denied = claims.settle(&id, free.clone(), "ann", "not in the ledger").await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied, "it has just been heard of");
    bench.clock.advance(Duration::from_secs(601));
    let settled = claims.settle(&id, free.clone(), "ann", "not in the ledger").await.unwrap();
    assert!(matches!(settled.state, State::Retryable { .. }));
    assert!(settled.notes[0].text.contains("not in the ledger"));
    assert_eq!(bench.run(&call_, done("now")).await.unwrap().reply, done("now"));
    let again = claims.settle(&id, free, "ann", "x").await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict);

    let other = call("other", policy());
    bench.run(&other, Reply::Unknown("timeout".into())).await.unwrap();
    let told = Settlement::Done(Response::new("", "it was paid"));
    claims.settle(&other.claim_id().unwrap(), told, "ann", "bank statement").await.unwrap();
    assert_eq!(bench.run(&other, done("x")).await.unwrap().reply, done("it was paid"));
}

#[tokio::test]
async fn a_sweep_drops_old_answers_marks_dead_calls_and_leaves_the_living_alone() {
    let bench = bench();
    let keep = policy().keep(Duration::from_secs(60), Duration::from_secs(3600)).unwrap();
    bench.run(&call("old", keep.clone()), done("body")).await.unwrap();
    bench.run(&call("unknown", keep.clone()), Reply::Unknown("timeout".into())).await.unwrap();
    bench.clock.advance(Duration::from_secs(61));
    bench.run(&call("new", keep.clone()), done("body")).await.unwrap();
    let swept = bench.guard.claims().sweep().await.unwrap();
    assert_eq!((swept.looked_at, swept.forgotten, swept.unknown, swept.need_attention), (3, 1, 0, 1));
    assert_eq!(bench.state(&call("old", keep.clone())).await, "tombstone");
    assert_eq!(bench.state(&call("new", keep.clone())).await, "done");
    assert_eq!(bench.state(&call("unknown", keep)).await, "unknown");
}

#[tokio::test]
async fn a_late_answer_is_kept_unless_somebody_has_settled_the_call() {
    let bench = Arc::new(bench());
    for settled in [false, true] {
        let call = call(if settled { "settled" } else { "late" }, policy());
        let (free, hold_on) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn({
            let (bench, call) = (Arc::clone(&bench), call.clone());
            async move {
                let work = |_| async move {
                    hold_on.await.ok();
                    done("late")
                };
                bench.guard.call(&call, work).await.unwrap()
            }
        });
        while bench.state(&call).await != "dispatched" {
            tokio::task::yield_now().await;
        }
        // The store's clock runs ahead of its owner's: as if the owner had been paused.
        bench.clock.advance(Duration::from_secs(31));
        assert!(matches!(bench.run(&call, done("x")).await.unwrap().reply, Reply::Unknown(_)));
        if settled {
            let told = Settlement::Done(Response::new("", "told"));
            let id = call.claim_id().unwrap();
            bench.guard.claims().settle(&id, told, "ann", "bank statement").await.unwrap();
        }
        free.send(()).unwrap();
        let answer = running.await.unwrap();
        let kept = if settled { done("told") } else { done("late") };
        assert_eq!((&answer.reply, answer.replayed), (&kept, false), "nobody is told something else");
        assert_eq!(bench.run(&call, done("x")).await.unwrap().reply, kept);
    }
    assert_eq!(bench.effects(), 0);
}

#[tokio::test]
async fn a_call_that_was_held_up_after_the_mark_is_not_sent() {
    let store = MemoryStore::new();
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    let held = hold("claim.dispatched");
    let call = call("k", policy().lease(Duration::from_millis(60)).unwrap());
    let running = tokio::spawn({
        let (guard, call) = (guard.clone(), call.clone());
        async move { guard.call(&call, |_| async { panic!("too late to be sent") }).await }
    });
    held.reached(Duration::from_secs(5)).await;
    let stanchion = guard.claims().clone();
    stanchion_testkit::eventually(Duration::from_secs(5), "another caller takes the silent one for dead", || async {
        let other = guard.call(&call, |_| async { panic!("never run twice") }).await;
        matches!(other, Ok(Answer { reply: Reply::Unknown(_), .. }))
    })
    .await;
    held.release();
    assert_eq!(running.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    let claim = stanchion.get(&call.claim_id().unwrap()).await.unwrap().unwrap();
    assert_eq!(claim.state.name(), "retryable", "nothing was sent, and that is known");
}

#[tokio::test]
async fn lost_answers_of_the_store_never_double_an_effect_and_never_look_like_failure() {
    let store = MemoryStore::new();
    let (mut unknown, mut refused) = (0, 0);
    let effects = Arc::new(std::sync::Mutex::new(std::collections::HashMap::<u32, u32>::new()));
    let away = ChaosStore::new(store.clone(), "error=0.1,lost=0.2,seed=3".parse().unwrap());
    let guard = Guard::new(Arc::new(away), Arc::new(CasLock::new(store.clone())));
    for key in 0..100 {
        for _ in 0..3 {
            let log = Arc::clone(&effects);
            let call = call(&key.to_string(), policy().lease(Duration::from_millis(50)).unwrap());
            let work = |_| async move {
                *log.lock().unwrap().entry(key).or_default() += 1;
                done("x")
            };
            match guard.call(&call, work).await {
                Ok(Answer { reply: Reply::Done(response), .. }) => assert_eq!(response, Response::new("", "x")),
                Ok(Answer { reply: Reply::Unknown(_), .. }) => unknown += 1,
                Ok(other) => panic!("the tool never says so: {other:?}"),
                Err(e) => {
                    assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::InProgress), "{e}");
                    refused += 1;
                }
            }
            guard.claims().settled().await;
        }
    }
    let effects = effects.lock().unwrap();
    assert!(effects.values().all(|n| *n == 1), "{effects:?}");
    assert!(effects.len() > 90 && refused > 0, "{} ran, {refused} refused, {unknown} unknown", effects.len());
    assert_eq!(unknown, 0, "the owner never died, so it always knows");
}

#[tokio::test]
async fn a_caller_that_goes_away_before_the_store_has_answered_leaves_nothing_claimed_or_locked() {
    for faults in ["lost=0", "lost=1"] {
        let mut went_away = 0;
        // The delay is random; a call that was faster than its caller's patience shows nothing.
        for seed in 0..20 {
            let store = MemoryStore::new();
            let slow = ChaosStore::new(store.clone(), format!("delay=40ms,{faults},seed={seed}").parse().unwrap());
            let guard = Guard::new(Arc::new(slow), Arc::new(CasLock::new(store.clone())));
            let call = call("k", policy()).lock(Acquire::new(Key::new("budget").unwrap()).wait(Wait::No));
            let patience = Duration::from_millis(5);
            if tokio::time::timeout(patience, guard.call(&call, |_| async { done("x") })).await.is_ok() {
                continue;
            }
            went_away += 1;
            guard.claims().settled().await;
            let sound = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
            let answer = sound.call(&call, |_| async { done("now") }).await.unwrap();
            assert_eq!((answer.reply, answer.replayed), (done("now"), false), "{faults}, seed {seed}");
        }
        assert!(went_away >= 5, "void: only {went_away} of 20 callers went away in time");
    }
}

/// A store that can be switched off for writes.
#[derive(Debug, Clone)]
struct Switch(MemoryStore, Arc<std::sync::atomic::AtomicBool>);

#[async_trait::async_trait]
impl RecordStore for Switch {
    fn capability(&self) -> stanchion_core::Capability {
        self.0.capability()
    }
    async fn get(&self, key: &Key) -> stanchion_core::Result<Option<stanchion_core::Record>> {
        self.0.get(key).await
    }
    async fn touch(
        &self,
        key: &Key,
        token: &stanchion_core::FencingToken,
    ) -> stanchion_core::Result<Option<stanchion_core::Record>> {
        self.0.touch(key, token).await
    }
    async fn put(
        &self,
        key: &Key,
        value: bytes::Bytes,
        cond: Cond,
        ttl: Option<Duration>,
    ) -> stanchion_core::Result<stanchion_core::Version> {
        if self.1.load(Ordering::SeqCst) {
            return Err(stanchion_core::Error::new(ErrorKind::Unavailable, "switched off"));
        }
        self.0.put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> stanchion_core::Result<()> {
        self.0.delete(key, cond).await
    }
    async fn scan(
        &self,
        prefix: &str,
        page: stanchion_core::Page,
    ) -> stanchion_core::Result<Vec<(Key, stanchion_core::Record)>> {
        self.0.scan(prefix, page).await
    }
    async fn changed(
        &self,
        key: &Key,
        since: Option<stanchion_core::Version>,
        until: tokio::time::Instant,
    ) -> stanchion_core::Result<()> {
        self.0.changed(key, since, until).await
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_recorded_reaches_its_caller_and_is_recorded_later() {
    let off = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let store = Switch(MemoryStore::new(), Arc::clone(&off));
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    let call = call("k", policy());
    let switch = Arc::clone(&off);
    let work = |_| async move {
        switch.store(true, Ordering::SeqCst);
        done("it happened")
    };
    let answer = guard.call(&call, work).await.unwrap();
    assert_eq!((answer.reply, answer.recorded), (done("it happened"), false));
    let meanwhile = guard.call(&call, |_| async { panic!("never run twice") }).await.unwrap_err();
    assert_eq!(meanwhile.kind(), ErrorKind::Unavailable, "nothing ran");
    off.store(false, Ordering::SeqCst);
    guard.claims().settled().await;
    let again = guard.call(&call, |_| async { panic!("never run twice") }).await.unwrap();
    assert_eq!((again.reply, again.replayed), (done("it happened"), true));
}

/// Says what it is told to say, and counts how often it was asked.
#[derive(Debug)]
struct Ledger(Probe, AtomicU32);

#[async_trait::async_trait]
impl Reconcile for Ledger {
    async fn probe(&self, _: &Claim) -> Probe {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.clone()
    }
}

#[tokio::test]
async fn a_reconciler_settles_what_it_can_see_and_frees_a_key_only_if_the_owner_is_gone() {
    for (probe, reconcilable, gone, expected, asked) in [
        (Probe::Done(Response::new("", "found")), true, false, done("found"), 1),
        (Probe::Unknown, true, false, Reply::Unknown("timeout".into()), 1),
        // We, the owner, are alive: what is not there yet may still come.
        (Probe::NotExecuted, true, false, Reply::Unknown("timeout".into()), 1),
        // Looked at again once the owner is gone, and only then run.
        (Probe::NotExecuted, true, true, done("now"), 2),
        (Probe::Done(Response::new("", "found")), false, false, Reply::Unknown("timeout".into()), 0),
    ] {
        let ledger = Arc::new(Ledger(probe.clone(), AtomicU32::new(0)));
        let bench = bench();
        let locks = Arc::new(CasLock::new(bench.store.clone()));
        let claims = Idempotency::new(Arc::new(bench.store.clone()), locks.clone()).reconciler(ledger.clone());
        let guard = Guard::with(claims, Locks::shared(locks));
        let effect = if reconcilable { Effect::Reconcilable } else { Effect::NonIdempotent };
        let call = call("k", policy().effect(effect));
        guard.call(&call, |_| async { Reply::Unknown("timeout".into()) }).await.unwrap();
        if gone {
            bench.move_far_away(&call).await;
            bench.clock.advance(Duration::from_secs(601));
        }
        let answer = guard.call(&call, |_| async { done("now") }).await.unwrap();
        assert_eq!(answer.reply, expected, "{probe:?}, gone: {gone}");
        assert_eq!(ledger.1.load(Ordering::SeqCst), asked, "{probe:?}, gone: {gone}");
    }
}

#[tokio::test]
async fn a_sweep_or_a_settlement_keeps_to_the_times_of_the_claim() {
    let bench = bench();
    let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(24 * 3600));
    let long = policy().keep(hour, 30 * day).unwrap();
    let (swept, told) = (call("swept", long.clone()), call("told", long.clone()));
    bench.run(&swept, done("body")).await.unwrap();
    bench.run(&told, Reply::Unknown("timeout".into())).await.unwrap();
    let settlement = Settlement::Done(Response::new("", "told"));
    bench.guard.claims().settle(&told.claim_id().unwrap(), settlement, "ann", "bank statement").await.unwrap();
    bench.clock.advance(4 * day);
    // Anybody's sweep, whatever its own calls are kept for.
    bench.guard.claims().sweep().await.unwrap();
    bench.clock.advance(25 * day);
    for call in [&swept, &told] {
        assert!(bench.run(call, done("again")).await.unwrap().replayed, "the key is known for 30 days");
    }
    bench.clock.advance(2 * day);
    assert!(!bench.run(&swept, done("again")).await.unwrap().replayed, "and then no more");
}

#[tokio::test]
async fn no_effect_is_not_said_of_a_call_whose_earlier_attempt_may_have_run() {
    let bench = bench();
    let call = call("k", policy().effect(Effect::Idempotent));
    bench.run(&call, Reply::Unknown("timeout".into())).await.unwrap();
    let refused = Reply::NoEffect(Response::new("", "connection refused"));
    assert!(matches!(bench.run(&call, refused).await.unwrap().reply, Reply::Unknown(_)));
    assert_eq!(bench.state(&call).await, "unknown");
}

#[tokio::test]
async fn an_expired_key_does_not_run_even_if_its_record_goes_while_we_look() {
    let store = MemoryStore::new();
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store.clone())));
    let keep = policy().keep(Duration::from_millis(1), Duration::from_secs(3600)).unwrap();
    let key = CallKey::new("old").unwrap().first_sent(1_700_000_000_000);
    let call = Call::new(Scope::new("a", "b", "c").unwrap(), keep).key(key, Fingerprint::of_json("{}").unwrap());
    // As if it had been made in time: the record is there.
    let wish = call.wish(0).unwrap();
    let stanchion_core::claim::Asked::Claim(claim) = stanchion_core::claim::ask(None, false, &wish) else {
        panic!("the key is free")
    };
    let by = claim.attempt;
    let sent = claim.step(stanchion_core::claim::Event::Dispatch { by }).unwrap();
    let finish = stanchion_core::claim::Event::Finish {
        by,
        outcome: stanchion_core::claim::Outcome::Ok,
        response: Response::new("", "x"),
        keep: Duration::from_millis(1),
    };
    let key = claim_key(&call);
    store.put(&key, sent.step(finish).unwrap().encode(), Cond::Absent, None).await.unwrap();
    stanchion_testkit::eventually(Duration::from_secs(5), "the answer's time is over", || async {
        store.get(&key).await.unwrap().unwrap().times.unwrap().age() > Duration::from_millis(5)
    })
    .await;
    let held = hold("claim.lapse");
    let asking = tokio::spawn({
        let (guard, call) = (guard.clone(), call.clone());
        async move { guard.call(&call, |_| async { panic!("it must not run") }).await }
    });
    held.reached(Duration::from_secs(5)).await;
    let version = store.get(&key).await.unwrap().unwrap().version;
    store.delete(&key, Cond::Version(version)).await.unwrap();
    held.release();
    assert_eq!(asking.await.unwrap().unwrap_err().kind(), ErrorKind::KeyExpired);
}

#[tokio::test]
async fn what_ran_while_the_store_was_away_is_not_run_again_when_it_is_back() {
    let off = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let store = Switch(MemoryStore::new(), Arc::clone(&off));
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).on_store_down(OnStoreDown::Local);
    let call = call("k", policy());
    assert!(guard.call(&call, |_| async { done("local") }).await.unwrap().degraded);
    off.store(false, Ordering::SeqCst);
    let again = guard.call(&call, |_| async { panic!("never run twice") }).await.unwrap();
    assert_eq!((again.reply, again.degraded), (done("local"), true));
}

#[tokio::test]
async fn being_slow_ourselves_is_no_reason_to_leave_the_store() {
    let store = MemoryStore::new();
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).on_store_down(OnStoreDown::Local);
    let held = hold("claim.dispatched");
    let call = call("k", policy().lease(Duration::from_millis(60)).unwrap());
    let slow = tokio::spawn({
        let (guard, call) = (guard.clone(), call.clone());
        async move { guard.call(&call, |_| async { panic!("too late to be sent") }).await }
    });
    held.reached(Duration::from_secs(5)).await;
    stanchion_testkit::eventually(Duration::from_secs(5), "the silent one is taken for dead", || async {
        let other = guard.call(&call, |_| async { panic!("never run twice") }).await;
        matches!(other, Ok(Answer { reply: Reply::Unknown(_), .. }))
    })
    .await;
    held.release();
    assert_eq!(slow.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_lease_of_fractions_of_a_millisecond_does_not_hide_our_own_writes() {
    let store = MemoryStore::new();
    let lossy = ChaosStore::new(store.clone(), "lost=0.5,seed=11".parse().unwrap());
    let guard = Guard::new(Arc::new(lossy), Arc::new(CasLock::new(store)));
    let odd = policy().lease(Duration::from_secs(10) / 3).unwrap();
    let mut ran = 0;
    for key in 0..40 {
        // Two locks, so that the claim is marked by a write of its own.
        let call = call(&key.to_string(), odd.clone())
            .lock(Acquire::new(Key::new("a").unwrap()))
            .lock(Acquire::new(Key::new("b").unwrap()));
        match guard.call(&call, |_| async { done("x") }).await {
            Ok(answer) => {
                assert_eq!(answer.reply, done("x"));
                ran += 1;
            }
            Err(e) => assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}"),
        }
    }
    assert!(ran >= 10, "void: only {ran} of 40 ran");
}
