//! One write that comes too late for certain: pauses that a seed draws seldom fall between a read and its write.
//!
//! A process takes a lock and reads under its fence, and is stopped; when its lease is over, another one takes the lock and writes;
//! then the first goes on, and writes. The judge reads both in the journals, like all others.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::Result;
use stanchion_testkit::process::Child;
use tokio::time::Instant;

use super::dice::Dice;
use super::engines::Ground;
use super::locked;
use super::orders::{Chain, Orders, VARIABLE};
use super::worker::{Worker, say};

/// Nobody else works any more when this is done.
const CHAIN: Chain = Chain::Locked(0);
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(10);
/// What the holder says when it has read.
const READ: &str = "READ";

/// The holder's part, in a process of its own.
pub(super) async fn hold(worker: &Worker) -> Result<()> {
    let op = format!("{}-0", worker.orders.name);
    let lease = locked::take_within(worker, &op, CHAIN, 0, PATIENCE).await?;
    let told_to_go_on = async {
        say(READ);
        // The whole process waits, as it does when it is stopped.
        std::io::stdin().read_line(&mut String::new()).ok();
    };
    locked::write_after(worker, &op, CHAIN, &lease.grant().fence, &mut 0, told_to_go_on).await;
    Ok(())
}

/// Why it could not be done.
pub(super) async fn write(program: &Path, ground: &Ground, orders: &Orders) -> std::result::Result<(), String> {
    let holder = Orders { name: "late".to_owned(), is_late: true, ..orders.clone() };
    let text = serde_json::to_string(&holder).map_err(|e| e.to_string())?;
    let mut child = Child::spawn(Command::new(program).env(VARIABLE, text));
    let until = Instant::now() + PATIENCE;
    while child.try_line().is_none_or(|line| line != READ) {
        if child.ended().is_some() || Instant::now() >= until {
            return Err("the holder that is to come too late got no lock".to_owned());
        }
        tokio::time::sleep(TICK).await;
    }
    child.pause();
    let name = "successor".to_owned();
    let opened = Worker::open(Orders { url: ground.direct.clone(), name, ..orders.clone() }).await;
    let successor = Arc::new(opened.map_err(|e| e.to_string())?);
    let (mut dice, mut floor) = (Dice::of(&[orders.seed]), 0);
    let until = Instant::now() + ground.takeover * 3 + PATIENCE;
    for turn in 0.. {
        if locked::increment(&successor, &mut dice, &format!("successor-{turn}"), CHAIN, &mut floor).await == 1 {
            break;
        }
        tokio::time::sleep(TICK).await;
        if Instant::now() >= until {
            return Err("nobody could take over from a holder that stands still".to_owned());
        }
    }
    child.resume();
    child.close_stdin();
    let until = Instant::now() + PATIENCE;
    while child.ended().is_none() {
        if Instant::now() >= until {
            return Err("the holder that came too late did not end".to_owned());
        }
        tokio::time::sleep(TICK).await;
    }
    Ok(())
}
