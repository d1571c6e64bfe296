//! One world, drawn from its seed: who works on what, how fast, and what goes wrong how often.

use super::fault::{FAULTS, Fault};
use super::property::Properties;
use super::rng::Rng;
use super::wire::{CLIENTS_MAX, OPERATIONS_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// One server that keeps what it acknowledged, unless it restarts empty.
    Redis,
    /// With a replica that is told later.
    RedisReplica,
    /// Leases in a table.
    Postgres,
    /// Locks of a connection.
    PostgresSession,
    Etcd,
    /// Five independent servers.
    Redlock,
}

pub const BACKENDS: [Backend; 6] = [
    Backend::Redis,
    Backend::RedisReplica,
    Backend::Postgres,
    Backend::PostgresSession,
    Backend::Etcd,
    Backend::Redlock,
];

/// What the clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Read-modify-write of a protected record under a lock and its fence.
    Locks,
    /// Calls with a key, through the claim machine.
    Calls,
}

/// Which rule is broken on purpose, to show that it would be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// As it is shipped.
    Nothing,
    /// Everybody works without asking for the lock, and without a fence.
    NoLock,
    /// The lock is taken, and no store looks at the token.
    NoFence,
    /// The store compares tokens on writes only.
    WriteOnlyFence,
    /// The engine releases for whoever asks.
    ReleaseWithoutOwner,
    /// The engine renews for whoever asks.
    RenewWithoutOwner,
    /// A deadline counts from the answer, not from before the request.
    DeadlineFromAnswer,
    /// The number of the fence begins anew with every holder.
    ConstantFence,
    /// The holder does not look at its clock before it writes, and there is no fence.
    BlindHolder,
    /// Whoever gave up does not give back what comes late, and its lock has no ttl.
    LateGrantKept,
    /// A holder whose write was not answered goes on under the same lease and fence, when the write may still be on its way.
    GoesOnAfterDoubt,
    /// The articles' way: the key is deleted when the call fails or is not answered.
    DeleteOnFailure,
    /// The key is looked for, and written after the call.
    CheckThenAct,
    /// A call whose owner fell silent is run again.
    RerunAfterLapse,
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub backend: Backend,
    pub work: Work,
    pub plant: Plant,
    pub clients: u8,
    pub keys: u8,
    pub operations: u16,
    /// In microseconds, as all times.
    pub ttl: u64,
    pub latency: u64,
    pub working: u64,
    pub idle: u64,
    /// How long a client waits for the lock.
    pub wait: u64,
    /// The mean pause between two tries.
    pub poll: u64,
    /// For an answer.
    pub patience: u64,
    /// Which faults there are: a bit for each.
    pub faults: u32,
    /// Of 65536 messages.
    pub message_faults: u32,
    /// The mean time between other faults.
    pub fault_every: u64,
    /// No more than these happen: the handle by which a found schedule is made smaller.
    pub faults_max: u32,
}

impl Scenario {
    /// The world of this seed.
    #[must_use]
    pub fn of(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed);
        // Five nodes are five times the messages: one world of twelve is enough.
        let backend = match rng.below(12) {
            0 => Backend::Redlock,
            _ => rng.pick(&BACKENDS[..5]),
        };
        // Calls need an engine with records, which Redlock has not.
        let calls = backend != Backend::Redlock && rng.chance(26_214);
        Scenario::on(backend, if calls { Work::Calls } else { Work::Locks }, &mut rng)
    }

    /// A world of this seed on this engine.
    #[must_use]
    pub fn with(seed: u64, backend: Backend, work: Work, plant: Plant) -> Scenario {
        let mut scenario = Scenario::on(backend, work, &mut Rng::new(seed));
        scenario.plant = plant;
        scenario
    }

    fn on(backend: Backend, work: Work, rng: &mut Rng) -> Scenario {
        let ttl = rng.pick(&[50_000, 200_000, 500_000, 2_000_000]);
        let latency = rng.pick(&[150, 400, 1000]);
        let mut scenario = Scenario {
            backend,
            work,
            plant: Plant::Nothing,
            clients: u8::try_from(rng.between(2, 6)).unwrap_or(CLIENTS_MAX),
            keys: u8::try_from(rng.between(1, 3)).unwrap_or(1),
            operations: u16::try_from(rng.between(60, 240)).unwrap_or(OPERATIONS_MAX),
            ttl,
            latency,
            working: rng.pick(&[ttl / 50, ttl / 10, ttl / 2, ttl + ttl / 2]),
            idle: rng.pick(&[500, 5_000, ttl / 4]),
            wait: rng.pick(&[ttl / 2, 2 * ttl, 6 * ttl]),
            // Each is three events, and most are refused: more often would leave less for the rest.
            poll: rng.pick(&[ttl / 12, ttl / 8, ttl / 4]),
            patience: (20 * latency).max(rng.pick(&[ttl / 20, ttl / 4, ttl])),
            faults: 0,
            message_faults: rng.pick(&[300, 1_500, 4_000]),
            fault_every: rng.pick(&[ttl / 10, ttl / 2, 2 * ttl]),
            faults_max: u32::MAX,
        };
        // Swarm: every world has its own few kinds, so that a rare one is not always drowned by the others.
        let share = rng.pick(&[8_000, 24_000, 50_000]);
        for fault in FAULTS {
            // Whatever makes a promise void is rare, or nothing would be left to judge.
            let share = if fault.excuses(&scenario) == Properties::default() { share } else { 4_000 };
            if fault.applies(backend) && rng.chance(share) {
                scenario.faults |= fault.bit();
            }
        }
        scenario
    }

    #[must_use]
    pub const fn has(&self, fault: Fault) -> bool {
        self.faults & fault.bit() != 0
    }

    #[must_use]
    pub const fn nodes(&self) -> u8 {
        match self.backend {
            Backend::Redlock => 5,
            _ => 1,
        }
    }
}
