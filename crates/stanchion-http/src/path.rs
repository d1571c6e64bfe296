//! One reading of paths for routes and locks: a spelling that one of them took for something else would evade it.

/// The segments of a path, percent-decoded. Empty ones do not count, since many services do not count them either.
/// `None` stands for a segment with a `%` that is no escape.
pub(crate) fn segments(path: &str) -> impl Iterator<Item = Option<Vec<u8>>> {
    path.split('/').filter(|segment| !segment.is_empty()).map(decoded)
}

fn decoded(segment: &str) -> Option<Vec<u8>> {
    let hex = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let (mut raw, mut bytes) = (segment.bytes(), Vec::with_capacity(segment.len()));
    while let Some(byte) = raw.next() {
        bytes.push(if byte == b'%' { hex(raw.next())? << 4 | hex(raw.next())? } else { byte });
    }
    Some(bytes)
}
