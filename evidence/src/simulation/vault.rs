//! The store that a fence protects: `touch` and `Cond::Fence` of a record store, by the real order of tokens.

use stanchion_core::FencingToken;

use super::engine::KEYS_MAX;
use super::oracle::Oracle;
use super::sometimes::Sometimes;
use super::wire::{Body, Check, Value};

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    value: Value,
    version: u32,
    fence: Option<FencingToken>,
    /// The highest number that a write was accepted with: all that the textbook's store knows.
    written: u64,
}

#[derive(Debug, Default)]
pub(super) struct Vault {
    records: [Record; KEYS_MAX],
}

impl Vault {
    pub(super) fn clear(&mut self) {
        self.records = [Record::default(); KEYS_MAX];
    }

    pub(super) fn value(&self, key: usize) -> &Value {
        &self.records[key].value
    }

    pub(super) fn serve(&mut self, body: &Body, oracle: &mut Oracle, sometimes: &mut Sometimes, now: u64) -> Body {
        match *body {
            Body::Touch { key, token, check } => {
                let record = &mut self.records[usize::from(key)];
                if check == Check::FirstTouch {
                    if !token.supersedes(record.fence.as_ref()) {
                        return Body::Refused { floor: record.fence.map_or(0, |fence| fence.number()) };
                    }
                    record.fence = Some(token);
                }
                Body::Touched { value: record.value, version: record.version }
            }
            Body::Put { key, token, check, based_on, operation, value } => {
                let record = &mut self.records[usize::from(key)];
                let accepted = match check {
                    Check::FirstTouch => record.fence == Some(token),
                    Check::WriteOnly => token.number() >= record.written,
                    Check::Nothing => true,
                };
                if !accepted {
                    return Body::Refused { floor: record.fence.map_or(0, |fence| fence.number()) };
                }
                let again = record.value.contains(operation);
                sometimes.write_applied_again += u64::from(again);
                oracle.applied(key, operation, token, based_on == record.version || again, now);
                if !again {
                    record.version += 1;
                }
                record.value = value;
                record.written = record.written.max(token.number());
                Body::Stored
            }
            _ => Body::Busy,
        }
    }
}
