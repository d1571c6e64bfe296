//! Lines of bytes, each bounded.

use std::borrow::Cow;
use std::io::{self, Read};

/// A message on one line, for every way of reading lines: in JSON an end of line is space. A reader that splits there could find a call
/// that nobody has seen. (Those of Unicode stand in texts only, where no call can be: its quotes would be escaped.)
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'\r', b'\n', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace(['\r', '\n'], " ")),
    }
}

/// What is kept of a line that is too long: enough to see whose it is.
const SHOWN: usize = 512;

/// The next line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Without its line feed. The last one may have had none.
    Whole(&'a [u8]),
    /// It was longer than allowed and has been dropped: its beginning, its end, its length.
    TooLong { head: &'a [u8], tail: &'a [u8], bytes: usize },
    /// There are no more.
    End,
}

/// Reads lines in large pieces; a line is copied only by those who keep it.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    from: R,
    most: usize,
    buffer: Vec<u8>,
    /// What has been handed out ends here.
    start: usize,
    /// What has been read ends here.
    end: usize,
    /// No line feed up to here.
    seen: usize,
    long: Option<Long>,
    at_end: bool,
}

#[derive(Debug, Default)]
struct Long {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: usize,
}

impl Long {
    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        let room = SHOWN.saturating_sub(self.head.len());
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(SHOWN)..]);
        let surplus = self.tail.len().saturating_sub(SHOWN);
        self.tail.drain(..surplus);
    }
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(from: R, most: usize) -> Self {
        Self { from, most, buffer: vec![0; 64 << 10], start: 0, end: 0, seen: 0, long: None, at_end: false }
    }

    /// Is a whole line here, so that the next one comes without waiting?
    pub(crate) fn has_more(&self) -> bool {
        self.long.is_none() && memchr::memchr(b'\n', &self.buffer[self.seen..self.end]).is_some()
    }

    pub(crate) fn next(&mut self) -> io::Result<Line<'_>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.seen..self.end]) {
                let (from, to) = (self.start, self.seen + at);
                (self.start, self.seen) = (to + 1, to + 1);
                return Ok(self.hand_out(from, to));
            }
            self.seen = self.end;
            if self.at_end {
                let (from, to) = (self.start, self.end);
                (self.start, self.seen) = (to, to);
                return Ok(if from == to && self.long.is_none() { Line::End } else { self.hand_out(from, to) });
            }
            if self.end - self.start > self.most || self.long.is_some() {
                let piece = &self.buffer[self.start..self.end];
                self.long.get_or_insert_default().add(piece);
                (self.start, self.end, self.seen) = (0, 0, 0);
            }
            self.fill()?;
        }
    }

    fn hand_out(&mut self, from: usize, to: usize) -> Line<'_> {
        if self.long.is_none() && to - from <= self.most {
            return Line::Whole(&self.buffer[from..to]);
        }
        let mut long = self.long.take().unwrap_or_default();
        long.add(&self.buffer[from..to]);
        // They take the place of the buffer's beginning, which has been handed out.
        let (head, tail, bytes) = (long.head, long.tail, long.bytes);
        let rest = self.buffer[self.start..self.end].to_vec();
        let shown = [&head[..], &tail[..], &rest[..]].concat();
        let used = head.len() + tail.len();
        self.buffer = shown;
        self.buffer.resize(self.buffer.len().max(64 << 10), 0);
        (self.start, self.seen, self.end) = (used, used, used + rest.len());
        Line::TooLong { head: &self.buffer[..head.len()], tail: &self.buffer[head.len()..used], bytes }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.end, self.seen, self.start) = (self.end - self.start, self.seen - self.start, 0);
        }
        if self.end == self.buffer.len() {
            let larger = (self.buffer.len() * 2).min(self.most.saturating_add(64 << 10));
            self.buffer.resize(larger.max(self.end + 1), 0);
        }
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            // One huge message must not cost its size for ever.
            if self.end < (64 << 10) && self.buffer.len() > (1 << 20) {
                self.buffer.truncate(64 << 10);
                self.buffer.shrink_to_fit();
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);
    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(bytes: &[u8], most: usize, step: usize) -> Vec<String> {
        let mut lines = Lines::new(Slow(bytes, step), most);
        let mut seen = Vec::new();
        loop {
            match lines.next().unwrap() {
                Line::Whole(line) => seen.push(String::from_utf8_lossy(line).into_owned()),
                Line::TooLong { head, tail, bytes } => {
                    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
                    seen.push(format!("{bytes}:{}..{}", &head[..1], &tail[tail.len() - 1..]));
                }
                Line::End => return seen,
            }
        }
    }

    #[test]
    fn lines_come_whole_however_they_arrive() {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(all(b"a\r\n\nbcd\nlast", 100, step), ["a\r", "", "bcd", "last"], "step {step}");
            assert_eq!(all(b"", 100, step), [""; 0]);
            assert_eq!(all(b"a\n", 100, step), ["a"]);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_is_not() {
        let mut bytes = b"x\n1".to_vec();
        bytes.extend(vec![b'-'; 5000]);
        bytes.extend(b"9\nnext\nafter");
        for step in [1, 10, 4096, 100_000] {
            assert_eq!(all(&bytes, 1000, step), ["x", "5002:1..9", "next", "after"], "step {step}");
        }
    }

    #[test]
    fn a_message_stays_on_one_line_however_lines_are_read() {
        assert!(matches!(one_line("{\"a\": \"“x”\u{2028}y\u{85}\"}"), Cow::Borrowed(_)));
        assert_eq!(one_line("{\r\"a\":\r\n1}"), "{ \"a\":  1}");
    }

    #[test]
    fn a_long_line_within_the_limit_is_whole() {
        let long = "y".repeat(300_000);
        assert_eq!(all(format!("{long}\nz\n").as_bytes(), 400_000, 9999), [&*long, "z"]);
    }
}
