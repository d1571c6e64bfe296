//! Where messages begin and end, for each protocol.

use super::{grpc, http, json_rpc, mcp, mysql, nats, postgres, resp, zookeeper};

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
    /// ZooKeeper without TLS. Handshakes, pings and notifications pass untouched.
    ZooKeeper,
    /// NATS without TLS. A request is a message with a reply subject; what comes on other subjects passes untouched.
    Nats,
    /// gRPC without TLS. A request is one message in one frame; streams pass untouched.
    Grpc,
    /// JSON-RPC, a message a line, as MCP over stdio. Answers may come in any order: they are known by their id.
    JsonRpc,
    /// MCP over HTTP/1.1. A request is a POST with a JSON-RPC request; its reply is the answer of that id, also in a
    /// stream of events, where what comes before it passes untouched. So does everything else.
    Mcp,
    /// MySQL and MariaDB without TLS and compression. A request is a command; a reply ends with the last of its results.
    Mysql,
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
    /// Is the whole reply to an unanswered request that others may be older than; 0 is the oldest.
    EndOf(usize),
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
    /// Whether a request may be sent twice on one connection. A stream of gRPC that has ended takes no more: there a
    /// request that is to be doubled passes once.
    pub(super) fn can_double(self) -> bool {
        self != Protocol::Grpc
    }

    pub(super) fn framing(self) -> Box<dyn Framing> {
        match self {
            Protocol::Resp => Box::<resp::Resp>::default(),
            Protocol::Postgres => Box::<postgres::Postgres>::default(),
            Protocol::Http => Box::<http::Http>::default(),
            Protocol::ZooKeeper => Box::<zookeeper::ZooKeeper>::default(),
            Protocol::Nats => Box::<nats::Nats>::default(),
            Protocol::Grpc => Box::<grpc::Grpc>::default(),
            Protocol::JsonRpc => Box::<json_rpc::JsonRpc>::default(),
            Protocol::Mcp => Box::<mcp::Mcp>::default(),
            Protocol::Mysql => Box::<mysql::Mysql>::default(),
        }
    }
}

/// Where something of this length ends: what no memory holds is no length.
pub(super) fn end_of(from: usize, length: usize) -> Result<usize, Unparsed> {
    from.checked_add(length).and_then(|end| end.checked_add(2)).ok_or(Unparsed)
}

/// The position after the first `needle` at or after `from`.
pub(super) fn after(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(needle.len()).position(|window| window == needle).map(|at| from + at + needle.len())
}
