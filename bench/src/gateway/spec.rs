//! What a worker of this suite starts, and what it asks for.

use serde::{Deserialize, Serialize};

use crate::job::Job;
use crate::{Fault, Outcome};

/// A server, or something in front of one. `{home}` and `{port}` stand for a fresh folder and a free port.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// Files that are written into `{home}` before the start: name and text.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) transport: Transport,
    pub(crate) call: Call,
    /// Client and servers share one core: without it, a call costs more or less depending on whether the scheduler
    /// wakes the other side on its own core or on another, and the difference is larger than what is measured.
    pub(crate) one_core: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Transport {
    Stdio,
    /// Streamable HTTP on `{port}`, at this path.
    Http(String),
}

/// What is called, over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Call {
    /// The read-only tool.
    Echo,
    /// The writing tool, without a key.
    Write,
    /// The writing tool, each call with a key of its own.
    FreshKey,
    /// The writing tool, all calls with one key.
    OneKey,
}

impl Call {
    pub(crate) fn tool(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Write | Self::FreshKey | Self::OneKey => "write",
        }
    }
}

impl Spec {
    pub(crate) fn stdio(command: Vec<String>, call: Call) -> Self {
        let transport = Transport::Stdio;
        Self { command, environment: Vec::new(), files: Vec::new(), transport, call, one_core: false }
    }

    pub(crate) fn http(command: Vec<String>, path: &str) -> Self {
        Self { transport: Transport::Http(path.to_owned()), ..Self::stdio(command, Call::Echo) }
    }

    pub(crate) fn file(mut self, name: &str, text: String) -> Self {
        self.files.push((name.to_owned(), text));
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: String) -> Self {
        self.environment.push((name.to_owned(), value));
        self
    }

    /// The specification that a job carries.
    pub(crate) fn of(job: &Job) -> Outcome<Self> {
        let text = job.place.first().ok_or_else(|| Fault::from("the job names no server"))?;
        Ok(serde_json::from_str(text)?)
    }
}
