//! Claims for people and for programs.

use comfy_table::{Table, presets};
use serde_json::{Value, json};
use stanchion_core::claim::{Claim, Outcome, Response, State};
use stanchion_core::text::duration;
use stanchion_core::{Listed, Swept};

use super::needs_attention;
use crate::exit::{escaped, print};

/// How much of a receipt is shown where a person will type it again.
const SHORT: usize = 12;

fn receipt(listed: &Listed) -> &str {
    listed.record_key.as_str().rsplit('/').next().unwrap_or_default()
}

pub(super) fn table(found: &[Listed]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["RECEIPT", "STATE", "CALL", "KEY", "UNCHANGED", "TRY", "OWNER"]);
    for listed in found {
        let short: String = receipt(listed).chars().take(SHORT).collect();
        let age = listed.age.map_or_else(|| "-".to_owned(), duration);
        match &listed.claim {
            Ok(claim) => table.add_row([
                short,
                state(listed, claim),
                escaped(&claim.scope.to_string()),
                escaped(&claim.key.as_str().chars().take(40).collect::<String>()),
                age,
                claim.attempt.epoch.to_string(),
                escaped(&format!("{} pid {}", claim.runner.host, claim.runner.pid)),
            ]),
            Err(_) => table.add_row([short.as_str(), "damaged", "-", "-", &age, "-", "-"]),
        };
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn state(listed: &Listed, claim: &Claim) -> String {
    let name = claim.state.name();
    if listed.lapsed && claim.state.is_open() { format!("{name} (silent)") } else { name.to_owned() }
}

/// One line for a person. What a stranger has written must neither steer the terminal nor look like lines of ours.
fn line(text: &str) {
    print(&escaped(text));
}

pub(super) fn one(listed: &Listed, answer: bool) {
    let claim = match &listed.claim {
        Ok(claim) => claim,
        Err(e) => {
            line(&format!("claim {} is damaged: {e}", receipt(listed)));
            line("  nothing is run under its key. Restore the store from a backup, or delete the record by hand");
            return;
        }
    };
    line(&format!("claim {} is {}", receipt(listed), state(listed, claim)));
    line(&format!("  call      {}", claim.scope));
    line(&format!("  key       {}", claim.key.as_str()));
    line(&format!("  effect    {} · attempt {}", claim.effect, claim.attempt.epoch));
    line(&format!("  owner     {} pid {}", claim.runner.host, claim.runner.pid));
    if let Some(age) = listed.age {
        line(&format!("  unchanged for {}", duration(age)));
    }
    match &claim.state {
        State::Unknown { reason } => line(&format!("  reason    {reason}")),
        State::Done { outcome, response, .. } | State::Tombstone { outcome, response } => {
            let ended = if *outcome == Outcome::Ok { "succeeded" } else { "failed for good" };
            let kept = if response.bytes().is_some() { "kept" } else { "not kept" };
            line(&format!("  outcome   it {ended}; answer of {} bytes, {kept}", response.body.len()));
        }
        _ => {}
    }
    for note in &claim.notes {
        line(&format!("  note      by {}: {}", note.by, note.text));
    }
    if let Some(response) = response(claim).filter(|_| answer) {
        line(&format!("  answer    {}", String::from_utf8_lossy(response.bytes().map_or(&[][..], |body| body))));
    }
    if needs_attention(listed) {
        let short: String = receipt(listed).chars().take(SHORT).collect();
        print("");
        line("It may have run. Find out whether it did, then say so:");
        line(&format!(
            "  stanchion claims settle {short} --done RESULT.json --reason '…'   it ran; this is its answer"
        ));
        line(&format!(
            "  stanchion claims settle {short} --not-executed --reason '…'       it did not; the next call runs"
        ));
    }
}

const fn response(claim: &Claim) -> Option<&Response> {
    match &claim.state {
        State::Done { response, .. } | State::Tombstone { response, .. } | State::Suspended { response, .. } => {
            Some(response)
        }
        State::Retryable { response } => response.as_ref(),
        _ => None,
    }
}

pub(super) fn to_json(listed: &Listed, answer: bool) -> Value {
    let age_ms = listed.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let Ok(claim) = &listed.claim else {
        return json!({ "receipt": receipt(listed), "state": "damaged", "unchanged_ms": age_ms });
    };
    let outcome = match &claim.state {
        State::Done { outcome, .. } | State::Tombstone { outcome, .. } => Some(*outcome),
        _ => None,
    };
    let mut value = json!({
        "receipt": receipt(listed), "state": claim.state.name(), "lapsed": listed.lapsed, "unchanged_ms": age_ms,
        "needs_attention": needs_attention(listed),
        "principal": claim.scope.principal(), "server": claim.scope.server(), "tool": claim.scope.tool(),
        "key": claim.key.as_str(), "fingerprint": claim.fingerprint.to_string(), "effect": claim.effect.as_str(),
        "attempt": claim.attempt.epoch, "host": claim.runner.host, "pid": claim.runner.pid,
        "first_seen_ms": claim.first_seen_ms, "outcome": outcome, "notes": claim.notes,
        "reason": match &claim.state { State::Unknown { reason } => Some(reason), _ => None },
        "answer_bytes": response(claim).map(|response| response.body.len()),
    });
    if let Some(response) = response(claim).filter(|_| answer) {
        value["head"] = json!(response.head);
        value["answer"] = json!(response.bytes().map(|body| String::from_utf8_lossy(body)));
    }
    value
}

pub(super) fn swept(swept: &Swept) -> String {
    format!(
        "{} claims looked at: {} old answers dropped, {} calls marked as unknown, {} damaged; {} need somebody",
        swept.looked_at, swept.forgotten, swept.unknown, swept.damaged, swept.need_attention
    )
}

pub(super) fn swept_json(swept: &Swept) -> Value {
    json!({
        "looked_at": swept.looked_at, "forgotten": swept.forgotten, "unknown": swept.unknown,
        "need_attention": swept.need_attention, "damaged": swept.damaged,
    })
}
