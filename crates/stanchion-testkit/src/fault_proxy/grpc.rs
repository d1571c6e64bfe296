//! gRPC without TLS: HTTP/2 frames.
//!
//! A request is the data frame that ends its stream, which the client must send in one piece; its reply ends with the
//! trailers. Streams that stay open pass untouched.

use std::collections::VecDeque;

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

#[derive(Debug, Default)]
pub(super) struct Grpc {
    greeted: bool,
    /// Unanswered requests, oldest first; `true` when the reply has already passed, out of turn.
    open: VecDeque<(u32, bool)>,
    /// The reply that ends with the header block that is being sent.
    ending: Option<u32>,
}

struct Frame {
    len: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

fn frame(bytes: &[u8]) -> Option<Frame> {
    let head = bytes.get(..HEAD)?;
    let len = HEAD + usize::from(head[0]) * 0x1_0000 + usize::from(head[1]) * 0x100 + usize::from(head[2]);
    let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
    (bytes.len() >= len).then_some(Frame { len, kind: head[3], flags: head[4], stream })
}

impl Framing for Grpc {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        if !self.greeted {
            if !PREFACE.starts_with(&bytes[..bytes.len().min(PREFACE.len())]) {
                return Err(Unparsed);
            }
            self.greeted = bytes.len() >= PREFACE.len();
            return Ok(self.greeted.then_some(Unit { len: PREFACE.len(), kind: UnitKind::Raw }));
        }
        let Some(frame) = frame(bytes) else { return Ok(None) };
        if frame.kind == DATA && frame.flags & END_STREAM != 0 && frame.len > HEAD {
            self.open.push_back((frame.stream, false));
            return Ok(Some(Unit { len: frame.len, kind: UnitKind::Request }));
        }
        Ok(Some(Unit { len: frame.len, kind: UnitKind::Raw }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        // Answered out of turn: its place in the order is given up now.
        if self.open.front().is_some_and(|(_, passed)| *passed) {
            self.open.pop_front();
            return Ok(Some(Piece { len: 0, kind: PieceKind::End }));
        }
        let Some(frame) = frame(bytes) else { return Ok(None) };
        let ends = match frame.kind {
            RESET => true,
            DATA => frame.flags & END_STREAM != 0,
            HEADERS if frame.flags & END_STREAM != 0 => {
                self.ending = (frame.flags & END_HEADERS == 0).then_some(frame.stream);
                self.ending.is_none()
            }
            CONTINUATION if frame.flags & END_HEADERS != 0 => self.ending.take() == Some(frame.stream),
            _ => false,
        };
        let kind = match self.open.iter().position(|(stream, _)| *stream == frame.stream) {
            Some(0) if ends => {
                self.open.pop_front();
                PieceKind::End
            }
            Some(0) => PieceKind::Part,
            Some(at) => {
                self.open[at].1 |= ends;
                PieceKind::Push
            }
            None => PieceKind::Push,
        };
        Ok(Some(Piece { len: frame.len, kind }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, u8::try_from(body.len()).unwrap(), kind, flags, 0, 0, 0, stream];
        bytes.extend(body);
        bytes
    }

    fn units(grpc: &mut Grpc, bytes: &[u8]) -> Vec<UnitKind> {
        let (mut at, mut kinds) = (0, Vec::new());
        while let Some(unit) = grpc.request(&bytes[at..]).unwrap() {
            at += unit.len;
            kinds.push(unit.kind);
        }
        assert_eq!(at, bytes.len());
        kinds
    }

    fn pieces(grpc: &mut Grpc, bytes: &[u8]) -> Vec<PieceKind> {
        let (mut at, mut kinds) = (0, Vec::new());
        while let Some(piece) = grpc.reply(&bytes[at..]).unwrap() {
            at += piece.len;
            kinds.push(piece.kind);
        }
        assert_eq!(at, bytes.len());
        kinds
    }

    fn greeted() -> Grpc {
        let mut grpc = Grpc::default();
        for cut in 0..PREFACE.len() {
            assert_eq!(grpc.request(&PREFACE[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(units(&mut grpc, PREFACE), [UnitKind::Raw]);
        grpc
    }

    fn call(stream: u8) -> Vec<u8> {
        [frame(HEADERS, END_HEADERS, stream, b"path"), frame(DATA, END_STREAM, stream, b"message")].concat()
    }

    #[test]
    fn a_call_ends_with_its_data_and_its_reply_with_the_trailers() {
        let mut grpc = greeted();
        assert_eq!(units(&mut grpc, &call(1)), [UnitKind::Raw, UnitKind::Request]);
        let reply = [
            frame(4, 0, 0, b"settings"),
            frame(HEADERS, END_HEADERS, 1, b"200"),
            frame(DATA, 0, 1, b"answer"),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, b"status"),
        ];
        for cut in 0..reply[1].len() {
            assert_eq!(grpc.reply(&reply[1][..cut]), Ok(None), "{cut}");
        }
        let kinds = pieces(&mut grpc, &reply.concat());
        assert_eq!(kinds, [PieceKind::Push, PieceKind::Part, PieceKind::Part, PieceKind::End]);
    }

    #[test]
    fn a_stream_that_stays_open_belongs_to_nobody() {
        let mut grpc = greeted();
        let watch = [frame(HEADERS, END_HEADERS, 1, b"path"), frame(DATA, 0, 1, b"watch")].concat();
        assert_eq!(units(&mut grpc, &watch), [UnitKind::Raw, UnitKind::Raw]);
        units(&mut grpc, &call(3));
        let told = [frame(HEADERS, END_HEADERS, 1, b"200"), frame(DATA, 0, 1, b"event")].concat();
        assert_eq!(pieces(&mut grpc, &told), [PieceKind::Push, PieceKind::Push]);
        assert_eq!(pieces(&mut grpc, &frame(RESET, 0, 3, b"code")), [PieceKind::End]);
    }

    #[test]
    fn a_reply_out_of_turn_keeps_the_order_of_the_others() {
        let mut grpc = greeted();
        units(&mut grpc, &[call(1), call(3), call(5)].concat());
        let trailers = |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, b"status");
        assert_eq!(pieces(&mut grpc, &trailers(3)), [PieceKind::Push]);
        assert_eq!(pieces(&mut grpc, &trailers(1)), [PieceKind::End, PieceKind::End], "its own, and that of 3");
        assert_eq!(pieces(&mut grpc, &trailers(5)), [PieceKind::End]);
    }

    #[test]
    fn what_is_not_http2_is_not_read() {
        assert_eq!(Grpc::default().request(b"GET / HTTP/1.1"), Err(Unparsed));
    }
}
