//! What each key is like. Driver, workers and oracle compute it from the seed alone.

use std::time::Duration;

use stanchion_core::{CallKey, ClaimId, Fingerprint, Scope};

use super::{Bug, Design, Setup};

/// Locks are few, so that calls meet.
pub(super) const LOCKS: u64 = 3;

/// Where a worker finds what the driver has decided.
pub(super) const PLAN: &str = "STANCHION_KILL_PLAN";
pub(super) const FOLDER: &str = "STANCHION_KILL_FOLDER";
pub(super) const WHO: &str = "STANCHION_KILL_WHO";

/// Who calls. Mallory knows every key, and must learn nothing by it.
pub(super) const ALICE: &str = "alice";
pub(super) const MALLORY: &str = "mallory";

/// What the tool says under this key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Done,
    Failed,
    /// The effect happens, the answer is lost.
    Nothing,
    /// The first attempt has no effect, and says so.
    NoEffectFirst,
}

/// A run's decisions, as they are handed to workers.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) design: Design,
    pub(super) keys: usize,
    pub(super) lost_percent: u64,
    pub(super) lease: Duration,
    pub(super) seed: u64,
    /// The time that the keys carry.
    base_ms: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Profile {
    pub(super) says: Says,
    pub(super) slow: bool,
    /// The first by name, and perhaps another.
    pub(super) locks: (Option<u64>, Option<u64>),
}

impl Plan {
    pub(super) fn new(setup: &Setup) -> Self {
        assert!(setup.name.bytes().all(|b| b.is_ascii_alphanumeric()), "letters and digits: {:?}", setup.name);
        Self {
            name: setup.name.clone(),
            design: setup.design,
            keys: setup.keys,
            lost_percent: setup.lost_percent,
            lease: setup.lease,
            seed: setup.seed,
            base_ms: wall_ms(),
        }
    }

    pub(super) fn to_text(&self) -> String {
        let lease = self.lease.as_millis();
        let design = match self.design {
            Design::Guard => "guard".to_owned(),
            Design::Seed => "seed".to_owned(),
            Design::Planted(bug) => format!("{bug:?}"),
        };
        let Self { name, keys, lost_percent, seed, base_ms, .. } = self;
        format!("{name} {design} {keys} {lost_percent} {lease} {seed} {base_ms}")
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [name, design, keys, lost_percent, lease, seed, base_ms] = words[..] else { return None };
        Some(Self {
            name: name.to_owned(),
            design: match design {
                "guard" => Design::Guard,
                "seed" => Design::Seed,
                name => Design::Planted(Bug::ALL.into_iter().find(|bug| format!("{bug:?}") == name)?),
            },
            keys: keys.parse().ok()?,
            lost_percent: lost_percent.parse().ok()?,
            lease: Duration::from_millis(lease.parse().ok()?),
            seed: seed.parse().ok()?,
            base_ms: base_ms.parse().ok()?,
        })
    }

    /// A delay that can cost a lock. Between two signs of life at most four of them come together (the request that earned
    /// the lock, the timer, the request that renews it, its answer), and two thirds of the lease are left for them.
    pub(super) fn delay(&self) -> Duration {
        self.lease / 8
    }

    pub(super) fn profile(&self, index: usize) -> Profile {
        let draw = |salt: u64, of: u64| mix(self.seed ^ mix(index as u64 ^ (salt << 32))) % of;
        let says = match draw(1, 100) {
            n if n < self.lost_percent => Says::Nothing,
            90..95 => Says::Failed,
            95.. => Says::NoEffectFirst,
            _ => Says::Done,
        };
        let first = draw(3, LOCKS);
        let locks = match draw(4, 10) {
            0..4 => (None, None),
            4..7 => (Some(first), None),
            _ => {
                let other = (first + 1 + draw(5, LOCKS - 1)) % LOCKS;
                (Some(first.min(other)), Some(first.max(other)))
            }
        };
        Profile { says, slow: draw(2, 8) == 0, locks }
    }

    /// A UUID of version 7: it carries its time.
    pub(super) fn key(&self, index: usize) -> CallKey {
        let (time, noise) = (self.base_ms, mix(self.seed ^ mix(index as u64)));
        let text = format!(
            "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
            time >> 16,
            time & 0xffff,
            noise & 0xfff,
            (noise >> 12) & 0xfff,
            index,
        );
        CallKey::new(text).expect("a UUID is a key")
    }

    pub(super) fn index(&self, key: &CallKey) -> Option<usize> {
        let index = usize::from_str_radix(key.as_str().rsplit('-').next()?, 16).ok()?;
        (self.key(index).as_str() == key.as_str()).then_some(index)
    }

    pub(super) fn scope(&self, principal: &str) -> Scope {
        Scope::new(principal, "bank", &self.name).expect("a plain scope")
    }

    pub(super) fn claim_id(&self, principal: &str, index: usize) -> ClaimId {
        ClaimId::of(&self.scope(principal), &self.key(index))
    }

    pub(super) fn fingerprint(index: usize, payload: &str) -> Fingerprint {
        Fingerprint::of_bytes(format!("{index} {payload}").as_bytes())
    }
}

/// Wall clock, for keys that carry their time.
#[expect(clippy::disallowed_methods, reason = "what a caller writes into its key is wall time")]
pub(super) fn wall_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// A good mixer of 64 bits (splitmix64).
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of numbers from one seed.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, below: usize) -> usize {
        self.0 = mix(self.0);
        usize::try_from(self.0 >> 1).unwrap_or(usize::MAX) % below.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_reads_the_plan_as_the_driver_wrote_it() {
        let setups = [Setup::faulty("a"), Setup::control("b"), Setup::planted("c", Bug::HastyReaper)];
        for plan in setups.iter().map(Plan::new) {
            let read = Plan::from_text(&plan.to_text()).unwrap();
            assert_eq!((read.to_text(), read.design, read.lease), (plan.to_text(), plan.design, plan.lease));
            assert_eq!(read.key(7), plan.key(7));
        }
    }

    #[test]
    fn keys_carry_their_time_and_their_index() {
        let plan = Plan::new(&Setup::faulty("a"));
        let keys: Vec<_> = (0..420).map(|index| plan.key(index)).collect();
        assert!(keys.iter().all(|key| key.sent_at() == Some(plan.base_ms)));
        assert!(keys.iter().enumerate().all(|(index, key)| plan.index(key) == Some(index)));
    }

    #[test]
    fn every_kind_of_key_is_there() {
        let plan = Plan::new(&Setup::faulty("a"));
        let count = |fits: &dyn Fn(Profile) -> bool| (0..420).filter(|index| fits(plan.profile(*index))).count();
        assert!((50..80).contains(&count(&|profile| profile.says == Says::Nothing)), "about 15 of 100");
        assert!(count(&|profile| profile.says == Says::Failed) > 5);
        assert!(count(&|profile| profile.says == Says::NoEffectFirst) > 5);
        assert!(count(&|profile| profile.slow) > 30);
        assert!(count(&|profile| profile.locks.1.is_some()) > 60 && count(&|profile| profile.locks.0.is_none()) > 100);
    }
}
