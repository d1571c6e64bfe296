//! MCP over HTTP: JSON-RPC in POSTs, answered as JSON or in a stream of events.

use std::collections::VecDeque;

use serde_json::Value;

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed, after};
use super::http::Http;
use super::json_rpc::Message;

#[derive(Debug, Default)]
pub(super) struct Mcp {
    http: Http,
    /// What each unanswered HTTP request asked: the id of a JSON-RPC request, or nothing that has an answer.
    asked: VecDeque<Option<Value>>,
    answer: Answer,
}

/// How far the current HTTP reply is.
#[derive(Debug, Default)]
enum Answer {
    #[default]
    Head,
    /// As HTTP has it: all of it is the answer.
    Whole,
    /// Events; what has come of the one that has not ended.
    Events(Vec<u8>),
    /// Nobody asked, or the answer was among what has come.
    Rest,
}

impl Framing for Mcp {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        let Some(unit) = self.http.request(bytes)? else { return Ok(None) };
        let body = after(bytes, 0, b"\r\n\r\n").and_then(|head| bytes.get(head..unit.len)).unwrap_or_default();
        let id = match Message::of(body) {
            Some(Message::Request(id)) if bytes.starts_with(b"POST ") => Some(id),
            _ => None,
        };
        let kind = if id.is_some() { UnitKind::Request } else { UnitKind::Raw };
        self.asked.push_back(id);
        Ok(Some(Unit { len: unit.len, kind }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        let Some(piece) = self.http.reply(bytes)? else { return Ok(None) };
        if piece.kind == PieceKind::Push {
            return Ok(Some(piece));
        }
        let part = &bytes[..piece.len];
        let id = self.asked.front().cloned().flatten();
        let kind = match (&mut self.answer, id) {
            (Answer::Head, None) => {
                self.answer = Answer::Rest;
                PieceKind::Push
            }
            (Answer::Head, Some(_)) if is_stream(part) => {
                self.answer = Answer::Events(Vec::new());
                PieceKind::Push
            }
            (Answer::Head, Some(_)) => {
                self.answer = Answer::Whole;
                piece.kind
            }
            (Answer::Whole, _) => piece.kind,
            (Answer::Events(event), Some(id)) => {
                event.extend_from_slice(part);
                if is_answer(event, &id) || piece.kind == PieceKind::End {
                    self.answer = Answer::Rest;
                    PieceKind::End
                } else if ends_event(event) {
                    event.clear();
                    PieceKind::Push
                } else {
                    PieceKind::Part
                }
            }
            (Answer::Events(_), None) | (Answer::Rest, _) => PieceKind::Push,
        };
        if piece.kind == PieceKind::End {
            self.asked.pop_front();
            self.answer = Answer::Head;
        }
        Ok(Some(Piece { len: piece.len, kind }))
    }
}

fn is_stream(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    head.lines().any(|line| line.starts_with("content-type:") && line.contains("text/event-stream"))
}

/// Whether one of these chunks has the answer to `id`; an event is a line `data: …` of a chunk, as servers send it.
fn is_answer(chunks: &[u8], id: &Value) -> bool {
    let answers = |line: &[u8]| {
        let data = line.strip_prefix(b"data:").and_then(Message::of);
        data.is_some_and(|message| matches!(message, Message::Answer(of) if of == *id))
    };
    chunks.split(|byte| *byte == b'\n').any(answers)
}

/// An empty line, in front of the end of the chunk.
fn ends_event(chunks: &[u8]) -> bool {
    let text = chunks.strip_suffix(b"\r\n").unwrap_or(chunks);
    text.ends_with(b"\n\n") || text.ends_with(b"\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(body: &str) -> String {
        format!("POST /mcp HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    fn chunk(data: &str) -> String {
        format!("{:x}\r\n{data}\r\n", data.len())
    }

    const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call"}"#;
    const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

    fn kinds(mcp: &mut Mcp, text: &str) -> Vec<PieceKind> {
        let (mut at, mut kinds) = (0, Vec::new());
        while let Some(piece) = mcp.reply(&text.as_bytes()[at..]).unwrap() {
            at += piece.len;
            kinds.push(piece.kind);
        }
        assert_eq!(at, text.len());
        kinds
    }

    fn asks(mcp: &mut Mcp, text: &str) -> UnitKind {
        let unit = mcp.request(text.as_bytes()).unwrap().unwrap();
        assert_eq!(unit.len, text.len());
        unit.kind
    }

    #[test]
    fn only_requests_are_asked_about() {
        let mut mcp = Mcp::default();
        let ok = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(asks(&mut mcp, &post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)), UnitKind::Raw);
        assert_eq!(kinds(&mut mcp, ok), [PieceKind::Push]);
        assert_eq!(asks(&mut mcp, "GET /mcp HTTP/1.1\r\n\r\n"), UnitKind::Raw);
        assert_eq!(kinds(&mut mcp, ok), [PieceKind::Push]);
        assert_eq!(asks(&mut mcp, &post(CALL)), UnitKind::Request);
        let json = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(kinds(&mut mcp, json), [PieceKind::Part, PieceKind::End]);
    }

    #[test]
    fn in_a_stream_only_the_answer_of_that_id_is_the_reply() {
        let mut mcp = Mcp::default();
        for _ in 0..2 {
            assert_eq!(asks(&mut mcp, &post(CALL)), UnitKind::Request);
            let progress = chunk("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n");
            let answer = chunk("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n\n");
            let text = format!("{STREAM}{progress}{answer}0\r\n\r\n");
            let push = PieceKind::Push;
            assert_eq!(kinds(&mut mcp, &text), [push, push, PieceKind::End, push]);
        }
    }

    #[test]
    fn a_stream_that_ends_without_an_answer_ends_the_reply() {
        let mut mcp = Mcp::default();
        asks(&mut mcp, &post(CALL));
        assert_eq!(kinds(&mut mcp, &format!("{STREAM}0\r\n\r\n")), [PieceKind::Push, PieceKind::End]);
    }
}
