//! JSON-RPC, a message a line.

use std::collections::VecDeque;

use serde_json::Value;

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed, after};

#[derive(Debug, Default)]
pub(super) struct JsonRpc {
    /// The ids of unanswered requests, oldest first.
    open: VecDeque<Value>,
}

/// What a message is.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request(Value),
    Notification,
    Answer(Value),
}

impl Message {
    pub(super) fn of(bytes: &[u8]) -> Option<Message> {
        let Ok(Value::Object(mut members)) = serde_json::from_slice(bytes) else { return None };
        let id = members.remove("id").filter(|id| !id.is_null());
        match (members.contains_key("method"), id) {
            (true, Some(id)) => Some(Message::Request(id)),
            (true, None) => Some(Message::Notification),
            (false, id) => id.map(Message::Answer),
        }
    }
}

impl Framing for JsonRpc {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        let Some(len) = after(bytes, 0, b"\n") else { return Ok(None) };
        let kind = match Message::of(&bytes[..len]) {
            Some(Message::Request(id)) => {
                self.open.push_back(id);
                UnitKind::Request
            }
            Some(Message::Notification) => UnitKind::Oneway,
            Some(Message::Answer(_)) | None => UnitKind::Raw,
        };
        Ok(Some(Unit { len, kind }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        let Some(len) = after(bytes, 0, b"\n") else { return Ok(None) };
        let place = match Message::of(&bytes[..len]) {
            Some(Message::Answer(id)) => self.open.iter().position(|open| *open == id),
            _ => None,
        };
        let kind = place.map_or(PieceKind::Push, |place| {
            self.open.remove(place);
            PieceKind::EndOf(place)
        });
        Ok(Some(Piece { len, kind }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n";
    const OTHER: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}\n";

    fn piece(rpc: &mut JsonRpc, text: &str) -> PieceKind {
        let piece = rpc.reply(text.as_bytes()).unwrap().unwrap();
        assert_eq!(piece.len, text.len());
        piece.kind
    }

    #[test]
    fn answers_are_known_by_their_id_in_any_order() {
        let mut rpc = JsonRpc::default();
        for (call, cut) in [(CALL, 7), (OTHER, 20)] {
            assert_eq!(rpc.request(&call[..cut]), Ok(None));
            assert_eq!(rpc.request(call), Ok(Some(Unit { len: call.len(), kind: UnitKind::Request })));
        }
        assert_eq!(piece(&mut rpc, "{\"method\":\"notifications/progress\"}\n"), PieceKind::Push);
        assert_eq!(piece(&mut rpc, "{\"id\":\"1\",\"result\":{}}\n"), PieceKind::EndOf(1));
        assert_eq!(piece(&mut rpc, "{\"id\":\"1\",\"result\":{}}\n"), PieceKind::Push);
        assert_eq!(piece(&mut rpc, "{\"id\":1,\"error\":{}}\n"), PieceKind::EndOf(0));
    }

    #[test]
    fn what_is_no_request_awaits_no_answer() {
        let mut rpc = JsonRpc::default();
        for (line, kind) in [
            ("{\"method\":\"notifications/initialized\"}\n", UnitKind::Oneway),
            ("{\"id\":5,\"result\":{}}\n", UnitKind::Raw),
            ("no json\n", UnitKind::Raw),
        ] {
            assert_eq!(rpc.request(line.as_bytes()), Ok(Some(Unit { len: line.len(), kind })), "{line}");
        }
        assert_eq!(piece(&mut rpc, "{\"id\":5,\"method\":\"sampling/createMessage\"}\n"), PieceKind::Push);
    }
}
