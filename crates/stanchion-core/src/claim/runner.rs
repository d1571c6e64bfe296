//! Which process ran an attempt, in enough detail to prove that it is gone.

use std::sync::{Arc, OnceLock};

use crate::Fingerprint;

/// The name space of process numbers that a machine boots with: whoever is in it is not in a container.
const FIRST_SPACE: &str = "pid:[4026531836]";

/// A process: its machine, its boot, its name space, its number and when it started. A number alone is reused.
///
/// ```
/// use stanchion_core::claim::Runner;
/// assert!(Runner::current().gone().is_none(), "we are here");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Runner {
    /// The machine's name.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// A digest of the machine's own id, which is not to be shown; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// The boot.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
    /// The name space of the process number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub space: String,
    /// When the process started, in ticks since the boot.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub started: String,
}

/// Proof that the process of an attempt cannot act any more. A request that has left it may still be on its way.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::claim::Gone;
/// assert_eq!(Gone::Waited(Duration::from_secs(600)).to_string(), "nothing was heard of it for 10m00s");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Gone {
    /// The process with this number and start has ended.
    Exited,
    /// Its machine has been booted since.
    Rebooted,
    /// It has been silent for longer than any pause that is considered possible.
    Waited(std::time::Duration),
}

impl std::fmt::Display for Gone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited => f.write_str("its process has ended"),
            Self::Rebooted => f.write_str("its machine has been booted since"),
            Self::Waited(time) => write!(f, "nothing was heard of it for {}", crate::text::duration(*time)),
        }
    }
}

impl Runner {
    /// This process.
    ///
    /// ```
    /// assert_eq!(stanchion_core::claim::Runner::current().pid, std::process::id());
    /// ```
    #[must_use]
    pub fn current() -> Arc<Self> {
        static HERE: OnceLock<Arc<Runner>> = OnceLock::new();
        let here = HERE.get_or_init(|| Arc::new(Self::look()));
        // A child made by fork has another number.
        if here.pid == std::process::id() { Arc::clone(here) } else { Arc::new(Self::look()) }
    }

    fn look() -> Self {
        let identity = crate::Identity::current();
        let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let space = std::fs::read_link("/proc/self/ns/pid").map(|to| to.to_string_lossy().into_owned());
        Self {
            machine: digest(&read("/etc/machine-id")),
            boot: read("/proc/sys/kernel/random/boot_id"),
            space: space.unwrap_or_default(),
            started: started(identity.pid).unwrap_or_default(),
            host: identity.host,
            pid: identity.pid,
        }
    }

    /// Proof that this process is gone, as far as it can be had from here: from the same machine and name space. `None`
    /// means "not proven", not "alive".
    ///
    /// ```
    /// use stanchion_core::claim::{Gone, Runner};
    /// let here = Runner::current();
    /// # if here.started.is_empty() { return }
    /// let other = Runner { started: "1".into(), ..(*here).clone() };
    /// assert_eq!(other.gone(), Some(Gone::Exited));
    /// ```
    #[must_use]
    pub fn gone(&self) -> Option<Gone> {
        match self.seen_from(&Self::current()) {
            Sight::Gone(gone) => Some(gone),
            Sight::Lives | Sight::TooFar => None,
        }
    }

    /// Is this process there, as certainly as it can be said from here?
    pub(crate) fn lives(&self) -> bool {
        matches!(self.seen_from(&Self::current()), Sight::Lives)
    }

    fn seen_from(&self, here: &Self) -> Sight {
        // Names and ids are copied with images, boots with snapshots of memory: all have to agree.
        let same_machine = (&self.machine, &self.host) == (&here.machine, &here.host);
        if !same_machine || self.boot.is_empty() || here.boot.is_empty() {
            return Sight::TooFar;
        }
        if self.boot != here.boot {
            let bare = self.space == FIRST_SPACE && here.space == FIRST_SPACE && !self.machine.is_empty();
            return if bare { Sight::Gone(Gone::Rebooted) } else { Sight::TooFar };
        }
        if self.space.is_empty() || self.space != here.space || self.started.is_empty() {
            return Sight::TooFar;
        }
        match started(self.pid) {
            Some(started) if started == self.started => Sight::Lives,
            Some(_) => Sight::Gone(Gone::Exited),
            None if is_no_process(self.pid) => Sight::Gone(Gone::Exited),
            None => Sight::TooFar,
        }
    }
}

enum Sight {
    Lives,
    Gone(Gone),
    TooFar,
}

fn digest(text: &str) -> String {
    if text.is_empty() { String::new() } else { Fingerprint::of_bytes(text.as_bytes()).to_string()[..32].to_owned() }
}

/// When a process started; one that has ended, but was not yet waited for, started "never".
fn started(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything; what follows the last one has fixed places.
    let mut rest = text.rsplit_once(')')?.1.split_whitespace();
    let state = rest.next()?;
    if matches!(state, "Z" | "X") {
        return Some("never".to_owned());
    }
    rest.nth(18).map(str::to_owned)
}

/// A process whose file cannot be read may be hidden from us; the kernel still says whether there is one.
#[cfg(target_os = "linux")]
fn is_no_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(target_os = "linux"))]
fn is_no_process(_: u32) -> bool {
    false
}
