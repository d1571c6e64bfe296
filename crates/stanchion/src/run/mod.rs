//! `stanchion run --lock NAME -- CMD`: flock for any store.

mod boot_timer;
#[cfg(unix)]
mod child;
#[cfg(not(unix))]
#[path = "child_other.rs"]
mod child;
mod environment;
mod once;
mod stage;
mod standing;
mod status;
mod waiting;

use std::time::Duration;

use stanchion_core::{
    Acquire, Election, Error, ErrorKind, Identity, Key, Lease, Leases, Locks, Mode, Released, Result, Wait,
};
use stanchion_stores::OpenedLocks;

pub(crate) use self::child::{Signals, staged};
pub(crate) use self::stage::exec_stage;

use self::child::{Child, Happened};
use self::once::OnceOnly;
use self::standing::Standing;
use self::status::Status;
use crate::cli::{Cli, IfBusy, OnLost, RunArgs};
use crate::exit::{self, say};
use crate::{lock, store};

/// How long a finished run waits for what it has left to clean up: late grants, places in queues.
const CLEAN_UP: Duration = Duration::from_secs(2);

const WAIT_DEFAULT: Wait = Wait::For(Duration::from_secs(30));

pub(crate) async fn run(cli: &Cli, args: &RunArgs) -> Result<u8> {
    if exit::is_option("run", &args.command) {
        return Ok(2);
    }
    let names = names(args)?;
    let requests = requests(args, &names)?;
    let mut status = Status::open(args.status_fd)?;
    let (opened, once) = match &args.once {
        Some(key) => {
            let (opened, records) = store::open_both(&cli.store).await?;
            (opened, Some(OnceOnly::new(records, key)))
        }
        None => (store::open_locks(&cli.store).await?, None),
    };
    refuse_own_lock(&opened, &names).await?;
    let locks = Locks::shared(opened.locks.clone());
    let run = Run { args, names: &names, requests: &requests, opened: &opened, locks: &locks, once: once.as_ref() };
    // For the whole run: a signal that comes between two turns must not be lost.
    let mut signals = Signals::for_waiting()?;
    let mut standing = Standing::new(args)?;
    status.waiting(&names);
    let code = loop {
        match run.turn(&mut status, &mut signals).await {
            Ok(Turn::Exit(code)) => break Ok(code),
            Ok(Turn::StandAgain) => match signals.pending() {
                Some(signal) => {
                    say("stanchion: leadership is lost, and we were told to end");
                    break Ok(128 + signal.number());
                }
                None => {
                    say("stanchion: leadership is lost; standing again");
                    status.waiting(&names);
                    standing = Standing::new(args)?;
                }
            },
            Err(e) => match standing.pause(&e) {
                None => break Err(e),
                Some(pause) => tokio::select! {
                    biased;
                    signal = signals.next() => break Ok(128 + signal.number()),
                    () = tokio::time::sleep(pause) => {}
                },
            },
        }
    };
    if tokio::time::timeout(CLEAN_UP, locks.settled()).await.is_err() {
        tracing::warn!("the store does not answer; what is left there ends by itself");
    }
    code
}

/// One `run`, with everything it needs.
struct Run<'a> {
    args: &'a RunArgs,
    names: &'a [Key],
    requests: &'a [Acquire],
    opened: &'a OpenedLocks,
    locks: &'a Locks,
    once: Option<&'a OnceOnly>,
}

enum Turn {
    Exit(u8),
    /// A leader that has lost stands for election again.
    StandAgain,
}

impl Run<'_> {
    /// Waits for the locks, runs the command, gives the locks back.
    async fn turn(&self, status: &mut Status, signals: &mut Signals) -> Result<Turn> {
        let args = self.args;
        let leases = match waiting::acquire(self.locks, self.requests, args.quiet, signals).await {
            Ok(waiting::Waited::Acquired(leases)) => leases,
            Ok(waiting::Waited::Interrupted(signal)) => return Ok(Turn::Exit(128 + signal)),
            Err(e) if e.kind() == ErrorKind::Contended => return busy(args, self.names, status, e).map(Turn::Exit),
            Err(e) => return Err(e),
        };
        status.acquired(&leases);
        if let Some(once) = self.once
            && once.is_done().await?
        {
            if !args.quiet {
                say("stanchion: it was done before; nothing is run");
            }
            status.released(&leases.release().await);
            return Ok(Turn::Exit(0));
        }
        let mut child = Child::start(args, self.opened, &leases)?;
        let ended = guard(&mut child, &leases, args, status).await?;
        signals.forget_hangup();
        status.child_exit(&ended);
        let still_ours = !ended.lost && leases.iter().all(|lease| lease.fence().is_ok());
        let recorded = match self.once {
            Some(once) if ended.code == 0 && still_ours => once.record().await,
            Some(_) if ended.code == 0 => {
                say(
                    "stanchion: warning: the lock was lost before the command ended, so its success is not recorded; it may run again",
                );
                Ok(())
            }
            _ => Ok(()),
        };
        let released = leases.release().await;
        status.released(&released);
        if let Err(e) = &released {
            say(&format!("stanchion: warning: the lock could not be given back ({e}); it ends by itself"));
        }
        recorded?;
        let lost = ended.lost || matches!(released, Ok(Released::NotHeld));
        if !lost || args.on_lost == OnLost::Warn {
            return Ok(Turn::Exit(ended.code));
        }
        if args.leader.is_some() {
            return Ok(Turn::StandAgain);
        }
        say("error: the lock was lost while the command ran");
        say(
            "hint: what it wrote is only safe where the store checked STANCHION_FENCE; a longer --ttl survives longer pauses",
        );
        Ok(Turn::Exit(exit::LOST))
    }
}

/// Everything that is locked: what was named, and what stands for `--once` and `--leader`.
fn names(args: &RunArgs) -> Result<Vec<Key>> {
    let mut names = args.locks.clone();
    if let Some(key) = &args.once {
        names.push(Key::new(format!("once:{key}"))?);
    }
    if let Some(name) = &args.leader {
        names.push(Election::lock_key(name)?);
    }
    Ok(names)
}

fn requests(args: &RunArgs, names: &[Key]) -> Result<Vec<Acquire>> {
    // Those after the named ones stand for `--once` and `--leader`, and two holders of them would be two runs, two leaders.
    let alone = &names[args.locks.len()..];
    for (n, name) in names.iter().enumerate() {
        let variable = environment::fence_variable(name);
        let alike = |other: &&Key| *other != name && environment::fence_variable(other) == variable;
        if let Some(other) = names[..n].iter().find(alike) {
            return Err(Error::new(ErrorKind::Invalid, "two locks would hand their fence on in the same variable")
                .with("locks", format_args!("{other}, {name}"))
                .with("variable", variable)
                .hint("give them names that differ in more than case and punctuation"));
        }
    }
    let named = match (args.shared, args.slots) {
        (true, _) => Mode::Shared,
        (false, Some(n)) => Mode::Slots(n),
        (false, None) => Mode::Exclusive,
    };
    let name = args.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let identity = Identity::current().labelled(name.rsplit('/').next().unwrap_or(&name));
    let wait = args.wait.unwrap_or(if args.leader.is_some() { Wait::Forever } else { WAIT_DEFAULT });
    let request = |key: &Key| {
        let mode = if alone.contains(key) { Mode::Exclusive } else { named };
        let request = Acquire::new(key.clone())
            .ttl(args.ttl)?
            .mode(mode)?
            .wait(wait)
            .floor(args.floor)
            .identity(identity.clone());
        match args.max_hold {
            Some(limit) => request.max_hold(limit),
            None => Ok(request),
        }
    };
    names.iter().map(request).collect()
}

/// A nested `run` on a lock that our parent holds for us would wait for ever.
async fn refuse_own_lock(opened: &OpenedLocks, names: &[Key]) -> Result<()> {
    for name in names {
        let above = environment::held_above(&opened.shown, name);
        if above.is_empty() {
            continue;
        }
        // The environment may be older than the lock: only a lease that is still there counts.
        let info = lock::find(&*opened.locks, name).await?;
        let ours = info.is_some_and(|info| {
            info.holders.iter().any(|holder| holder.fence.is_none_or(|fence| above.contains(&fence.lease_id())))
        });
        if ours {
            return Err(Error::new(ErrorKind::Deadlock, "the lock is already held by your parent process")
                .with("key", name)
                .hint(
                    "the command runs under this lock already; drop the inner `stanchion run`, or use another name",
                ));
        }
    }
    Ok(())
}

fn busy(args: &RunArgs, names: &[Key], status: &mut Status, error: Error) -> Result<u8> {
    status.busy(&error);
    if args.if_busy == IfBusy::Skip {
        return Ok(0);
    }
    let name = names.first().map_or("NAME", Key::as_str);
    let error = error.hint(format!("`stanchion why {name}` says more; --wait 2m waits longer; --if-busy skip exits 0"));
    exit::report(&error);
    Ok(args.busy_code)
}

/// Sees the child to its end: forwards signals, and stops it before the lock can pass on.
async fn guard(child: &mut Child, leases: &Leases, args: &RunArgs, status: &mut Status) -> Result<Ended> {
    // A grace that eats more than a third of the ttl would shoot at a healthy holder between two renewals.
    let grace = args.grace.min(args.ttl / 3).min(args.max_hold.map_or(Duration::MAX, |limit| limit / 3));
    let kill = args.on_lost == OnLost::Kill;
    let mut phase = Phase::Held;
    loop {
        let deadline = leases.iter().filter_map(Lease::valid_until).min();
        let alarm = match phase {
            Phase::Held if kill => deadline.map(|deadline| boot_timer::before(deadline, grace)),
            _ => deadline,
        };
        tokio::select! {
            happened = child.next() => match happened? {
                Happened::Signal(signal) => {
                    if child.forward(signal) {
                        // We stood still, and could not renew: a command whose lock is gone must not go on.
                        if phase != Phase::Lost && leases.iter().any(|lease| lease.fence().is_err()) {
                            phase = lose(child, status, kill);
                        }
                        child.resume();
                    }
                }
                Happened::Ended(ended) => {
                    // What it has started may have ignored the SIGTERM that ended it.
                    if phase != Phase::Held && kill {
                        child.kill_group();
                    }
                    return Ok(Ended { lost: phase != Phase::Held, ..ended });
                }
            },
            () = boot_timer::sleep_until(alarm), if phase != Phase::Lost => {
                // A renewal that came in time has moved the deadline; the next round sees it.
                if phase == Phase::Held && kill && leases.iter().filter_map(Lease::valid_until).min() == deadline {
                    say("stanchion: the lock is about to end; SIGTERM now, SIGKILL before it can pass on");
                    status.losing();
                    child.terminate();
                    phase = Phase::Ending;
                } else if leases.iter().any(|lease| lease.fence().is_err()) {
                    phase = lose(child, status, kill);
                }
            }
            // The store says that it is not ours: somebody else may hold it already.
            _ = leases.lost(), if phase != Phase::Lost => phase = lose(child, status, kill),
        }
    }
}

/// How the command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: u8,
    signal: Option<i32>,
    lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Held,
    Ending,
    Lost,
}

fn lose(child: &mut Child, status: &mut Status, kill: bool) -> Phase {
    if kill {
        child.kill();
    }
    status.lost();
    say("stanchion: the lock is lost");
    Phase::Lost
}
