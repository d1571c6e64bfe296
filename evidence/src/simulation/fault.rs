//! What goes wrong, and what may then not be promised any more.

use super::property::{Properties, Property};
use super::scenario::{Backend, Scenario, Work};

/// One row of the fault matrix, as far as a model can have it. Two rows it has not:
/// - A stale cache of NFS attributes: no engine here is a file on a network, and no machine of ours has one to try. `file:` keeps a
///   heartbeat there, which is stale after 60 s: the longest that such a cache is old.
/// - Processors that are short: nothing takes time here but what a world says. `real` has it, with four workers of many tasks and two
///   engines at a time on the cores that there are; for others as busy, `Pause` and `Slow` are what a starved process or engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// A request never arrives.
    LostRequest,
    /// Done, and the answer never arrives.
    LostReply,
    /// A request arrives again, later.
    Duplicate,
    /// A request or an answer arrives up to 20 ttl late.
    Delay,
    /// kill -9 at any step, and a new process later.
    Kill,
    /// A client stands still for 1.2 to 5 ttl.
    Pause,
    /// One client and one node do not hear each other.
    Partition,
    /// Requests pass, answers do not.
    OneWay,
    /// Nobody hears a minority of the nodes.
    Minority,
    /// Nobody hears a majority of the nodes.
    Majority,
    /// The engine takes up to 2 ttl for an answer.
    Slow,
    /// The engine is killed and comes back with all it had.
    Restart,
    /// The engine comes back empty.
    Amnesia,
    /// A replica without the last writes takes over.
    FailOver,
    /// The engine sees the end of a connection that its client still uses.
    Disconnect,
    /// The engine's clock is set forward or back.
    ClockJump,
    /// The clocks of a majority of the nodes are.
    ClockJumps,
    /// The engine's clock runs 10 % faster.
    Drift,
}

pub const FAULTS: [Fault; 18] = [
    Fault::LostRequest,
    Fault::LostReply,
    Fault::Duplicate,
    Fault::Delay,
    Fault::Kill,
    Fault::Pause,
    Fault::Partition,
    Fault::OneWay,
    Fault::Minority,
    Fault::Majority,
    Fault::Slow,
    Fault::Restart,
    Fault::Amnesia,
    Fault::FailOver,
    Fault::Disconnect,
    Fault::ClockJump,
    Fault::ClockJumps,
    Fault::Drift,
];

impl Fault {
    /// Faults of single messages; the others happen at times of their own.
    #[must_use]
    pub const fn is_of_messages(self) -> bool {
        matches!(self, Fault::LostRequest | Fault::LostReply | Fault::Duplicate | Fault::Delay)
    }

    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }

    /// Can this engine have it?
    #[must_use]
    pub const fn applies(self, backend: Backend) -> bool {
        match self {
            Fault::Minority | Fault::Majority | Fault::ClockJumps => matches!(backend, Backend::Redlock),
            Fault::FailOver => matches!(backend, Backend::RedisReplica),
            Fault::Disconnect => matches!(backend, Backend::PostgresSession),
            Fault::Amnesia => matches!(backend, Backend::Redis | Backend::RedisReplica | Backend::Redlock),
            // etcd counts leases on a clock that is not set, a session has no clock at all.
            Fault::ClockJump | Fault::Drift => !matches!(backend, Backend::Etcd | Backend::PostgresSession),
            _ => true,
        }
    }

    /// What is not promised of `backend` in a world in which this has happened: `docs/guarantees.md`, and 3.5 and 3.6 of the
    /// research on verification.
    #[must_use]
    pub fn excuses(self, scenario: &Scenario) -> Properties {
        let grants = Properties::of(&[Property::S1, Property::L3]);
        match (self, scenario.backend) {
            // Redlock's nodes that forgot have no vote until all they gave is over; their numbers are gone.
            (Fault::Amnesia, Backend::Redlock) => Properties::of(&[Property::S3]),
            (Fault::Amnesia | Fault::FailOver, _) => match scenario.work {
                Work::Calls => Properties::of(&[Property::S4, Property::S5, Property::S6]),
                // Numbers carry the time, but in one millisecond a replica can draw what was drawn before: the nonce is left.
                Work::Locks if self == Fault::FailOver => grants.and(Properties::of(&[Property::S3])),
                Work::Locks => grants,
            },
            // A request that is replayed on its own connection takes a lock that nobody knows of, until the connection ends.
            // And on etcd, for as long as the process has a use for its session.
            (Fault::Duplicate, Backend::PostgresSession | Backend::Etcd) => Properties::of(&[Property::L1]),
            // A minority of clocks that jump leaves one holder if all nodes have granted; not if only a bare quorum has, because
            // others held the rest at that moment. Two quorums at once draw their numbers without knowing of each other.
            (Fault::Drift, Backend::Redlock) => grants.and(Properties::of(&[Property::S3])),
            (Fault::ClockJump | Fault::ClockJumps, Backend::Redlock) => {
                grants.and(Properties::of(&[Property::S3, Property::L1]))
            }
            // The server's end is the end of its connections, whatever their clients believe.
            (Fault::Restart, Backend::PostgresSession) => grants,
            // Numbers carry the time, and are forgotten.
            (Fault::ClockJump, _) if scenario.has(Fault::Amnesia) || scenario.has(Fault::FailOver) => {
                grants.and(Properties::of(&[Property::L1, Property::S3]))
            }
            // A clock that is set back keeps a lock for as much longer.
            (Fault::ClockJump | Fault::ClockJumps, _) => grants.and(Properties::of(&[Property::L1])),
            (Fault::Drift | Fault::Disconnect, _) => grants,
            _ => Properties::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::{BACKENDS, Plant};
    use super::*;

    #[test]
    fn the_list_names_every_fault_at_its_place() {
        assert!(FAULTS.iter().enumerate().all(|(at, fault)| *fault as usize == at));
    }

    #[test]
    fn no_fault_at_all_excuses_a_lost_update() {
        for (fault, backend) in FAULTS.iter().flat_map(|fault| BACKENDS.map(|backend| (fault, backend))) {
            let excused = fault.excuses(&Scenario::with(1, backend, Work::Locks, Plant::Nothing));
            assert!(!excused.has(Property::S2) && !excused.has(Property::S5), "{fault:?} on {backend:?}");
        }
    }
}
