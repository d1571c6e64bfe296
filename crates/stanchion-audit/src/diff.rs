//! `--diff BASE`: which lines changed since a git revision. A finding counts if its flow comes by one of them.

mod parse;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::finding::Finding;

/// What git says when it fails is shown up to here.
const MESSAGE_MOST: u64 = 4096;

/// Lines that changed, by file.
///
/// ```
/// use stanchion_audit::diff::Changes;
/// let changes = Changes::parse(b"--- a/x.ts\n+++ b/x.ts\n@@ -3,0 +4,2 @@\n+one\n+two\n");
/// assert!(changes.touch("x.ts", 5, 5) && !changes.touch("x.ts", 6, 9) && !changes.touch("y.ts", 4, 4));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// First and last line of each stretch, in order.
    lines: BTreeMap<String, Vec<(u32, u32)>>,
    /// Files of which every line counts: new ones that git does not know yet, and those with conflicts.
    whole: BTreeSet<String>,
}

impl Changes {
    /// Understands what `git diff --unified=0` prints. It never fails: what is no diff changes nothing.
    ///
    /// ```
    /// assert_eq!(stanchion_audit::diff::Changes::parse(b"no diff"), Default::default());
    /// ```
    #[must_use]
    pub fn parse(diff: &[u8]) -> Self {
        let mut parser = parse::Parser::default();
        diff.split(|byte| *byte == b'\n').for_each(|line| parser.line(line));
        parser.changes
    }

    /// Asks git what changed in the folder `root` since `base`, also in files that are not committed or not added.
    ///
    /// # Errors
    /// If git is not there, `root` is in no repository, or `base` is no commit.
    ///
    /// ```
    /// use stanchion_audit::diff::Changes;
    /// let folder = tempfile::tempdir().unwrap();
    /// assert!(Changes::since("HEAD", folder.path()).is_err()); // no repository
    /// ```
    pub fn since(base: &str, root: &Path) -> Result<Self, Error> {
        if base.is_empty() || base.contains(['\0', '\n']) {
            return Err(Error::new("the base of --diff is empty, or no revision").hint("as in --diff origin/main"));
        }
        // A name becomes an id first: then a branch that is called like an option or a range cannot be taken for one.
        let mut id = Vec::new();
        let name = format!("{base}^{{commit}}");
        git(root, &["rev-parse", "--verify", "--end-of-options", &name], |line| id.extend_from_slice(line)).map_err(
            |error| {
                let hint = if error.message.contains("not a git repository") {
                    "start it in the repository, or name the one folder of it that is to be looked at"
                } else {
                    "give a commit, a tag or a branch that is fetched here"
                };
                Error::new(format!("`{}` cannot be compared with: {}", crate::format::flat(base), error.message))
                    .hint(hint)
            },
        )?;
        let id = String::from_utf8_lossy(&id).trim().to_owned();
        let mut parser = parse::Parser::default();
        let fixed = ["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--inter-hunk-context=0"];
        // What the user's own settings could change is said: prefixes, renames, and paths relative to this folder.
        let said = ["--src-prefix=a/", "--dst-prefix=b/", "--find-renames", "--relative", "--submodule=short"];
        let rest = ["--end-of-options", &id, "--"];
        let all: Vec<_> = fixed.into_iter().chain(said).chain(rest).collect();
        git(root, &all, |line| parser.line(line.strip_suffix(b"\n").unwrap_or(line)))?;
        let mut changes = parser.changes;
        let mut names = Vec::new();
        git(root, &["ls-files", "--others", "--exclude-standard", "-z"], |line| names.extend_from_slice(line))?;
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        changes.whole.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
        Ok(changes)
    }

    /// The same seen from a folder outside, in which this one has that path.
    ///
    /// ```
    /// use stanchion_audit::diff::Changes;
    /// let changes = Changes::parse(b"+++ b/x.ts\n@@ -1 +2 @@\n-a\n+b\n").below("repository");
    /// assert!(changes.touch("repository/x.ts", 2, 2) && !changes.touch("x.ts", 2, 2));
    /// ```
    #[must_use]
    pub fn below(self, folder: &str) -> Self {
        let below = |path: String| format!("{folder}/{path}");
        Self {
            lines: self.lines.into_iter().map(|(path, lines)| (below(path), lines)).collect(),
            whole: self.whole.into_iter().map(below).collect(),
        }
    }

    /// Whether a line from `first` to `last` of this file changed.
    ///
    /// ```
    /// assert!(!stanchion_audit::diff::Changes::default().touch("a.ts", 1, 9));
    /// ```
    #[must_use]
    pub fn touch(&self, path: &str, first: u32, last: u32) -> bool {
        let last = last.max(first);
        self.whole.contains(path)
            || self.lines.get(path).is_some_and(|lines| lines.iter().any(|(from, to)| *from <= last && first <= *to))
    }

    /// Whether a finding counts: one of its steps, or its own statement, stands on a line that changed.
    ///
    /// ```
    /// # use stanchion_audit::{diff::Changes, format::sample};
    /// let changes = Changes::parse(b"+++ b/src/store.ts\n@@ -1 +2 @@\n-a\n+b\n"); // the line of the read
    /// assert!(changes.concern(&sample()));
    /// ```
    #[must_use]
    pub fn concern(&self, finding: &Finding) -> bool {
        self.touch(&finding.path, finding.line, finding.end_line)
            || finding.flow.iter().any(|step| self.touch(&step.path, step.line, step.end_line))
    }
}

/// Runs git and hands over its lines, each with its end.
fn git(root: &Path, arguments: &[&str], mut line: impl FnMut(&[u8])) -> Result<(), Error> {
    let failed =
        |error: std::io::Error| Error::new(format!("git cannot be run: {error}")).hint("--diff needs git on the PATH");
    // A repository's own settings can name a program as its file system monitor; a look at it must not start that.
    let mut child = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager"])
        .args(arguments)
        .current_dir(root)
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env_remove("GIT_EXTERNAL_DIFF")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // Read beside the output, or a git that complains a lot would wait for us while we wait for it.
    let errors = child.stderr.take().map(|stderr| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let mut stderr = BufReader::new(stderr);
            stderr.by_ref().take(MESSAGE_MOST).read_to_end(&mut text).unwrap_or_default();
            std::io::copy(&mut stderr, &mut std::io::sink()).unwrap_or_default();
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let mut outcome = Ok(());
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            match stdout.read_until(b'\n', &mut buffer) {
                Ok(0) => break,
                Ok(_) => line(&buffer),
                Err(error) => {
                    outcome = Err(failed(error));
                    break;
                }
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    outcome?;
    let said = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
    if status.success() { Ok(()) } else { Err(Error::new(format!("git failed: {}", crate::format::flat(&said)))) }
}

#[cfg(test)]
mod tests;
