//! Many operations, few calls: what arrives while a call is under way leaves together in the next one.
//!
//! A lone caller's operation is sent at once, by itself. In company, the next call is sent
//! *before* the answers of the last are given out, so that the server works while our callers do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use ::redis::{Cmd, Value};
use stanchion_core::{ErrorKind, Key, Owner};
use tokio::sync::oneshot;

use super::fault::Fault;
use super::link::Hub;
use super::script;

/// Calls under way at one time, so that the server finds the next one when it has done one, and need not sleep.
const CALLS: usize = 2;
/// Operations in one call: bounds how long the server is busy with us, and leaves some callers for the next call.
/// Measured with 64 tasks: at 24 the two calls and the callers take turns; at 16 and 32 they fall into step, and
/// each side sleeps while the other works.
const MOST: usize = 24;

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
type Sender = oneshot::Sender<Answer>;
type Waiting = (Op, Sender);
/// A call that has come back, and whom to tell.
type Done = (Vec<Sender>, Result<Vec<Value>, Fault>);

#[derive(Debug)]
pub(super) struct Combiner {
    hub: Arc<Hub>,
    locks: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Calls under way, or about to be.
    calls: usize,
    waiting: Vec<Waiting>,
}

impl Combiner {
    pub(super) fn new(hub: Arc<Hub>, locks: String) -> Arc<Self> {
        Arc::new(Self { hub, locks, state: Mutex::default() })
    }

    /// Runs one operation, possibly in company.
    ///
    /// The call runs in a task of its own: a caller that is not polled, or gives up, holds up nobody else.
    pub(super) async fn run(self: &Arc<Self>, op: Op) -> Answer {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.state();
            state.waiting.push((op, sender));
            if state.calls == 0 {
                self.start(&mut state);
            }
        }
        receiver.await.unwrap_or_else(|_| Err(Fault::Lost("the runtime has ended".to_owned())))
    }

    fn start(self: &Arc<Self>, state: &mut State) {
        state.calls += 1;
        // Made before the task is: also one that is never polled counts itself out.
        let end = End(Some(Arc::clone(self)));
        tokio::spawn(Arc::clone(self).drain(end));
    }

    /// The command for these operations.
    pub(super) fn command(&self, ops: &[Op]) -> Cmd {
        let mut command = script::LOCKS.on(&[&self.locks], (8 * ops.len(), 160 * ops.len()));
        for op in ops {
            op.write(&mut command);
        }
        command
    }

    async fn call(&self, ops: &[Op]) -> Result<Vec<Value>, Fault> {
        match self.hub.eval(&script::LOCKS, &self.command(ops)).await? {
            Value::Array(answers) if answers.len() == ops.len() => Ok(answers),
            _ => Err(Fault::Garbled),
        }
    }

    /// Serves those who wait until nobody does.
    async fn drain(self: Arc<Self>, mut end: End) {
        let mut done: Option<Done> = None;
        loop {
            let (ops, senders) = self.next();
            if !ops.is_empty() {
                let mut call = Box::pin(self.call(&ops));
                // The first poll puts it on its way.
                let early = std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await;
                give_out(done.take());
                let answers = match early {
                    Poll::Ready(answers) => answers,
                    Poll::Pending => call.await,
                };
                done = Some((senders, answers));
            } else if done.is_some() {
                give_out(done.take());
                // Those who have their answers now are about to ask again: they make up the next call.
                tokio::task::yield_now().await;
            } else {
                let mut state = self.state();
                if state.waiting.is_empty() {
                    // In the same step as the look: whoever comes next finds the way free.
                    state.calls -= 1;
                    end.0 = None;
                    return;
                }
            }
        }
    }

    /// Takes out the operations of the next call. Who has given up meanwhile is left out: it was never sent.
    fn next(self: &Arc<Self>) -> (Vec<Op>, Vec<Sender>) {
        let mut state = self.state();
        let most = state.waiting.len().min(MOST);
        if state.waiting.len() > most && state.calls < CALLS {
            self.start(&mut state);
        }
        state.waiting.drain(..most).filter(|(_, sender)| !sender.is_closed()).unzip()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn give_out(done: Option<Done>) {
    match done {
        Some((senders, Ok(answers))) => senders.into_iter().zip(answers).for_each(|(to, answer)| send(to, Ok(answer))),
        Some((senders, Err(fault))) => senders.into_iter().for_each(|to| send(to, Err(fault.clone()))),
        None => {}
    }
}

/// A caller that is gone does not need its answer.
fn send(sender: Sender, answer: Answer) {
    drop(sender.send(answer));
}

/// Counts a call out. If its task is dropped half-way, nobody else would serve those who wait.
struct End(Option<Arc<Combiner>>);

impl Drop for End {
    fn drop(&mut self) {
        if let Some(combiner) = self.0.take() {
            let mut state = combiner.state();
            state.calls -= 1;
            for (_, sender) in state.waiting.drain(..) {
                send(sender, Err(Fault::NotSent(ErrorKind::Unavailable, "the runtime has ended".to_owned())));
            }
        }
    }
}
