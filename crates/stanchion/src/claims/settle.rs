//! A person says what became of a call.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use stanchion_core::claim::Response;
use stanchion_core::{ClaimId, Error, ErrorKind, Idempotency, Listed, Result, Settlement};

use crate::audit::{Audit, By};
use crate::cli::Cli;
use crate::exit::say;

/// The largest answer that is taken from a file: what a claim keeps.
const ANSWER_MAX: u64 = 1 << 20;

pub(super) fn told(
    done: Option<&Path>,
    failed: Option<&Path>,
    status: Option<u16>,
    silent_for: Duration,
) -> Result<Settlement> {
    Ok(match (done, failed) {
        (Some(file), _) => Settlement::Done(answer(file, status.unwrap_or(200))?),
        (None, Some(file)) => Settlement::Failed(answer(file, status.unwrap_or(400))?),
        (None, None) => Settlement::NotExecuted { waited: Some(silent_for) },
    })
}

/// The answer is given to callers as it is, so it has to be what they can read.
fn answer(file: &Path, status: u16) -> Result<Response> {
    let refuse = |why: &'static str| Error::new(ErrorKind::Invalid, why).with("file", file.display());
    let size = std::fs::metadata(file).map_err(|e| refuse("the answer cannot be read").because(e))?.len();
    if size > ANSWER_MAX {
        return Err(refuse("the answer is larger than 1 MiB").with("bytes", size));
    }
    let text = std::fs::read_to_string(file).map_err(|e| refuse("the answer cannot be read").because(e))?;
    if let Err(e) = serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        return Err(refuse("the answer is not JSON").because(e).hint("write what the tool would have answered"));
    }
    // The head is what callers over HTTP get; others look at the body alone.
    let head = json!({ "status": status, "headers": [["content-type", "application/json"]] });
    Ok(Response::new(head.to_string(), text.trim_end().to_owned()))
}

pub(super) async fn settle(
    cli: &Cli,
    claims: &Idempotency,
    listed: &Listed,
    told: Settlement,
    reason: &str,
    store: &str,
) -> Result<u8> {
    if reason.trim().is_empty() {
        return Err(
            Error::new(ErrorKind::Invalid, "a settlement needs a reason").hint("say where you looked: --reason")
        );
    }
    let receipt = listed.record_key.as_str().rsplit('/').next().unwrap_or_default().parse::<ClaimId>()?;
    let verdict = match &told {
        Settlement::Done(_) => "done",
        Settlement::Failed(_) => "failed",
        Settlement::NotExecuted { .. } => "not_executed",
    };
    let mut line = json!({
        "event": "claim_settle", "receipt": receipt.to_string(), "store": store, "verdict": verdict, "reason": reason,
    });
    if let Ok(claim) = &listed.claim {
        line["call"] = json!(claim.scope.to_string());
        line["key"] = json!(claim.key.as_str());
    }
    let by = By::current();
    let audit = Audit::intend(cli, &by, line)?;
    let settled = claims.settle(&receipt, told, &by.to_string(), reason).await;
    audit.tell(&settled, |_| verdict);
    settled?;
    say(&match verdict {
        "not_executed" => format!("claim {receipt} is free: the next call with its key runs"),
        _ => format!("claim {receipt} is settled: repetitions get this answer"),
    });
    Ok(0)
}
