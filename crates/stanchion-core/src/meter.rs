//! Metrics, labelled by lock class and never by raw name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::{Error, ErrorKind, Key, LostReason};

/// More classes than this are counted together: labels must stay few whatever users call their locks.
const CLASSES_MAX: usize = 200;

/// The handles of one lock class, looked up once.
#[derive(Debug)]
pub(crate) struct ClassMeter {
    pub(crate) wait: Histogram,
    pub(crate) hold: Histogram,
    pub(crate) waiters: Gauge,
    pub(crate) held: Gauge,
    acquired: Counter,
    busy: Counter,
    failed: Counter,
    pub(crate) renewed: Counter,
    pub(crate) renewal_lost: Counter,
    pub(crate) renewal_unknown: Counter,
    lost: [Counter; 3],
}

impl ClassMeter {
    fn new(class: &str, backend: &'static str) -> Self {
        let class = class.to_owned();
        let acquisitions = |outcome: &'static str| counter!("stanchion_lock_acquisitions_total", "lock_class" => class.clone(), "backend" => backend, "outcome" => outcome);
        let renewals = |outcome: &'static str| counter!("stanchion_lock_renewals_total", "lock_class" => class.clone(), "backend" => backend, "outcome" => outcome);
        let lost = |reason: LostReason| counter!("stanchion_lock_lost_total", "lock_class" => class.clone(), "backend" => backend, "reason" => reason.as_str());
        Self {
            wait: histogram!("stanchion_lock_wait_seconds", "lock_class" => class.clone(), "backend" => backend),
            hold: histogram!("stanchion_lock_hold_seconds", "lock_class" => class.clone(), "backend" => backend),
            waiters: gauge!("stanchion_lock_waiters", "lock_class" => class.clone(), "backend" => backend),
            held: gauge!("stanchion_lock_held", "lock_class" => class.clone(), "backend" => backend),
            acquired: acquisitions("acquired"),
            busy: acquisitions("busy"),
            failed: acquisitions("error"),
            renewed: renewals("renewed"),
            renewal_lost: renewals("lost"),
            renewal_unknown: renewals("unknown"),
            lost: [lost(LostReason::Expired), lost(LostReason::Taken), lost(LostReason::MaxHold)],
        }
    }

    pub(crate) fn count_acquisition<T>(&self, outcome: &Result<T, Error>) {
        match outcome {
            Ok(_) => &self.acquired,
            Err(e) if e.kind() == ErrorKind::Contended => &self.busy,
            Err(_) => &self.failed,
        }
        .increment(1);
    }

    pub(crate) fn count_lost(&self, reason: LostReason) {
        let [expired, taken, max_hold] = &self.lost;
        match reason {
            LostReason::Expired => expired,
            LostReason::Taken => taken,
            LostReason::MaxHold => max_hold,
        }
        .increment(1);
    }
}

/// All classes of one [`Locks`](crate::Locks).
#[derive(Debug)]
pub(crate) struct Meter {
    backend: &'static str,
    classes: Mutex<HashMap<String, Arc<ClassMeter>>>,
}

impl Meter {
    pub(crate) fn new(backend: &'static str) -> Self {
        Self { backend, classes: Mutex::default() }
    }

    pub(crate) fn class(&self, key: &Key) -> Arc<ClassMeter> {
        let mut class = key.class();
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        if classes.len() >= CLASSES_MAX && !classes.contains_key(&class) {
            "other".clone_into(&mut class);
        }
        if let Some(meter) = classes.get(&class) {
            return Arc::clone(meter);
        }
        let meter = Arc::new(ClassMeter::new(&class, self.backend));
        classes.insert(class, Arc::clone(&meter));
        meter
    }
}
