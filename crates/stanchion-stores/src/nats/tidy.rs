//! What nobody needs any more: marks of deleted keys, and records that are over.
//!
//! Nothing rests on this. Each removal names the message that goes, so it never takes a newer one; a process that dies
//! leaves a few marks, and the next one who takes or lists such a key cleans it up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Weak;

use stanchion_core::Key;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::entry::Head;
use super::known::Sight;
use super::records::NatsStore;

/// A mark stays this long, because a lock that was just given back is often taken again.
const MARK_STAYS: Duration = Duration::from_secs(10);
/// Work that waits; more is left to whoever meets it.
const MOST: usize = 65_536;
/// Removals under way at once.
const AT_ONCE: usize = 8;

#[derive(Debug, Clone)]
enum Work {
    /// The mark with this number.
    Mark(u64),
    /// The record of this message ends about now.
    Ends(u64),
    /// The record is over.
    Over(Head),
}

#[derive(Debug)]
pub(super) struct Tidy(mpsc::Sender<(Instant, Key, Work)>);

impl Tidy {
    pub(super) fn start(store: Weak<NatsStore>) -> Self {
        let (send, receive) = mpsc::channel(1024);
        tokio::spawn(run(store, receive));
        Self(send)
    }

    pub(super) fn mark(&self, key: &Key, seq: u64) {
        self.later(MARK_STAYS, key, Work::Mark(seq));
    }

    pub(super) fn ends(&self, key: &Key, seq: u64, ttl: Duration) {
        // What lives for days is met by a listing or a reader before this process would come to it.
        if ttl < Duration::from_secs(86_400) {
            self.later(ttl + Duration::from_secs(1), key, Work::Ends(seq));
        }
    }

    pub(super) fn over(&self, key: &Key, head: Head) {
        self.later(Duration::ZERO, key, Work::Over(head));
    }

    fn later(&self, wait: Duration, key: &Key, work: Work) {
        self.0.try_send((Instant::now() + wait, key.clone(), work)).ok();
    }
}

/// Ordered by when it is due.
struct Due(Instant, Key, Work);

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// Ends with the store, which holds the sender.
async fn run(store: Weak<NatsStore>, mut receive: mpsc::Receiver<(Instant, Key, Work)>) {
    let mut waiting: BinaryHeap<Reverse<Due>> = BinaryHeap::new();
    let mut under_way = JoinSet::new();
    loop {
        let due = waiting.peek().map(|Reverse(due)| due.0).filter(|_| under_way.len() < AT_ONCE);
        let next = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // What comes in first, so that the channel does not fill up behind slow removals.
            biased;
            work = receive.recv() => match work {
                Some((at, key, work)) if waiting.len() < MOST => waiting.push(Reverse(Due(at, key, work))),
                Some(_) => {}
                None => return,
            },
            Some(_) = under_way.join_next() => {}
            () = next => {
                let (Some(Reverse(Due(_, key, work))), Some(store)) = (waiting.pop(), store.upgrade()) else { return };
                under_way.spawn(async move { do_it(&store, &key, work).await });
            }
        }
    }
}

/// A failure is no loss: the next one who meets it tries again.
async fn do_it(store: &NatsStore, key: &Key, work: Work) {
    let newer = |seq: u64| match store.known.get(key) {
        Some(Sight::Seen(head)) => head.seq > seq,
        Some(Sight::Ask(known)) => known > seq,
        None => false,
    };
    let done = match work {
        Work::Mark(seq) if newer(seq) => return,
        Work::Mark(seq) => store.remove(key, seq).await,
        Work::Ends(seq) if newer(seq) => return,
        // Whether it is over is for the server's clock to say.
        Work::Ends(_) => store.look(key).await.map(drop),
        Work::Over(head) => store.remove_over(key, head).await,
    };
    if let Err(fault) = done {
        tracing::debug!(%key, ?fault, "a leftover stays for now");
    }
}
