//! Reading the answers of our scripts.

use ::redis::Value;
use stanchion_core::{FencingToken, Released};

pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// A number, however the server chose to write it.
pub(crate) fn int(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        other => text(other)?.parse().ok(),
    }
}

pub(crate) fn released(value: &Value) -> Option<Released> {
    match value {
        Value::Int(1) => Some(Released::Released),
        Value::Int(0) => Some(Released::NotHeld),
        _ => None,
    }
}

/// The token as our scripts compare it: see `touch.lua`.
pub(crate) fn write_token(token: &FencingToken) -> String {
    format!("{:020}-{:016x}", token.number(), token.nonce())
}

/// Reads [`write_token`] back; nothing stored is `None`, nonsense is `Err`.
pub(crate) fn read_token(value: &Value) -> Result<Option<FencingToken>, ()> {
    if *value == Value::Nil {
        return Ok(None);
    }
    text(value).and_then(|text| text.parse().ok()).map(Some).ok_or(())
}
