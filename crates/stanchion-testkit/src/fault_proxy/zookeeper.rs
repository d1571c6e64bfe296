//! ZooKeeper: every packet has its length in front.

use super::framing::{Framing, Piece, PieceKind, Unit, UnitKind, Unparsed};

/// Notifications, pings, logins and renewed watches have numbers of their own below zero. They are part of the
/// connection's mechanics, in both directions.
#[derive(Debug, Default)]
pub(super) struct ZooKeeper {
    /// The first packet of each direction is the handshake and has no number.
    asked: bool,
    answered: bool,
}

impl Framing for ZooKeeper {
    fn request(&mut self, bytes: &[u8]) -> Result<Option<Unit>, Unparsed> {
        let Some((len, number)) = packet(bytes)? else { return Ok(None) };
        let numbered = std::mem::replace(&mut self.asked, true);
        let kind = if numbered && number >= 0 { UnitKind::Request } else { UnitKind::Raw };
        Ok(Some(Unit { len, kind }))
    }

    fn reply(&mut self, bytes: &[u8]) -> Result<Option<Piece>, Unparsed> {
        let Some((len, number)) = packet(bytes)? else { return Ok(None) };
        let numbered = std::mem::replace(&mut self.answered, true);
        let kind = if numbered && number >= 0 { PieceKind::End } else { PieceKind::Push };
        Ok(Some(Piece { len, kind }))
    }
}

/// Length and number of the first packet, once it is complete.
fn packet(bytes: &[u8]) -> Result<Option<(usize, i32)>, Unparsed> {
    let Some(len) = int(bytes, 0) else { return Ok(None) };
    let Some(len) = usize::try_from(len).ok().filter(|len| (4..1 << 26).contains(len)) else { return Err(Unparsed) };
    let number = int(bytes, 4).filter(|_| bytes.len() >= len + 4);
    Ok(number.map(|number| (len + 4, number)))
}

fn int(bytes: &[u8], at: usize) -> Option<i32> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(i32::from_be_bytes(four))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: i32, body: &[u8]) -> Vec<u8> {
        let len = i32::try_from(body.len() + 4).unwrap();
        [&len.to_be_bytes()[..], &number.to_be_bytes(), body].concat()
    }

    #[test]
    fn the_handshake_and_what_has_a_negative_number_is_nobodys_request() {
        let mut zookeeper = ZooKeeper::default();
        let hello = packet(0, &[0; 40]);
        assert_eq!(zookeeper.request(&hello), Ok(Some(Unit { len: 48, kind: UnitKind::Raw })));
        assert_eq!(zookeeper.reply(&hello), Ok(Some(Piece { len: 48, kind: PieceKind::Push })));
        let create = packet(1, &[0, 0, 0, 1, 0, 0, 0, 2, b'/', b'a']);
        for cut in 0..create.len() {
            assert_eq!(zookeeper.request(&create[..cut]), Ok(None));
        }
        assert_eq!(zookeeper.request(&create), Ok(Some(Unit { len: 18, kind: UnitKind::Request })));
        for (number, kind) in [(-1, PieceKind::Push), (-2, PieceKind::Push), (-8, PieceKind::Push), (1, PieceKind::End)]
        {
            let reply = packet(number, &[0; 12]);
            assert_eq!(zookeeper.reply(&reply), Ok(Some(Piece { len: 20, kind })), "{number}");
        }
        assert_eq!(zookeeper.request(&packet(-2, &[0, 0, 0, 11])).unwrap().unwrap().kind, UnitKind::Raw);
        assert_eq!(zookeeper.request(b"ruok"), Err(Unparsed), "a four letter word");
    }
}
