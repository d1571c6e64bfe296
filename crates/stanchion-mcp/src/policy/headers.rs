//! `headers` of a server behind an address: which are set on every request, and where their values are. A value itself is
//! never in the file.

use std::path::PathBuf;

use http::HeaderName;
use toml::de::DeValue;

use super::source::{Item, Source, kind};

const HEADERS_MAX: usize = 32;
const NAME_MAX: usize = 128;
pub(super) const HEADERS: &str =
    "up to 32 by name, as in { Authorization = \"env:CRM_AUTHORIZATION\", \"X-Api-Key\" = \"file:/run/secrets/crm\" }";
const VALUE: &str = "\"env:NAME\" or \"file:PATH\"";
/// They belong to one connection, to one message, or to the caller. A key of ours would make all calls one, and an answer that is
/// compressed could not be read.
const TAKEN: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "last-event-id",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Where the value of a header is.
///
/// ```
/// use stanchion_mcp::policy::{HeaderSource, PolicyFile, Target};
/// let text = "[servers.crm]\nurl = \"https://crm.example/mcp\"\nheaders = { Authorization = \"env:CRM_AUTHORIZATION\" }\n";
/// let file = PolicyFile::parse(text, "p.toml")?;
/// let Some(Target::Url { headers, .. }) = &file.servers().next().unwrap().1.target else { panic!() };
/// assert_eq!(headers[0].1, HeaderSource::Env("CRM_AUTHORIZATION".into()));
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderSource {
    /// In a variable of this name.
    Env(String),
    /// In a file, alone.
    File(PathBuf),
}

/// Reads them all, in the order of their names as they are written.
pub(super) fn read<'s>(source: &mut Source<'s>, item: &Item<'_, 's>) -> Vec<(HeaderName, HeaderSource)> {
    let mut headers: Vec<(HeaderName, HeaderSource)> = Vec::new();
    let DeValue::Table(table) = item.value else {
        source.hidden(item, format!("a table belongs here, not {}", kind(item.value)), HEADERS);
        return headers;
    };
    if table.len() > HEADERS_MAX {
        source.hidden(item, format!("these are more than {HEADERS_MAX} headers"), HEADERS);
        return headers;
    }
    for entry in Source::items(&item.path, table) {
        let Some(name) = name(source, &item.path, &entry) else { continue };
        if headers.iter().any(|(other, _)| *other == name) {
            source.name(&entry, "this header is there twice: upper and lower case are the same").allowed =
                Some("one of them".to_owned());
            continue;
        }
        match value(entry.value) {
            Ok(value) => headers.push((name, value)),
            Err(what) => source.hidden(&entry, what, VALUE),
        }
    }
    headers
}

fn name(source: &mut Source<'_>, table: &str, entry: &Item<'_, '_>) -> Option<HeaderName> {
    let name = Some(entry.name).filter(|name| name.len() <= NAME_MAX).and_then(|name| name.parse::<HeaderName>().ok());
    let Some(name) = name else {
        // It is not shown: who takes a whole line for the name has the secret in it.
        source.at(entry.name_span.start, table, "this is no name of a header").allowed = Some(HEADERS.to_owned());
        return None;
    };
    if TAKEN.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
        source.name(entry, "this header has a meaning of its own").allowed =
            Some("headers that say who the gateway is, such as Authorization".to_owned());
        return None;
    }
    Some(name)
}

fn value(value: &DeValue<'_>) -> Result<HeaderSource, String> {
    let text = value.as_str().ok_or_else(|| format!("a text belongs here, not {}", kind(value)))?;
    match text.split_once(':') {
        Some(("env", name)) if is_variable(name) => Ok(HeaderSource::Env(name.to_owned())),
        Some(("env", _)) => Err("this is no name of a variable".to_owned()),
        Some(("file", path)) if path.is_empty() || path.contains('\0') => Err("this is no path of a file".to_owned()),
        Some(("file", path)) => Ok(HeaderSource::File(path.into())),
        _ => Err("the value itself does not belong here: this file is shown, copied and committed".to_owned()),
    }
}

fn is_variable(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
