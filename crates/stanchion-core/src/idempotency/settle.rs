//! What happens to a claim besides its call: it lapses, it is probed, a person settles it.

use std::time::Duration;

use async_trait::async_trait;

use super::Idempotency;
use crate::claim::{Claim, Event, Gone, Note, Outcome, Response, State, Verdict};
use crate::pause::pause_point;
use crate::{ClaimId, Cond, Effect, Error, ErrorKind, Key, Page, Policy, Record, Result, Version};

/// How many records are read at once: each may hold an answer of 15 MiB.
const PAGE: usize = 16;

/// A claim that has been silent for this long is taken for gone where no better proof can be had.
const SETTLE_DELAY: Duration = Duration::from_secs(10 * 60);

/// Says whether a call took effect, by reading only.
///
/// ```
/// use async_trait::async_trait;
/// use stanchion_core::{Probe, Reconcile, claim::{Claim, Response}};
/// #[derive(Debug)]
/// struct Ledger(Vec<String>);
/// #[async_trait]
/// impl Reconcile for Ledger {
///     async fn probe(&self, claim: &Claim) -> Probe {
///         match self.0.iter().any(|key| key == claim.key.as_str()) {
///             true => Probe::Done(Response::new("", "paid")),
///             false => Probe::NotExecuted,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Reconcile: std::fmt::Debug + Send + Sync + 'static {
    /// Looks whether the call of `claim` took effect. It must change nothing, and it must say `NotExecuted` only of a
    /// place in which a finished call can be seen for certain.
    async fn probe(&self, claim: &Claim) -> Probe;
}

/// What a probe found.
///
/// ```
/// assert_ne!(stanchion_core::Probe::NotExecuted, stanchion_core::Probe::Unknown);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// It took effect, and this is the answer.
    Done(Response),
    /// It has not taken effect. Counts only once its owner is proven gone: a paused owner may still act.
    NotExecuted,
    /// The probe cannot tell.
    Unknown,
}

/// What a person says about a call whose outcome is unknown.
///
/// ```
/// use stanchion_core::{Settlement, claim::Response};
/// let told = Settlement::Done(Response::new("", "paid"));
/// assert_ne!(told, Settlement::NotExecuted { waited: None });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It ran and succeeded, with this answer.
    Done(Response),
    /// It ran and failed for good.
    Failed(Response),
    /// It did not run. Refused unless the owner is proven gone, or has been silent for `waited` (10 minutes unless set)
    /// by the store's clock.
    NotExecuted {
        /// How long a silence counts as proof.
        waited: Option<Duration>,
    },
}

/// One claim in a listing.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, Idempotency, MemoryStore, Page};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let store = MemoryStore::new();
/// let claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
/// assert!(claims.list("", Page::first(10)).await?.is_empty());
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed {
    /// The key of its record, to go on after it.
    pub record_key: Key,
    /// The claim; `Damaged` if it cannot be read.
    pub claim: Result<Claim>,
    /// How long it has stood unchanged, where the store has a clock.
    pub age: Option<Duration>,
    /// Its lease or its time is over.
    pub lapsed: bool,
}

/// What a sweep did.
///
/// ```
/// assert_eq!(stanchion_core::Swept::default().looked_at, 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Swept {
    /// Claims that were looked at.
    pub looked_at: u64,
    /// Answers whose time was over (T12).
    pub forgotten: u64,
    /// Calls whose owner fell silent (T8): somebody has to settle them.
    pub unknown: u64,
    /// Claims that are unknown after the sweep, old and new.
    pub need_attention: u64,
    /// Records that cannot be read.
    pub damaged: u64,
}

/// Writes a lapse; that somebody else was faster is fine.
pub(super) async fn write_lapsed(engine: &Idempotency, key: &Key, next: &Claim, record: &Record) -> Result<bool> {
    // What is left of a key's life goes on; it does not begin anew.
    let age = record.times.map(crate::Times::age).unwrap_or_default();
    let ttl = next.ttl().map(|ttl| ttl.saturating_sub(age).max(Duration::from_millis(1)));
    pause_point("claim.lapse").await;
    match engine.records.put(key, next.encode(), Cond::Version(record.version), ttl).await {
        Ok(_) => {
            if let State::Unknown { reason } = &next.state {
                metrics::counter!("stanchion_claims_unknown_total").increment(1);
                tracing::warn!(receipt = %next.id(), call = %next.scope, %reason, "a call may have run: its outcome is unknown");
            }
            Ok(true)
        }
        Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::OutcomeUnknown) => Ok(false),
        Err(e) => Err(e),
    }
}

impl Idempotency {
    /// Claims whose receipt begins with `prefix`.
    ///
    /// # If it fails
    /// From the store.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore, Page};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// let claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// assert!(claims.list("4f", Page::first(10)).await?.is_empty());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn list(&self, prefix: &str, page: Page) -> Result<Vec<Listed>> {
        let records = self.records.scan(&format!("{}{prefix}", ClaimId::RECORDS), page).await?;
        Ok(records.into_iter().map(|(key, record)| self.listed(key, &record)).collect())
    }

    fn listed(&self, record_key: Key, record: &Record) -> Listed {
        let claim = Claim::decode(&record.value);
        let lapsed = claim.as_ref().is_ok_and(|claim| self.lapsed(&record_key, record, claim));
        Listed { record_key, claim, age: record.times.map(crate::Times::age), lapsed }
    }

    /// Goes through all claims: drops answers whose time is over, and marks as unknown what its owner left behind. It never
    /// touches a claim whose owner lives, nor one that waits to be settled.
    ///
    /// # If it fails
    /// From the store; what was done is done.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// let claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// assert_eq!(claims.sweep().await?.looked_at, 0);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn sweep(&self) -> Result<Swept> {
        let mut swept = Swept::default();
        let mut page = Page::first(PAGE);
        loop {
            let records = self.records.scan(ClaimId::RECORDS, page).await?;
            let Some((last, _)) = records.last() else { break };
            page = Page::after(last.clone(), PAGE);
            for (key, record) in &records {
                self.sweep_one(key, record, &mut swept).await?;
            }
        }
        Ok(swept)
    }

    async fn sweep_one(&self, key: &Key, record: &Record, swept: &mut Swept) -> Result<()> {
        swept.looked_at += 1;
        let Ok(claim) = Claim::decode(&record.value) else {
            swept.damaged += 1;
            return Ok(());
        };
        let next = match self.lapsed(key, record, &claim) {
            // Nothing was sent, and its owner is silent: given up in its name, so that it does not stay for ever.
            true if matches!(claim.state, State::Claimed { .. }) => {
                claim.step(Event::NoEffect { by: claim.attempt, response: None }).ok()
            }
            true => claim.step(Event::Lapse).ok(),
            false => None,
        };
        let Some(next) = next else {
            swept.need_attention += u64::from(matches!(claim.state, State::Unknown { .. }));
            return Ok(());
        };
        if write_lapsed(self, key, &next, record).await? {
            match next.state {
                State::Unknown { .. } => {
                    swept.unknown += 1;
                    swept.need_attention += 1;
                }
                _ => swept.forgotten += 1,
            }
        }
        Ok(())
    }

    /// T10 by a person: `by` says who, `reason` why. Both are kept with the claim.
    ///
    /// # If it fails
    /// `Conflict` if the claim is not unknown, or changed meanwhile; `Denied` if "not executed" lacks its proof: nothing
    /// was changed. `OutcomeUnknown` if the store did not say whether it is written.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{CallKey, CasLock, ClaimId, ErrorKind, Idempotency, MemoryStore, Scope, Settlement};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// let claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let id = ClaimId::of(&Scope::new("alice", "billing", "send")?, &CallKey::new("order-77")?);
    /// let told = Settlement::NotExecuted { waited: None };
    /// let e = claims.settle(&id, told, "ann", "not in the ledger").await.unwrap_err();
    /// assert_eq!(e.kind(), ErrorKind::Conflict, "there is no such claim");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn settle(&self, id: &ClaimId, told: Settlement, by: &str, reason: &str) -> Result<Claim> {
        let key = id.record_key();
        let record = self.records.get(&key).await?;
        let Some(record) = record else {
            return Err(Error::new(ErrorKind::Conflict, "there is no such claim").with("receipt", id));
        };
        let claim = Claim::decode(&record.value).map_err(|e| e.with("receipt", id))?;
        // A silent owner is judged as any caller would judge it; the settlement then follows at once.
        let lapsed = self.lapsed(&key, &record, &claim);
        let claim = if lapsed { claim.step(Event::Lapse).unwrap_or(claim) } else { claim };
        if !matches!(claim.state, State::Unknown { .. }) {
            return Err(not_unknown(&claim));
        }
        let keep = claim.keep.answer;
        let verdict = match told {
            Settlement::Done(response) => Verdict::Done { outcome: Outcome::Ok, response, keep },
            Settlement::Failed(response) => Verdict::Done { outcome: Outcome::Failed, response, keep },
            Settlement::NotExecuted { waited } => Verdict::NotExecuted { gone: proof(&claim, &record, waited)? },
        };
        let clean = |text: &str, most: usize| text.chars().filter(|c| !c.is_control()).take(most).collect::<String>();
        let text = format!("{}: {}", said(&verdict), clean(reason, 500));
        let note = Note { at_ms: (self.wall)(), by: clean(by, 100), text };
        self.write_verdict(&key, &claim, record.version, verdict, note).await
    }

    async fn write_verdict(
        &self,
        key: &Key,
        claim: &Claim,
        version: Version,
        verdict: Verdict,
        note: Note,
    ) -> Result<Claim> {
        let id = claim.id();
        let next = claim.step(Event::Settle { verdict, note: note.clone() }).map_err(|_| not_unknown(claim))?;
        let value = next.encode();
        match self.records.put(key, value.clone(), Cond::Version(version), next.ttl()).await {
            Ok(_) => {}
            // It may stand there: look, so that what was done is also written down.
            Err(e) if e.kind() == ErrorKind::OutcomeUnknown => {
                let there = self.records.get(key).await?.is_some_and(|record| record.value == value);
                if !there {
                    return Err(e.with("receipt", id));
                }
            }
            Err(e) => return Err(e.with("receipt", id)),
        }
        tracing::info!(target: "audit", receipt = %id, call = %next.scope, by = %note.by, what = %note.text, "a claim was settled");
        metrics::counter!("stanchion_claims_settled_total").increment(1);
        Ok(next)
    }

    /// T10 by a probe: whether the claim is settled now.
    pub(super) async fn reconcile(&self, claim: &Claim, record: &Record, policy: &Policy) -> Result<bool> {
        let Some(reconciler) = self.reconciler.as_ref().filter(|_| claim.effect == Effect::Reconcilable) else {
            return Ok(false);
        };
        let verdict = match reconciler.probe(claim).await {
            Probe::Done(response) => {
                let response = super::kept(&response, policy, self.redact.as_ref());
                Verdict::Done { outcome: Outcome::Ok, response, keep: claim.keep.answer }
            }
            // The proof comes first: what was not there a moment ago may be on its way from a paused owner.
            Probe::NotExecuted => match proof(claim, record, None) {
                Ok(gone) => match reconciler.probe(claim).await {
                    Probe::NotExecuted => Verdict::NotExecuted { gone },
                    _ => return Ok(false),
                },
                Err(_) => return Ok(false),
            },
            Probe::Unknown => return Ok(false),
        };
        let note = Note { at_ms: (self.wall)(), by: "reconciler".to_owned(), text: said(&verdict) };
        match self.write_verdict(&claim.id().record_key(), claim, record.version, verdict, note).await {
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::OutcomeUnknown) => Ok(true),
            Err(e) => Err(e),
        }
    }
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Done { outcome: Outcome::Ok, .. } => "done".to_owned(),
        Verdict::Done { outcome: Outcome::Failed, .. } => "failed".to_owned(),
        Verdict::NotExecuted { gone } => format!("not executed ({gone})"),
    }
}

fn not_unknown(claim: &Claim) -> Error {
    Error::new(ErrorKind::Conflict, "only a claim whose outcome is unknown can be settled")
        .with("state", claim.state.name())
        .with("receipt", claim.id())
}

/// Proof that the owner of the last attempt will not act any more.
fn proof(claim: &Claim, record: &Record, waited: Option<Duration>) -> Result<Gone> {
    if let Some(gone) = claim.runner.gone() {
        return Ok(gone);
    }
    if claim.runner.lives() {
        return Err(Error::new(
            ErrorKind::Denied,
            "\"not executed\" cannot be said of a call whose process is there: it could still act",
        )
        .with("owner", format_args!("{} pid {}", claim.runner.host, claim.runner.pid))
        .hint("end that process first"));
    }
    let wanted = waited.unwrap_or(SETTLE_DELAY);
    let silent = record.times.map(crate::Times::age).unwrap_or_default();
    if silent >= wanted {
        return Ok(Gone::Waited(silent));
    }
    Err(Error::new(
        ErrorKind::Denied,
        "\"not executed\" needs proof that the owner is gone: paused, it could still act",
    )
    .with("owner", format_args!("{} pid {}", claim.runner.host, claim.runner.pid))
    .with("silent for", crate::text::duration(silent))
    .hint(format!(
        "end that process, settle on its own machine, or wait until it has been silent for {}",
        crate::text::duration(wanted)
    )))
}
