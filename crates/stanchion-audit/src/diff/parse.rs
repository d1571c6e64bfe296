//! A diff without context, line by line.

use super::Changes;

/// Reads headers, and counts the lines of each hunk: a line of code can look like a header.
#[derive(Debug, Default)]
pub(super) struct Parser {
    pub(super) changes: Changes,
    /// The new name of the file; `None` if it is gone.
    path: Option<String>,
    /// Lines of the hunk that are still to come.
    old: u32,
    new: u32,
}

impl Parser {
    pub(super) fn line(&mut self, line: &[u8]) {
        match line.first() {
            Some(b'-') if self.old > 0 => self.old -= 1,
            Some(b'+') if self.new > 0 => self.new -= 1,
            // Context, should somebody hand over a diff that has some.
            Some(b' ') if self.old > 0 && self.new > 0 => (self.old, self.new) = (self.old - 1, self.new - 1),
            Some(b'\\') => {}
            _ => self.header(line),
        }
    }

    fn header(&mut self, line: &[u8]) {
        // Whatever it is, the hunk is over; a damaged one must not swallow the next file.
        (self.old, self.new) = (0, 0);
        if line.starts_with(b"diff --git ") {
            self.path = None;
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            self.path = path(name);
        } else if let Some(name) = line.strip_prefix(b"* Unmerged path ") {
            self.changes.whole.insert(String::from_utf8_lossy(&unquoted(name)).into_owned());
        } else if let Some((old, start, new)) = hunk(line) {
            (self.old, self.new) = (old, new);
            let Some(path) = &self.path else { return };
            // Where lines were only taken away, those around are meant: a lock may have stood between them.
            let last = if new == 0 { start.saturating_add(1) } else { start.saturating_add(new - 1) };
            self.changes.lines.entry(path.clone()).or_default().push((start.max(1), last));
        }
    }
}

/// `@@ -3,0 +4,2 @@`: how many lines are gone, where the new ones begin, and how many they are.
fn hunk(line: &[u8]) -> Option<(u32, u32, u32)> {
    let text =
        std::str::from_utf8(line.get(..line.len().min(80))?.strip_prefix(b"@@ -")?.split(|byte| *byte == b'@').next()?);
    let (old, new) = text.ok()?.trim_end().split_once(" +")?;
    let pair = |text: &str| -> Option<(u32, u32)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((_, old), (start, new)) = (pair(old)?, pair(new)?);
    Some((old, start, new))
}

/// The name after `+++ `, without its prefix.
fn path(name: &[u8]) -> Option<String> {
    // A name with blanks ends with a tab, so that other programs see where it ends.
    let name = unquoted(name.strip_suffix(b"\t").unwrap_or(name));
    if name == b"/dev/null" {
        return None;
    }
    Some(String::from_utf8_lossy(name.strip_prefix(b"b/").unwrap_or(&name)).into_owned())
}

/// A name as git writes it: odd ones are in quotes, with `\t`, `\"`, `\\` and bytes as `\303`.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) else { return name.to_vec() };
    let mut plain = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => plain.push(b'\n'),
            Some(b't') => plain.push(b'\t'),
            Some(b'r') => plain.push(b'\r'),
            Some(b'a') => plain.push(7),
            Some(b'b') => plain.push(8),
            Some(b'v') => plain.push(11),
            Some(b'f') => plain.push(12),
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|byte| matches!(byte, b'0'..=b'7')) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                plain.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}
