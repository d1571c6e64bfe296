//! Two callers with one key, through the guard.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::claim::{Body, Response};
use stanchion_core::{
    Acquire, Call, CallKey, CasLock, ErrorKind, Fingerprint, Guard, LockBackend, Owner, Policy, RecordStore, Reply,
    Scope, Wait,
};

use super::super::explore::{BoxFuture, Passed, Visit, World};
use super::{Notes, TTL, key};

/// What differs between the rooms.
#[derive(Debug, Clone, Copy)]
struct Tool {
    /// It does half of its work and then fails.
    fails: bool,
    answer: &'static str,
    /// Who calls, and with what; the key is always the same.
    callers: [(&'static str, &'static str); 2],
    /// Calls take a lock, which somebody else has at first.
    locked: bool,
}

const PLAIN: Tool = Tool { fails: false, answer: "sent", callers: [("ann", "{}"), ("ann", "{}")], locked: false };
/// What a claim keeps of an answer.
const CAP: usize = 8;

#[derive(Debug, Default)]
struct Seen {
    /// Whose effect happened, each time.
    effects: Vec<(&'static str, &'static str)>,
}

pub fn same_call(world: &World) -> Visit {
    room(world, PLAIN)
}

pub fn failing_call(world: &World) -> Visit {
    room(world, Tool { fails: true, answer: "half", ..PLAIN })
}

pub fn long_answer(world: &World) -> Visit {
    room(world, Tool { answer: "longer than what is kept", ..PLAIN })
}

pub fn other_payload(world: &World) -> Visit {
    room(world, Tool { callers: [("ann", r#"{"to":"bob"}"#), ("ann", r#"{"to":"eve"}"#)], ..PLAIN })
}

pub fn other_tenant(world: &World) -> Visit {
    room(world, Tool { callers: [("ann", "{}"), ("bob", "{}")], ..PLAIN })
}

pub fn locked_call(world: &World) -> Visit {
    room(world, Tool { locked: true, ..PLAIN })
}

fn guard(records: impl RecordStore, locks: impl LockBackend) -> Guard {
    Guard::new(Arc::new(records), Arc::new(locks))
}

fn call((tenant, payload): (&str, &str), locked: bool) -> Call {
    let policy = Policy::default().allow_weak().lease(TTL).and_then(|policy| policy.response_cap(CAP));
    let scope = Scope::new(tenant, "mail", "send").expect("a valid scope");
    let fingerprint = Fingerprint::of_json(payload).expect("valid JSON");
    let call = Call::new(scope, policy.expect("a valid policy"));
    let call = call.key(CallKey::new("key-1").expect("a valid key"), fingerprint);
    if locked { call.lock(lock()) } else { call }
}

fn lock() -> Acquire {
    Acquire::new(key()).ttl(TTL).expect("a valid ttl").wait(Wait::No)
}

fn room(world: &World, tool: Tool) -> Visit {
    let notes = Notes::<Seen>::default();
    let clients = (0..2).map(|client| {
        let (guard, board) = (guard(world.wire(client), CasLock::new(world.lock_wire(client))), world.board.clone());
        let (notes, who) = (notes.clone(), tool.callers[client]);
        let service = world.lock_service();
        Box::pin(async move {
            if tool.locked && client == 0 {
                // The one that is in the way: its lease ends by itself.
                CasLock::new(service).try_acquire(&lock(), Owner::random()).await.ok();
            }
            let (mut ran, effects) = (false, notes.clone());
            let call = call(who, tool.locked);
            let answer = guard.call(&call, |_| async {
                let passed = board.pass(client, "calls the tool", true).await;
                ran = true;
                effects.with(|seen| seen.effects.push(who));
                match passed {
                    Passed::Unanswered => Reply::Unknown("no answer came".to_owned()),
                    Passed::Through if tool.fails => Reply::Failed(Response::new("", tool.answer)),
                    Passed::Through => Reply::Done(Response::new("", tool.answer)),
                }
            });
            match answer.await {
                Ok(answer) => judge_answer(&notes, who, &answer.reply, tool),
                Err(e) if ran => notes.broken("S6", format!("told that nothing ran ({:?}), and it did", e.kind())),
                Err(e) if e.kind() == ErrorKind::Damaged => {
                    notes.broken("S4", "one caller's key is in the way of another's");
                }
                Err(_) => {}
            }
        }) as BoxFuture<()>
    });
    let clients = clients.collect();
    let (clock, records, service) = (world.clock.clone(), world.records(), world.lock_service());
    Visit {
        clients,
        is_broken: notes.watch(),
        judge: Box::pin(async move {
            clock.advance(TTL + Duration::from_secs(1));
            newcomer(&notes, &guard(records, CasLock::new(service)), tool).await;
            let seen = notes.with(std::mem::take);
            for who in tool.callers {
                let times = seen.effects.iter().filter(|effect| **effect == who).count();
                if times > 1 {
                    notes.broken("S4", format!("one key, and the tool has worked {times} times"));
                }
            }
            notes.verdict()
        }),
    }
}

/// When everybody has stopped and every lease is over, a repetition runs, or is told what happened.
async fn newcomer(notes: &Notes<Seen>, guard: &Guard, tool: Tool) {
    let who = tool.callers[0];
    let effects = notes.clone();
    let call = call(who, tool.locked);
    let answer = guard.call(&call, |_| async {
        effects.with(|seen| seen.effects.push(who));
        if tool.fails {
            return Reply::Failed(Response::new("", tool.answer));
        }
        Reply::Done(Response::new("", tool.answer))
    });
    match answer.await {
        Ok(answer) => judge_answer(notes, who, &answer.reply, tool),
        Err(e) if e.kind() == ErrorKind::InProgress => {
            notes.broken("L1", "the key is still taken, though its lease is long over");
        }
        Err(_) => {}
    }
}

fn judge_answer(notes: &Notes<Seen>, who: (&'static str, &'static str), reply: &Reply, tool: Tool) {
    if matches!(reply, Reply::Done(_)) && tool.fails {
        notes.broken("S6", "the tool has failed, and a caller is told of a success");
    }
    let (Reply::Done(told) | Reply::Failed(told)) = reply else { return };
    if let Body::Kept(bytes) = &told.body
        && bytes != tool.answer
    {
        notes.broken("S4", format!("the tool said {:?}, and a repetition is told {bytes:?}", tool.answer));
    }
    if !notes.with(|seen| seen.effects.contains(&who)) {
        notes.broken("S4", "a caller is told the answer to another payload, or to another tenant");
    }
}
