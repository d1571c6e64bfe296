//! PostgreSQL, protocol version 3.

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

#[derive(Debug, Default)]
pub(super) struct Postgres {
    state: State,
}

#[derive(Debug, Default, PartialEq)]
enum State {
    /// The next packet from the client has no type byte.
    #[default]
    Start,
    /// The client asked for encryption; the server answers with one bare byte.
    Asked,
    /// Login; over at the first `ReadyForQuery`.
    Login,
    Ready,
    /// Encrypted from here on: nothing can be read.
    Opaque,
}

impl Framing for Postgres {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        match self.state {
            State::Start => {
                let (Some(len), Some(code)) = (number(bytes, 0), number(bytes, 4)) else {
                    return Ok(None);
                };
                let Some(len) = complete(bytes, len as usize)? else {
                    return Ok(None);
                };
                let asks = matches!(code, SSL_REQUEST | GSS_REQUEST);
                self.state = if asks { State::Asked } else { State::Login };
                Ok(Some(Unit { len, kind: UnitKind::Raw }))
            }
            // A client that waits for the bare byte sends nothing; passwords and the like are not ours to lose.
            State::Asked | State::Login => Ok(message(bytes)?.map(|(_, len)| Unit { len, kind: UnitKind::Raw })),
            State::Ready => batch(bytes),
            State::Opaque => Ok((!bytes.is_empty()).then_some(Unit { len: bytes.len(), kind: UnitKind::Raw })),
        }
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        let Some(first) = bytes.first() else {
            return Ok(None);
        };
        match self.state {
            State::Asked => {
                self.state = if *first == b'N' { State::Start } else { State::Opaque };
                Ok(Some(Piece { len: 1, kind: PieceKind::Push }))
            }
            State::Opaque => Ok(Some(Piece { len: bytes.len(), kind: PieceKind::Push })),
            State::Start | State::Login | State::Ready => {
                let Some((kind, len)) = message(bytes)? else {
                    return Ok(None);
                };
                let kind = match kind {
                    b'Z' if self.state != State::Ready => {
                        self.state = State::Ready;
                        PieceKind::Push
                    }
                    _ if self.state != State::Ready => PieceKind::Push,
                    b'Z' => PieceKind::End,
                    // Notifications, settings and notices come at any time.
                    b'A' | b'S' | b'N' => PieceKind::Push,
                    _ => PieceKind::Part,
                };
                Ok(Some(Piece { len, kind }))
            }
        }
    }
}

/// Everything up to a Query, a `FunctionCall` or a Sync. Copy data, Flush and Terminate have no `ReadyForQuery` of
/// their own and pass at once, because the client may wait for what they bring.
fn batch(bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
    let mut at = 0;
    while let Some((kind, len)) = message(&bytes[at..])? {
        at += len;
        match kind {
            b'Q' | b'F' | b'S' => {
                return Ok(Some(Unit { len: at, kind: UnitKind::Request }));
            }
            b'd' | b'c' | b'f' | b'H' | b'X' => {
                return Ok(Some(Unit { len: at, kind: UnitKind::Raw }));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Type and full length of the first message, once it is complete.
fn message(bytes: &[u8]) -> Result<Option<(u8, usize)>, Unparsed> {
    let (Some(kind), Some(len)) = (bytes.first(), number(bytes, 1)) else {
        return Ok(None);
    };
    Ok(complete(bytes, len as usize + 1)?.map(|len| (*kind, len)))
}

fn complete(bytes: &[u8], len: usize) -> Result<Option<usize>, Unparsed> {
    if !(4..=1 << 30).contains(&len) {
        return Err(Unparsed);
    }
    Ok((bytes.len() >= len).then_some(len))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    #[test]
    fn login_passes_and_batches_end_at_sync() {
        let mut postgres = Postgres::default();
        let ssl = [8_u32.to_be_bytes(), SSL_REQUEST.to_be_bytes()].concat();
        assert_eq!(postgres.request(&ssl), Ok(Some(Unit { len: 8, kind: UnitKind::Raw })));
        assert_eq!(postgres.reply(b"N"), Ok(Some(Piece { len: 1, kind: PieceKind::Push })));
        let start = [9_u32.to_be_bytes().as_slice(), &196_608_u32.to_be_bytes(), &[0]].concat();
        assert_eq!(postgres.request(&start), Ok(Some(Unit { len: 9, kind: UnitKind::Raw })));
        let ready = packet(b'Z', b"I");
        assert_eq!(postgres.reply(&ready), Ok(Some(Piece { len: 6, kind: PieceKind::Push })));

        let batch = [packet(b'P', b"s\0SELECT 1\0\0\0"), packet(b'D', b"Ss\0"), packet(b'S', b"")].concat();
        for cut in 0..batch.len() {
            assert_eq!(postgres.request(&batch[..cut]), Ok(None));
        }
        assert_eq!(postgres.request(&batch), Ok(Some(Unit { len: batch.len(), kind: UnitKind::Request })));
        assert_eq!(postgres.reply(&packet(b'1', b"")), Ok(Some(Piece { len: 5, kind: PieceKind::Part })));
        assert_eq!(postgres.reply(&packet(b'A', b"note")), Ok(Some(Piece { len: 9, kind: PieceKind::Push })));
        assert_eq!(postgres.reply(&ready), Ok(Some(Piece { len: 6, kind: PieceKind::End })));
        assert_eq!(postgres.request(&packet(b'X', b"")), Ok(Some(Unit { len: 5, kind: UnitKind::Raw })));
    }
}
