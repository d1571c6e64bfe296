//! What workers did and were told, in files that outlive them: one write a line, so that a kill keeps a line or loses it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use stanchion_core::{Clock as _, Error, Ran, SystemClock};

use super::orders::Chain;
use super::place::Seen;

#[derive(Debug)]
pub(super) struct Journal(File);

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Acknowledged; what was given: a version, or the body of an answer.
    Ok(String),
    /// Failed without effect; why.
    No(String),
    /// It may have happened; why nobody knows.
    Maybe(String),
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// A lock was granted.
    Got { chain: Chain, op: String, token: u64, times: (u64, u64) },
    /// A value was read, and its successor is about to be written.
    Try { chain: Chain, op: String, saw: u64, who: String, version: u64, token: u64, times: (u64, u64) },
    /// The end of a write; it has no other line if it never came to a write.
    End { chain: Chain, op: String, outcome: Outcome, times: (u64, u64) },
    /// A keyed call begins.
    Call { key: String, op: String },
    /// A keyed call ends.
    Answer { key: String, op: String, outcome: Outcome },
}

/// Nanoseconds on the clock that all processes of this machine share.
pub(super) fn now() -> u64 {
    u64::try_from(SystemClock.now().since_boot().as_nanos()).unwrap_or(u64::MAX)
}

impl Outcome {
    pub(super) fn of(error: &Error) -> Self {
        let code = error.kind().code().to_owned();
        match error.ran() {
            Ran::No => Self::No(code),
            Ran::Maybe => Self::Maybe(code),
        }
    }

    pub(super) const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok(_))
    }

    fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Ok(word) => ("ok", word),
            Self::No(word) => ("no", word),
            Self::Maybe(word) => ("maybe", word),
        }
    }

    fn parse(kind: &str, word: &str) -> Option<Self> {
        let word = word.to_owned();
        match kind {
            "ok" => Some(Self::Ok(word)),
            "no" => Some(Self::No(word)),
            "maybe" => Some(Self::Maybe(word)),
            _ => None,
        }
    }
}

impl Line {
    /// `seen` was read between `times`, and its successor is about to be written.
    pub(super) fn tries(chain: Chain, op: &str, seen: &Seen, token: u64, times: (u64, u64)) -> Self {
        let Seen { number, who, version } = seen.clone();
        Self::Try { chain, op: op.to_owned(), saw: number, who, version, token, times }
    }

    fn text(&self) -> String {
        match self {
            Self::Got { chain, op, token, times } => {
                format!("got {} {op} {token} {} {}", chain.word(), times.0, times.1)
            }
            Self::Try { chain, op, saw, who, version, token, times } => {
                format!("try {} {op} {saw} {who} {version} {token} {} {}", chain.word(), times.0, times.1)
            }
            Self::End { chain, op, outcome, times } => {
                let (kind, word) = outcome.words();
                format!("end {} {op} {kind} {word} {} {}", chain.word(), times.0, times.1)
            }
            Self::Call { key, op } => format!("call {key} {op}"),
            Self::Answer { key, op, outcome } => {
                let (kind, word) = outcome.words();
                format!("answer {key} {op} {kind} {word}")
            }
        }
    }

    /// `None` for half a line, which a kill may leave at the end.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let op = (*words.get(2)?).to_owned();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let chain = || Chain::parse(words[1]);
        Some(match (words[0], words.len()) {
            ("got", 6) => Self::Got { chain: chain()?, op, token: number(3)?, times: (number(4)?, number(5)?) },
            ("try", 9) => Self::Try {
                chain: chain()?,
                op,
                saw: number(3)?,
                who: words[4].to_owned(),
                version: number(5)?,
                token: number(6)?,
                times: (number(7)?, number(8)?),
            },
            ("end", 7) => Self::End {
                chain: chain()?,
                op,
                outcome: Outcome::parse(words[3], words[4])?,
                times: (number(5)?, number(6)?),
            },
            ("call", 3) => Self::Call { key: words[1].to_owned(), op },
            ("answer", 5) => {
                Self::Answer { key: words[1].to_owned(), op, outcome: Outcome::parse(words[3], words[4])? }
            }
            _ => return None,
        })
    }
}

impl Journal {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().create(true).append(true).open(path).map(Self)
    }

    /// # Panics
    /// When the disk refuses: a worker that cannot tell what it did must not go on.
    pub(super) fn text(&self, line: &str) {
        (&self.0).write_all(format!("{line}\n").as_bytes()).expect("a journal can be written");
    }

    pub(super) fn line(&self, line: &Line) {
        self.text(&line.text());
    }
}

/// All lines of a file that are whole.
pub(super) fn read(path: &Path) -> io::Result<Vec<Line>> {
    Ok(std::fs::read_to_string(path)?.lines().filter_map(Line::parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let op = "w0.1-2-3".to_owned();
        let lines = [
            Line::Got { chain: Chain::Locked(7), op: op.clone(), token: 5, times: (1, 2) },
            Line::Try {
                chain: Chain::Optimistic(0),
                op: op.clone(),
                saw: 4,
                who: "-".into(),
                version: 9,
                token: 0,
                times: (3, 4),
            },
            Line::End { chain: Chain::Locked(7), op: op.clone(), outcome: Outcome::Ok("12".into()), times: (5, 6) },
            Line::Call { key: "0-1".into(), op: op.clone() },
            Line::Answer { key: "0-1".into(), op, outcome: Outcome::Maybe("OUTCOME_UNKNOWN".into()) },
        ];
        for line in lines {
            assert_eq!(Line::parse(&line.text()), Some(line));
        }
        assert_eq!(Line::parse("end L7 w0.1-2-3 ok"), None);
    }
}
