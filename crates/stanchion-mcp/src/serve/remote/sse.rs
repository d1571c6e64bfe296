//! Server-sent events, cut into pieces and never rewritten: ids, comments, retry lines and line ends stay as they are.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};

/// A stream of events, as its bytes come in.
#[derive(Debug)]
pub(super) struct Events {
    held: BytesMut,
    /// Where the line begins that is not whole yet.
    line: usize,
    /// Up to where it has been searched for its end.
    searched: usize,
    /// A carriage return ended the last line; a line feed that follows is its second half.
    after_cr: bool,
    most: usize,
}

/// One event with the empty line behind it, or something between events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece(pub(super) Bytes);

/// An event is over the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    pub(super) fn new(most: usize) -> Self {
        Self { held: BytesMut::new(), line: 0, searched: 0, after_cr: false, most }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next piece that is whole. A comment between events is one: it is there to be seen at once.
    ///
    /// # If it fails
    /// What is held is no whole event and over the limit.
    pub(super) fn next(&mut self) -> Result<Option<Piece>, TooLong> {
        if self.after_cr && self.held.len() > self.line {
            self.after_cr = false;
            if self.held[self.line] == b'\n' {
                if self.line == 0 {
                    return Ok(Some(self.cut(1)));
                }
                self.line += 1;
                self.searched = self.line;
            }
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', &self.held[self.searched..]).map(|at| self.searched + at) {
            let is_cr = self.held[end] == b'\r';
            let next = end + if is_cr && self.held.get(end + 1) == Some(&b'\n') { 2 } else { 1 };
            self.after_cr = is_cr && next == end + 1 && next == self.held.len();
            let (is_blank, is_comment) = (end == self.line, self.line == 0 && self.held[0] == b':');
            if is_blank || is_comment {
                return Ok(Some(self.cut(next)));
            }
            (self.line, self.searched) = (next, next);
        }
        self.searched = self.held.len();
        if self.held.len() > self.most { Err(TooLong) } else { Ok(None) }
    }

    /// What is left when the stream has ended.
    pub(super) fn rest(&mut self) -> Option<Piece> {
        let len = self.held.len();
        (len > 0).then(|| self.cut(len))
    }

    fn cut(&mut self, at: usize) -> Piece {
        (self.line, self.searched) = (0, 0);
        Piece(self.held.split_to(at).freeze())
    }
}

impl Piece {
    /// A message as an event of our own.
    pub(super) fn of(message: &str) -> Self {
        let mut out = Vec::with_capacity(message.len() + 24);
        out.extend_from_slice(b"event: message\n");
        data_lines(&mut out, message, b"\n");
        out.push(b'\n');
        Self(out.into())
    }

    /// The same with the empty line behind it that its stream has broken off before: without, a client does not take it.
    pub(super) fn closed(&self) -> Self {
        let mut out = self.0.to_vec();
        // A line feed alone behind a carriage return would be its second half.
        out.extend_from_slice(if out.ends_with(b"\n") { b"\n" } else { b"\n\n" });
        Self(out.into())
    }

    /// The message it carries; `None` for other events, and for what is no event.
    pub(super) fn message(&self) -> Option<Cow<'_, str>> {
        let mut data: Option<Cow<'_, str>> = None;
        for field in self.fields() {
            match field.name {
                b"event" if !matches!(field.value, b"" | b"message") => return None,
                b"data" => {
                    let value = std::str::from_utf8(field.value).ok()?;
                    data = Some(match data {
                        None => value.into(),
                        Some(before) => {
                            let mut lines = before.into_owned();
                            lines.push('\n');
                            lines.push_str(value);
                            lines.into()
                        }
                    });
                }
                _ => {}
            }
        }
        data.filter(|data| !data.trim_ascii().is_empty())
    }

    /// Its id, from which the stream can be taken up again. An empty one takes it back.
    pub(super) fn id(&self) -> Option<String> {
        self.last(b"id").filter(|id| !id.contains('\0'))
    }

    /// After how many milliseconds the server wants to be asked again.
    pub(super) fn retry(&self) -> Option<u64> {
        self.last(b"retry")?.parse().ok()
    }

    fn last(&self, name: &[u8]) -> Option<String> {
        let field = self.fields().filter(|field| field.name == name).last()?;
        String::from_utf8(field.value.to_vec()).ok()
    }

    /// The same event with another message.
    pub(super) fn with_message(&self, message: &str) -> Self {
        let mut out = Vec::with_capacity(self.0.len() + message.len());
        let mut told = false;
        for field in self.fields() {
            if field.name != b"data" {
                out.extend_from_slice(field.line);
                out.extend_from_slice(field.ending);
            } else if !told {
                told = true;
                data_lines(&mut out, message, field.ending);
            }
        }
        Self(out.into())
    }

    fn fields(&self) -> Fields<'_> {
        Fields { rest: &self.0 }
    }
}

fn data_lines(out: &mut Vec<u8>, message: &str, ending: &[u8]) {
    // Between the tokens of a message, any of these is the same.
    for line in message.split(['\n', '\r']) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(if ending.is_empty() { b"\n" } else { ending });
    }
}

/// One line, with how it ends.
#[derive(Debug)]
struct Field<'a> {
    line: &'a [u8],
    ending: &'a [u8],
    name: &'a [u8],
    value: &'a [u8],
}

#[derive(Debug)]
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr2(b'\n', b'\r', self.rest).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        let ending = if rest.starts_with(b"\r\n") { 2 } else { rest.len().min(1) };
        let (ending, rest) = rest.split_at(ending);
        self.rest = rest;
        let bare = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        let (name, value) = match memchr::memchr(b':', bare) {
            Some(at) => (&bare[..at], &bare[at + 1..]),
            None => (bare, &b""[..]),
        };
        Some(Field { line, ending, name, value: value.strip_prefix(b" ").unwrap_or(value) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to cut the bytes in two gives the same events, and all bytes in their order.
    fn pieces(stream: &str) -> Vec<String> {
        let cut = |at: usize| {
            let mut events = Events::new(1 << 20);
            let mut out = Vec::new();
            for part in [&stream[..at], &stream[at..]] {
                events.push(part.as_bytes());
                while let Some(piece) = events.next().unwrap() {
                    out.push(piece);
                }
            }
            out.extend(events.rest());
            let bytes: Vec<u8> = out.iter().flat_map(|piece| piece.0.to_vec()).collect();
            assert_eq!(bytes, stream.as_bytes(), "cut at {at}");
            out.iter().filter_map(|piece| piece.message().map(Cow::into_owned)).collect::<Vec<_>>()
        };
        let whole = cut(0);
        for at in 1..stream.len() {
            assert_eq!(cut(at), whole, "cut at {at} of {stream:?}");
        }
        whole
    }

    #[test]
    fn events_are_the_same_however_they_come_in() {
        assert_eq!(pieces("data: 1\n\ndata:2\n\n"), ["1", "2"]);
        assert_eq!(pieces("data: 1\r\n\r\ndata: 2\r\n\r\n"), ["1", "2"]);
        assert_eq!(pieces("data: 1\r\rdata: 2\r\r"), ["1", "2"]);
        assert_eq!(pieces(": hello\n\nid: 7\nretry: 5\nevent: message\ndata: {\ndata: }\n\n: bye\n"), ["{\n}"]);
        assert_eq!(pieces("event: ping\ndata: 1\n\nid: 3\ndata:\n\ndata: last"), ["last"]);
    }

    #[test]
    fn only_the_message_of_an_event_is_replaced() {
        let piece =
            Piece(Bytes::from_static(b": c\r\nid: 7\r\ndata: {\r\nevent: message\r\ndata: }\r\nretry: 9\r\n\r\n"));
        let other = piece.with_message("{\"a\":1}");
        assert_eq!(&*other.0, b": c\r\nid: 7\r\ndata: {\"a\":1}\r\nevent: message\r\nretry: 9\r\n\r\n");
        assert_eq!((other.id().as_deref(), other.retry()), (Some("7"), Some(9)));
        assert_eq!(Piece::of("{\n}").message().unwrap(), "{\n}");
    }

    #[test]
    fn an_event_that_was_broken_off_is_closed() {
        for (open, closed) in
            [("data: 1", "data: 1\n\n"), ("data: 1\r\n", "data: 1\r\n\n"), ("data: 1\r", "data: 1\r\n\n")]
        {
            assert_eq!(&*Piece(Bytes::from_static(open.as_bytes())).closed().0, closed.as_bytes());
            assert_eq!(pieces(closed), ["1"]);
        }
    }

    #[test]
    fn an_event_without_an_end_is_not_held_for_ever() {
        let mut events = Events::new(10);
        events.push(b"data: 12345678");
        assert_eq!(events.next(), Err(TooLong));
        let mut events = Events::new(10);
        events.push(b"data: 12345678\n\n");
        assert!(events.next().is_ok_and(|piece| piece.is_some()));
    }
}
