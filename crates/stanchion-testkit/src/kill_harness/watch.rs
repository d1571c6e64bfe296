//! Looks at the store while the run goes on: what is true at its end must have been true all the time.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use stanchion_core::claim::Claim;
use stanchion_core::{Idempotency, Page, Result};

use super::log::Effect;
use super::profile::Plan;
use super::report::{Invariant, Violations};
use super::tool::shown;
use super::{Design, Stores};

const EVERY: Duration = Duration::from_millis(250);
const PAGE: usize = 500;

/// A call: who, and which key.
pub(super) type Id = (String, usize);

pub(super) struct Watch {
    claims: Idempotency,
    last: Instant,
    pub(super) looks: usize,
    /// Answers that were seen as finished.
    done: HashMap<Id, String>,
    pub(super) violations: Violations,
}

impl Watch {
    pub(super) fn new(stores: &Stores) -> Self {
        let claims = Idempotency::new(stores.records.clone(), stores.locks.clone());
        Self { claims, last: Instant::now(), looks: 0, done: HashMap::new(), violations: Violations::default() }
    }

    /// All claims of the run.
    pub(super) async fn list(&self, plan: &Plan) -> Result<BTreeMap<Id, Claim>> {
        let mut all = BTreeMap::new();
        let mut page = Page::first(PAGE);
        loop {
            let listed = self.claims.list("", page).await?;
            let Some(last) = listed.last() else { return Ok(all) };
            page = Page::after(last.record_key.clone(), PAGE);
            for claim in listed.into_iter().filter_map(|listed| listed.claim.ok()) {
                if let (true, Some(index)) = (claim.scope.tool() == plan.name, plan.index(&claim.key)) {
                    all.insert((claim.scope.principal().to_owned(), index), claim);
                }
            }
        }
    }

    pub(super) async fn look_if_due(&mut self, plan: &Plan, folder: &Path) {
        if self.last.elapsed() < EVERY || plan.design == Design::Seed {
            return;
        }
        self.last = Instant::now();
        // Effects first: what is listed afterwards must know them.
        let effects = Effect::read_all(folder);
        // The store may be away, if that is among the faults.
        let Ok(claims) = self.list(plan).await else { return };
        self.looks += 1;
        for effect in effects {
            let id = (effect.principal, effect.index);
            let state = claims.get(&id).map_or("absent", |claim| claim.state.name());
            if !remembers(state) {
                self.violations.add(Invariant::NoAmnesia, format!("{id:?} took effect, and its claim is {state}"));
            }
        }
        for (id, claim) in &claims {
            let (state, body) = shown(claim);
            let now = if state == "done" { Some(body) } else { None };
            if let Some(then) = self.done.get(id).filter(|then| now.as_ref() != Some(then)) {
                self.violations
                    .add(Invariant::Agreement, format!("{id:?} was done with {then}, and is {state} {now:?}"));
            }
            if let Some(body) = now {
                self.done.insert(id.clone(), body);
            }
        }
    }
}

/// A state that does not let the call run again.
pub(super) fn remembers(state: &str) -> bool {
    matches!(state, "dispatched" | "unknown" | "done" | "tombstone")
}
