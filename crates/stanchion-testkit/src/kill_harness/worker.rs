//! The worker process: one call at a time, as the driver says.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{
    Acquire, Answer, Call, Error, Guard, Idempotency, InFlight, Key, LockBackend, Locks, Pass, Policy, RecordStore,
    Result, Wait,
};
use tokio::sync::mpsc;

use super::log::Log;
use super::profile::{ALICE, FOLDER, MALLORY, PLAN, Plan, WHO, wall_ms};
use super::slow::Slow;
use super::tool::{Tool, answered};
use super::wire::Wire;
use super::{Design, Stores, seed};

const HOUR: u64 = 60 * 60 * 1000;
/// How often the worker looks whether it was standing still.
const TICK: Duration = Duration::from_millis(10);

/// How a key is to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Reject,
    Wait,
    /// With another payload under the same key.
    OtherPayload,
    /// By somebody who knows the key of another.
    OtherPrincipal,
    /// After all faults: patiently.
    Final,
}

impl How {
    pub(super) const ALL: [Self; 5] = [Self::Reject, Self::Wait, Self::OtherPayload, Self::OtherPrincipal, Self::Final];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Wait => "wait",
            Self::OtherPayload => "payload",
            Self::OtherPrincipal => "mallory",
            Self::Final => "final",
        }
    }

    pub(super) const fn principal(self) -> &'static str {
        match self {
            Self::OtherPrincipal => MALLORY,
            _ => ALICE,
        }
    }
}

struct Worker {
    plan: Plan,
    log: Arc<Log>,
    tool: Arc<Tool>,
    records: Arc<dyn RecordStore>,
    guard: Guard,
}

pub(super) async fn work(stores: Stores, direct: Arc<dyn RecordStore>) {
    let told = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("a worker needs {name}"));
    let plan = Plan::from_text(&told(PLAN)).expect("the driver's plan");
    let (folder, who) = (PathBuf::from(told(FOLDER)), told(WHO));
    let log = Arc::new(Log::open(&folder.join(format!("{who}.log"))));
    let tool = Arc::new(Tool::new(folder, &plan, &who, &log, direct));
    let wire = Wire::new(&stores, &plan, &log);
    let locks: Arc<dyn LockBackend> =
        Arc::new(Slow { locks: Arc::clone(&stores.locks), log: Arc::clone(&log), limit: plan.delay() });
    let claims = Idempotency::new(Arc::new(wire.clone()), Arc::clone(&locks)).fused(Arc::new(wire));
    // The first two workers live an hour ahead and an hour behind; the third remembers answers by itself.
    let claims = match who.split('-').next() {
        Some("w0") => claims.wall_clock(|| wall_ms() + HOUR),
        Some("w1") => claims.wall_clock(|| wall_ms().saturating_sub(HOUR)),
        Some("w2") => claims.cache(1000),
        _ => claims,
    };
    let guard = Guard::with(claims, Locks::shared(locks));
    let worker = Worker { plan, log, tool, records: stores.records, guard };
    let mut orders = orders();
    say("READY");
    let obey = async {
        while let Some(order) = orders.recv().await {
            worker.obey(&order).await;
        }
    };
    tokio::select! {
        () = obey => {}
        () = notice_stalls(&worker.log, worker.plan.delay()) => {}
    }
}

/// Lines of standard input; its end is the driver's.
fn orders() -> mpsc::UnboundedReceiver<String> {
    let (sender, orders) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    orders
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A driver that is gone does not listen any more, and ends us.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

/// A worker that was stopped, or got no time, may lose its locks: that is a fault like others, and is counted as one.
async fn notice_stalls(log: &Log, limit: Duration) {
    loop {
        let before = Instant::now();
        tokio::time::sleep(TICK).await;
        let stood = before.elapsed();
        if stood > limit {
            log.line(&format!("stall {}", stood.as_millis()));
        }
    }
}

impl Worker {
    /// `call SEQ INDEX HOW` or `sweep SEQ`.
    async fn obey(&self, order: &str) {
        let words: Vec<&str> = order.split(' ').collect();
        let (seq, kind) = match words[..] {
            ["sweep", seq] => (seq, self.sweep().await),
            ["call", seq, index, how] => {
                let index = index.parse().expect("an index");
                let how = How::ALL.into_iter().find(|known| known.as_str() == how).expect("a way to call");
                (seq, self.call(index, how).await)
            }
            _ => panic!("what is {order:?}?"),
        };
        say(&format!("ANSWER {seq} {kind}"));
    }

    async fn sweep(&self) -> String {
        self.log.line("start-sweep");
        let swept = self.guard.claims().sweep().await;
        let kind = match swept {
            Ok(swept) => format!("swept {}", swept.damaged),
            Err(e) => format!("error {}", e.kind().code()),
        };
        self.log.line(&format!("swept {kind}"));
        kind
    }

    async fn call(&self, index: usize, how: How) -> String {
        let (principal, name) = (how.principal(), how.as_str());
        self.log.line(&format!("start {principal} {index} {name}"));
        let (kind, replayed, recorded, body) = match self.plan.design {
            Design::Guard | Design::Planted(_) => match self.guarded(index, how).await {
                Ok(answer) => {
                    let (kind, body) = answered(&answer.reply);
                    (kind.to_owned(), answer.replayed, answer.recorded, body)
                }
                Err(e) => ("error".to_owned(), false, false, describe(&e)),
            },
            Design::Seed => match seed::call(&*self.records, &self.plan.name, index, &self.tool).await {
                Ok(row) if row == "pending" => ("pending".to_owned(), false, true, "-".to_owned()),
                Ok(body) => ("ok".to_owned(), false, true, body),
                Err(e) => ("error".to_owned(), false, false, describe(&e)),
            },
        };
        self.log.line(&format!("answer {principal} {index} {name} {kind} {replayed} {recorded} {body}"));
        match kind.as_str() {
            "error" => format!("error {}", body.split(':').next().unwrap_or_default()),
            _ => kind,
        }
    }

    async fn guarded(&self, index: usize, how: How) -> Result<Answer> {
        let payload = if how == How::OtherPayload { "other" } else { "the same" };
        let mut call = Call::new(self.plan.scope(how.principal()), self.policy(how))
            .key(self.plan.key(index), Plan::fingerprint(index, payload));
        let (first, second) = self.plan.profile(index).locks;
        for lock in [first, second].into_iter().flatten() {
            let key = Key::new(format!("lock:{}:{lock}", self.plan.name))?;
            let wait = if how == How::Final { Duration::from_secs(20) } else { self.plan.lease * 2 };
            call = call.lock(Acquire::new(key).ttl(self.plan.lease)?.wait(Wait::For(wait)));
        }
        let work = |pass: Pass| async move { self.tool.run(how.principal(), index, &pass).await };
        self.guard.call(&call, work).await
    }

    fn policy(&self, how: How) -> Policy {
        let in_flight = match how {
            How::Reject | How::OtherPayload => InFlight::Reject,
            How::Wait | How::OtherPrincipal => InFlight::Wait(self.plan.lease * 2),
            How::Final => InFlight::Wait(Duration::from_secs(20)),
        };
        // A key is not old for an hour and a half, so that a clock an hour ahead is just not enough.
        let keep = (Duration::from_secs(600), Duration::from_secs(3 * 60 * 60));
        let policy = Policy::default().in_flight(in_flight).lease(self.plan.lease);
        policy.and_then(|policy| policy.keep(keep.0, keep.1)).expect("times in their ranges")
    }
}

/// Kind and text on one line, without spaces.
fn describe(e: &Error) -> String {
    format!("{}:{e}", e.kind().code()).replace([' ', '\n'], "_")
}
