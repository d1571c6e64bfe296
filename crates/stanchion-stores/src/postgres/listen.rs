//! One connection that hears what others write, for all waiters of a store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stanchion_core::{Owner, Result};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::error::{Effect, running};
use super::pool::Pool;
use super::probe::is_pooled;
use super::target::{Heard, Target};

/// A waiter that nobody asked about for this long was forgotten by its caller.
const FORGOTTEN: Duration = Duration::from_secs(2 * 3600);

/// How a waiter learns of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ears {
    /// It is told.
    Listening,
    /// It has to look.
    Polling,
}

#[derive(Debug)]
pub(crate) struct Listener {
    pool: Arc<Pool>,
    target: Target,
    channel: String,
    connection: tokio::sync::Mutex<Option<Ear>>,
    /// Decided once: a pooler does not go away.
    deaf: AtomicBool,
    board: Arc<Board>,
}

/// The listening client; the driver's has no `Debug`.
struct Ear(Client);

impl std::fmt::Debug for Ear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ear")
    }
}

/// Who waits for which word.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// Changes whenever notifications may have been missed.
    epoch: AtomicU64,
    turns: Mutex<BTreeMap<u64, Arc<Turn>>>,
    keys: Mutex<BTreeMap<u64, (usize, Arc<Notify>)>>,
}

/// A lock waiter's place at the board; it stays between `try_acquire` and `wait`.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Wakes for both words below; keeps one call for a waiter that is not there yet.
    pub(crate) bell: Notify,
    /// It is our turn.
    pub(crate) ours: AtomicBool,
    /// The one before us was called: if it is dead, we are next.
    pub(crate) standby: AtomicBool,
    pub(crate) epoch: AtomicU64,
    pub(crate) retry_ms: AtomicU64,
    used: Mutex<Instant>,
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// The place of the waiter with this nonce.
    pub(crate) fn turn(&self, nonce: u64) -> Arc<Turn> {
        let mut turns = open(&self.turns);
        if turns.len() > 1024 {
            turns.retain(|_, turn| open(&turn.used).elapsed() < FORGOTTEN);
        }
        let turn = turns.entry(nonce).or_insert_with(|| {
            Arc::new(Turn {
                bell: Notify::new(),
                ours: AtomicBool::new(false),
                standby: AtomicBool::new(false),
                epoch: AtomicU64::new(0),
                retry_ms: AtomicU64::new(0),
                used: Mutex::new(Instant::now()),
            })
        });
        *open(&turn.used) = Instant::now();
        Arc::clone(turn)
    }

    /// Has this waiter been refused before?
    pub(crate) fn knows(&self, nonce: u64) -> bool {
        open(&self.turns).contains_key(&nonce)
    }

    pub(crate) fn leave(&self, nonce: u64) {
        open(&self.turns).remove(&nonce);
    }

    /// Counts a watcher of the key with this hash.
    pub(crate) fn watch(self: &Arc<Self>, hash: u64) -> Watch {
        let mut keys = open(&self.keys);
        let entry = keys.entry(hash).or_default();
        entry.0 += 1;
        Watch { board: Arc::clone(self), hash, bell: Arc::clone(&entry.1) }
    }

    fn hear(&self, payload: &str) {
        let Some((word, id)) = payload.split_at_checked(1) else { return };
        let Ok(id) = u64::from_str_radix(id, 16) else { return };
        if word == "v" {
            if let Some((_, bell)) = open(&self.keys).get(&id) {
                bell.notify_waiters();
            }
        } else if let Some(turn) = open(&self.turns).get(&id) {
            let flag = if word == "r" { &turn.ours } else { &turn.standby };
            flag.store(true, Ordering::SeqCst);
            turn.bell.notify_one();
        }
    }

    /// Something may have been missed: everybody looks again.
    fn shake(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        for turn in open(&self.turns).values() {
            turn.ours.store(true, Ordering::SeqCst);
            turn.bell.notify_one();
        }
        for (_, bell) in open(&self.keys).values() {
            bell.notify_waiters();
        }
    }
}

/// Ends the watching when dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    board: Arc<Board>,
    hash: u64,
    pub(crate) bell: Arc<Notify>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut keys = open(&self.board.keys);
        if let Some(entry) = keys.get_mut(&self.hash) {
            entry.0 -= 1;
            if entry.0 == 0 {
                keys.remove(&self.hash);
            }
        }
    }
}

impl Listener {
    pub(crate) fn new(pool: Arc<Pool>, target: Target, channel: String) -> Arc<Self> {
        let board = Arc::default();
        Arc::new(Self {
            pool,
            target,
            channel,
            connection: tokio::sync::Mutex::default(),
            deaf: AtomicBool::new(false),
            board,
        })
    }

    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Connects if need be. A listener that cannot connect now makes its callers poll until it can.
    pub(crate) async fn ensure(&self) -> Ears {
        if self.deaf.load(Ordering::Relaxed) {
            return Ears::Polling;
        }
        let mut connection = self.connection.lock().await;
        if connection.as_ref().is_some_and(|c| !c.0.is_closed()) {
            return Ears::Listening;
        }
        *connection = None;
        match self.connect().await {
            Ok(Some(client)) => {
                *connection = Some(Ear(client));
                self.board.shake();
                Ears::Listening
            }
            Ok(None) => {
                if !self.deaf.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        host = self.target.shown,
                        "LISTEN does not work here, as behind a transaction pooler: waiters poll. \
                         Give a direct address with listen_url= to be woken at once"
                    );
                }
                Ears::Polling
            }
            Err(e) => {
                tracing::debug!(error = %e, "no connection to listen on; polling");
                Ears::Polling
            }
        }
    }

    /// A listening connection, or `None` if notifications do not arrive on it.
    async fn connect(&self) -> Result<Option<Client>> {
        let (probe, mut heard) = mpsc::unbounded_channel();
        let word = format!("p{:016x}", Owner::random().nonce());
        let (board, expected) = (Arc::clone(&self.board), word.clone());
        let hear = move |what| match what {
            Heard::Notification(payload) if payload == expected => {
                if probe.send(()).is_err() {
                    tracing::trace!("the probe was heard twice");
                }
            }
            Heard::Notification(payload) => board.hear(&payload),
            Heard::Closed => board.shake(),
        };
        let client = self.target.connect(hear).await?;
        if is_pooled(&self.target, &client).await? {
            return Ok(None);
        }
        let listen = format!("LISTEN \"{}\"", self.channel.replace('"', "\"\""));
        timeout(self.target.timeout, client.batch_execute(&listen))
            .await
            .map_err(|_| super::error::lost(&self.target.shown, Effect::Read))?
            .map_err(|e| running(e, &self.target.shown, Effect::Read))?;
        // Through the pool: what others write has to arrive here.
        let sql = "SELECT pg_notify($1, $2)::text";
        self.pool.run(sql, &[(&self.channel, Type::TEXT), (&word, Type::TEXT)], Effect::Read).await?;
        Ok(timeout(Duration::from_secs(2), heard.recv()).await.is_ok_and(|h| h.is_some()).then_some(client))
    }
}
