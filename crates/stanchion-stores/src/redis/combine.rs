//! Many operations, few calls.
//!
//! In company, the next call is sent *before* the answers of the last are given out, so that the server works while our
//! callers do.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::redis::{Cmd, Value};
use stanchion_core::{ErrorKind, Key, Owner};
use tokio::time::timeout;

use super::fault::Fault;
use super::link::Hub;
use super::script;
use crate::together::{self, Left, Limits, Load, Single, Stage, Together};

/// The limits of calls to a server that has `timeout` to answer.
///
/// Two turns, so that the server finds the next call when it has done one, and need not sleep. The number of operations
/// bounds how long it is busy with us, and leaves some callers for the next call. Measured with 64 tasks: at 24 the two
/// calls and the callers take turns; at 16 and 32 they fall into step, and each side sleeps while the other works. The
/// bytes are about what a connection carries at once.
pub(crate) const fn limits(timeout: Duration) -> Limits {
    Limits { turns: 2, count: 24, bytes: 16 * 1024, waiting: 64 * 1024, wait: Some(timeout) }
}

/// This part of its time a call may take before the next ones stop to wait for it: a silent server must not cost every one
/// of them the time-outs of those before it.
pub(crate) const PATIENCE: u32 = 64;

/// One operation of `locks.lua`.
#[derive(Debug)]
pub(super) struct Op {
    pub(super) code: &'static str,
    pub(super) key: Key,
    pub(super) owner: String,
    pub(super) more: More,
}

/// What an operation needs beyond key and owner.
#[derive(Debug)]
pub(super) enum More {
    Nothing,
    Ttl(u64),
    Acquire { ttl: u64, mode: &'static str, slots: u32, floor: u64, channel: Arc<str>, identity: String },
}

impl Op {
    pub(super) fn new(code: &'static str, key: &Key, owner: Owner, more: More) -> Self {
        Self { code, key: key.clone(), owner: owner.to_hex(), more }
    }

    fn load(&self) -> Load {
        let (stage, identity) = match &self.more {
            More::Nothing | More::Ttl(_) => (Stage::Further, 0),
            More::Acquire { identity, .. } => (Stage::First, identity.len()),
        };
        Load { bytes: 160 + self.key.as_str().len() + identity, stage }
    }

    pub(super) fn write(&self, command: &mut Cmd) {
        command.arg(self.code).arg(self.key.as_str()).arg(&self.owner);
        match &self.more {
            More::Nothing => {}
            More::Ttl(ttl) => {
                command.arg(ttl);
            }
            More::Acquire { ttl, mode, slots, floor, channel, identity } => {
                command.arg(ttl);
                if *slots > 0 {
                    command.arg(slots)
                } else {
                    command.arg(mode)
                };
                command.arg(floor).arg(&**channel).arg(identity);
            }
        }
    }
}

type Answer = Result<Value, Fault>;
type Asked = Single<Op, Answer>;
type Turn = together::Turn<(), Asked>;
/// A call that has come back, and whom to tell.
type Done = (Vec<Asked>, Result<Vec<Value>, Fault>);

#[derive(Debug)]
pub(super) struct Combiner {
    hub: Arc<Hub>,
    locks: String,
    asks: Arc<Together<(), Asked>>,
}

impl Combiner {
    pub(super) fn new(hub: Arc<Hub>, locks: String) -> Arc<Self> {
        let asks = Together::new(limits(hub.options.timeout));
        Arc::new(Self { hub, locks, asks })
    }

    /// Runs one operation, possibly in company.
    pub(super) async fn run(self: &Arc<Self>, op: Op) -> Answer {
        let load = op.load();
        self.asks.ask(&(), op, load, |turn| self.start(turn)).await.unwrap_or_else(|left| {
            Err(match left {
                Left::Unsent(why) => Fault::NotSent(ErrorKind::Unavailable, why.to_string()),
                Left::Lost => Fault::Lost("the runtime has ended".to_owned()),
            })
        })
    }

    fn start(self: &Arc<Self>, turn: Turn) {
        tokio::spawn(Arc::clone(self).drain(turn));
    }

    /// The command for these operations.
    pub(super) fn command<'a>(&self, ops: impl ExactSizeIterator<Item = &'a Op>) -> Cmd {
        let mut command = script::LOCKS.on(&[&self.locks], (8 * ops.len(), 160 * ops.len()));
        for op in ops {
            op.write(&mut command);
        }
        command
    }

    async fn call(&self, asks: &[Asked]) -> Result<Vec<Value>, Fault> {
        let command = self.command(asks.iter().map(|ask| &ask.question));
        match self.hub.eval(&script::LOCKS, &command).await? {
            Value::Array(answers) if answers.len() == asks.len() => Ok(answers),
            _ => Err(Fault::Garbled),
        }
    }

    /// Serves those who wait until nobody does.
    async fn drain(self: Arc<Self>, mut turn: Turn) {
        let start = |turn| self.start(turn);
        let mut done: Option<Done> = None;
        loop {
            let mut asks = turn.take(start);
            if asks.is_empty() {
                give_out(done.take());
                let Some(next) = turn.next(start).await else { return };
                asks = next;
            }
            let answers = {
                let mut call = Box::pin(self.call(&asks));
                // The first poll puts it on its way.
                let early = std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await;
                give_out(done.take());
                match early {
                    Poll::Ready(answers) => answers,
                    Poll::Pending => match timeout(self.hub.options.timeout / PATIENCE, &mut call).await {
                        Ok(answers) => answers,
                        Err(_) => {
                            turn.cede(start);
                            call.await
                        }
                    },
                }
            };
            done = Some((asks, answers));
        }
    }
}

fn give_out(done: Option<Done>) {
    match done {
        Some((asks, Ok(answers))) => asks.into_iter().zip(answers).for_each(|(ask, answer)| ask.answer(Ok(answer))),
        Some((asks, Err(fault))) => asks.into_iter().for_each(|ask| ask.answer(Err(fault.clone()))),
        None => {}
    }
}
