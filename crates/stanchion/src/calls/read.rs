//! The files of a call log, from the end and from the beginning.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use stanchion_mcp::calls::rotated;

const CHUNK: usize = 64 << 10;

/// A longer line is damaged.
const LINE_MAX: usize = 1 << 20;

/// `None` if there is none.
pub(super) fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// The file that is written to and the older one, each once, even if it was moved aside a moment ago.
pub(super) fn newest_first(path: &Path, current: Option<&File>) -> io::Result<Vec<File>> {
    let mut files: Vec<File> = current.map(File::try_clone).transpose()?.into_iter().collect();
    if let Some(older) = open(&rotated(path))?
        && !files.first().map(|file| same(file, &older)).transpose()?.unwrap_or(false)
    {
        files.push(older);
    }
    Ok(files)
}

#[cfg(unix)]
pub(super) fn same(one: &File, other: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(not(unix))]
pub(super) fn same(one: &File, other: &File) -> io::Result<bool> {
    Ok(one.metadata()?.created()? == other.metadata()?.created()?)
}

/// Gives lines, the last one first, until `each` says no; whether it never did. Leaves the file at its end.
pub(super) fn backward(mut file: File, each: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let end = file.seek(SeekFrom::End(0))?;
    let (mut at, mut rest, mut more) = (end, Vec::new(), true);
    while at > 0 && more {
        let size = at.min(CHUNK as u64);
        at -= size;
        file.seek(SeekFrom::Start(at))?;
        let mut chunk = Vec::with_capacity(CHUNK + rest.len());
        file.by_ref().take(size).read_to_end(&mut chunk)?;
        chunk.append(&mut rest);
        let mut lines = chunk.rsplit(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_none() && at > 0 {
                // Its beginning is in the chunk before. Of one that is too long, enough is kept to stay damaged.
                rest = line[..line.len().min(LINE_MAX)].to_vec();
            } else if !line.is_empty() && !each(line) {
                more = false;
                break;
            }
        }
    }
    file.seek(SeekFrom::Start(end))?;
    Ok(more)
}

/// Cuts what comes in pieces into lines.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// Reads to the end of the file, and keeps an unfinished line for later.
    pub(super) fn read(&mut self, file: &mut File, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let size = file.read(&mut chunk)?;
            if size == 0 {
                return Ok(());
            }
            for piece in chunk[..size].split_inclusive(|byte| *byte == b'\n') {
                let room = (LINE_MAX + 1).saturating_sub(self.0.len());
                self.0.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.ends_with(b"\n") {
                    self.end(each);
                }
            }
        }
    }

    /// Nothing more comes: gives what is left as a line.
    pub(super) fn end(&mut self, each: &mut dyn FnMut(&[u8])) {
        let line = self.0.strip_suffix(b"\n").unwrap_or(&self.0);
        if !line.is_empty() {
            each(line);
        }
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file.rewind().unwrap();
        file
    }

    fn both(text: &[u8]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        let mut lines = Lines::default();
        let mut each = |line: &[u8]| forth.push(line.to_vec());
        lines.read(&mut file(text), &mut each).unwrap();
        lines.end(&mut each);
        let all = backward(file(text), &mut |line| {
            back.insert(0, line.to_vec());
            true
        });
        assert!(all.unwrap());
        (forth, back)
    }

    #[test]
    fn both_directions_give_the_same_lines_across_chunks() {
        let text: String = (0..9000).map(|n| format!("{n} {}\n", "x".repeat(n % 97))).collect();
        let (forth, back) = both(text.as_bytes());
        assert_eq!(forth.len(), 9000);
        assert!(forth == back && forth.iter().zip(0..).all(|(line, n)| line.starts_with(format!("{n} ").as_bytes())));
        assert_eq!(both(b""), (vec![], vec![]));
        let (forth, back) = both(b"\na\n\nb");
        assert_eq!((forth, back), (vec![b"a".to_vec(), b"b".to_vec()], vec![b"a".to_vec(), b"b".to_vec()]));
    }

    #[test]
    fn a_line_without_end_costs_bounded_memory_and_no_other_line() {
        let mut text = b"first\n".to_vec();
        text.resize(text.len() + 3 * LINE_MAX, b'x');
        text.extend_from_slice(b"\nlast\n");
        for lines in [both(&text).0, both(&text).1] {
            assert_eq!((lines.len(), &lines[0][..], &lines[2][..]), (3, &b"first"[..], &b"last"[..]));
            assert!(lines[1].len() <= LINE_MAX + CHUNK + 1, "{}", lines[1].len());
        }
    }

    #[test]
    fn the_end_comes_first_and_reading_stops_when_enough_is_there() {
        let mut found = Vec::new();
        let all = backward(file(b"a\nb\nc\n"), &mut |line| {
            found.push(line.to_vec());
            found.len() < 2
        });
        assert_eq!((all.unwrap(), found), (false, vec![b"c".to_vec(), b"b".to_vec()]));
    }
}
