//! Where messages begin and end, for each protocol.

use super::{http, postgres, resp};

/// The protocol that a proxy reads.
///
/// ```
/// use stanchion_testkit::{FaultProxy, Protocol};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
/// let proxy = FaultProxy::start(upstream, Protocol::Http).await; // where an HTTP server listens
/// assert_ne!(proxy.addr(), upstream);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Redis and Valkey, RESP2 and RESP3. Subscription messages pass untouched; `CLIENT REPLY OFF` and `MONITOR` are
    /// not understood.
    Resp,
    /// PostgreSQL version 3 without TLS. A request is a simple query, or everything up to a Sync.
    Postgres,
    /// HTTP/1.1 with lengths or chunks.
    Http,
}

/// A complete piece of what a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) len: usize,
    pub(super) kind: UnitKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// The plan decides; one reply follows.
    Request,
    /// The plan decides; no reply of its own follows.
    Oneway,
    /// Part of the connection's mechanics: passed without asking.
    Raw,
}

/// A complete piece of what a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) len: usize,
    pub(super) kind: PieceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Belongs to the oldest unanswered request; more follows.
    Part,
    /// Ends the reply to the oldest unanswered request.
    End,
    /// Belongs to no request: always delivered.
    Push,
}

/// Not valid in the protocol; the bytes are passed as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unparsed;

/// One connection's state. `Ok(None)` asks for more bytes.
pub(super) trait Framing: Send {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed>;
    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed>;
}

impl Protocol {
    pub(super) fn framing(self) -> Box<dyn Framing> {
        match self {
            Protocol::Resp => Box::<resp::Resp>::default(),
            Protocol::Postgres => Box::<postgres::Postgres>::default(),
            Protocol::Http => Box::<http::Http>::default(),
        }
    }
}

/// The position after the first `needle` at or after `from`.
pub(super) fn after(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(needle.len()).position(|window| window == needle).map(|at| from + at + needle.len())
}
