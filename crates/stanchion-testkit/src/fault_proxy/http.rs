//! HTTP/1.1.

use std::collections::VecDeque;

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed, after, end_of};

#[derive(Debug, Default)]
pub(super) struct Http {
    /// For each unanswered request, whether it was HEAD: its reply names a length but has no body.
    heads: VecDeque<bool>,
    body: Body,
}

/// What of the current reply is still to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Body {
    #[default]
    None,
    Bytes(usize),
    Chunks,
    UntilClose,
}

impl Framing for Http {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        let Some(head) = after(bytes, 0, b"\r\n\r\n") else {
            return Ok(None);
        };
        let len = match body_of(&bytes[..head])? {
            Body::Chunks => chunks_end(bytes, head)?,
            Body::Bytes(length) => {
                let end = head.checked_add(length).ok_or(Unparsed)?;
                (bytes.len() >= end).then_some(end)
            }
            Body::None | Body::UntilClose => Some(head),
        };
        if len.is_some() {
            self.heads.push_back(bytes.starts_with(b"HEAD "));
        }
        Ok(len.map(|len| Unit { len, kind: UnitKind::Request }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        match self.body {
            Body::None => self.head(bytes),
            Body::UntilClose => Ok(Some(Piece { len: bytes.len(), kind: PieceKind::Part })),
            Body::Bytes(left) => {
                let len = left.min(bytes.len());
                Ok(Some(self.part(len, if left > len { Body::Bytes(left - len) } else { Body::None })))
            }
            Body::Chunks => {
                Ok(chunk(bytes, 0)?.map(|(len, last)| self.part(len, if last { Body::None } else { Body::Chunks })))
            }
        }
    }
}

impl Http {
    fn head(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        let Some(len) = after(bytes, 0, b"\r\n\r\n") else {
            return Ok(None);
        };
        let status = bytes.get(9..12).ok_or(Unparsed)?;
        if status[0] == b'1' {
            // "100 Continue" and its kin come before the reply proper.
            return Ok(Some(Piece { len, kind: PieceKind::Push }));
        }
        let to_head = self.heads.pop_front().unwrap_or(false);
        let body = match body_of(&bytes[..len])? {
            _ if to_head || status == b"204" || status == b"304" => Body::None,
            Body::Bytes(0) => Body::None,
            Body::None => Body::UntilClose,
            body => body,
        };
        Ok(Some(self.part(len, body)))
    }

    fn part(&mut self, len: usize, rest: Body) -> Piece {
        self.body = rest;
        Piece { len, kind: if rest == Body::None { PieceKind::End } else { PieceKind::Part } }
    }
}

fn body_of(head: &[u8]) -> Result<Body, Unparsed> {
    let text = std::str::from_utf8(head).map_err(|_| Unparsed)?;
    let mut body = Body::None;
    for line in text.split("\r\n").skip(1) {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("transfer-encoding") && value.to_ascii_lowercase().contains("chunked") {
            return Ok(Body::Chunks);
        }
        if name.eq_ignore_ascii_case("content-length") {
            body = Body::Bytes(value.trim().parse().map_err(|_| Unparsed)?);
        }
    }
    Ok(body)
}

/// The end of the chunk at `at`, and whether it is the last one with its trailer.
fn chunk(bytes: &[u8], at: usize) -> Result<Option<(usize, bool)>, Unparsed> {
    let Some(line_end) = after(bytes, at, b"\r\n") else {
        return Ok(None);
    };
    let line = std::str::from_utf8(&bytes[at..line_end]).map_err(|_| Unparsed)?;
    let digits = line.split(';').next().unwrap_or_default().trim();
    let size = usize::from_str_radix(digits, 16).map_err(|_| Unparsed)?;
    if size > 0 {
        let end = end_of(line_end, size)?;
        return Ok((bytes.len() >= end).then_some((end, false)));
    }
    // The trailer ends with an empty line; without trailer fields that is the very next one.
    Ok(after(bytes, line_end - 2, b"\r\n\r\n").map(|end| (end, true)))
}

fn chunks_end(bytes: &[u8], mut at: usize) -> Result<Option<usize>, Unparsed> {
    while let Some((end, last)) = chunk(bytes, at)? {
        if last {
            return Ok(Some(end));
        }
        at = end;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_with_their_body() {
        let samples = [
            "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-trailer: 1\r\n\r\n",
        ];
        for sample in samples {
            for cut in 0..sample.len() {
                assert_eq!(Http::default().request(&sample.as_bytes()[..cut]), Ok(None), "{sample:?} at {cut}");
            }
            let followed = format!("{sample}GET ");
            let unit = Unit { len: sample.len(), kind: UnitKind::Request };
            assert_eq!(Http::default().request(followed.as_bytes()), Ok(Some(unit)), "{sample:?}");
        }
        for huge in
            ["content-length: 18446744073709551615\r\n\r\n", "transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n"]
        {
            let request = format!("POST / HTTP/1.1\r\n{huge}");
            assert_eq!(Http::default().request(request.as_bytes()), Err(Unparsed), "{huge}");
        }
    }

    #[test]
    fn replies_stream_and_end_once() {
        let mut http = Http::default();
        http.request(b"HEAD / HTTP/1.1\r\n\r\n").unwrap();
        let ended = |http: &mut Http, text: &str| {
            let (mut at, mut ends) = (0, 0);
            while let Some(piece) = http.reply(&text.as_bytes()[at..]).unwrap() {
                at += piece.len;
                ends += usize::from(piece.kind == PieceKind::End);
            }
            assert_eq!(at, text.len());
            ends
        };
        assert_eq!(ended(&mut http, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"), 1);
        assert_eq!(ended(&mut http, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"), 1);
        assert_eq!(
            ended(
                &mut http,
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
            ),
            2
        );
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
        assert_eq!(ended(&mut http, chunked), 1);
        assert_eq!(ended(&mut http, "HTTP/1.1 200 OK\r\n\r\nuntil the end"), 0);
    }
}
