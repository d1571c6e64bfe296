//! What nobody needs any more: marks of deleted keys, and records that are over.
//!
//! Nothing rests on this. Each removal names the message that goes, so it never takes a newer one; a process that dies
//! leaves some, and so does one whose records live for days. Who takes or lists such a key cleans it up, and the sweep
//! finds what nobody asks for: it looks at the messages from the oldest on, a few at a time, and begins anew where the
//! bucket ended when it began.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use stanchion_core::Key;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::bucket;
use super::entry::Head;
use super::fault::Fault;
use super::known::Sight;
use super::records::NatsStore;

/// A mark stays this long, because a lock that was just given back is often taken again.
const MARK_STAYS: Duration = Duration::from_secs(10);
/// Work that waits; more is left to whoever meets it.
const MOST: usize = 65_536;
/// Removals under way at once.
const AT_ONCE: usize = 8;
/// What lives longer is left to the sweep: this process may not come to its end.
const LONG: Duration = Duration::from_secs(86_400);
/// The sweep goes on after so many writes of what lives long, and after this time.
const WRITES: u64 = 128;
const PAUSE: Duration = Duration::from_secs(300);
/// Messages that it looks at then: as many as were written, so that what is over cannot pile up faster than it goes.
const PAGE: u64 = WRITES;

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
enum Order {
    Later(Instant, Key, Work),
    /// There is a mark again.
    Marks,
    Sweep,
}

/// Marks that wait, with their numbers. All stay equally long, so the first one is due first. A lock makes one with each release,
/// and wakes nobody for it while others wait.
#[derive(Debug, Default)]
struct Marks(Mutex<VecDeque<(Instant, Key, u64)>>);

impl Marks {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, Key, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn due(&self) -> Option<Instant> {
        self.lock().front().map(|(due, ..)| *due)
    }

    /// One that is due and still wanted; those whose keys were written again need nothing. It looks at a few at a time.
    fn take(&self, store: &NatsStore, now: Instant) -> Option<(Key, u64)> {
        for _ in 0..64 {
            let (_, key, seq) = self.lock().pop_front_if(|(due, ..)| *due <= now)?;
            if !newer(store, &key, seq) {
                return Some((key, seq));
            }
        }
        None
    }
}

#[derive(Debug)]
pub(super) struct Tidy {
    orders: mpsc::Sender<Order>,
    marks: Arc<Marks>,
    long_writes: AtomicU64,
}

impl Tidy {
    pub(super) fn start(store: Weak<NatsStore>) -> Self {
        let (send, receive) = mpsc::channel(1024);
        let marks = Arc::<Marks>::default();
        tokio::spawn(run(store, Arc::clone(&marks), receive));
        Self { orders: send, marks, long_writes: AtomicU64::new(0) }
    }

    pub(super) fn mark(&self, key: &Key, seq: u64) {
        let mut marks = self.marks.lock();
        if marks.len() >= MOST {
            return;
        }
        marks.push_back((Instant::now() + MARK_STAYS, key.clone(), seq));
        if marks.len() == 1 {
            // A full channel wakes it as well.
            self.orders.try_send(Order::Marks).ok();
        }
    }

    pub(super) fn ends(&self, key: &Key, seq: u64, ttl: Duration) {
        if ttl < LONG {
            self.later(ttl + Duration::from_secs(1), key, Work::Ends(seq));
        } else if self.long_writes.fetch_add(1, Ordering::Relaxed) % WRITES == WRITES - 1 {
            self.orders.try_send(Order::Sweep).ok();
        }
    }

    pub(super) fn over(&self, key: &Key, head: Head) {
        self.later(Duration::ZERO, key, Work::Over(head));
    }

    fn later(&self, wait: Duration, key: &Key, work: Work) {
        self.orders.try_send(Order::Later(Instant::now() + wait, key.clone(), work)).ok();
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
async fn run(store: Weak<NatsStore>, marks: Arc<Marks>, mut receive: mpsc::Receiver<Order>) {
    let mut waiting: BinaryHeap<Reverse<Due>> = BinaryHeap::new();
    // A sweep leaves a rest; while it is under way there is none.
    let mut under_way = JoinSet::<Option<Rest>>::new();
    let (mut to_sweep, mut sweep_at) = (Some(Rest::NONE), Instant::now() + PAUSE);
    loop {
        let first = waiting.peek().map(|Reverse(due)| due.0).into_iter().chain(marks.due()).min();
        let due = first.filter(|_| under_way.len() < AT_ONCE);
        let next = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // What comes in first, so that the channel does not fill up behind slow removals.
            biased;
            order = receive.recv() => match order {
                Some(Order::Later(at, key, work)) if waiting.len() < MOST => waiting.push(Reverse(Due(at, key, work))),
                Some(Order::Later(..) | Order::Marks) => {}
                Some(Order::Sweep) => sweep_at = Instant::now(),
                None => return,
            },
            Some(done) = under_way.join_next() => match done {
                Ok(None) => {}
                Ok(rest) => to_sweep = rest,
                // Only a fault of ours; whoever it was, sweeping goes on.
                Err(_) => to_sweep = to_sweep.or(Some(Rest::NONE)),
            },
            () = tokio::time::sleep_until(sweep_at), if to_sweep.is_some() => {
                sweep_at = Instant::now() + PAUSE;
                if let Some(rest) = to_sweep.take() {
                    let store = Weak::clone(&store);
                    under_way.spawn(async move { Some(sweep(&store, rest).await) });
                }
            }
            () = next => {
                let Some(store) = store.upgrade() else { return };
                let now = Instant::now();
                let (key, work) = if let Some((key, seq)) = marks.take(&store, now) {
                    (key, Work::Mark(seq))
                } else if waiting.peek().is_some_and(|Reverse(due)| due.0 <= now)
                    && let Some(Reverse(Due(_, key, work))) = waiting.pop()
                {
                    (key, work)
                } else {
                    continue;
                };
                under_way.spawn(async move {
                    do_it(&store, &key, work).await;
                    None
                });
            }
        }
    }
}

/// Numbers of messages: those that the sweep has still to look at.
#[derive(Debug, Clone, Copy)]
struct Rest {
    next: u64,
    last: u64,
}

impl Rest {
    /// Nothing is left, so the next sweep begins at the oldest message.
    const NONE: Self = Self { next: 1, last: 0 };

    const fn is_none(self) -> bool {
        self.next > self.last
    }
}

/// Looks at some of the messages; the rest is for the next time.
async fn sweep(store: &Weak<NatsStore>, mut rest: Rest) -> Rest {
    for look in 0..PAGE {
        let Some(store) = store.upgrade() else { break };
        let swept = async {
            if look == 0 && rest.is_none() {
                rest = Rest { next: 1, last: bucket::look(&store.api).await?.state.last_seq };
            }
            let message = store.api.next(rest.next).await?;
            let Some((seq, message)) = message.filter(|(seq, _)| *seq <= rest.last) else {
                rest = Rest::NONE;
                return Ok(());
            };
            if let Some((key, head)) = message {
                store.swept(&key, head).await?;
            }
            rest.next = seq + 1;
            Ok::<_, Fault>(())
        };
        if let Err(fault) = swept.await {
            tracing::debug!(?fault, "the sweep goes on later");
            break;
        }
        if rest.is_none() {
            break;
        }
    }
    rest
}

/// Something newer than the message `seq` stands under the key.
fn newer(store: &NatsStore, key: &Key, seq: u64) -> bool {
    match store.known.get(key) {
        Some(Sight::Seen(head)) => head.seq > seq,
        Some(Sight::Ask(known)) => known > seq,
        None => false,
    }
}

/// A failure is no loss: the next one who meets it tries again.
async fn do_it(store: &NatsStore, key: &Key, work: Work) {
    let done = match work {
        Work::Mark(seq) => store.remove(key, seq).await,
        Work::Ends(seq) if newer(store, key, seq) => return,
        // Whether it is over is for the server's clock to say.
        Work::Ends(_) => store.look(key).await.map(drop),
        Work::Over(head) => store.remove_over(key, head).await,
    };
    if let Err(fault) = done {
        tracing::debug!(%key, ?fault, "a leftover stays for now");
    }
}
