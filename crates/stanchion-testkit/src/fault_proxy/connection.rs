//! One client and its server: two pumps and a queue of what each coming reply is in for.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};

use super::framing::{Framing, PieceKind, UnitKind};
use super::plan::{Fault, Message};
use super::{Control, Shared};

/// What happens to the next reply.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Deliver,
    Delay(Duration),
    /// Swallowed: the answer to the second copy of a duplicated request.
    Drop,
    /// Swallowed, and the connection is cut.
    Lose,
    /// No reply is awaited; the connection is cut as soon as this fate is next.
    Cut,
}

/// How a connection ended.
enum End {
    Closed,
    Reset,
}

struct Link {
    number: u64,
    shared: Arc<Shared>,
    framing: Mutex<Box<dyn Framing>>,
}

/// A connection that is not over yet.
struct Open {
    number: u64,
    shared: Arc<Shared>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.open().remove(&self.number);
    }
}

pub(super) async fn run(client: TcpStream, number: u64, shared: Arc<Shared>) {
    let control = shared.control.subscribe();
    let cuts = {
        // Under the same lock as a cut, which meets this connection or comes before it.
        let mut open = shared.open();
        open.insert(number);
        control.borrow().cuts
    };
    // Dropped last: both sockets are closed by then.
    let _open = Open { number, shared: Arc::clone(&shared) };
    serve(client, number, shared, control, cuts).await;
}

async fn serve(client: TcpStream, number: u64, shared: Arc<Shared>, mut control: watch::Receiver<Control>, cuts: u64) {
    let mut stalled = shared.control.subscribe();
    let ended = async {
        pass_blackhole(&mut stalled).await;
        let server = TcpStream::connect(shared.upstream).await?;
        // Faults are placed to the millisecond; the kernel must not add its own delays.
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        Ok::<_, io::Error>((client, server))
    };
    let (client, server) = tokio::select! {
        connected = ended => match connected {
            Ok(pair) => pair,
            Err(_) => return,
        },
        _ = control.wait_for(|control| control.cuts != cuts || control.closed) => return,
    };
    let framing = Mutex::new(shared.protocol.framing());
    let link = Link { number, shared, framing };
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let (fates, coming) = mpsc::unbounded_channel();
    let mut requests = std::pin::pin!(link.requests(client_read, server_write, fates));
    let mut replies = std::pin::pin!(link.replies(server_read, client_write, coming));
    let mut reading = true;
    loop {
        tokio::select! {
            end = &mut requests, if reading => match end {
                Ok(End::Closed) => reading = false,
                Ok(End::Reset) | Err(_) => return,
            },
            _ = &mut replies => return,
            _ = control.wait_for(|control| control.cuts != cuts || control.closed) => return,
        }
    }
}

async fn pass_blackhole(control: &mut watch::Receiver<Control>) {
    // The sender lives as long as the connection's `Shared`.
    control.wait_for(|control| !control.blackhole).await.ok();
}

impl Link {
    /// Client to server. Ends as `Closed` when nothing more will be sent, while replies may still be on their way.
    async fn requests(
        &self,
        mut client: OwnedReadHalf,
        mut server: OwnedWriteHalf,
        fates: mpsc::UnboundedSender<Fate>,
    ) -> io::Result<End> {
        let mut control = self.shared.control.subscribe();
        let mut buffer = BytesMut::with_capacity(8 * 1024);
        let mut index = 0;
        loop {
            let Some((bytes, kind)) = self.next_unit(&mut buffer) else {
                if client.read_buf(&mut buffer).await? == 0 {
                    server.write_all(&buffer).await?;
                    server.shutdown().await?;
                    return Ok(End::Closed);
                }
                continue;
            };
            pass_blackhole(&mut control).await;
            if kind == UnitKind::Raw {
                server.write_all(&bytes).await?;
                continue;
            }
            let fault = self.decide(index, &bytes);
            index += 1;
            if let Fault::Delay(wait) = fault {
                self.shared.count(|counts| counts.delayed += 1);
                tokio::time::sleep(wait).await;
            }
            let copies: &[Fate] = match (fault, kind) {
                (Fault::Reset, _) => {
                    self.shared.count(|counts| counts.resets += 1);
                    client.as_ref().set_zero_linger()?;
                    return Ok(End::Reset);
                }
                (Fault::LoseRequest, _) => {
                    self.shared.count(|counts| counts.lost_requests += 1);
                    fates.send(Fate::Cut).ok();
                    return park(server).await;
                }
                (Fault::Duplicate, _) if !self.shared.protocol.can_double() => &[Fate::Deliver],
                (Fault::Duplicate, UnitKind::Request) => &[Fate::Deliver, Fate::Drop],
                (Fault::Duplicate, _) => &[Fate::Deliver, Fate::Deliver],
                (Fault::LoseReply, _) => &[Fate::Lose],
                (Fault::DelayReply(wait), _) => &[Fate::Delay(wait)],
                (Fault::Deliver | Fault::Delay(_), _) => &[Fate::Deliver],
            };
            // Every count comes before the bytes that reveal it, so that a client which got an answer finds it counted.
            self.shared.count(|counts| counts.duplicated += u64::from(copies.len() > 1));
            for (copy, fate) in copies.iter().enumerate() {
                // Queued before the bytes leave, so that no reply can arrive without its fate.
                if kind == UnitKind::Request {
                    fates.send(*fate).ok();
                }
                if copy > 0 {
                    // Its reply is awaited, too. What is whole once is whole twice.
                    self.framing.lock().unwrap_or_else(PoisonError::into_inner).request(&bytes).ok();
                }
                server.write_all(&bytes).await?;
            }
            if fault == Fault::LoseReply {
                if kind == UnitKind::Oneway {
                    fates.send(Fate::Cut).ok();
                }
                // What the client sent behind it is lost with the connection, so that a run does not depend on timing.
                return park(server).await;
            }
        }
    }

    /// Server to client. Ends when the connection is over.
    async fn replies(
        &self,
        mut server: OwnedReadHalf,
        mut client: OwnedWriteHalf,
        mut fates: mpsc::UnboundedReceiver<Fate>,
    ) -> io::Result<()> {
        let mut control = self.shared.control.subscribe();
        let mut buffer = BytesMut::with_capacity(8 * 1024);
        // What the unanswered requests are in for, oldest first.
        let mut waiting: VecDeque<Fate> = VecDeque::new();
        let mut open = true;
        loop {
            take_all(&mut fates, &mut waiting);
            if matches!(waiting.front(), Some(Fate::Cut)) {
                return Ok(());
            }
            let Some((bytes, kind)) = self.next_piece(&mut buffer) else {
                tokio::select! {
                    read = server.read_buf(&mut buffer) => if read? == 0 {
                        if !matches!(waiting.front(), Some(Fate::Lose | Fate::Drop)) {
                            client.write_all(&buffer).await?;
                        }
                        return client.shutdown().await;
                    },
                    fate = fates.recv(), if open => match fate {
                        Some(fate) => waiting.push_back(fate),
                        None => open = false,
                    },
                }
                continue;
            };
            pass_blackhole(&mut control).await;
            // The queue may have been filled while we waited for these bytes.
            take_all(&mut fates, &mut waiting);
            let (place, ends) = match kind {
                PieceKind::Push => (None, false),
                PieceKind::Part => (Some(0), false),
                PieceKind::End => (Some(0), true),
                PieceKind::EndOf(place) => (Some(place), true),
            };
            let fate = place.and_then(|place| waiting.get(place).copied()).unwrap_or(Fate::Deliver);
            if let (Fate::Delay(wait), Some(place)) = (fate, place) {
                tokio::time::sleep(wait).await;
                self.shared.count(|counts| counts.delayed_replies += 1);
                waiting[place] = Fate::Deliver;
            }
            match fate {
                Fate::Deliver | Fate::Delay(_) => {
                    self.shared.count(|counts| counts.replies += u64::from(ends));
                    client.write_all(&bytes).await?;
                }
                Fate::Lose if ends => {
                    self.shared.count(|counts| counts.lost_replies += 1);
                    return Ok(());
                }
                Fate::Lose | Fate::Drop | Fate::Cut => {}
            }
            if let (Some(place), true) = (place, ends) {
                waiting.remove(place);
            }
        }
    }

    fn decide(&self, index: u64, bytes: &Bytes) -> Fault {
        let mut number = 0;
        self.shared.count(|counts| {
            number = counts.requests;
            counts.requests += 1;
        });
        let message = Message { connection: self.number, index, number, bytes: bytes.clone() };
        self.shared.plan().decide(&message)
    }

    fn next_unit(&self, buffer: &mut BytesMut) -> Option<(Bytes, UnitKind)> {
        let mut framing = self.framing.lock().unwrap_or_else(PoisonError::into_inner);
        match framing.request(buffer) {
            Ok(unit) => unit.map(|unit| (buffer.split_to(unit.len).freeze(), unit.kind)),
            Err(_) => Some((self.unparsed(buffer), UnitKind::Raw)),
        }
    }

    fn next_piece(&self, buffer: &mut BytesMut) -> Option<(Bytes, PieceKind)> {
        let mut framing = self.framing.lock().unwrap_or_else(PoisonError::into_inner);
        match framing.reply(buffer) {
            Ok(piece) => piece.map(|piece| (buffer.split_to(piece.len).freeze(), piece.kind)),
            Err(_) => Some((self.unparsed(buffer), PieceKind::Push)),
        }
    }

    fn unparsed(&self, buffer: &mut BytesMut) -> Bytes {
        self.shared.count(|counts| counts.unparsed += 1);
        buffer.split().freeze()
    }
}

fn take_all(fates: &mut mpsc::UnboundedReceiver<Fate>, waiting: &mut VecDeque<Fate>) {
    waiting.extend(std::iter::from_fn(|| fates.try_recv().ok()));
}

/// Keeps the way to the server open until the other pump ends the connection: closing it now would look like a client
/// that went away, and some servers then drop the request that they were to execute.
async fn park(_server: OwnedWriteHalf) -> io::Result<End> {
    std::future::pending().await
}
