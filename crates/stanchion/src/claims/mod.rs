//! `claims ls|show|settle|sweep`: what keyed calls left behind, and what a person can do about it.

mod settle;
mod show;

use serde_json::Value;
use stanchion_core::{CallKey, ClaimId, Error, ErrorKind, Idempotency, Listed, Page, Result, Scope, claim::State};

use crate::cli::{ClaimsVerb, Cli, Which};
use crate::exit::{print, say};
use crate::store;

pub(crate) const STATES: [&str; 8] =
    ["claimed", "dispatched", "suspended", "done", "retryable", "unknown", "tombstone", "damaged"];

/// How many records are read at once.
const PAGE: usize = 500;

pub(crate) async fn run(cli: &Cli, verb: &ClaimsVerb) -> Result<u8> {
    let store = store::open(&cli.store).await?;
    let claims = store.claims();
    match verb {
        ClaimsVerb::Ls { all, state, tool, limit, json } => {
            let wanted = Wanted { all: *all, state: state.as_deref(), tool: tool.as_deref() };
            let (found, more) = list(&claims, &wanted, *limit).await?;
            if *json {
                print(
                    &Value::from(found.iter().map(|listed| show::to_json(listed, false)).collect::<Vec<_>>())
                        .to_string(),
                );
            } else if found.is_empty() && !all && state.is_none() {
                say(&format!("no claim needs anybody in {}; --all shows those that are settled", store.shown));
            } else if found.is_empty() {
                say(&format!("no such claim in {}", store.shown));
            } else {
                print(&show::table(&found));
            }
            if more {
                say(&format!("stanchion: only the first {limit} are shown; --limit shows more"));
            }
            Ok(0)
        }
        ClaimsVerb::Show { which, json, answer } => {
            let listed = find(&claims, which).await?;
            match json {
                true => print(&show::to_json(&listed, *answer).to_string()),
                false => show::one(&listed, *answer),
            }
            Ok(0)
        }
        ClaimsVerb::Settle { which, done, failed, not_executed: _, status, reason, silent_for } => {
            let listed = find(&claims, which).await?;
            let told = settle::told(done.as_deref(), failed.as_deref(), *status, *silent_for)?;
            settle::settle(cli, &claims, &listed, told, reason, &store.shown).await
        }
        ClaimsVerb::Sweep { json } => {
            let swept = claims.sweep().await?;
            if *json {
                print(&show::swept_json(&swept).to_string());
            } else {
                print(&show::swept(&swept));
            }
            Ok(0)
        }
    }
}

struct Wanted<'a> {
    all: bool,
    state: Option<&'a str>,
    tool: Option<&'a str>,
}

impl Wanted<'_> {
    fn admits(&self, listed: &Listed) -> bool {
        let Ok(claim) = &listed.claim else {
            return self.tool.is_none() && self.state.is_none_or(|state| state == "damaged");
        };
        let in_state = match self.state {
            Some(state) => claim.state.name() == state,
            None => self.all || needs_attention(listed),
        };
        in_state && self.tool.is_none_or(|tool| claim.scope.tool() == tool)
    }
}

/// Unknown, or about to be: its owner is silent.
fn needs_attention(listed: &Listed) -> bool {
    listed.claim.as_ref().is_ok_and(|claim| match claim.state {
        State::Unknown { .. } => true,
        State::Dispatched { .. } | State::Suspended { .. } => listed.lapsed,
        _ => false,
    })
}

/// The first `limit` that are wanted, and whether there are more.
async fn list(claims: &Idempotency, wanted: &Wanted<'_>, limit: usize) -> Result<(Vec<Listed>, bool)> {
    let (mut found, mut page) = (Vec::new(), Page::first(PAGE));
    loop {
        let listed = claims.list("", page).await?;
        let Some(last) = listed.last() else { return Ok((found, false)) };
        page = Page::after(last.record_key.clone(), PAGE);
        for one in listed.into_iter().filter(|one| wanted.admits(one)) {
            if found.len() >= limit {
                return Ok((found, true));
            }
            found.push(one);
        }
    }
}

/// The one claim that is meant.
async fn find(claims: &Idempotency, which: &Which) -> Result<Listed> {
    let receipt = match (&which.receipt, &which.key, &which.principal, &which.server, &which.tool) {
        (Some(receipt), ..) => receipt.to_ascii_lowercase(),
        (None, Some(key), Some(principal), Some(server), Some(tool)) => {
            ClaimId::of(&Scope::new(principal, server, tool)?, &CallKey::new(key)?).to_string()
        }
        _ => return Err(Error::new(ErrorKind::Invalid, "which claim?").hint("give a receipt, or --key with its scope")),
    };
    if !receipt.bytes().all(|byte| byte.is_ascii_hexdigit()) || receipt.is_empty() || receipt.len() > 64 {
        return Err(Error::new(ErrorKind::Invalid, "a receipt is up to 64 hex digits")
            .hint("`stanchion claims ls` shows receipts; --key with its scope works without one"));
    }
    let mut found = claims.list(&receipt, Page::first(2)).await?;
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Error::new(ErrorKind::Conflict, "there is no such claim").with("receipt", receipt)),
        (Some(_), Some(_)) => Err(Error::new(ErrorKind::Invalid, "several claims begin like this")
            .with("receipt", receipt)
            .hint("give more of it")),
    }
}
