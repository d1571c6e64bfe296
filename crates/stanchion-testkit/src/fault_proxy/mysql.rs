//! The MySQL protocol, as MySQL and MariaDB speak it: packets of a 3-byte length and a sequence number.

use std::collections::VecDeque;

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed};

const CLIENT_SSL: u32 = 1 << 11;
const CLIENT_DEPRECATE_EOF: u32 = 1 << 24;
const MORE_RESULTS: u16 = 8;
/// A packet of this length is continued in the next one.
const FULL: usize = 0xff_ffff;

const QUIT: u8 = 0x01;
const PREPARE: u8 = 0x16;
const LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;

#[derive(Debug, Default)]
pub(super) struct Mysql {
    state: State,
    /// Result sets end with an OK packet instead of an EOF packet, and columns with nothing.
    without_eof: bool,
    /// The commands that have no reply yet.
    unanswered: VecDeque<u8>,
    next: Next,
}

#[derive(Debug, Default, PartialEq)]
enum State {
    /// The server speaks first, and the client answers with what it can.
    #[default]
    Greeting,
    /// Passwords and challenges, until the server says OK.
    Login,
    Ready,
    /// Encrypted from here on: nothing can be read.
    Opaque,
}

/// What of the current reply comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Next {
    /// An OK, an error, or the number of columns.
    #[default]
    Result,
    /// So many descriptions of columns, then rows.
    Columns(usize),
    /// The EOF behind the columns.
    ColumnsEnd,
    Rows,
    /// So many packets of a prepared statement.
    Prepared(usize),
}

impl Framing for Mysql {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        if self.state == State::Opaque {
            return Ok((!bytes.is_empty()).then_some(Unit { len: bytes.len(), kind: UnitKind::Raw }));
        }
        let Some((payload, len)) = packet(bytes) else {
            return Ok(None);
        };
        if self.state != State::Ready {
            if self.state == State::Greeting {
                let flags = payload.get(..4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
                let flags = flags.ok_or(Unparsed)?;
                self.without_eof = flags & CLIENT_DEPRECATE_EOF != 0;
                // Asking for encryption is a greeting that is cut short.
                let asks = flags & CLIENT_SSL != 0 && payload.len() == 32;
                self.state = if asks { State::Opaque } else { State::Login };
            }
            return Ok(Some(Unit { len, kind: UnitKind::Raw }));
        }
        let command = *payload.first().ok_or(Unparsed)?;
        let kind = match command {
            QUIT => UnitKind::Raw,
            LONG_DATA | CLOSE => UnitKind::Oneway,
            _ => {
                self.unanswered.push_back(command);
                UnitKind::Request
            }
        };
        Ok(Some(Unit { len, kind }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        if self.state == State::Opaque {
            return Ok((!bytes.is_empty()).then_some(Piece { len: bytes.len(), kind: PieceKind::Push }));
        }
        let Some((payload, len)) = packet(bytes) else {
            return Ok(None);
        };
        if self.state != State::Ready {
            if self.state == State::Login && payload.first() == Some(&0) {
                self.state = State::Ready;
            }
            return Ok(Some(Piece { len, kind: PieceKind::Push }));
        }
        let Some(command) = self.unanswered.front().copied() else {
            // The last word of a server that ends the connection by itself.
            return Ok(Some(Piece { len, kind: PieceKind::Push }));
        };
        let (next, ends) = self.step(command, payload)?;
        self.next = next;
        if ends {
            self.unanswered.pop_front();
        }
        Ok(Some(Piece { len, kind: if ends { PieceKind::End } else { PieceKind::Part } }))
    }
}

impl Mysql {
    /// What follows this packet of a reply, and whether it was the last.
    fn step(&self, command: u8, payload: &[u8]) -> Result<(Next, bool), Unparsed> {
        let first = *payload.first().ok_or(Unparsed)?;
        let short = payload.len() < FULL;
        let after = |more: bool| (Next::Result, !more);
        Ok(match (self.next, first) {
            (_, 0xff) => after(false),
            (Next::Result, 0x00) if command == PREPARE => {
                let count =
                    |at: usize| payload.get(at..at + 2).map(|two| usize::from(two[0]) | usize::from(two[1]) << 8);
                let (columns, parameters) = count(5).zip(count(7)).ok_or(Unparsed)?;
                let ends = if self.without_eof { 0 } else { usize::from(columns > 0) + usize::from(parameters > 0) };
                match columns + parameters + ends {
                    0 => after(false),
                    left => (Next::Prepared(left), false),
                }
            }
            (Next::Result, 0x00) => after(ok_status(payload).ok_or(Unparsed)? & MORE_RESULTS != 0),
            (Next::Result, 0xfe) if payload.len() < 9 => after(false),
            // LOCAL INFILE turns the conversation around.
            (Next::Result, 0xfb) => return Err(Unparsed),
            (Next::Result, _) => {
                let (columns, used) = number(payload).ok_or(Unparsed)?;
                // MariaDB says whether the descriptions follow, if the client said that it remembers them.
                let follow = payload.get(used).is_none_or(|follow| *follow != 0);
                (if follow { Next::Columns(columns) } else { Next::Rows }, false)
            }
            (Next::Columns(left), _) if left > 1 => (Next::Columns(left - 1), false),
            (Next::Columns(_), _) => (if self.without_eof { Next::Rows } else { Next::ColumnsEnd }, false),
            (Next::ColumnsEnd, _) => (Next::Rows, false),
            (Next::Rows, 0xfe) if short && self.without_eof => {
                after(ok_status(payload).ok_or(Unparsed)? & MORE_RESULTS != 0)
            }
            (Next::Rows, 0xfe) if payload.len() < 9 => {
                let status = payload.get(3..5).and_then(|two| two.try_into().ok()).map(u16::from_le_bytes);
                after(status.ok_or(Unparsed)? & MORE_RESULTS != 0)
            }
            (Next::Rows, _) => (Next::Rows, false),
            (Next::Prepared(left), _) if left > 1 => (Next::Prepared(left - 1), false),
            (Next::Prepared(_), _) => after(false),
        })
    }
}

/// The status of an OK packet: header, two numbers, status.
fn ok_status(payload: &[u8]) -> Option<u16> {
    let mut rest = payload.get(1..)?;
    for _ in 0..2 {
        rest = rest.get(number(rest)?.1..)?;
    }
    Some(u16::from_le_bytes(rest.get(..2)?.try_into().ok()?))
}

/// A length-encoded number, and how many bytes it took.
fn number(bytes: &[u8]) -> Option<(usize, usize)> {
    let width = match *bytes.first()? {
        small @ 0..=0xfa => return Some((usize::from(small), 1)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let digits = bytes.get(1..=width)?;
    Some((digits.iter().rev().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), width + 1))
}

/// The payload of the first packet and the full length of it and its continuations, once they are complete.
fn packet(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let mut at = 0;
    loop {
        let head = bytes.get(at..at + 4)?;
        let len = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
        at += 4 + len;
        if bytes.len() < at {
            return None;
        }
        if len < FULL {
            let first = bytes.len().min(4 + FULL).min(at);
            return Some((&bytes[4..first], at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        let len = u32::try_from(payload.len()).unwrap().to_le_bytes();
        [&len[..3], &[sequence], payload].concat()
    }

    /// A client that has logged in.
    fn ready(flags: u32) -> Mysql {
        let mut mysql = Mysql::default();
        let raw = |len| Ok(Some(Unit { len, kind: UnitKind::Raw }));
        let push = |len| Ok(Some(Piece { len, kind: PieceKind::Push }));
        let greeting = packet(0, b"\x0a10.11\0");
        assert_eq!(mysql.reply(&greeting), push(greeting.len()));
        let answer = packet(1, &[&flags.to_le_bytes()[..], &[0; 40]].concat());
        for cut in 0..answer.len() {
            assert_eq!(mysql.request(&answer[..cut]), Ok(None));
        }
        assert_eq!(mysql.request(&answer), raw(answer.len()));
        let switch = packet(2, b"\xfemysql_native_password\0");
        assert_eq!(mysql.reply(&switch), push(switch.len()));
        let secret = packet(3, b"0123");
        assert_eq!(mysql.request(&secret), raw(secret.len()));
        let ok = packet(4, &[0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(mysql.reply(&ok), push(ok.len()));
        mysql
    }

    fn kinds(mysql: &mut Mysql, payloads: &[&[u8]]) -> Vec<PieceKind> {
        payloads.iter().map(|payload| mysql.reply(&packet(1, payload)).unwrap().unwrap().kind).collect()
    }

    #[test]
    fn a_reply_ends_with_the_last_of_its_results() {
        use PieceKind::{End, Part, Push};
        let mut mysql = ready(CLIENT_DEPRECATE_EOF);
        let query = packet(0, b"\x03UPDATE a; SELECT 1");
        assert_eq!(mysql.request(&query), Ok(Some(Unit { len: query.len(), kind: UnitKind::Request })));
        let more: &[u8] = &[0, 1, 0, 0x0a, 0, 0, 0];
        let last: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
        assert_eq!(kinds(&mut mysql, &[more, b"\x01", b"def", b"\x011", last]), [Part, Part, Part, Part, End]);
        assert_eq!(kinds(&mut mysql, &[b"\xff\x1d\x04 going away"]), [Push], "nobody asked");

        assert_eq!(mysql.request(&query).unwrap().unwrap().kind, UnitKind::Request);
        assert_eq!(kinds(&mut mysql, &[more, b"\xff\x26\x04#23000dup"]), [Part, End], "an error ends all of it");
        assert_eq!(mysql.request(&packet(0, &[QUIT])).unwrap().unwrap().kind, UnitKind::Raw);
    }

    #[test]
    fn older_result_sets_end_with_eof_packets() {
        use PieceKind::{End, Part};
        let mut mysql = ready(0);
        mysql.request(&packet(0, b"\x03SELECT 1")).unwrap();
        let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
        assert_eq!(kinds(&mut mysql, &[b"\x01", b"def", eof, b"\x011", eof]), [Part, Part, Part, Part, End]);
    }

    #[test]
    fn prepared_statements_have_descriptions() {
        use PieceKind::{End, Part};
        let mut mysql = ready(CLIENT_DEPRECATE_EOF);
        mysql.request(&packet(0, b"\x16SELECT ?")).unwrap();
        let prepared: &[u8] = &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
        assert_eq!(kinds(&mut mysql, &[prepared, b"parameter", b"column"]), [Part, Part, End]);
        assert_eq!(mysql.request(&packet(0, &[CLOSE, 1, 0, 0, 0])).unwrap().unwrap().kind, UnitKind::Oneway);
    }

    #[test]
    fn a_long_packet_goes_on_in_the_next() {
        let long = [&[0xff, 0xff, 0xff, 0][..], &vec![3; FULL], &[1, 0, 0, 1, 7]].concat();
        assert_eq!(super::packet(&long).map(|(payload, len)| (payload.len(), len)), Some((FULL, long.len())));
        assert_eq!(super::packet(&long[..long.len() - 1]), None);
    }

    #[test]
    fn encrypted_talk_passes_as_it_is() {
        let mut mysql = Mysql::default();
        mysql.reply(&packet(0, b"\x0a10.11\0")).unwrap();
        let asks = packet(1, &[&CLIENT_SSL.to_le_bytes()[..], &[0; 28]].concat());
        assert_eq!(mysql.request(&asks), Ok(Some(Unit { len: 36, kind: UnitKind::Raw })));
        assert_eq!(mysql.request(b"\x16\x03"), Ok(Some(Unit { len: 2, kind: UnitKind::Raw })));
    }
}
