//! The other process: it does what the case tells it, line by line.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::Duration;

use stanchion_core::{
    Acquire, Cond, Error, ErrorKind, FencingToken, Grant, Key, Owner, Record, RecordStore, Released, Renewal, Result,
    Wait,
};
use tokio::time::Instant;

use super::super::Client;
use super::TAKER;

/// The `main` of another process. Returns at once when this process is none; otherwise opens the store and obeys.
///
/// It reads commands from standard input and answers each with one line, `TAKER …`:
///
/// | command | answers |
/// |---|---|
/// | `ACQUIRE key ttl_ms wait_ms` | `GRANTED token`, `CONTENDED why` |
/// | `RENEW` | `RENEWED`, `LOST`, `UNKNOWN why` |
/// | `RELEASE` | `RELEASED`, `NOTHELD` |
/// | `TOUCH record` | `VALUE text`, `ABSENT`, `REJECTED floor` |
/// | `GET record` | `VALUE text`, `ABSENT` |
/// | `PUT record value` by the token of the lock | `WRITTEN version`, `REJECTED floor` |
/// | `PUT-BLIND record value` over whatever is there | `WRITTEN version` |
/// | `PUT-LATE-FENCE record value` by a fence that only writes raise | `WRITTEN version`, `REJECTED floor` |
/// | `COUNT file times key` under a lock; `-` for no lock | `COUNTED times` |
/// | `QUIT` | none |
///
/// Anything else that goes wrong is `FAILED kind why`.
///
/// ```
/// use stanchion_testkit::conformance::{Client, process::taker_main};
///
/// async fn open(url: String) -> Client {
///     todo!("open the store at {url}")
/// }
///
/// taker_main(open); // this process is no taker: `open` is not called
/// ```
///
/// # Panics
/// When a command is none of these.
pub fn taker_main<F, Fut, C>(open: F)
where
    F: FnOnce(String) -> Fut,
    Fut: Future<Output = C>,
    C: Into<Client>,
{
    let Ok(url) = std::env::var(TAKER) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut taker = Taker { client: open(url).await.into(), grant: None };
        say("READY");
        let (sender, mut commands) = tokio::sync::mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        while let Some(line) = commands.recv().await {
            let words: Vec<&str> = line.split(' ').collect();
            if words == ["QUIT"] {
                break;
            }
            let answer = taker.obey(&words).await.unwrap_or_else(|e| match (e.kind(), e.floor()) {
                (ErrorKind::FenceRejected, Some(floor)) => format!("REJECTED {floor}"),
                (ErrorKind::Contended, _) => format!("CONTENDED {e}"),
                (kind, _) => format!("FAILED {} {e}", kind.code()),
            });
            say(&format!("TAKER {answer}"));
        }
    });
}

/// Past the test runner's capture, and with a line of its own: the runner may have begun one.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A case that is gone does not listen any more, and ends us.
    writeln!(out, "\n{line}").and_then(|()| out.flush()).ok();
}

struct Taker {
    client: Client,
    grant: Option<Grant>,
}

impl Taker {
    async fn obey(&mut self, words: &[&str]) -> Result<String> {
        match *words {
            ["ACQUIRE", key, ttl, wait] => {
                let grant = self.acquire(&Key::new(key)?, ms(ttl), ms(wait)).await?;
                let answer = format!("GRANTED {}", grant.fence);
                self.grant = Some(grant);
                Ok(answer)
            }
            ["RENEW"] => {
                let grant = self.grant()?;
                Ok(match self.client.locks.renew(grant, grant.ttl).await {
                    Renewal::Renewed => "RENEWED".to_owned(),
                    Renewal::Lost => "LOST".to_owned(),
                    Renewal::Unknown(e) => format!("UNKNOWN {e}"),
                })
            }
            ["RELEASE"] => Ok(match self.client.locks.release(self.grant()?).await? {
                Released::Released => "RELEASED".to_owned(),
                Released::NotHeld => "NOTHELD".to_owned(),
            }),
            ["TOUCH", record] => Ok(shown(self.records()?.touch(&Key::new(record)?, &self.grant()?.fence).await?)),
            ["GET", record] => Ok(shown(self.records()?.get(&Key::new(record)?).await?)),
            ["PUT", record, value] => {
                let cond = Cond::Fence(self.grant()?.fence);
                let version = self.records()?.put(&Key::new(record)?, value.to_owned().into(), cond, None).await?;
                Ok(format!("WRITTEN {version}"))
            }
            ["PUT-BLIND", record, value] => self.put_over(record, value, None).await,
            ["PUT-LATE-FENCE", record, value] => self.put_over(record, value, Some(self.grant()?.fence)).await,
            ["COUNT", file, times, key] => {
                let key = (key != "-").then(|| Key::new(key)).transpose()?;
                for _ in 0..times.parse().unwrap_or(0) {
                    self.count(Path::new(file), key.as_ref()).await?;
                }
                Ok(format!("COUNTED {times}"))
            }
            _ => panic!("a taker does not understand {words:?}"),
        }
    }

    fn grant(&self) -> Result<&Grant> {
        self.grant.as_ref().ok_or_else(|| Error::new(ErrorKind::Invalid, "ACQUIRE comes first"))
    }

    fn records(&self) -> Result<&dyn RecordStore> {
        let none = || Error::new(ErrorKind::Unsupported, "the store has no records");
        self.client.records.as_deref().ok_or_else(none)
    }

    async fn acquire(&self, key: &Key, ttl: Duration, wait: Duration) -> Result<Grant> {
        let (locks, owner, until) = (&self.client.locks, Owner::random(), Instant::now() + wait);
        let wait = if wait.is_zero() { Wait::No } else { Wait::For(wait) };
        let request = Acquire::new(key.clone()).ttl(ttl)?.wait(wait);
        loop {
            match locks.try_acquire(&request, owner).await {
                Err(e) if e.kind() == ErrorKind::Contended && Instant::now() < until => {
                    locks.wait(&request, owner, until).await?;
                }
                Err(e) => {
                    locks.withdraw(&request, owner).await;
                    return Err(e);
                }
                grant => return grant,
            }
        }
    }

    /// What callers do who do not use fences: write over the newest version, whoever wrote it. With a fence that is
    /// kept beside the value, it compares and raises at the write only, as is often recommended.
    async fn put_over(&self, record: &str, value: &str, fence: Option<FencingToken>) -> Result<String> {
        let (records, key) = (self.records()?, Key::new(record)?);
        loop {
            let found = records.get(&key).await?;
            let floor = found.as_ref().and_then(|record| floor(&record.value)).unwrap_or(0);
            if fence.is_some_and(|token| token.number() < floor) {
                return Ok(format!("REJECTED {floor}"));
            }
            let text = fence.map_or_else(|| value.to_owned(), |token| format!("{value}@{}", token.number()));
            let cond = found.map_or(Cond::Absent, |record| Cond::Version(record.version));
            match records.put(&key, text.into(), cond, None).await {
                Err(e) if e.kind() == ErrorKind::Conflict => {}
                written => return Ok(format!("WRITTEN {}", written?)),
            }
        }
    }

    /// One increment of the number in `file`: read, think, write, with nothing but the lock around it.
    async fn count(&self, file: &Path, key: Option<&Key>) -> Result<()> {
        let grant = match key {
            Some(key) => Some(self.acquire(key, Duration::from_secs(60), Duration::from_secs(60)).await?),
            None => None,
        };
        let broken = |e: std::io::Error| Error::new(ErrorKind::Unexpected, "the counter's file").because(e);
        let number: u64 = std::fs::read_to_string(file).map_err(broken)?.trim().parse().unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(1)).await;
        // Ten digits in place: a reader without the lock sees an old or a new number, never a half one.
        let mut open = std::fs::OpenOptions::new().write(true).open(file).map_err(broken)?;
        // stanchion-audit: ignore RC101, RC302 -- the race that the locks under test have to prevent
        open.write_all(format!("{:010}", number + 1).as_bytes()).map_err(broken)?;
        if let Some(grant) = grant {
            self.client.locks.release(&grant).await?.still_held(&grant.key)?;
        }
        Ok(())
    }
}

fn ms(text: &str) -> Duration {
    Duration::from_millis(text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number of milliseconds")))
}

fn shown(record: Option<Record>) -> String {
    record.map_or_else(|| "ABSENT".to_owned(), |record| format!("VALUE {}", String::from_utf8_lossy(&record.value)))
}

/// The fence beside a value, for `PUT-LATE-FENCE`.
fn floor(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.split_once('@')?.1.parse().ok()
}
