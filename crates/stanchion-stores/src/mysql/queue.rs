//! The queue as the row keeps it.

use stanchion_core::Mode;

use super::line::{Held, Line, Waiter};

/// A field's end. Identities hold no control character.
const FIELD: char = '\u{1f}';

impl Line {
    /// Those who share and those who wait, as the row keeps them; `None` without any.
    pub(super) fn encode(&self) -> Option<String> {
        if self.shares.is_empty() && self.waiters.is_empty() {
            return None;
        }
        let mut lines = vec![self.freed.to_string()];
        for s in &self.shares {
            let (owner, mode) = (s.owner.to_hex(), mode_text(s.mode));
            lines.push(format!(
                "s{owner}{FIELD}{mode}{FIELD}{}{FIELD}{}{FIELD}{}{FIELD}{}",
                s.fence, s.since, s.ends, s.identity
            ));
        }
        for w in &self.waiters {
            let (owner, mode) = (w.owner.to_hex(), mode_text(w.mode));
            lines.push(format!(
                "w{owner}{FIELD}{mode}{FIELD}{}{FIELD}{}{FIELD}{}{FIELD}{}",
                w.since, w.seen, w.ear, w.identity
            ));
        }
        Some(lines.join("\n"))
    }

    /// Reads [`encode`](Self::encode) back. `None`: it is damaged.
    pub(super) fn decode(&mut self, text: &str) -> Option<()> {
        let mut lines = text.lines();
        self.freed = lines.next()?.parse().ok()?;
        for line in lines {
            let (kind, rest) = line.split_at_checked(1)?;
            let fields: Vec<&str> = rest.splitn(6, FIELD).collect();
            let [owner, mode, a, b, c, identity] = *fields.as_slice() else { return None };
            let (owner, mode, identity) = (owner.parse().ok()?, mode_of(mode)?, identity.to_owned());
            let (a, b, c) = (a.parse().ok()?, b.parse().ok()?, c.parse().ok()?);
            match kind {
                "s" => self.shares.push(Held { owner, mode, fence: a, since: b, ends: c, identity }),
                "w" => self.waiters.push(Waiter { owner, mode, since: a, seen: b, ear: c, identity }),
                _ => return None,
            }
        }
        Some(())
    }
}

fn mode_text(mode: Mode) -> String {
    match mode {
        Mode::Exclusive => "x".to_owned(),
        Mode::Shared => "r".to_owned(),
        Mode::Slots(n) => n.to_string(),
    }
}

fn mode_of(text: &str) -> Option<Mode> {
    match text {
        "x" => Some(Mode::Exclusive),
        "r" => Some(Mode::Shared),
        n => n.parse().ok().map(Mode::Slots),
    }
}

#[cfg(test)]
mod tests {
    use stanchion_core::Owner;

    use super::super::line::Asked;
    use super::*;

    #[test]
    fn a_queue_is_read_back_as_it_was_written() {
        let mut line = Line { now: 1_000_000_000, ..Line::default() };
        for (owner, mode) in [(1, Mode::Slots(7)), (2, Mode::Exclusive)] {
            let (owner, identity) = (Owner::from_bits(owner), "1 a ".to_owned());
            let (ttl, floor, wait, ear) = (30_000_000, 0, true, owner.nonce());
            line.attempt(&Asked { owner, mode, ttl, floor, wait, ear, identity });
        }
        let mut read = Line { rev: 0, now: line.now, fence: line.fence, ..Line::default() };
        read.decode(&line.encode().unwrap()).unwrap();
        assert_eq!(read, line);
        for damaged in ["", "x", "1\nq", "1\nsabc", "1\nw1\u{1f}x\u{1f}1"] {
            assert_eq!(Line::default().decode(damaged), None, "{damaged:?}");
        }
    }
}
