//! The text protocol of NATS.
//!
//! A request is a message with a reply subject; its reply is the message that comes on that subject. The server answers
//! requests in the order that suits it.

use std::collections::VecDeque;

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed, after, end_of};

/// Longer than any line that a server takes.
const LINE_MOST: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Nats {
    /// The reply subjects of unanswered requests, oldest first; that of a doubled request is there twice.
    awaited: VecDeque<Vec<u8>>,
}

/// A line and the bytes that it announces.
struct Operation<'a> {
    len: usize,
    words: Vec<&'a [u8]>,
}

/// `with_bytes` are the operations whose last word is a length.
fn operation<'a>(bytes: &'a [u8], with_bytes: &[&str]) -> Result<Option<Operation<'a>>, Unparsed> {
    let Some(line) = after(bytes, 0, b"\r\n") else {
        return if bytes.len() > LINE_MOST { Err(Unparsed) } else { Ok(None) };
    };
    let words: Vec<&[u8]> =
        bytes[..line - 2].split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty()).collect();
    let name = *words.first().ok_or(Unparsed)?;
    if !name.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'+' | b'-')) {
        return Err(Unparsed);
    }
    let mut len = line;
    if with_bytes.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
        let last = words.last().and_then(|word| std::str::from_utf8(word).ok()).ok_or(Unparsed)?;
        len = end_of(len, last.parse().map_err(|_| Unparsed)?)?;
    }
    Ok((len <= bytes.len()).then_some(Operation { len, words }))
}

impl Framing for Nats {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        let Some(operation) = operation(bytes, &["PUB", "HPUB"])? else { return Ok(None) };
        let name = operation.words[0].to_ascii_uppercase();
        let kind = match (name.as_slice(), operation.words.as_slice()) {
            (b"PUB", [_, _, reply, _]) | (b"HPUB", [_, _, reply, _, _]) => {
                self.awaited.push_back(reply.to_vec());
                UnitKind::Request
            }
            (b"PUB" | b"HPUB", _) => UnitKind::Oneway,
            _ => UnitKind::Raw,
        };
        Ok(Some(Unit { len: operation.len, kind }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        let Some(operation) = operation(bytes, &["MSG", "HMSG"])? else { return Ok(None) };
        let name = operation.words[0].to_ascii_uppercase();
        let subject = operation.words.get(1).filter(|_| matches!(name.as_slice(), b"MSG" | b"HMSG"));
        let place = subject.and_then(|subject| self.awaited.iter().position(|awaited| awaited == subject));
        let kind = place.map_or(PieceKind::Push, |place| {
            self.awaited.remove(place);
            PieceKind::EndOf(place)
        });
        Ok(Some(Piece { len: operation.len, kind }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_end_where_they_end_and_never_sooner() {
        for (sample, kind) in [
            (&b"CONNECT {\"verbose\":false}\r\n"[..], UnitKind::Raw),
            (b"PING\r\n", UnitKind::Raw),
            (b"SUB _INBOX.a.* 1\r\n", UnitKind::Raw),
            (b"PUB a 4\r\nx\r\ny\r\n", UnitKind::Oneway),
            (b"PUB a _INBOX.a.1 0\r\n\r\n", UnitKind::Request),
            (b"hpub a _INBOX.a.2 12 13\r\nNATS/1.0\r\n\r\nv\r\n", UnitKind::Request),
            (b"HPUB a 12 13\r\nNATS/1.0\r\n\r\nv\r\n", UnitKind::Oneway),
        ] {
            let shown = String::from_utf8_lossy(sample);
            let read = |bytes: &[u8]| Nats::default().request(bytes);
            assert_eq!(read(sample), Ok(Some(Unit { len: sample.len(), kind })), "{shown}");
            for cut in 0..sample.len() {
                assert_eq!(read(&sample[..cut]), Ok(None), "{shown} at {cut}");
            }
            let followed = [sample, &b"PING\r\n"[..]].concat();
            assert_eq!(read(&followed), Ok(Some(Unit { len: sample.len(), kind })));
        }
        assert_eq!(Nats::default().request(b"\x16\x03\x01\r\n"), Err(Unparsed));
        assert_eq!(Nats::default().request(b"PUB a b\r\n"), Err(Unparsed));
        assert_eq!(Nats::default().request(b"PUB a 18446744073709551615\r\n"), Err(Unparsed));
    }

    #[test]
    fn a_reply_is_the_message_on_the_reply_subject_and_no_other() {
        let mut nats = Nats::default();
        nats.request(b"PUB a _INBOX.a.1 0\r\n\r\n").unwrap();
        for (bytes, kind) in [
            (&b"INFO {}\r\n"[..], PieceKind::Push),
            (b"PONG\r\n", PieceKind::Push),
            (b"-ERR 'Permissions Violation'\r\n", PieceKind::Push),
            (b"MSG news 2 2\r\nhi\r\n", PieceKind::Push),
            (b"MSG _INBOX.a.1 1 2\r\nhi\r\n", PieceKind::EndOf(0)),
            (b"MSG _INBOX.a.1 1 2\r\nhi\r\n", PieceKind::Push),
        ] {
            let piece = nats.reply(bytes).unwrap().unwrap();
            assert_eq!((piece.len, piece.kind), (bytes.len(), kind), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
