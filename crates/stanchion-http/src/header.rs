//! Headers that count only if they are sent once.

use http::header::AsHeaderName;
use http::{HeaderMap, HeaderValue};

/// Sent more than once: which one counts, readers would disagree on. A caller could append its own to what somebody
/// trusted has set.
#[derive(Debug)]
pub(crate) struct Repeated;

/// The only value of that name, if there is one.
pub(crate) fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Result<Option<&HeaderValue>, Repeated> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() { Err(Repeated) } else { Ok(value) }
}
