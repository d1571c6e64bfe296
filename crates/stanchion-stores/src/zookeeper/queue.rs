//! The line of a key in the engine: entries made, read and deleted.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future;
use stanchion_core::pause::pause_point;
use stanchion_core::{Acquire, Error, ErrorKind, FencingToken, Grant, Key, Owner, Released, Result, Wait, contended};
use tokio::time::Instant;
use zookeeper_client::{self as zk, CreateMode, MultiReadResult};

use super::fault::Fault;
use super::link::{Link, Session};
use super::seats::{Ahead, Seat, Seats};
use super::sessions::Sessions;
use super::store::{Node, Store, node, read_all};
use crate::line::{Card, Entry, Lift, Standing, Wake, holder, standing};

/// Making an entry: the container above it may be missing, or vanish in between.
const ROUNDS: usize = 8;

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) store: Arc<Store>,
    pub(super) sessions: Sessions,
    pub(super) seats: Seats,
}

/// The names in a line, and what is added to fences.
struct Glance {
    names: Vec<String>,
    lift: Lifting,
}

/// The lift with its version. Always read **after** who is in line: a lock's next holder is granted when its server shows
/// the last one's entry deleted, and whatever that one had raised before is there then. Read before, it could be from
/// before the last holder's raise, and the next fence would be lower than the last.
#[derive(Clone, Copy)]
struct Lifting {
    lift: Lift,
    version: i32,
}

impl Lifting {
    fn read(node: Node) -> Result<Self, Fault> {
        let (data, stat) = node.ok_or(Fault::Refused(zk::Error::NoNode))?;
        Ok(Self { lift: Lift::decode(&data).ok_or(Fault::Garbled)?, version: stat.version })
    }
}

/// An attempt that ends before its time leaves nothing behind.
struct Entering<'q> {
    queue: &'q Queue,
    key: &'q Key,
    owner: Owner,
    armed: bool,
}

impl Drop for Entering<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.queue.seats.deadlines.set(self.key, self.owner, Instant::now());
        }
    }
}

impl Queue {
    pub(super) fn error(&self, fault: Fault, key: &Key, writes: bool) -> Error {
        self.store.error(fault, writes).with("key", key)
    }

    pub(super) async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let sent = Instant::now();
        let session = self.seats.session(owner).unwrap_or_else(|| self.sessions.of(req.ttl));
        let link = session.link().await.map_err(|fault| self.error(fault, &req.key, false))?;
        if link.sure() < req.ttl {
            return Err(too_long(req, link.sure()));
        }
        let seat = self.seats.enter(&req.key, owner, sent + req.ttl, &session).map_err(|()| {
            Error::new(ErrorKind::Unavailable, "the last attempt of this owner is being taken back")
                .with("key", &req.key)
        })?;
        let mut entering = Entering { queue: self, key: &req.key, owner, armed: seat.is_none() };
        let answer = self.attempt(req, owner, seat, &session, &link).await;
        match &answer {
            Ok(_) => {
                entering.armed = false;
                // A wait may have asked for longer.
                self.seats.deadlines.set(&req.key, owner, sent + req.ttl);
            }
            // It waits; or it may hold, and asking again tells.
            Err(e) if e.kind() == ErrorKind::Contended || e.kind() == ErrorKind::OutcomeUnknown => {
                entering.armed = false
            }
            Err(_) => {}
        }
        answer
    }

    async fn attempt(
        &self,
        req: &Acquire,
        owner: Owner,
        seat: Option<Seat>,
        session: &Arc<Session>,
        link: &Arc<Link>,
    ) -> Result<Grant> {
        let key = &req.key;
        // An entry of an earlier session is not ours any more.
        let mut seat = seat.filter(|seat| seat.number == link.session());
        for _ in 0..ROUNDS {
            let fail = |fault| self.error(fault, key, true);
            let fresh = match &seat {
                Some(_) => None,
                None => match self.make(session, link, req, owner).await.map_err(fail)? {
                    Some(made) => Some(made),
                    None => continue,
                },
            };
            let (glance, made) = match fresh {
                Some((glance, made)) => (glance, made),
                None => (self.glance(session, link, key, true).await.map_err(fail)?, None),
            };
            let name = owner.to_hex();
            let (line, lifting) = match (made, glance.names.as_slice()) {
                (Some(order), [only]) if *only == name => (vec![Entry { order, card: card(req, owner) }], glance.lift),
                _ => {
                    pause_point("zookeeper.line-glanced").await;
                    self.line(session, link, key, &glance, Some(owner)).await.map_err(fail)?
                }
            };
            let granted = seat.as_ref().and_then(|seat| seat.granted);
            match standing(key, &line, owner) {
                Ok(Standing::Absent) => {
                    // Evicted, or still there from an earlier session.
                    self.delete(session, link, key, owner).await.map_err(fail)?;
                    seat = None;
                }
                Ok(Standing::Granted(entry)) => {
                    let token = match granted {
                        Some(token) => token,
                        None => self.token(session, link, req, entry, lifting).await?,
                    };
                    self.sit(owner, session, link, Some(token), Ahead::Nobody);
                    return Ok(Grant::new(key.clone(), owner, token, req.mode, req.ttl));
                }
                Ok(Standing::Behind { first, wake }) => {
                    let refusal = contended(key, Some(holder(first, lifting.lift)));
                    if req.wait == Wait::No {
                        self.give_up(session, link, key, owner).await?;
                        return Err(refusal);
                    }
                    self.sit(owner, session, link, None, self.ahead(key, &line, owner, wake));
                    return Err(refusal);
                }
                Err(refusal) => {
                    self.give_up(session, link, key, owner).await?;
                    return Err(refusal);
                }
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the nodes of this lock vanish while it is taken").with("key", key))
    }

    fn sit(&self, owner: Owner, session: &Arc<Session>, link: &Link, granted: Option<FencingToken>, ahead: Ahead) {
        let seat = Seat { session: Arc::clone(session), number: link.session(), granted, ahead };
        self.seats.sit(owner, seat);
    }

    fn ahead(&self, key: &Key, line: &[Entry], owner: Owner, wake: Wake) -> Ahead {
        let before = || line.iter().take_while(|entry| entry.card.owner != owner);
        match wake {
            Wake::Leaves(order) => before()
                .find(|entry| entry.order == order)
                .map_or(Ahead::Nobody, |entry| Ahead::One(self.store.names.entry(key, entry.card.owner))),
            Wake::AnyLeaves => Ahead::Any(before().map(|entry| entry.card.owner.to_hex()).collect()),
        }
    }

    /// Makes the entry and glances at the line behind it, in one trip. Everybody before us is seen there, because our own
    /// server answers the glance after it has the entry. Without an order if the entry was there already; `None` when the
    /// container had to be made first.
    async fn make(
        &self,
        session: &Session,
        link: &Arc<Link>,
        req: &Acquire,
        owner: Owner,
    ) -> Result<Option<(Glance, Option<u64>)>, Fault> {
        let names = &self.store.names;
        let acls = self.store.options().acls();
        let (path, text) = (names.entry(&req.key, owner), card(req, owner).encode());
        let made = link.client.create(&path, text.as_bytes(), &CreateMode::Ephemeral.with_acls(acls));
        let glance = self.glance(session, link, &req.key, false);
        let both = async { Ok::<_, Fault>(future::join(made, glance).await) };
        let (made, glance) = session.ask(link, both).await?;
        match made {
            Ok((stat, _)) => Ok(Some((glance?, Some(order(stat.czxid)?)))),
            Err(zk::Error::NodeExists) => Ok(Some((self.glance(session, link, &req.key, true).await?, None))),
            Err(zk::Error::NoNode) => {
                let container = CreateMode::Container.with_acls(acls);
                match session.ask(link, link.client.create(&names.line(&req.key), b"", &container)).await {
                    Err(fault) if fault.is(&zk::Error::NoNode) => self.store.found().await?,
                    Err(fault) if !fault.is(&zk::Error::NodeExists) => return Err(fault),
                    _ => {}
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn glance(&self, session: &Session, link: &Arc<Link>, key: &Key, sync: bool) -> Result<Glance, Fault> {
        let names = &self.store.names;
        let path = names.line(key);
        let synced = sync.then(|| link.client.sync(&path));
        let answers = {
            let mut reader = link.client.new_multi_reader();
            reader.add_get_children(&path)?;
            reader.add_get_data(&names.lift)?;
            reader.commit()
        };
        let synced = async {
            match synced {
                Some(synced) => synced.await,
                None => Ok(()),
            }
        };
        let mut answers = session.ask(link, future::try_join(synced, answers)).await?.1.into_iter();
        let names = match answers.next() {
            Some(MultiReadResult::Children { children }) => children,
            Some(MultiReadResult::Error { err: zk::Error::NoNode }) => Vec::new(),
            Some(MultiReadResult::Error { err }) => return Err(err.into()),
            _ => return Err(Fault::Garbled),
        };
        Ok(Glance { names, lift: Lifting::read(answers.next().map(node).transpose()?.flatten())? })
    }

    /// The entries of these names that are still there, in order; and the lift, read after the last of them.
    ///
    /// Our own counts only if it was made in this session: the entry of an earlier one is on its way out.
    async fn line(
        &self,
        session: &Session,
        link: &Arc<Link>,
        key: &Key,
        glance: &Glance,
        own: Option<Owner>,
    ) -> Result<(Vec<Entry>, Lifting), Fault> {
        let line = self.store.names.line(key);
        let paths: Vec<String> = glance.names.iter().map(|name| format!("{line}/{name}")).collect();
        let (mut entries, mut lifting) = (Vec::with_capacity(paths.len()), glance.lift);
        for piece in paths.chunks(256) {
            // A server reads them one after the other, so the lift comes last.
            let piece: Vec<&str> = piece.iter().chain([&self.store.names.lift]).map(String::as_str).collect();
            let mut nodes = read_all(session, link, &piece, None).await?;
            lifting = Lifting::read(nodes.pop().flatten())?;
            for (data, stat) in nodes.into_iter().flatten() {
                let Some(card) = Card::decode(&data) else { continue };
                if own != Some(card.owner) || stat.ephemeral_owner == link.session() {
                    entries.push(Entry { order: order(stat.czxid)?, card });
                }
            }
        }
        entries.sort_by_key(|entry| entry.order);
        Ok((entries, lifting))
    }

    /// The fence of a granted entry, above the floor.
    async fn token(
        &self,
        session: &Session,
        link: &Arc<Link>,
        req: &Acquire,
        entry: &Entry,
        lifting: Lifting,
    ) -> Result<FencingToken> {
        let Lifting { mut lift, mut version } = lifting;
        let fail = |fault| self.error(fault, &req.key, true);
        for _ in 0..ROUNDS {
            let Some(higher) = lift.above(req.floor, entry.order)? else { return Ok(lift.token(entry)) };
            let path = &self.store.names.lift;
            let raised = link.client.set_data(path, higher.encode().as_bytes(), Some(version));
            match session.ask(link, raised).await {
                Ok(_) => return Ok(higher.token(entry)),
                Err(fault) if fault.is(&zk::Error::BadVersion) => {
                    let now = self.glance(session, link, &req.key, true).await.map_err(fail)?;
                    Lifting { lift, version } = now.lift;
                }
                Err(fault) => return Err(fail(fault)),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the floor of the fences changes too fast").with("key", &req.key))
    }

    /// Deletes the entry of an attempt that is refused.
    async fn give_up(&self, session: &Session, link: &Arc<Link>, key: &Key, owner: Owner) -> Result<()> {
        match self.delete(session, link, key, owner).await {
            Ok(_) => {
                self.seats.forget(owner);
                Ok(())
            }
            Err(fault) => {
                // The refusal is certain; the entry is deleted in the background.
                tracing::debug!(%key, ?fault, "a refused entry is deleted later");
                self.seats.deadlines.set(key, owner, Instant::now());
                Ok(())
            }
        }
    }

    pub(super) async fn delete(
        &self,
        session: &Session,
        link: &Arc<Link>,
        key: &Key,
        owner: Owner,
    ) -> Result<Released, Fault> {
        let path = self.store.names.entry(key, owner);
        match session.ask(link, link.client.delete(&path, None)).await {
            Ok(()) => Ok(Released::Released),
            Err(fault) if fault.is(&zk::Error::NoNode) => Ok(Released::NotHeld),
            Err(fault) => Err(fault),
        }
    }

    /// The line as it is now, seen in the plain session.
    pub(super) async fn seen(&self, key: &Key) -> Result<(Arc<Link>, Vec<Entry>, Lift), Fault> {
        let session = &self.store.session;
        let link = session.link().await?;
        let glance = self.glance(session, &link, key, true).await?;
        let (line, lifting) = self.line(session, &link, key, &glance, None).await?;
        Ok((link, line, lifting.lift))
    }

    /// Takes out an owner that nobody keeps any more.
    pub(super) async fn take_out(&self, key: &Key, owner: Owner) {
        if !self.seats.leave(owner) {
            return;
        }
        let session = self.seats.session(owner);
        let session = session.as_deref().unwrap_or(&self.store.session);
        let deleted = async {
            let link = session.link().await?;
            self.delete(session, &link, key, owner).await
        };
        let again = match deleted.await {
            Ok(_) => None,
            Err(fault) if !may_go_later(&fault) => None,
            Err(fault) => {
                tracing::debug!(%key, ?fault, "an entry that nobody keeps is deleted later");
                Some(Instant::now() + Duration::from_millis(500))
            }
        };
        self.seats.left(key, owner, again);
    }
}

/// Whether a delete that failed is worth another try. We may not delete what we may not make either; every other refusal,
/// such as that of a server with too much to do, says nothing about the entry, which would stay as long as this process.
fn may_go_later(fault: &Fault) -> bool {
    !fault.is(&zk::Error::NoAuth) && !fault.is(&zk::Error::NoNode)
}

fn card(req: &Acquire, owner: Owner) -> Card {
    Card { owner, mode: req.mode, identity: req.identity.clone() }
}

fn order(czxid: i64) -> Result<u64, Fault> {
    u64::try_from(czxid).map_err(|_| Fault::Garbled)
}

fn too_long(req: &Acquire, sure: Duration) -> Error {
    Error::new(ErrorKind::Invalid, "the ttl is longer than this server keeps a silent session")
        .with("key", &req.key)
        .with("ttl", format_args!("{:?}", req.ttl))
        .with("longest", format_args!("{sure:?}"))
        .hint("ask for a shorter ttl (it is renewed as long as you hold the lock), or raise maxSessionTimeout of the servers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stays_on_the_list_unless_it_cannot_be_there() {
        for error in [zk::Error::NoAuth, zk::Error::NoNode] {
            assert!(!may_go_later(&error.into()));
        }
        for error in [zk::Error::Throttled, zk::Error::NotReadOnly, zk::Error::QuotaExceeded, zk::Error::ConnectionLoss]
        {
            assert!(may_go_later(&Fault::from(error)));
        }
    }
}
