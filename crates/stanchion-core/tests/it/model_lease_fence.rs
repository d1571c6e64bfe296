//! Lease and fence, model-checked: every interleaving of a few clients, with the real `LeaseMachine` on the
//! holder's side and the real `FencingToken::supersedes` on the store's side.
//!
//! A client acquires, reads, writes what it read plus one, releases. Requests and answers may be late or lost, a
//! client may stand still between any two steps, and (in [`Time::Free`]) the lock service may end a lease whenever
//! it likes: no assumption on time is left. A crash is a client that takes no further step, so every prefix
//! covers one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use stanchion_core::{BootTime, FencingToken, LeaseAction, LeaseEvent, LeaseMachine, Owner};
use stateright::{Checker, HasDiscoveries, Model, Property};

const TTL: u64 = 3;
const LOST_UPDATE: &str = "no acknowledged update is lost";
const BELIEF: &str = "a lease that its holder believes in has not ended at the service";
const TOKENS: &str = "tokens strictly increase";
const ONE_GRANT: &str = "no grant while another lease is unexpired and unreleased";

/// How the protected register checks its writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Check {
    /// Our rule: the read raises the fence, and the write needs to be the last to have touched.
    FirstTouch,
    /// The write compares the version that was read.
    VersionCas,
    /// The textbook: a write is refused if its token is below that of an earlier *write*.
    WriteOnly,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Time {
    /// Each client has a clock of its own, and a lease may end at the service at any moment.
    Free,
    /// One clock for all; the service keeps a lease for its full ttl after it has processed the request.
    Common,
}

/// A bug to be found, so that we know that the property can see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Planted {
    Nothing,
    /// The deadline counts from the answer instead of from the request.
    DeadlineFromAnswer,
    /// The service frees the lock whoever asks.
    ReleaseByAnybody,
    /// The service forgets its counter when a lease ends by itself.
    CounterReset,
}

#[derive(Debug)]
struct System {
    clients: usize,
    sessions: u8,
    check: Check,
    time: Time,
    /// So many of the clients renew; the others have one ttl for their work.
    renewing: usize,
    /// One answer to an acquisition per session may be lost. Without a bound the tokens would never end.
    losses: bool,
    planted: Planted,
    happened: Happened,
}

/// How often something happened that must happen, else the run is void. Kept outside of the states: as a part of
/// them, each would double their number.
#[derive(Debug, Default)]
struct Happened {
    expired: AtomicU32,
    takeover: AtomicU32,
    fenced: AtomicU32,
    signalled: AtomicU32,
    renewed: AtomicU32,
    stray_renewal: AtomicU32,
    answer_lost: AtomicU32,
}

fn count(what: &AtomicU32, happened: bool) {
    what.fetch_add(u32::from(happened), Ordering::Relaxed);
}

/// Client and session: one owner per acquisition.
type Session = (usize, u8);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Asking,
    Answered(Option<FencingToken>),
    Held,
    Reading,
    Read { value: u8, version: u8 },
    Writing { value: u8, version: u8 },
    Leaving,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Renewal {
    None,
    Sent,
    Answered(bool),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Client {
    phase: Phase,
    session: u8,
    may_lose: bool,
    now: u64,
    sent: u64,
    token: Option<FencingToken>,
    lease: Option<LeaseMachine>,
    renewal: Renewal,
    /// A renewal that was given up for lost and may still reach the service.
    stray: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Service {
    counter: u64,
    holder: Option<(Session, FencingToken, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Register {
    value: u8,
    version: u8,
    fence: Option<FencingToken>,
}

/// What an all-knowing observer has seen; no client or service looks at it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Seen {
    /// Writes that were acknowledged, and writes that were applied while their answer was lost.
    applied: u8,
    /// Leases that were granted and neither ended by time nor were released by their owner.
    open: Vec<Session>,
    highest: u64,
    two_grants: bool,
    token_fell: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    clients: Vec<Client>,
    service: Service,
    register: Register,
    seen: Seen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Tick(usize),
    Ask(usize),
    AskArrives(usize),
    AnswerArrives(usize),
    AskLost(usize),
    SendRead(usize),
    ReadArrives(usize),
    SendWrite(usize),
    WriteArrives(usize),
    WriteAnswerLost(usize),
    RenewalArrives(usize),
    RenewalAnswered(usize),
    RenewalLost(usize),
    StrayRenewalArrives(usize),
    Release(usize),
    ReleaseLost(usize),
    LeaseEnds,
}

fn at(time: u64) -> BootTime {
    BootTime::from_boot(Duration::from_secs(time))
}

fn owner((client, session): Session) -> Owner {
    Owner::from_bits((client as u128 + 1) << 8 | u128::from(session))
}

impl World {
    fn session(&self, i: usize) -> Session {
        (i, self.clients[i].session)
    }

    fn may_act(&self, i: usize) -> bool {
        let client = &self.clients[i];
        client.lease.as_ref().is_some_and(|lease| lease.is_valid(at(client.now)))
    }

    /// What the register answers to a write: was it applied?
    fn write(&mut self, check: Check, token: FencingToken, value: u8, version: u8) -> bool {
        let register = &mut self.register;
        let accepted = match check {
            Check::FirstTouch => register.fence == Some(token),
            Check::VersionCas => register.version == version,
            Check::WriteOnly => token.supersedes(register.fence.as_ref()),
            Check::Nothing => true,
        };
        if accepted {
            register.value = value + 1;
            register.version += 1;
            register.fence = Some(token);
        }
        accepted
    }
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
                world.service.counter += 1;
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
                let stale = self.check == Check::FirstTouch && !token.supersedes(world.register.fence.as_ref());
                if self.check == Check::FirstTouch && !stale {
                    world.register.fence = Some(token);
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
                if self.planted == Planted::CounterReset {
                    world.service.counter = 0;
                }
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::<Self>::always(LOST_UPDATE, |_, world| world.register.value == world.seen.applied),
            Property::<Self>::always(TOKENS, |_, world| !world.seen.token_fell),
            Property::<Self>::always(ONE_GRANT, |_, world| !world.seen.two_grants),
            Property::<Self>::sometimes("every session has written", |system, world| {
                usize::from(world.seen.applied) == system.clients * usize::from(system.sessions)
            }),
        ];
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
    fn new(clients: usize, check: Check) -> Self {
        let (time, planted) = (Time::Free, Planted::Nothing);
        Self { clients, sessions: 1, check, time, renewing: 0, losses: false, planted, happened: Happened::default() }
    }

    /// Visits every reachable state; panics if a property fails, or if something that must happen never did.
    fn stays_clean(self, name: &str, least: usize) {
        let started = Instant::now();
        let checker = self.checker().threads(1).spawn_bfs().join();
        let (states, happened) = (checker.unique_state_count(), &checker.model().happened);
        eprintln!("model {name}: {states} unique states, {} ms, {happened:?}", started.elapsed().as_millis());
        checker.assert_properties();
        assert!(checker.is_done(), "void: the check of {name} did not visit every state");
        assert!(states > least, "void: {name} has only {states} states");
        let never = |what: &AtomicU32| what.load(Ordering::Relaxed) == 0;
        assert!(!never(&happened.expired), "void: no lease expired");
        assert!(!never(&happened.takeover), "void: nobody took over from a holder that was still at work");
        assert!(!never(&happened.fenced), "void: no stale holder was fenced");
        assert!(!never(&happened.signalled), "void: no holder was told that its lease is lost");
        assert!(!never(&happened.answer_lost), "void: no write lost its answer");
        assert!(checker.model().renewing == 0 || !never(&happened.renewed), "void: no lease was renewed");
        assert!(checker.model().renewing == 0 || !never(&happened.stray_renewal), "void: no renewal came late");
    }

    /// The shortest way to break `property`, one step deeper each time; panics as void if there is none.
    fn breaks(&self, name: &str, property: &'static str) {
        let started = Instant::now();
        for depth in 1..=30 {
            let found = HasDiscoveries::AnyOf([property].into());
            let same = Self { happened: Happened::default(), ..*self };
            let checker = same.checker().threads(1).target_max_depth(depth).finish_when(found).spawn_bfs().join();
            let Some(path) = checker.discovery(property) else { continue };
            let (states, steps) = (checker.unique_state_count(), path.into_actions());
            let took = started.elapsed().as_millis();
            eprintln!("model {name}: broken in {} steps ({states} unique states, {took} ms): {steps:?}", steps.len());
            return;
        }
        panic!("void: {name} should break {property:?}, and did not");
    }
}

#[test]
fn a_fence_raised_by_the_first_touch_loses_no_update() {
    System { losses: true, ..System::new(2, Check::FirstTouch) }
        .stays_clean("first touch, 2 clients, lost answers", 1_000);
    System::new(3, Check::FirstTouch).stays_clean("first touch, 3 clients", 10_000);
}

#[test]
fn a_fence_raised_by_the_first_touch_loses_no_update_with_renewals() {
    System { renewing: 1, ..System::new(2, Check::FirstTouch) }.stays_clean("first touch, renewals", 10_000);
}

#[test]
fn a_fence_raised_by_the_first_touch_loses_no_update_when_clients_come_again() {
    System { sessions: 2, ..System::new(2, Check::FirstTouch) }.stays_clean("first touch, 2 sessions each", 5_000);
}

#[test]
fn comparing_the_version_that_was_read_loses_no_update() {
    System { losses: true, ..System::new(2, Check::VersionCas) }.stays_clean("version, 2 clients, lost answers", 1_000);
    System::new(3, Check::VersionCas).stays_clean("version, 3 clients", 10_000);
}

#[test]
fn comparing_the_version_that_was_read_loses_no_update_with_renewals() {
    System { renewing: 1, ..System::new(2, Check::VersionCas) }.stays_clean("version, renewals", 10_000);
}

#[test]
fn control_the_textbook_fence_on_writes_loses_an_update() {
    System::new(2, Check::WriteOnly).breaks("textbook fence", LOST_UPDATE);
}

#[test]
fn control_without_a_fence_an_update_is_lost() {
    System::new(2, Check::Nothing).breaks("no fence", LOST_UPDATE);
}

#[test]
fn on_a_common_clock_no_holder_believes_longer_than_the_service() {
    System { time: Time::Common, renewing: 1, ..System::new(2, Check::FirstTouch) }.stays_clean("common clock", 10_000);
}

#[test]
fn control_a_deadline_counted_from_the_answer_is_found() {
    let planted = Planted::DeadlineFromAnswer;
    let system = System { time: Time::Common, renewing: 1, planted, ..System::new(2, Check::FirstTouch) };
    system.breaks("deadline from the answer", BELIEF);
}

#[test]
fn control_a_release_by_anybody_is_found() {
    let system = System { planted: Planted::ReleaseByAnybody, ..System::new(3, Check::FirstTouch) };
    system.breaks("release by anybody", ONE_GRANT);
}

#[test]
fn control_a_forgotten_counter_is_found() {
    let system = System { planted: Planted::CounterReset, ..System::new(2, Check::FirstTouch) };
    system.breaks("counter reset", TOKENS);
}
