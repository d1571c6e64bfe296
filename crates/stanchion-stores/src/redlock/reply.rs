//! Reading what the nodes answer, and what their failures mean together.

use std::time::Duration;

use ::redis::Value;
use stanchion_core::redlock::Answer;
use stanchion_core::{Error, ErrorKind, FencingToken, Holder, Identity, Mode};

use crate::redis::fault::Fault;
use crate::redis::reply::{int, text};

/// A holder as a node shows it.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    /// Kind, owner and number: the same on every node once the fence is agreed.
    pub(super) mark: String,
    /// The number with which its attempt came: the same on every node that this attempt has taken.
    pub(super) ask: String,
    pub(super) holder: Holder,
}

impl Shown {
    /// `kind owner(32) number(16) since(13) ask(16) \t identity`, seen at `now`, ending in `left`.
    pub(super) fn read(line: &str, now: u64, left: Duration) -> Option<Self> {
        let identity = line.get(78..)?.strip_prefix('\t')?;
        let nonce = u64::from_str_radix(line.get(17..33)?, 16).ok()?;
        let mut holder = Holder::new(Identity::decode(identity));
        holder.mode = match line.get(..1)? {
            "x" => Mode::Exclusive,
            "s" => Mode::Shared,
            _ => return None,
        };
        holder.fence = Some(FencingToken::from_parts(line.get(33..49)?.parse().ok()?, nonce));
        let since: u64 = line.get(49..62)?.parse().ok()?;
        holder.held_for = Some(Duration::from_millis(now.saturating_sub(since)));
        holder.expires_in = Some(left);
        Some(Self { mark: line.get(..49)?.to_owned(), ask: line.get(62..78)?.to_owned(), holder })
    }

    /// Kind and owner.
    pub(super) fn name(&self) -> &str {
        self.mark.get(..33).unwrap_or_default()
    }

    /// Whether both are traces of one acquisition: it has drawn its own number on each node, or a node that had forgotten
    /// it was given the fence alone.
    pub(super) fn belongs_to(&self, other: &Self) -> bool {
        self.mark == other.mark || (self.name() == other.name() && self.ask == other.ask)
    }
}

/// A node's refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) shown: Shown,
    pub(super) free_in: Duration,
}

impl Refusal {
    fn read(parts: &[Value]) -> Option<Self> {
        let [now, free_in, line] = parts else { return None };
        let free_in = Duration::from_millis(int(free_in).unwrap_or(0));
        Some(Self { shown: Shown::read(text(line)?, int(now)?, free_in)?, free_in })
    }
}

/// The answer to `take.lua`.
pub(super) fn taken(answer: Result<Value, Fault>) -> (Answer, Option<Refusal>, Option<Fault>) {
    match answer {
        Ok(Value::Int(number)) => match u64::try_from(number) {
            Ok(number) => (Answer::Yes(number), None, None),
            Err(_) => (Answer::Error, None, Some(Fault::Garbled)),
        },
        // A later attempt of the same owner was there before: nothing was done.
        Ok(Value::Array(parts)) if parts.is_empty() => (Answer::Error, None, None),
        Ok(Value::Array(parts)) => match Refusal::read(&parts) {
            Some(refusal) => (Answer::No, Some(refusal), None),
            // Foreign data where our lock should be: certainly not ours there.
            None => (Answer::No, None, Some(Fault::Garbled)),
        },
        Ok(_) => (Answer::Error, None, Some(Fault::Garbled)),
        Err(fault) => (Answer::Error, None, Some(fault)),
    }
}

/// The answer to `write.lua` about this number.
pub(super) fn written(answer: Result<Value, Fault>, number: u64) -> (Answer, Option<Fault>) {
    match answer {
        Ok(Value::Int(1)) => (Answer::Yes(number), None),
        Ok(Value::Int(_)) => (Answer::No, None),
        Ok(Value::Array(parts)) => match parts.first().and_then(int) {
            Some(known) => (Answer::Behind(known), None),
            None => (Answer::Error, Some(Fault::Garbled)),
        },
        Ok(_) => (Answer::Error, Some(Fault::Garbled)),
        Err(fault) => (Answer::Error, Some(fault)),
    }
}

/// Whether the node may have done it: the answer is lost, or of no known shape.
pub(super) const fn may_have_run(fault: &Fault) -> bool {
    matches!(fault, Fault::Lost(_) | Fault::Garbled)
}

/// One error for the failures of several nodes. A refused login tells more than a missing node, whatever their numbers.
pub(super) fn failed(what: &'static str, faults: Vec<(String, Fault)>, nodes: usize, unknown: bool) -> Error {
    let (count, lost) = (faults.len(), faults.iter().any(|(_, fault)| may_have_run(fault)));
    let mut errors: Vec<Error> = faults.into_iter().map(|(node, fault)| fault.into_error(&node, false)).collect();
    let rank = |error: &Error| match error.kind() {
        ErrorKind::Denied => 0,
        ErrorKind::Damaged => 1,
        ErrorKind::Unsupported => 2,
        ErrorKind::Unexpected => 3,
        _ => 4,
    };
    errors.sort_by_key(rank);
    let kind = match errors.first().map(Error::kind) {
        Some(kind @ (ErrorKind::Denied | ErrorKind::Damaged | ErrorKind::Unsupported)) => kind,
        _ if unknown && lost => ErrorKind::OutcomeUnknown,
        _ => ErrorKind::Unavailable,
    };
    let error = Error::new(kind, what).with("without an answer", format_args!("{count} of {nodes} nodes"));
    match errors.into_iter().next() {
        Some(first) => match first.next_step().map(ToOwned::to_owned) {
            Some(step) => error.with("for example", first).hint(step),
            None => error.with("for example", first).hint("see `stanchion doctor` for the state of each node"),
        },
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_holder() {
        let line = format!("x{:032x}{:016}{}{:016}\tweb-1 42 ", 7, 99, 1_800_000_000_000_u64, 98);
        let shown = Shown::read(&line, 1_800_000_000_500, Duration::from_secs(3)).unwrap();
        assert_eq!(shown.holder.fence, Some(FencingToken::from_parts(99, 7)));
        assert_eq!(shown.holder.held_for, Some(Duration::from_millis(500)));
        assert_eq!(shown.mark.len(), 49);
        assert_eq!(shown.name().len(), 33);
        assert!(Shown::read("xnonsense", 0, Duration::ZERO).is_none());
    }
}
