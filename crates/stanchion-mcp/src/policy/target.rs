//! How a server is reached: a command or an address.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use toml::de::DeValue;

use super::headers::{self, HeaderSource};
use super::setting;
use super::source::{Item, Source, join, kind, texts};

/// How many words a command may have, and how many variables.
const WORDS_MAX: usize = 256;
const URL_MAX: usize = 2048;
const COMMAND: &str = "a list of texts, the program first, as in [\"npx\", \"-y\", \"PACKAGE\"]; no shell is involved";
const URL: &str = "http://HOST[:PORT][/PATH] or https://…, without a user or a password";
const CA: &str = "the path of a PEM file with certificates";
pub(super) const HANG_UP: &str = "\"50ms\" to \"24h\", or \"none\"";
const ENV: &str = "texts by name, as in { NAME = \"value\" }";

/// The keys that say it.
pub(super) const KEYS: &[&str] = &["command", "url", "env", "cwd", "hang_up", "headers", "ca"];

/// How a server is reached. `Debug` shows neither the values of variables nor the arguments of a command: either may be
/// secret.
///
/// ```
/// use stanchion_mcp::policy::{PolicyFile, Target};
/// let file = PolicyFile::parse("[servers.crm]\nurl = \"http://127.0.0.1:9000/mcp\"\n", "p.toml")?;
/// let Some(Target::Url { url, headers, ca }) = &file.servers().next().unwrap().1.target else { panic!() };
/// assert_eq!((url.as_str(), headers.len(), ca), ("http://127.0.0.1:9000/mcp", 0, &None));
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// A program that speaks over its standard input and output.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables for it, besides ours.
        env: BTreeMap<String, String>,
        /// Its working folder; ours unless set.
        cwd: Option<PathBuf>,
        /// After how long without a message the stream of a request ends, if its client can resume it.
        hang_up: Option<Duration>,
    },
    /// A server that speaks Streamable HTTP.
    Url {
        /// Its address.
        url: String,
        /// What is set on every request to it, by name, and where the values are.
        headers: Vec<(HeaderName, HeaderSource)>,
        /// A file with certificates to trust besides the system's.
        ca: Option<PathBuf>,
    },
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { command, env, cwd, hang_up } => f
                .debug_struct("Command")
                .field("program", &command.first())
                .field("arguments", &command.len().saturating_sub(1))
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .field("hang_up", hang_up)
                .finish(),
            Self::Url { url, headers, ca } => {
                f.debug_struct("Url").field("url", url).field("headers", headers).field("ca", ca).finish()
            }
        }
    }
}

/// Their values, as they come in.
#[derive(Default)]
pub(super) struct Keys {
    command: Option<Vec<String>>,
    url: Option<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    hang_up: Option<Duration>,
    headers: Vec<(HeaderName, HeaderSource)>,
    ca: Option<PathBuf>,
    /// Which were there, well or badly written, and where.
    seen: Vec<(String, String, usize)>,
}

impl Keys {
    /// Reads one of [`KEYS`]. Their values are never shown.
    pub(super) fn read<'s>(&mut self, source: &mut Source<'s>, item: &Item<'_, 's>) {
        self.seen.push((item.name.to_owned(), item.path.clone(), item.name_span.start));
        match item.name {
            "command" => self.command = command(source, item),
            "url" => self.url = url(source, item),
            "env" => self.env = env(source, item),
            "hang_up" => match setting::hang_up(item.value) {
                Ok(time) => self.hang_up = time,
                Err(what) => source.value(item, what, HANG_UP),
            },
            "headers" => self.headers = headers::read(source, item),
            "ca" => match item.value.as_str().filter(|text| plain(text)) {
                Some(file) => self.ca = Some(file.into()),
                None => source.hidden(item, "this is no file", CA),
            },
            _ => match item.value.as_str().filter(|text| plain(text)) {
                Some(folder) => self.cwd = Some(folder.into()),
                None => source.hidden(item, "this is no folder", "the path of a folder"),
            },
        }
    }

    /// At most one of the two, and nothing that only the other can have.
    pub(super) fn target(self, source: &mut Source<'_>) -> Option<Target> {
        let seen = |name: &str| self.seen.iter().find(|(key, ..)| key == name);
        if let (Some(_), Some((_, path, at))) = (seen("command"), seen("url")) {
            source.at(*at, path, "a server is a command or an address, not both").allowed =
                Some("one of command, url".to_owned());
            return None;
        }
        for name in ["env", "cwd", "hang_up"] {
            if let (None, Some((_, path, at))) = (seen("command"), seen(name)) {
                source.at(*at, path, format!("`{name}` belongs to a command, and there is none here")).allowed =
                    Some("command, with env, cwd and hang_up".to_owned());
            }
        }
        for name in ["headers", "ca"] {
            if let (None, Some((_, path, at))) = (seen("url"), seen(name)) {
                source.at(*at, path, format!("`{name}` belongs to an address, and there is none here")).allowed =
                    Some("url, with headers and ca".to_owned());
            }
        }
        if let (Some(url), Some((_, path, at))) = (&self.url, seen("ca"))
            && !url.starts_with("https://")
        {
            source.at(*at, path, "an address without TLS has no certificates").allowed =
                Some("ca with https://…".to_owned());
        }
        match (self.command, self.url) {
            (Some(command), _) => {
                Some(Target::Command { command, env: self.env, cwd: self.cwd, hang_up: self.hang_up })
            }
            (None, url) => url.map(|url| Target::Url { url, headers: self.headers, ca: self.ca }),
        }
    }
}

/// Programs, arguments, folders and variables end at a NUL.
fn plain(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

fn command(source: &mut Source<'_>, item: &Item<'_, '_>) -> Option<Vec<String>> {
    let words = texts(item.value).map(|words| words.into_iter().map(|(word, _)| word.to_owned()).collect::<Vec<_>>());
    let what = match words {
        None => format!("a list of texts belongs here, not {}", kind(item.value)),
        Some(words) if words.first().is_none_or(String::is_empty) => "the program is missing".to_owned(),
        Some(words) if words.len() > WORDS_MAX => format!("these are more than {WORDS_MAX} words"),
        Some(words) if words.iter().any(|word| word.contains('\0')) => "a word contains a NUL".to_owned(),
        Some(words) => return Some(words),
    };
    source.hidden(item, what, COMMAND);
    None
}

fn url(source: &mut Source<'_>, item: &Item<'_, '_>) -> Option<String> {
    let what = match item.value.as_str() {
        None => format!("a text belongs here, not {}", kind(item.value)),
        Some(url) => {
            let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let clean = url.len() <= URL_MAX && !url.contains(|c: char| c.is_whitespace() || c.is_control());
            if authority.contains('@') {
                "a secret does not belong into the address".to_owned()
            } else if authority.is_empty() || authority.starts_with(':') || url.contains('#') || !clean {
                "this is no address of a server".to_owned()
            } else {
                return Some(url.to_owned());
            }
        }
    };
    source.hidden(item, what, URL);
    None
}

fn env<'s>(source: &mut Source<'s>, item: &Item<'_, 's>) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    let DeValue::Table(table) = item.value else {
        source.hidden(item, format!("a table belongs here, not {}", kind(item.value)), ENV);
        return env;
    };
    if table.len() > WORDS_MAX {
        source.hidden(item, format!("these are more than {WORDS_MAX} variables"), ENV);
        return env;
    }
    for (name, value) in table {
        let (path, at) = (join(&item.path, name.get_ref()), value.span().start);
        let good_name = plain(name.get_ref()) && !name.get_ref().contains('=');
        match value.get_ref().as_str().filter(|text| good_name && !text.contains('\0')) {
            Some(text) => {
                env.insert(name.get_ref().to_string(), text.to_owned());
            }
            None => source.at(at, &path, "this is no variable with a text").allowed = Some(ENV.to_owned()),
        }
    }
    env
}
