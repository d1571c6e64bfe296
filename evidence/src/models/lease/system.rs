//! What can happen, and what must be true in every state.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stanchion_core::{FencingToken, LeaseAction, LeaseEvent, LeaseMachine};
use stateright::{Model, Property};

use super::world::{Check, Client, Phase, Register, Renewal, Seen, Service, Session, Step, World, at, number, owner};
use crate::models::check::Judged;

const TTL: u64 = 3;

pub(in crate::models) const LOST_UPDATE: &str = "no acknowledged update is lost";
pub(in crate::models) const BELIEF: &str = "a lease that its holder believes in has not ended at the service";
pub(in crate::models) const TOKENS: &str = "tokens strictly increase";
pub(in crate::models) const ONE_GRANT: &str = "no grant while another lease is unexpired and unreleased";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Time {
    /// Each client has a clock of its own, and a lease may end at the service at any moment.
    Free,
    /// One clock for all; the service keeps a lease for its full ttl after it has processed the request.
    Common,
}

/// A bug to be found, so that we know that the property can see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Planted {
    Nothing,
    /// The deadline counts from the answer instead of from the request.
    DeadlineFromAnswer,
    /// The service frees the lock whoever asks.
    ReleaseByAnybody,
    /// The service forgets its counter when a lease ends by itself.
    CounterReset,
}

#[derive(Debug)]
pub(super) struct System {
    pub(super) clients: usize,
    pub(super) sessions: u8,
    pub(super) check: Check,
    pub(super) time: Time,
    /// So many of the clients renew; the others have one ttl for their work.
    pub(super) renewing: usize,
    /// One answer to an acquisition per session may be lost. Without a bound the tokens would never end.
    pub(super) losses: bool,
    /// The service forgets its counter when a lease ends by itself, as after a failover; who is refused by the register
    /// asks for a fence above the one that refused it.
    pub(super) counter_is_lost: bool,
    pub(super) planted: Planted,
    pub(super) happened: Happened,
}

/// How often something happened that must happen, else the run is void. Kept outside of the states: as a part of
/// them, each would double their number.
#[derive(Debug, Default)]
pub(super) struct Happened {
    pub(super) expired: AtomicU32,
    pub(super) takeover: AtomicU32,
    pub(super) fenced: AtomicU32,
    pub(super) signalled: AtomicU32,
    pub(super) renewed: AtomicU32,
    pub(super) stray_renewal: AtomicU32,
    pub(super) answer_lost: AtomicU32,
    pub(super) lifted: AtomicU32,
}

fn count(what: &AtomicU32, happened: bool) {
    what.fetch_add(u32::from(happened), Ordering::Relaxed);
}

impl System {
    fn serve(&self, world: &mut World, i: usize) -> Option<FencingToken> {
        let (asking, ends) = (world.session(i), self.ends(&world.clients[i]));
        match &mut world.service.holder {
            Some((session, token, end)) if *session == asking => {
                *end = ends;
                Some(*token)
            }
            Some(_) => None,
            free @ None => {
                let floor = world.clients[i].floor;
                count(&self.happened.lifted, floor > world.service.counter);
                world.service.counter = world.service.counter.max(floor) + 1;
                let token = FencingToken::new(world.service.counter, owner(asking));
                *free = Some((asking, token, ends));
                let seen = &mut world.seen;
                seen.two_grants |= !seen.open.is_empty();
                seen.token_fell |= token.number() <= seen.highest;
                seen.highest = seen.highest.max(token.number());
                seen.open.push(asking);
                let working = |c: &Client| {
                    matches!(c.phase, Phase::Held | Phase::Reading | Phase::Read { .. } | Phase::Writing { .. })
                };
                count(&self.happened.takeover, world.clients.iter().any(working));
                Some(token)
            }
        }
    }

    fn renew(&self, world: &mut World, session: Session) -> bool {
        let ends = self.ends(&world.clients[session.0]);
        match &mut world.service.holder {
            Some((holder, _, end)) if *holder == session => {
                *end = ends;
                true
            }
            _ => false,
        }
    }

    /// When a lease that is given or renewed now ends; it has no meaning where it may end at any time.
    fn ends(&self, client: &Client) -> u64 {
        if self.time == Time::Common { client.now + TTL } else { 0 }
    }

    /// Tells the client's lease what happened, and does what it says.
    fn tell(&self, world: &mut World, i: usize, event: LeaseEvent) {
        let client = &mut world.clients[i];
        let Some(lease) = &mut client.lease else { return };
        match lease.step(event, at(client.now)) {
            LeaseAction::Renew => client.renewal = Renewal::Sent,
            LeaseAction::SignalLost(_) => {
                count(&self.happened.signalled, true);
                // What is on its way stays on its way; the client starts nothing new.
                if matches!(client.phase, Phase::Held | Phase::Read { .. }) {
                    client.phase = Phase::Leaving;
                }
                self.rewind(client);
            }
            LeaseAction::WaitUntil(_) | LeaseAction::Nothing => {}
        }
    }

    /// A clock that nobody looks at any more goes back to zero, so that equal states are seen as equal.
    fn rewind(&self, client: &mut Client) {
        if self.time == Time::Free {
            (client.now, client.sent) = (0, 0);
        }
    }

    fn clock_end(&self) -> u64 {
        if self.time == Time::Common { 2 * TTL + 1 } else { TTL + 1 }
    }

    fn release(&self, world: &mut World, i: usize, arrives: bool) {
        let session = world.session(i);
        let holder = world.service.holder.as_ref().map(|(holder, ..)| *holder);
        if arrives && (holder == Some(session) || self.planted == Planted::ReleaseByAnybody) {
            world.service.holder = None;
        }
        if arrives {
            world.seen.open.retain(|open| *open != session);
        }
        let client = &mut world.clients[i];
        (client.session, client.may_lose) = (client.session + 1, self.losses);
        client.phase = if client.session < self.sessions { Phase::Idle } else { Phase::Done };
        (client.token, client.lease, client.renewal) = (None, None, Renewal::None);
        self.rewind(client);
    }

    fn granted(&self, client: &mut Client, token: FencingToken, renews: bool) {
        let sent = if self.planted == Planted::DeadlineFromAnswer { client.now } else { client.sent };
        // Without progress a lease is never renewed: that is how a client without renewals is made.
        client.lease = Some(LeaseMachine::new(at(sent), Duration::from_secs(TTL), None, !renews));
        client.token = Some(token);
        client.phase = Phase::Held;
    }
}

impl Model for System {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let client = Client {
            phase: Phase::Idle,
            session: 0,
            may_lose: self.losses,
            now: 0,
            sent: 0,
            token: None,
            floor: 0,
            lease: None,
            renewal: Renewal::None,
            stray: None,
        };
        let clients = vec![client; self.clients];
        vec![World { clients, service: Service::default(), register: Register::default(), seen: Seen::default() }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        let clock_runs = |client: &Client| client.now < self.clock_end();
        match self.time {
            Time::Common if clock_runs(&world.clients[0]) => steps.push(Step::Tick(0)),
            Time::Common => {}
            Time::Free => {
                let runs = |c: &Client| c.lease.as_ref().is_some_and(|l| l.lost().is_none()) && clock_runs(c);
                steps.extend((0..self.clients).filter(|i| runs(&world.clients[*i])).map(Step::Tick));
            }
        }
        if let Some((_, _, ends)) = &world.service.holder
            && (self.time == Time::Free || world.clients[0].now >= *ends)
        {
            steps.push(Step::LeaseEnds);
        }
        for (i, client) in world.clients.iter().enumerate() {
            match client.phase {
                Phase::Idle => steps.push(Step::Ask(i)),
                Phase::Asking => steps.push(Step::AskArrives(i)),
                Phase::Answered(_) => steps.push(Step::AnswerArrives(i)),
                Phase::Held if world.may_act(i) => steps.push(Step::SendRead(i)),
                Phase::Reading => steps.push(Step::ReadArrives(i)),
                Phase::Read { .. } if world.may_act(i) => steps.push(Step::SendWrite(i)),
                Phase::Writing { .. } => steps.extend([Step::WriteArrives(i), Step::WriteAnswerLost(i)]),
                Phase::Leaving => steps.extend([Step::Release(i), Step::ReleaseLost(i)]),
                Phase::Held | Phase::Read { .. } | Phase::Done => {}
            }
            if client.may_lose && matches!(client.phase, Phase::Asking | Phase::Answered(Some(_))) {
                steps.push(Step::AskLost(i));
            }
            match client.renewal {
                Renewal::None => {}
                Renewal::Sent => steps.extend([Step::RenewalArrives(i), Step::RenewalLost(i)]),
                Renewal::Answered(_) => steps.extend([Step::RenewalAnswered(i), Step::RenewalLost(i)]),
            }
            if client.stray.is_some() {
                steps.push(Step::StrayRenewalArrives(i));
            }
        }
    }

    fn next_state(&self, last: &World, step: Step) -> Option<World> {
        let mut world = last.clone();
        match step {
            Step::Tick(i) => {
                let all = if self.time == Time::Common { 0..self.clients } else { i..i + 1 };
                for i in all {
                    // Without renewals only "before" and "after the deadline" differ.
                    let fine = self.time == Time::Common || i < self.renewing;
                    world.clients[i].now += if fine { 1 } else { TTL };
                    self.tell(&mut world, i, LeaseEvent::Tick);
                }
            }
            Step::Ask(i) => {
                let client = &mut world.clients[i];
                (client.phase, client.sent) = (Phase::Asking, client.now);
            }
            Step::AskArrives(i) => world.clients[i].phase = Phase::Answered(self.serve(&mut world, i)),
            Step::AnswerArrives(i) => {
                let client = &mut world.clients[i];
                match client.phase {
                    Phase::Answered(Some(token)) => self.granted(client, token, i < self.renewing),
                    _ => client.phase = Phase::Idle,
                }
                self.tell(&mut world, i, LeaseEvent::Tick);
            }
            // Asked again with the same owner, as `Locks` does.
            Step::AskLost(i) => (world.clients[i].phase, world.clients[i].may_lose) = (Phase::Idle, false),
            Step::SendRead(i) => world.clients[i].phase = Phase::Reading,
            Step::ReadArrives(i) => {
                let token = world.clients[i].token?;
                let fence = world.register.fence;
                let stale = match self.check {
                    Check::FirstTouch => !token.supersedes(fence.as_ref()),
                    Check::NumberOnly => token.number() < number(fence),
                    Check::VersionCas | Check::WriteOnly | Check::Nothing => false,
                };
                if matches!(self.check, Check::FirstTouch | Check::NumberOnly) && !stale {
                    world.register.fence = Some(token);
                }
                if stale && self.counter_is_lost {
                    world.clients[i].floor = number(fence);
                }
                count(&self.happened.fenced, stale);
                let Register { value, version, .. } = world.register;
                let lost = world.clients[i].lease.as_ref().is_none_or(|lease| lease.lost().is_some());
                world.clients[i].phase = if stale || lost { Phase::Leaving } else { Phase::Read { value, version } };
            }
            Step::SendWrite(i) => {
                if let Phase::Read { value, version } = world.clients[i].phase {
                    world.clients[i].phase = Phase::Writing { value, version };
                }
            }
            Step::WriteArrives(i) | Step::WriteAnswerLost(i) => {
                let (Phase::Writing { value, version }, Some(token)) = (&last.clients[i].phase, last.clients[i].token)
                else {
                    return None;
                };
                let applied = world.write(self.check, token, *value, *version);
                count(&self.happened.fenced, !applied);
                count(&self.happened.answer_lost, applied && matches!(step, Step::WriteAnswerLost(_)));
                world.seen.applied += u8::from(applied);
                world.clients[i].phase = Phase::Leaving;
            }
            Step::RenewalArrives(i) => {
                let session = world.session(i);
                let renewed = self.renew(&mut world, session);
                world.clients[i].renewal = Renewal::Answered(renewed);
            }
            Step::RenewalAnswered(i) => {
                let renewed = world.clients[i].renewal == Renewal::Answered(true);
                world.clients[i].renewal = Renewal::None;
                self.tell(&mut world, i, if renewed { LeaseEvent::Renewed } else { LeaseEvent::RenewalLost });
                count(&self.happened.renewed, renewed && world.may_act(i));
            }
            Step::RenewalLost(i) => {
                let client = &mut world.clients[i];
                if client.renewal == Renewal::Sent {
                    client.stray = Some(client.session);
                }
                client.renewal = Renewal::None;
                self.tell(&mut world, i, LeaseEvent::RenewalUnknown { retry_in: Duration::from_secs(1) });
            }
            Step::StrayRenewalArrives(i) => {
                let session = world.clients[i].stray.take()?;
                let renewed = self.renew(&mut world, (i, session));
                count(&self.happened.stray_renewal, renewed);
            }
            Step::Release(i) => self.release(&mut world, i, true),
            Step::ReleaseLost(i) => self.release(&mut world, i, false),
            Step::LeaseEnds => {
                let (session, ..) = world.service.holder.take()?;
                world.seen.open.retain(|open| *open != session);
                count(&self.happened.expired, true);
                if self.counter_is_lost || self.planted == Planted::CounterReset {
                    world.service.counter = 0;
                }
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::<Self>::always(LOST_UPDATE, |_, world| world.register.value == world.seen.applied),
            Property::<Self>::always(ONE_GRANT, |_, world| !world.seen.two_grants),
            Property::<Self>::sometimes("every session has written", |system, world| {
                usize::from(world.seen.applied) == system.clients * usize::from(system.sessions)
            }),
        ];
        if !self.counter_is_lost {
            all.push(Property::<Self>::always(TOKENS, |_, world| !world.seen.token_fell));
        }
        if self.time == Time::Common {
            all.push(Property::<Self>::always(BELIEF, |_, world| {
                (0..world.clients.len())
                    .filter(|i| world.may_act(*i))
                    .all(|i| world.service.holder.as_ref().is_some_and(|(holder, ..)| *holder == world.session(i)))
            }));
        }
        all
    }
}

impl System {
    pub(super) fn new(clients: usize, check: Check) -> Self {
        Self {
            clients,
            sessions: 1,
            check,
            time: Time::Free,
            renewing: 0,
            losses: false,
            counter_is_lost: false,
            planted: Planted::Nothing,
            happened: Happened::default(),
        }
    }
}

impl Judged for System {
    fn never_happened(&self) -> Vec<String> {
        let happened = &self.happened;
        let renews = self.renewing > 0;
        [
            (true, &happened.expired, "no lease expired"),
            (true, &happened.takeover, "nobody took over from a holder that was still at work"),
            (true, &happened.fenced, "no stale holder was fenced"),
            (true, &happened.signalled, "no holder was told that its lease is lost"),
            (true, &happened.answer_lost, "no write lost its answer"),
            (renews, &happened.renewed, "no lease was renewed"),
            (renews, &happened.stray_renewal, "no renewal came late"),
            (self.counter_is_lost, &happened.lifted, "no floor lifted the counter"),
        ]
        .into_iter()
        .filter(|(counts, what, _)| *counts && what.load(Ordering::Relaxed) == 0)
        .map(|(_, _, never)| never.to_owned())
        .collect()
    }
}
