//! Who holds, in words a person can act on.

use std::fmt;
use std::sync::OnceLock;

/// Characters of a host or label that are kept.
const LENGTH: usize = 64;

/// Host, pid and an optional label of a process. Display only: pids are reused and hosts renamed.
///
/// ```
/// use stanchion_core::Identity;
/// let id = Identity::new("ci-7", 4123).labelled("deploy");
/// assert_eq!(id.to_string(), "ci-7 pid 4123 (deploy)");
/// assert_eq!(Identity::decode(&id.encode()), id);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The machine's name.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// What it is doing, if it says so.
    pub label: String,
}

impl Identity {
    /// The process `pid` on `host`.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Identity::new("a", 1).label, "");
    /// ```
    #[must_use]
    pub fn new(host: impl Into<String>, pid: u32) -> Self {
        Self { host: clean(&host.into(), LENGTH), pid, label: String::new() }
    }

    /// This process.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Identity::current().pid, std::process::id());
    /// ```
    #[must_use]
    pub fn current() -> Self {
        static HOST: OnceLock<String> = OnceLock::new();
        Self { host: HOST.get_or_init(host).clone(), pid: std::process::id(), label: String::new() }
    }

    /// Adds what the process is doing; at most 64 characters are kept.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Identity::new("a", 1).labelled("x").label, "x");
    /// ```
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.label = clean(label, LENGTH);
        self
    }

    /// One line of text for the engine's storage, without control characters, whatever the fields were set to.
    ///
    /// ```
    /// # use stanchion_core::Identity;
    /// assert_eq!(Identity::new("a", 1).encode(), "1 a ");
    /// let by_hand = Identity { host: "a\n".into(), pid: 1, label: "b\tc".into() };
    /// assert_eq!(by_hand.encode(), "1 a bc");
    /// ```
    #[must_use]
    pub fn encode(&self) -> String {
        // Stores separate fields and lines by control characters.
        format!("{} {} {}", self.pid, clean(&self.host, LENGTH), clean(&self.label, LENGTH))
    }

    /// Reads [`encode`](Self::encode) back. Text of another shape becomes the host, so that nothing
    /// a stranger wrote can make a listing fail.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Identity::decode("what?").host, "what?");
    /// ```
    #[must_use]
    pub fn decode(text: &str) -> Self {
        let mut parts = text.splitn(3, ' ');
        match (parts.next().and_then(|p| p.parse().ok()), parts.next()) {
            (Some(pid), Some(host)) => Self::new(host, pid).labelled(parts.next().unwrap_or("")),
            _ => Self::new(text, 0),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pid {}", self.host, self.pid)?;
        if !self.label.is_empty() {
            write!(f, " ({})", self.label)?;
        }
        Ok(())
    }
}

fn clean(text: &str, limit: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(limit).collect()
}

fn host() -> String {
    #[cfg(target_os = "linux")]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(target_os = "linux"))]
    let name = String::from("localhost");
    clean(&name, LENGTH).replace(' ', "-")
}
