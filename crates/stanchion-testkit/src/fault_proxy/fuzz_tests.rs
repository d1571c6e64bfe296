//! Mutated conversations: a codec never panics, never hands out more than there is, makes progress, and does not change its mind when more bytes come.

use super::framing::Protocol;
use crate::fuzz::Target;

const SAMPLES: &[(Protocol, &[&[u8]])] = &[
    (
        Protocol::Resp,
        &[
            b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n+OK\r\n",
            b"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n",
            b"%1\r\n+k\r\n*2\r\n_\r\n#t\r\n|1\r\n+ttl\r\n:5\r\n$-1\r\n>1\r\n+x\r\n",
            b"PING\r\n",
        ],
    ),
    (
        Protocol::Postgres,
        &[
            b"\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x09\0\x03\0\0\0",
            b"\0\0\0\x09\0\x03\0\0\0Q\0\0\0\x0dSELECT 1\0P\0\0\0\x08s\0\0\0S\0\0\0\x04",
            b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IC\0\0\0\x06a\0",
        ],
    ),
    (
        Protocol::Http,
        &[
            b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            b"HEAD / HTTP/1.1\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        ],
    ),
    (Protocol::ZooKeeper, &[b"\0\0\0\x08\0\0\0\0abcd\0\0\0\x08\0\0\0\x01\0\0\0\x0b"]),
    (
        Protocol::Nats,
        &[
            b"CONNECT {}\r\nPUB a _INBOX.a.1 2\r\nhi\r\nHPUB a b 12 13\r\nNATS/1.0\r\n\r\nv\r\n",
            b"INFO {}\r\nMSG _INBOX.a.1 1 2\r\nhi\r\nPONG\r\n",
        ],
    ),
    (
        Protocol::Grpc,
        &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x05\0\x01\0\0\0\x01\0\0\0\0\0", b"\0\0\x01\x01\x05\0\0\0\x01a"],
    ),
    (
        Protocol::Mysql,
        &[
            b"\x20\0\0\x01\x85\xa6\xff\x01\0\0\0\x01\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0\x03SELECT 1",
            b"\x07\0\0\x02\0\0\0\x02\0\0\0\x01\0\0\x01\x01\x02\0\0\x02ab\x05\0\0\x03\xfe\0\0\x02\0",
        ],
    ),
];

/// Where the pieces of a conversation end, in both directions; `None` where more would be needed.
fn ends(protocol: Protocol, bytes: &[u8], of_client: bool) -> Result<Vec<usize>, String> {
    let (mut framing, mut at, mut ends) = (protocol.framing(), 0, Vec::new());
    while at < bytes.len() {
        let rest = &bytes[at..];
        let read = match of_client {
            true => framing.request(rest).map(|unit| unit.map(|unit| unit.len)),
            false => framing.reply(rest).map(|piece| piece.map(|piece| piece.len)),
        };
        match read {
            Ok(Some(len)) if len == 0 || len > rest.len() => {
                return Err(format!("{protocol:?}: {len} of {} bytes at {at}", rest.len()));
            }
            Ok(Some(len)) => at += len,
            Ok(None) | Err(_) => break,
        }
        ends.push(at);
    }
    Ok(ends)
}

#[test]
fn mutated_conversations_break_no_codec() {
    let seeds: Vec<Vec<u8>> = SAMPLES
        .iter()
        .enumerate()
        .flat_map(|(nth, (_, samples))| samples.iter().map(move |sample| [&[nth as u8][..], sample].concat()))
        .collect();
    Target { name: "codecs", seeds, is_text: false }.run(|input| {
        let Some((which, bytes)) = input.split_first() else { return Ok(()) };
        let protocol = SAMPLES[usize::from(*which) % SAMPLES.len()].0;
        for of_client in [true, false] {
            let all = ends(protocol, bytes, of_client)?;
            // Whatever was whole with fewer bytes is the same with more.
            let cut = bytes.len() / 2;
            let fewer = ends(protocol, &bytes[..cut], of_client)?;
            let opaque = |ends: &[usize], len: usize| ends.last() == Some(&len);
            if !all.starts_with(&fewer) && !opaque(&fewer, cut) {
                return Err(format!("{protocol:?}, client {of_client}: {fewer:?} of {cut} bytes, {all:?} of all"));
            }
        }
        Ok(())
    });
}
