//! RESP2 and RESP3.

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed, after, end_of};

#[derive(Debug, Default)]
pub(super) struct Resp {
    /// RESP2 marks subscription messages by nothing but their first word, which may occur in ordinary replies too.
    subscribed: bool,
}

const SUBSCRIPTION: [&str; 9] = [
    "subscribe",
    "unsubscribe",
    "psubscribe",
    "punsubscribe",
    "ssubscribe",
    "sunsubscribe",
    "message",
    "pmessage",
    "smessage",
];

impl Framing for Resp {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        let len = match bytes.first() {
            None => return Ok(None),
            Some(b'*') => value(bytes)?,
            Some(_) => after(bytes, 0, b"\n"), // an inline command
        };
        let Some(len) = len else { return Ok(None) };
        let subscription = first_word(&bytes[..len])
            .is_some_and(|word| SUBSCRIPTION[..6].iter().any(|s| word.eq_ignore_ascii_case(s.as_bytes())));
        self.subscribed |= subscription;
        let kind = if subscription { UnitKind::Oneway } else { UnitKind::Request };
        Ok(Some(Unit { len, kind }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        let Some(len) = value(bytes)? else { return Ok(None) };
        let about_subscription =
            || first_word(&bytes[..len]).is_some_and(|word| SUBSCRIPTION.iter().any(|s| word == s.as_bytes()));
        let push = bytes[0] == b'>' || (self.subscribed && bytes[0] == b'*' && about_subscription());
        Ok(Some(Piece { len, kind: if push { PieceKind::Push } else { PieceKind::End } }))
    }
}

/// The length of the first complete value, nested values included.
fn value(bytes: &[u8]) -> Result<Option<usize>, Unparsed> {
    let mut at = 0;
    let mut open = 1;
    while open > 0 {
        let Some(line_end) = after(bytes, at, b"\r\n") else {
            return Ok(None);
        };
        let text = bytes.get(at + 1..line_end - 2).ok_or(Unparsed)?;
        // A length of -1 is RESP2's null.
        let length = || -> Result<Option<usize>, Unparsed> {
            let number: i64 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Unparsed)?;
            Ok(usize::try_from(number).ok())
        };
        let (end, inside) = match bytes[at] {
            b'+' | b'-' | b':' | b',' | b'#' | b'_' | b'(' => (line_end, 0),
            b'$' | b'!' | b'=' => (length()?.map_or(Ok(line_end), |length| end_of(line_end, length))?, 0),
            b'*' | b'~' | b'>' => (line_end, length()?.unwrap_or(0)),
            b'%' => (line_end, length()?.unwrap_or(0).checked_mul(2).ok_or(Unparsed)?),
            // An attribute comes before the value that it describes.
            b'|' => {
                let pairs = length()?.unwrap_or(0).checked_mul(2);
                (line_end, pairs.and_then(|pairs| pairs.checked_add(1)).ok_or(Unparsed)?)
            }
            _ => return Err(Unparsed),
        };
        open = inside.checked_add(open - 1).ok_or(Unparsed)?;
        at = end;
    }
    Ok((at <= bytes.len()).then_some(at))
}

/// The first bulk or simple string of an array.
fn first_word(bytes: &[u8]) -> Option<&[u8]> {
    if !matches!(bytes.first()?, b'*' | b'>') {
        return bytes.split(|b| b.is_ascii_whitespace()).next();
    }
    let start = after(bytes, 0, b"\r\n")?;
    let end = after(bytes, start, b"\r\n")?;
    match bytes.get(start)? {
        b'$' => after(bytes, end, b"\r\n").map(|word_end| &bytes[end..word_end - 2]),
        b'+' => Some(&bytes[start + 1..end - 2]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_end_and_never_sooner() {
        let samples: &[&[u8]] = &[
            b"+OK\r\n",
            b"$-1\r\n",
            b"$0\r\n\r\n",
            b"$4\r\na\r\nb\r\n",
            b"*-1\r\n",
            b"*0\r\n",
            b"*2\r\n*1\r\n:1\r\n$1\r\nx\r\n",
            b"%1\r\n+k\r\n*2\r\n_\r\n#t\r\n",
            b"|1\r\n+ttl\r\n:5\r\n$1\r\nv\r\n",
        ];
        for sample in samples {
            assert_eq!(value(sample), Ok(Some(sample.len())), "{:?}", String::from_utf8_lossy(sample));
            for cut in 0..sample.len() {
                assert_eq!(value(&sample[..cut]), Ok(None), "{:?} at {cut}", String::from_utf8_lossy(sample));
            }
            let followed = [sample, &b"+NEXT\r\n"[..]].concat();
            assert_eq!(value(&followed), Ok(Some(sample.len())));
        }
        assert_eq!(value(b"\x16\x03\x01\r\n"), Err(Unparsed));
        for huge in [
            &b"%9223372036854775807\r\n%9223372036854775807\r\n"[..],
            b"*1\r\n|9223372036854775807\r\n|9223372036854775807\r\n",
        ] {
            assert_eq!(value(huge), Err(Unparsed), "{}", String::from_utf8_lossy(huge));
        }
    }

    #[test]
    fn subscription_messages_are_nobodys_reply() {
        let mut resp = Resp::default();
        let message = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n";
        assert_eq!(resp.reply(message).unwrap().unwrap().kind, PieceKind::End, "an ordinary list of words");
        let subscribe = resp.request(b"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n").unwrap().unwrap();
        assert_eq!(subscribe.kind, UnitKind::Oneway);
        assert_eq!(resp.reply(message).unwrap().unwrap().kind, PieceKind::Push);
        assert_eq!(resp.reply(b"*2\r\n$4\r\npong\r\n$0\r\n\r\n").unwrap().unwrap().kind, PieceKind::End);
        assert_eq!(resp.reply(b">1\r\n+invalidate\r\n").unwrap().unwrap().kind, PieceKind::Push);
    }

    #[test]
    fn inline_commands_are_requests() {
        let unit = Resp::default().request(b"PING\r\nPING\r\n").unwrap().unwrap();
        assert_eq!(unit, Unit { len: 6, kind: UnitKind::Request });
    }
}
