//! Helper processes: to talk to, to freeze, to kill.
//!
//! A test can be its own helper. It runs itself again with [`Child::rerun_this_test`] and asks [`is_helper`] which of
//! the two it is, so that both sides of a story stand in one function and no extra program has to be built:
//!
//! ```no_run
//! use std::time::Duration;
//! use stanchion_testkit::process::{self, Child};
//!
//! // #[tokio::test]
//! async fn a_killed_helper_is_noticed() {
//!     if process::is_helper() {
//!         println!("READY");
//!         return std::future::pending().await;
//!     }
//!     let mut helper = Child::rerun_this_test();
//!     helper.expect_line("READY", Duration::from_secs(10)).await;
//!     helper.kill();
//! }
//! ```

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;

use crate::eventually::within;
use crate::pause::wait_until_still;

const HELPER: &str = "STANCHION_TEST_HELPER";

/// Whether this process was started by [`Child::rerun_this_test`].
///
/// ```
/// assert!(!stanchion_testkit::process::is_helper()); // nobody started this example that way
/// ```
pub fn is_helper() -> bool {
    std::env::var_os(HELPER).is_some()
}

/// A process under the test's control; killed when dropped.
///
/// ```
/// use std::process::Command;
/// use std::time::Duration;
/// use stanchion_testkit::process::Child;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let patience = Duration::from_secs(10);
/// let mut cat = Child::spawn(&mut Command::new("cat"));
/// cat.write_line("READY 42");
/// assert_eq!(cat.expect_line("READY", patience).await, "42");
/// cat.close_stdin();
/// assert!(cat.wait(patience).await.success());
/// # }
/// ```
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    name: String,
    lines: mpsc::UnboundedReceiver<String>,
}

impl Child {
    /// Starts a command with its standard input and output in the test's hands; errors go to the test's own.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut echo = Child::spawn(Command::new("echo").arg("hello"));
    /// assert_eq!(echo.next_line(PATIENCE).await.as_deref(), Some("hello"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the command cannot be started.
    pub fn spawn(command: &mut Command) -> Child {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let name = command.get_program().to_string_lossy().into_owned();
        let mut process = command.spawn().unwrap_or_else(|e| panic!("cannot start {name}: {e}"));
        let stdout = process.stdout.take().expect("stdout was piped two lines above");
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Child { process, name, lines }
    }

    /// Runs the calling test once more, as a helper process.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use stanchion_testkit::process::{self, Child};
    /// // Not run here: an example is no test that could be run again by its name.
    /// // #[tokio::test]
    /// async fn a_helper_speaks() {
    ///     if process::is_helper() {
    ///         return println!("READY");
    ///     }
    ///     Child::rerun_this_test().expect_line("READY", Duration::from_secs(10)).await;
    /// }
    /// ```
    ///
    /// # Panics
    /// Outside of a test, whose name is the name of its thread.
    pub fn rerun_this_test() -> Child {
        Child::rerun_this_test_with(&[])
    }

    /// Like [`rerun_this_test`](Child::rerun_this_test), with environment variables to tell helpers apart.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use stanchion_testkit::process::{self, Child};
    /// // Not run here: an example is no test that could be run again by its name.
    /// // #[tokio::test]
    /// async fn a_helper_knows_its_name() {
    ///     if process::is_helper() {
    ///         return println!("READY {}", std::env::var("WHO").unwrap());
    ///     }
    ///     let mut helper = Child::rerun_this_test_with(&[("WHO", "me")]);
    ///     assert_eq!(helper.expect_line("READY", Duration::from_secs(10)).await, "me");
    /// }
    /// ```
    ///
    /// # Panics
    /// Outside of a test, whose name is the name of its thread.
    pub fn rerun_this_test_with(variables: &[(&str, &str)]) -> Child {
        let thread = std::thread::current();
        let test = thread.name().filter(|name| *name != "main").expect("called on a test's own thread");
        let program = std::env::current_exe().expect("the test's own program");
        let mut command = Command::new(program);
        command.args(["--exact", test, "--nocapture"]).env(HELPER, "1").envs(variables.iter().copied());
        Child::spawn(&mut command)
    }

    /// The process id.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut shell = Child::spawn(Command::new("sh").args(["-c", "echo $$"]));
    /// assert_eq!(shell.next_line(PATIENCE).await, Some(shell.pid().to_string()));
    /// # }
    /// ```
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The next line of output; `None` at its end.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut echo = Child::spawn(Command::new("echo").arg("hello"));
    /// assert_eq!(echo.next_line(PATIENCE).await.as_deref(), Some("hello"));
    /// assert_eq!(echo.next_line(PATIENCE).await, None);
    /// # }
    /// ```
    ///
    /// # Panics
    /// When neither comes before the deadline.
    pub async fn next_line(&mut self, deadline: Duration) -> Option<String> {
        let line = tokio::time::timeout(deadline, self.lines.recv()).await;
        line.unwrap_or_else(|_| panic!("{} wrote nothing within {deadline:?}", self.name))
    }

    /// A line of output that has come already, if there is one.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut cat = Child::spawn(&mut Command::new("cat"));
    /// assert_eq!(cat.try_line(), None); // it has said nothing yet
    /// # }
    /// ```
    pub fn try_line(&mut self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Reads until a line that starts with `word`, and returns the rest of that line.
    ///
    /// The word may also end a line's unfinished beginning: test runners write `test x ... ` before a helper speaks.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut helper = Child::spawn(Command::new("printf").arg("starting\nREADY 42\n"));
    /// assert_eq!(helper.expect_line("READY", PATIENCE).await, "42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the line does not come before the deadline, or the output ends.
    pub async fn expect_line(&mut self, word: &str, deadline: Duration) -> String {
        let end = tokio::time::Instant::now() + deadline;
        loop {
            let left = end.saturating_duration_since(tokio::time::Instant::now());
            let Some(line) = self.next_line(left).await else {
                panic!("{} ended without a line {word:?}", self.name);
            };
            let spoken = line.rsplit_once(" ... ").map_or(line.as_str(), |(_, spoken)| spoken);
            if let Some(rest) = spoken.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Writes one line to the helper's standard input.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut cat = Child::spawn(&mut Command::new("cat"));
    /// cat.write_line("hello");
    /// assert_eq!(cat.next_line(PATIENCE).await.as_deref(), Some("hello"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the helper is gone or its input was closed.
    pub fn write_line(&mut self, line: &str) {
        let stdin = self.process.stdin.as_mut().expect("standard input was not closed");
        let written = stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush());
        written.unwrap_or_else(|e| panic!("cannot write to {}: {e}", self.name));
    }

    /// Closes the helper's standard input.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut cat = Child::spawn(&mut Command::new("cat"));
    /// cat.close_stdin(); // the end of what `cat` reads
    /// assert!(cat.wait(PATIENCE).await.success());
    /// # }
    /// ```
    pub fn close_stdin(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Kills the helper with SIGKILL and waits until it is gone.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut cat = Child::spawn(&mut Command::new("cat"));
    /// cat.kill();
    /// assert!(!cat.wait(PATIENCE).await.success());
    /// # }
    /// ```
    pub fn kill(&mut self) {
        // Already gone is what was asked for.
        self.process.kill().ok();
        self.process.wait().ok();
    }

    /// Freezes the helper (SIGSTOP), and returns when all its threads stand still: the signal alone only asks.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut cat = Child::spawn(&mut Command::new("cat"));
    /// cat.pause();
    /// cat.write_line("hello");
    /// let silent = tokio::time::timeout(Duration::from_millis(50), cat.next_line(PATIENCE)).await;
    /// assert!(silent.is_err());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When it still moves after ten seconds.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        wait_until_still(self.pid());
    }

    /// Lets a frozen helper go on (SIGCONT).
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut cat = Child::spawn(&mut Command::new("cat"));
    /// cat.pause();
    /// cat.write_line("hello");
    /// cat.resume();
    /// assert_eq!(cat.next_line(PATIENCE).await.as_deref(), Some("hello"));
    /// # }
    /// ```
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks the helper to end (SIGTERM).
    ///
    /// ```
    /// # use std::{os::unix::process::ExitStatusExt as _, process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut cat = Child::spawn(&mut Command::new("cat"));
    /// cat.terminate();
    /// assert_eq!(cat.wait(PATIENCE).await.signal(), Some(15));
    /// # }
    /// ```
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for the helper's end.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::process::Child;
    /// # const PATIENCE: Duration = Duration::from_secs(10);
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut shell = Child::spawn(Command::new("sh").args(["-c", "exit 3"]));
    /// assert_eq!(shell.wait(PATIENCE).await.code(), Some(3));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When it still runs after the deadline.
    pub async fn wait(&mut self, deadline: Duration) -> ExitStatus {
        let mut status = None;
        let process = &mut self.process;
        let ended = within(deadline, || {
            status = process.try_wait().expect("a child can be waited for");
            let ended = status.is_some();
            async move { ended }
        })
        .await;
        assert!(ended, "{} still runs after {deadline:?}", self.name);
        status.expect("it ended")
    }

    /// How it ended, if it has; does not wait.
    ///
    /// ```
    /// use std::process::Command;
    /// use std::time::Duration;
    /// # use stanchion_testkit::{eventually_sync, process::Child};
    /// let mut child = Child::spawn(Command::new("sh").args(["-c", "read line"]));
    /// assert!(child.ended().is_none());
    /// child.close_stdin();
    /// eventually_sync(Duration::from_secs(10), "it ends", || child.ended().is_some());
    /// ```
    ///
    /// # Panics
    /// When the system does not tell.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().expect("a child can be waited for")
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).unwrap_or_else(|e| panic!("signal {signal:?} to {}: {e}", self.name));
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}
