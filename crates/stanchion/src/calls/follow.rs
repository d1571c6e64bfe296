//! A log that is still written to, and moved aside now and then.

use std::fs::File;
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};

use stanchion_mcp::calls::rotated;

use super::read::{self, Lines};

pub(super) struct Follow {
    path: PathBuf,
    file: Option<File>,
    lines: Lines,
}

impl Follow {
    /// Goes on where `file` stands.
    pub(super) fn new(path: &Path, file: Option<File>) -> Self {
        Self { path: path.to_owned(), file, lines: Lines::default() }
    }

    /// Gives what has come since the last time.
    pub(super) fn look(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        // Opened before the old one is read to its end: nobody writes to a file that has been moved aside before.
        let mut now = read::open(&self.path)?;
        if let Some(old) = &mut self.file {
            if old.metadata()?.len() < old.stream_position()? {
                old.rewind()?;
            }
            self.lines.read(old, each)?;
            let Some(now) = &now else { return Ok(()) };
            if read::same(old, now)? {
                return Ok(());
            }
            self.lines.end(each);
            if let Some(mut between) = read::open(&rotated(&self.path))?
                && !read::same(old, &between)?
                && !read::same(now, &between)?
            {
                self.lines.read(&mut between, each)?;
                self.lines.end(each);
            }
        }
        if let Some(now) = &mut now {
            self.lines.read(now, each)?;
        }
        self.file = now;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Log(tempfile::TempDir);

    impl Log {
        fn path(&self) -> PathBuf {
            self.0.path().join("calls.jsonl")
        }

        fn add(&self, text: &str) {
            use std::io::Write as _;
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(self.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn rotate(&self) {
            std::fs::rename(self.path(), rotated(&self.path())).unwrap();
        }
    }

    fn look(follow: &mut Follow) -> String {
        let mut found = Vec::new();
        follow.look(&mut |line| found.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
        found.join(" ")
    }

    #[test]
    fn no_line_is_missed_over_rotations_and_none_comes_twice() {
        let log = Log(tempfile::tempdir().unwrap());
        let mut follow = Follow::new(&log.path(), None);
        assert_eq!(look(&mut follow), "");
        log.add("a\n");
        assert_eq!(look(&mut follow), "a");
        log.add("b\nc");
        assert_eq!(look(&mut follow), "b");
        log.add("c\n");
        assert_eq!(look(&mut follow), "cc");
        log.add("d\n");
        log.rotate();
        log.add("e\n");
        assert_eq!(look(&mut follow), "d e");
        log.rotate();
        assert_eq!(look(&mut follow), "");
        log.add("f\n");
        assert_eq!(look(&mut follow), "f");
        log.add("g\n");
        log.rotate();
        log.add("h\n");
        log.rotate();
        log.add("i\n");
        assert_eq!(look(&mut follow), "g h i");
        assert_eq!(look(&mut follow), "");
    }

    #[test]
    fn a_log_that_was_emptied_is_followed_from_its_start() {
        let log = Log(tempfile::tempdir().unwrap());
        let mut follow = Follow::new(&log.path(), None);
        log.add("a\nb\n");
        assert_eq!(look(&mut follow), "a b");
        std::fs::write(log.path(), "c\n").unwrap();
        assert_eq!(look(&mut follow), "c");
    }
}
