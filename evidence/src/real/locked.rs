//! Read, think, write, under a lock and its fence; the control does it without either.

use std::time::Duration;

use stanchion_core::{Acquire, FencingToken, Key, Lease, Result, Wait};

use super::dice::Dice;
use super::journal::{Line, Outcome, now};
use super::orders::Chain;
use super::worker::Worker;

/// Adds one, and says how many calls were acknowledged.
pub(super) async fn increment(worker: &Worker, dice: &mut Dice, op: &str, chain: Chain, floor: &mut u64) -> u64 {
    if !worker.orders.guarded {
        return bare(worker, dice, op, chain).await;
    }
    let lease = match take(worker, dice, op, chain, *floor).await {
        Ok(lease) => lease,
        // Whatever became of the lock: nothing was written.
        Err(e) => return end(worker, op, chain, Outcome::No(e.kind().code().to_owned()), (0, 0)),
    };
    // Not looked at again before the write, as by a holder that stood still in between: the store has to refuse it.
    let token = lease.grant().fence;
    let done = write(worker, dice, op, chain, &token, floor).await;
    // Unanswered or refused, the release goes on in the background or is no matter: the lease ends by itself.
    lease.release().await.ok();
    done
}

async fn take(worker: &Worker, dice: &mut Dice, op: &str, chain: Chain, floor: u64) -> Result<Lease> {
    // Most try elsewhere soon; some wait long enough to take over from a holder that is gone.
    let wait = if dice.percent(15) { worker.orders.lease * 3 } else { Duration::from_millis(100) };
    take_within(worker, op, chain, floor, wait).await
}

pub(super) async fn take_within(worker: &Worker, op: &str, chain: Chain, floor: u64, wait: Duration) -> Result<Lease> {
    let key: Key = worker.orders.lock(&chain.word())?;
    let request = Acquire::new(key).ttl(worker.orders.lease)?.wait(Wait::For(wait)).floor(floor);
    let call = now();
    let lease = worker.locks.acquire(&request).await?;
    let token = lease.grant().fence.number();
    worker.journal.line(&Line::Got { chain, op: op.to_owned(), token, times: (call, now()) });
    Ok(lease)
}

async fn write(worker: &Worker, dice: &mut Dice, op: &str, chain: Chain, token: &FencingToken, floor: &mut u64) -> u64 {
    write_after(worker, op, chain, token, floor, think(dice)).await
}

/// What goes on between the read and the write is `meanwhile`.
pub(super) async fn write_after(
    worker: &Worker,
    op: &str,
    chain: Chain,
    token: &FencingToken,
    floor: &mut u64,
    meanwhile: impl Future<Output = ()>,
) -> u64 {
    let call = now();
    let seen = match worker.place.read(&worker.orders, chain, Some(token)).await {
        Ok(seen) => seen,
        Err(e) => {
            *floor = e.floor().unwrap_or(*floor);
            return end(worker, op, chain, Outcome::No(e.kind().code().to_owned()), (0, 0));
        }
    };
    worker.journal.line(&Line::tries(chain, op, &seen, token.number(), (call, now())));
    meanwhile.await;
    let call = now();
    let written = worker.place.write(&worker.orders, chain, &seen, op, token).await;
    let outcome = match &written {
        Ok(version) => Outcome::Ok(version.to_string()),
        Err(e) => Outcome::of(e),
    };
    *floor = written.err().and_then(|e| e.floor()).unwrap_or(*floor);
    end(worker, op, chain, outcome, (call, now()))
}

/// The control.
pub(super) async fn bare(worker: &Worker, dice: &mut Dice, op: &str, chain: Chain) -> u64 {
    let call = now();
    let seen = match worker.place.read(&worker.orders, chain, None).await {
        Ok(seen) => seen,
        Err(e) => return end(worker, op, chain, Outcome::No(e.kind().code().to_owned()), (0, 0)),
    };
    worker.journal.line(&Line::tries(chain, op, &seen, 0, (call, now())));
    think(dice).await;
    let call = now();
    let outcome = match worker.place.overwrite(&worker.orders, chain, &seen, op).await {
        Ok(version) => Outcome::Ok(version.to_string()),
        Err(e) => Outcome::of(&e),
    };
    end(worker, op, chain, outcome, (call, now()))
}

/// Between the read and the write of some calls others have time.
async fn think(dice: &mut Dice) {
    if dice.percent(20) {
        tokio::time::sleep(Duration::from_millis(dice.below(4))).await;
    }
}

pub(super) fn end(worker: &Worker, op: &str, chain: Chain, outcome: Outcome, times: (u64, u64)) -> u64 {
    let acknowledged = u64::from(outcome.is_ok());
    worker.journal.line(&Line::End { chain, op: op.to_owned(), outcome, times });
    acknowledged
}
