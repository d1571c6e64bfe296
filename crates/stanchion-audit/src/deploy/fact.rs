//! One statement about how the code runs.

use std::fmt;

use serde::Serialize;

/// What says it.
///
/// ```
/// use stanchion_audit::deploy::{Deployment, Kind};
/// let unit = Deployment::read([("web@.service", "[Service]\nExecStart=/usr/bin/web %i\n")]);
/// assert_eq!(unit.facts[0].kind, Kind::Systemd);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A Kubernetes workload, or the values of a Helm chart.
    Kubernetes,
    /// Something that changes the number of replicas by load.
    Autoscaler,
    /// A job that starts by the clock.
    CronJob,
    /// Docker compose.
    Compose,
    /// PM2.
    Pm2,
    /// Worker processes of an application server.
    Workers,
    /// Processes or threads that the code starts itself.
    Cluster,
    /// Functions or containers that a platform starts on demand.
    Serverless,
    /// A platform whose user sets the number, such as Heroku or Fly.
    Platform,
    /// A systemd unit.
    Systemd,
    /// An MCP server over stdio: each client starts its own process.
    StdioMcp,
}

/// How many processes run the same code at once.
///
/// ```
/// use stanchion_audit::deploy::Instances;
/// assert!(Instances::Many(Some(2)) > Instances::One);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Instances {
    /// It is not said.
    Unknown,
    /// One.
    One,
    /// Several, if known how many.
    Many(Option<u32>),
}

impl Instances {
    /// From a number as written; what is no number is unknown.
    pub(super) fn of(text: &str) -> Self {
        match text.trim().trim_matches(['"', '\'']).parse::<u32>() {
            Ok(0 | 1) => Self::One,
            Ok(number) => Self::Many(Some(number)),
            Err(_) => Self::Unknown,
        }
    }

    /// `3 replicas`, `one replica`, `replicas: {{ x }}`.
    pub(super) fn words(self, noun: &str, written: &str) -> String {
        match self {
            Self::One => format!("one {noun}"),
            Self::Many(Some(number)) => format!("{number} {noun}s"),
            Self::Many(None) => format!("several {noun}s"),
            Self::Unknown => format!("{noun}s: {}", written.chars().take(80).collect::<String>()),
        }
    }
}

/// One statement; as text with its place.
///
/// ```
/// use stanchion_audit::deploy::Deployment;
/// let deployment = Deployment::read([("run.sh", "uvicorn app:app --workers 4")]);
/// assert_eq!(deployment.facts[0].to_string(), "uvicorn with 4 workers (run.sh:1)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fact {
    /// The file that says it.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// What says it.
    pub kind: Kind,
    /// How many.
    pub instances: Instances,
    /// In words, without the place.
    pub text: String,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.text, self.path, self.line)
    }
}
