//! The worker on the embedded store: one order per line, one answer per line.
//!
//! `done …` is an acknowledgement, `failed …` says that nothing happened, `unknown …` that something may have.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::claim::Response;
use stanchion_core::{
    Acquire, Call, CallKey, Cond, Enqueue, Error, ErrorKind, Fingerprint, Guard, Idempotency, InFlight, Jobs, Key,
    Locks, Policy, Ran, RecordStore, Reply, Result, Scope, Versioned, Wait,
};

/// After which a claim of a dead worker is judged.
const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);

struct Worker {
    effects: PathBuf,
    records: Arc<dyn RecordStore>,
    locks: Locks,
    guard: Guard,
    jobs: Jobs,
    values: Versioned,
}

pub(super) const EFFECTS: &str = "effects";

pub(in crate::crash) fn run(arguments: &[String]) -> ExitCode {
    let [folder, durability] = arguments else { return ExitCode::from(2) };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    runtime.block_on(async {
        let worker = Worker::open(Path::new(folder), durability).await;
        match &worker {
            Ok(_) => say("ready"),
            Err(e) => say(&told(e)),
        }
        let Ok(worker) = worker else { return ExitCode::FAILURE };
        for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
            let answer = worker.obey(&line).await;
            say(&answer.unwrap_or_else(|e| told(&e)));
        }
        ExitCode::SUCCESS
    })
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever does not listen any more does not miss it.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

fn told(e: &Error) -> String {
    let word = if e.ran() == Ran::Maybe { "unknown" } else { "failed" };
    format!("{word} {e}").replace('\n', " ")
}

fn number(bytes: &[u8]) -> Result<u64> {
    let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Error::new(ErrorKind::Damaged, "no number"))
}

impl Worker {
    async fn open(folder: &Path, durability: &str) -> Result<Self> {
        let url = format!("sqlite:{}?durability={durability}", folder.join("store.db").display());
        let store = stanchion_stores::open(&url).await?;
        let records = store.records.ok_or_else(|| Error::new(ErrorKind::Unexpected, "no records"))?;
        let mut claims = Idempotency::new(Arc::clone(&records), Arc::clone(&store.locks));
        if let Some(fused) = store.fused {
            claims = claims.fused(fused);
        }
        let locks = Locks::shared(store.locks);
        Ok(Self {
            effects: folder.join(EFFECTS),
            guard: Guard::with(claims, locks.clone()),
            jobs: Jobs::shared(Arc::clone(&records), "queue")?,
            values: Versioned::shared(Arc::clone(&records)),
            locks,
            records,
        })
    }

    async fn obey(&self, order: &str) -> Result<String> {
        let (verb, name) = order.split_once(' ').unwrap_or((order, ""));
        match verb {
            "count" => self.count(name).await,
            "add" => self.add(name).await,
            "call" => self.call(name).await,
            // Two at once, of which one runs; the second is told what the first one did.
            "both" => {
                let both: [_; 2] = tokio::join!(self.call(name), self.call(name)).into();
                let both = both.map(|one| one.unwrap_or_else(|e| told(&e)));
                let best = ["done", "unknown"].iter().find_map(|word| both.iter().find(|one| one.starts_with(word)));
                Ok(best.unwrap_or(&both[0]).clone())
            }
            "enqueue" => {
                let job = Enqueue::new(Key::new(name)?, name.to_owned()).unique_for(Duration::from_secs(3600))?;
                let enqueued = self.jobs.enqueue(job).await?;
                Ok(format!("done {} {}", enqueued.job_id, enqueued.deduplicated))
            }
            "work" => {
                let worked = self.jobs.work_one(Duration::from_secs(600), |_| async { Ok::<_, Error>(()) }).await?;
                Ok(format!("done {}", worked.map_or("nothing".to_owned(), |one| one.job_id.to_string())))
            }
            "jobs" => {
                let listed = self.jobs.list(None, 100).await?;
                let shown: Vec<_> =
                    listed.iter().map(|job| format!("{}={}={:?}", job.key, job.id, job.state)).collect();
                Ok(format!("done {}", shown.join(" ")))
            }
            "counted" => {
                let record = self.records.get(&Key::new(format!("count/{name}"))?).await?;
                Ok(format!("done {}", record.map_or(Ok(0), |record| number(&record.value))?))
            }
            "added" => {
                let value = self.values.get(&Key::new(format!("add/{name}"))?).await?;
                Ok(format!("done {}", value.map_or(Ok(0), |(value, _)| number(&value))?))
            }
            _ => Err(Error::new(ErrorKind::Invalid, "no such order")),
        }
    }

    /// Reads, adds one and writes, under a lock and its fence.
    async fn count(&self, name: &str) -> Result<String> {
        let lease = self.locks.acquire(&Acquire::new(Key::new(name)?).wait(Wait::For(PATIENCE))).await?;
        let (token, key) = (lease.fence()?.token(), Key::new(format!("count/{name}"))?);
        let old = self.records.touch(&key, &token).await?;
        let new = old.map_or(Ok(0), |record| number(&record.value))? + 1;
        self.records.put(&key, new.to_string().into(), Cond::Fence(token), None).await?;
        // It is counted, whatever becomes of the lock.
        lease.release().await.ok();
        Ok(format!("done {new} {}", token.number()))
    }

    async fn add(&self, name: &str) -> Result<String> {
        let key = Key::new(format!("add/{name}"))?;
        let more = |value: Option<&[u8]>| Ok((value.map_or(Ok(0), number)? + 1).to_string().into());
        self.values.update(&key, more).await?;
        Ok("done".to_owned())
    }

    /// A keyed call whose effect is a line in a file.
    async fn call(&self, name: &str) -> Result<String> {
        let policy = Policy::default().in_flight(InFlight::Wait(PATIENCE)).lease(LEASE)?;
        let call = Call::new(Scope::new("me", "server", "tool")?, policy)
            .key(CallKey::new(name)?, Fingerprint::of_bytes(name.as_bytes()))
            .lock(Acquire::new(Key::new("tool")?).wait(Wait::For(PATIENCE)));
        let mut answer = self.guard.call(&call, |_| async { self.effect(name) }).await;
        // Nothing was sent: on a busy machine the lease can be over before.
        for _ in 0..3 {
            if !answer.as_ref().is_err_and(|e| e.to_string().contains("held up")) {
                break;
            }
            answer = self.guard.call(&call, |_| async { self.effect(name) }).await;
        }
        let answer = answer?;
        let word = if answer.replayed { "replayed" } else { "ran" };
        Ok(match answer.reply {
            Reply::Done(response) => {
                let body = response.bytes().map(|body| String::from_utf8_lossy(body).into_owned());
                format!("done {word} {}", body.unwrap_or_default())
            }
            Reply::NoEffect(_) => "failed without effect".to_owned(),
            reply => format!("unknown {reply:?}"),
        })
    }

    fn effect(&self, name: &str) -> Reply {
        let pid = std::process::id();
        let mut options = std::fs::OpenOptions::new();
        let Ok(mut file) = options.append(true).create(true).open(&self.effects) else {
            return Reply::NoEffect(Response::new("", ""));
        };
        // One write. Its end is the beginning of the next: half of one is an effect as well.
        match file.write(format!("\n{name} {pid}").as_bytes()) {
            Ok(1..) => Reply::Done(Response::new("", format!("by {pid}"))),
            Ok(0) | Err(_) => Reply::NoEffect(Response::new("", "")),
        }
    }
}
