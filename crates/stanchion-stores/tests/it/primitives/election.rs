//! Two processes that both believe to lead: one of them is stopped past its ttl with a write in its hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::io::BufRead as _;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Cond, Election, ErrorKind, FencingToken, Key, Leadership, Locks, RecordStore, Released, Result};
use stanchion_testkit::process::Child;

use super::engine::{LEASE, PATIENCE, Place, helpers_store, key, open, say, told};

on_every_engine!(of_two_leaders_the_stale_ones_write_is_refused);

fn name() -> Key {
    key("scheduler")
}

/// A candidate: it does what the test tells it, line by line, and answers each line with one.
struct Candidate {
    election: Election,
    records: Arc<dyn RecordStore>,
    leadership: Option<Leadership>,
    /// What it believes in, whatever became of the term.
    token: Option<FencingToken>,
}

impl Candidate {
    async fn obey(&mut self, words: &[&str]) -> Result<String> {
        let plan = key(&told("PLAN"));
        match *words {
            ["LEAD"] => {
                let leadership = self.election.lead(&name()).await?;
                self.token = Some(leadership.fence()?.token());
                self.leadership = Some(leadership);
                Ok("LEADING".to_owned())
            }
            ["READ", how] => {
                let found = match how {
                    "fenced" => self.records.touch(&plan, &self.token.unwrap()).await?,
                    _ => self.records.get(&plan).await?,
                };
                Ok(format!("READ {}", String::from_utf8_lossy(&found.unwrap().value)))
            }
            ["WRITE", how, value] => {
                let cond = match how {
                    "fenced" => Cond::Fence(self.token.unwrap()),
                    _ => Cond::Version(self.records.get(&plan).await?.unwrap().version),
                };
                self.records.put(&plan, value.to_owned().into(), cond, None).await?;
                Ok("WRITTEN".to_owned())
            }
            ["CHECK"] => self.leadership.as_ref().unwrap().fence().map(|_| "LEADS".to_owned()),
            ["RESIGN"] => Ok(match self.leadership.take().unwrap().resign().await? {
                Released::Released => "RELEASED".to_owned(),
                Released::NotHeld => "NOTHELD".to_owned(),
            }),
            _ => panic!("a candidate does not understand {words:?}"),
        }
    }
}

async fn helper() {
    let store = helpers_store().await;
    let ttl = Duration::from_millis(told("TTL").parse().unwrap());
    let election = Election::new(Locks::shared(store.locks)).ttl(ttl).unwrap();
    let mut candidate = Candidate { election, records: store.records.unwrap(), leadership: None, token: None };
    let (sender, mut commands) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
            sender.send(line).unwrap();
        }
    });
    say("READY");
    while let Some(line) = commands.recv().await {
        let words: Vec<_> = line.split(' ').collect();
        match candidate.obey(&words).await {
            Ok(answer) => say(&format!("ANSWER {answer}")),
            Err(e) if e.kind() == ErrorKind::FenceRejected => say("ANSWER REJECTED"),
            Err(e) => say(&format!("ANSWER FAILED {}", e.kind().code())),
        }
    }
}

async fn candidate(place: &Place, plan: &str, ttl: Duration) -> Child {
    let mut child = place.helper("candidate", "unused", &[("PLAN", plan), ("TTL", &ttl.as_millis().to_string())]);
    child.expect_line("READY", PATIENCE).await;
    child
}

async fn ask(child: &mut Child, command: &str) -> String {
    child.write_line(command);
    child.expect_line("ANSWER", PATIENCE).await
}

/// What became of the late write, and the plan at the end.
async fn two_leaders(place: &Place, how: &str) -> (String, String) {
    let (records, plan) = (place.records().await, format!("plan-{how}"));
    let observer = Election::new(Locks::shared(open(&place.url).await.locks));
    records.put(&key(&plan), "nobodys".into(), Cond::Absent, None).await.unwrap();
    let mut first = candidate(place, &plan, LEASE).await;
    // A long ttl, so that this one does not lose its term as well.
    let mut second = candidate(place, &plan, Duration::from_secs(60)).await;

    assert_eq!(ask(&mut first, "LEAD").await, "LEADING");
    assert_eq!(observer.leader(&name()).await.unwrap().unwrap().identity.pid, first.pid());
    assert_eq!(ask(&mut first, &format!("READ {how}")).await, "READ nobodys");
    first.pause();
    // It lies in the pipe when the leader wakes up: the write that was about to be sent.
    first.write_line(&format!("WRITE {how} the-firsts"));
    assert_eq!(ask(&mut second, "LEAD").await, "LEADING");
    assert_eq!(observer.leader(&name()).await.unwrap().unwrap().identity.pid, second.pid());
    assert_eq!(ask(&mut second, &format!("READ {how}")).await, "READ nobodys");
    assert_eq!(ask(&mut second, &format!("WRITE {how} the-seconds")).await, "WRITTEN");
    first.resume();
    let late = first.expect_line("ANSWER", PATIENCE).await;
    assert_eq!(ask(&mut first, "CHECK").await, "FAILED LEASE_LOST");
    assert_eq!(ask(&mut first, "RESIGN").await, "NOTHELD");
    assert_eq!(ask(&mut second, "CHECK").await, "LEADS");
    assert_eq!(ask(&mut second, "RESIGN").await, "RELEASED");
    assert_eq!(observer.leader(&name()).await.unwrap(), None);
    let plan = records.get(&key(&plan)).await.unwrap().unwrap().value;
    (late, String::from_utf8(plan.to_vec()).unwrap())
}

async fn of_two_leaders_the_stale_ones_write_is_refused(place: Place) {
    assert_eq!(two_leaders(&place, "fenced").await, ("REJECTED".to_owned(), "the-seconds".to_owned()));
    let control = two_leaders(&place, "blind").await;
    assert_eq!(control, ("WRITTEN".to_owned(), "the-firsts".to_owned()), "void: without the fence nothing was lost");
}
