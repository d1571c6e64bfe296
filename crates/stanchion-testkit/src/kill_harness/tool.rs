//! The tool: its effect is a line in a file that outlives everybody, and a number drawn under the lock.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::claim::{Claim, Response};
use stanchion_core::pause::pause_point;
use stanchion_core::{Owner, Pass, RecordStore, Reply};

use super::log::{EFFECTS, Effect, Log};
use super::profile::{ALICE, Plan, Profile, Says};
use super::wire::said;

/// How long the tool takes to write a number that it has read.
const GAP: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Tool {
    folder: PathBuf,
    effects: Log,
    plan: Plan,
    who: String,
    log: Arc<Log>,
    /// Another connection, to see the store as others do.
    direct: Arc<dyn RecordStore>,
}

/// The number was not drawn: a later holder has been here.
struct Fenced;

impl Tool {
    pub(super) fn new(folder: PathBuf, plan: &Plan, who: &str, log: &Arc<Log>, direct: Arc<dyn RecordStore>) -> Self {
        let effects = Log::open(&folder.join(EFFECTS));
        Self { folder, effects, plan: plan.clone(), who: who.to_owned(), log: Arc::clone(log), direct }
    }

    /// One attempt under the guard.
    pub(super) async fn run(&self, principal: &str, index: usize, pass: &Pass) -> Reply {
        self.look("mark", principal, index, pass.epoch).await;
        let profile = self.plan.profile(index);
        let says = if principal == ALICE { profile.says } else { Says::Done };
        if says == Says::NoEffectFirst && pass.epoch == 1 {
            return Reply::NoEffect(Response::new("", ""));
        }
        if profile.slow {
            // Long enough for signs of life in between.
            tokio::time::sleep(self.plan.lease.min(Duration::from_millis(600)) * 2 / 3).await;
            self.look("alive", principal, index, pass.epoch).await;
        }
        pause_point("kill.before-effect").await;
        let fence = pass.fence.map(|fence| fence.number());
        let Ok(body) = self.effect(principal, index, pass.epoch, &profile, fence).await else {
            self.log.line(&format!("fenced {principal} {index} {}", pass.epoch));
            return Reply::NoEffect(Response::new("", "fenced"));
        };
        match says {
            Says::Nothing => Reply::Unknown("the answer of the tool was lost".to_owned()),
            Says::Failed => Reply::Failed(Response::new("", body)),
            Says::Done | Says::NoEffectFirst => Reply::Done(Response::new("", body)),
        }
    }

    /// One attempt of the seed's design: it knows neither epochs nor locks. `None` if the answer was lost.
    pub(super) async fn run_bare(&self, index: usize) -> Option<String> {
        let profile = self.plan.profile(index);
        let body = self.effect(ALICE, index, 0, &profile, None).await.unwrap_or_else(|Fenced| unreachable!("no fence"));
        (profile.says != Says::Nothing).then_some(body)
    }

    /// What another process sees of this call now.
    async fn look(&self, what: &str, principal: &str, index: usize, epoch: u64) {
        let seen = match self.direct.get(&self.plan.claim_id(principal, index).record_key()).await {
            Ok(Some(record)) => match Claim::decode(&record.value) {
                Ok(claim) => format!("{} {}", claim.state.name(), claim.attempt.epoch),
                Err(_) => "damaged 0".to_owned(),
            },
            Ok(None) => "absent 0".to_owned(),
            // The store is away: nothing can be seen.
            Err(_) => "unseen 0".to_owned(),
        };
        self.log.line(&format!("{what} {principal} {index} {epoch} {seen}"));
    }

    async fn effect(
        &self,
        principal: &str,
        index: usize,
        epoch: u64,
        profile: &Profile,
        fence: Option<u64>,
    ) -> Result<String, Fenced> {
        let drawn = match profile.locks.0 {
            Some(lock) => Some((lock, self.draw(lock, fence).await?)),
            None => None,
        };
        let body = format!("{}-{index}-{epoch}", Owner::random().to_hex());
        let (principal, worker) = (principal.to_owned(), self.who.clone());
        self.effects.line(&Effect { principal, index, epoch, worker, body: body.clone(), drawn }.to_line());
        Ok(body)
    }

    /// Reads, thinks, writes: whoever does it at the same time draws the same number. With a fence, the file remembers the
    /// highest that touched it, and the lower is refused.
    async fn draw(&self, lock: u64, fence: Option<u64>) -> Result<u64, Fenced> {
        let path = self.folder.join(format!("counter-{lock}"));
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.expect("the counter can be opened");
        let (floor, number) = read(&file);
        if let Some(fence) = fence {
            if floor > fence {
                return Err(Fenced);
            }
            write(&file, fence, number);
        }
        // Without a fence it is the control, which is given every chance to lose.
        tokio::time::sleep(if fence.is_some() { GAP } else { GAP * 10 }).await;
        let number = match fence {
            Some(fence) => match read(&file) {
                (floor, number) if floor == fence => number,
                _ => return Err(Fenced),
            },
            None => number,
        };
        write(&file, fence.unwrap_or(0), number + 1);
        Ok(number + 1)
    }
}

fn read(file: &File) -> (u64, u64) {
    let mut bytes = [0; 16];
    let len = file.read_at(&mut bytes, 0).expect("the counter can be read");
    let half = |at: usize| bytes[at..at + 8].try_into().map(u64::from_be_bytes).unwrap_or_default();
    if len < bytes.len() { (0, 0) } else { (half(0), half(8)) }
}

fn write(file: &File, fence: u64, number: u64) {
    let bytes = [fence.to_be_bytes(), number.to_be_bytes()].concat();
    file.write_all_at(&bytes, 0).expect("the counter can be written");
}

/// An answer on one line: its kind, and its body or reason.
pub(super) fn answered(reply: &Reply) -> (&'static str, String) {
    let body = |response: &Response| {
        response.bytes().map_or_else(|| "-".to_owned(), |body| String::from_utf8_lossy(body).into_owned())
    };
    match reply {
        Reply::Done(response) => ("ok", body(response)),
        Reply::Failed(response) => ("failed", body(response)),
        Reply::NoEffect(_) => ("none", "-".to_owned()),
        Reply::Suspended(_) => ("suspended", "-".to_owned()),
        Reply::Unknown(reason) => ("unknown", reason.replace([' ', '\n'], "_")),
    }
}

/// What a listing shows of a claim.
pub(super) fn shown(claim: &Claim) -> (String, String) {
    let text = said(&claim.state);
    text.split_once(' ').map_or_else(|| (text.clone(), String::new()), |(a, b)| (a.to_owned(), b.to_owned()))
}
