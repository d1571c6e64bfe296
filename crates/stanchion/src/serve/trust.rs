//! What an upstream is told of us on every request, and whose certificates it may have. Both are read once, at the start.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue};
use stanchion_core::{Error, ErrorKind, Result};
use stanchion_mcp::policy::{HeaderSource, PolicyFile, Target};

/// Servers refuse longer headers.
const VALUE_MAX: usize = 8 << 10;
/// All roots that a system trusts are a quarter of this.
const CA_MAX: usize = 1 << 20;

/// The headers with their values.
///
/// # If it fails
/// `Invalid`: a value is missing, or cannot be sent. It names the server and the header, never the value.
pub(super) fn headers(server: &str, sources: &[(HeaderName, HeaderSource)]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(sources.len());
    for (name, source) in sources {
        let value = value(source).map_err(|e| e.with("server", server).with("header", name))?;
        headers.insert(name.clone(), value);
    }
    Ok(headers)
}

/// The variables that have a value: no other server is to know it.
pub(super) fn variables(file: &PolicyFile) -> impl Iterator<Item = String> {
    let sources = file.servers().filter_map(|(_, entry)| match &entry.target {
        Some(Target::Url { headers, .. }) => Some(headers),
        _ => None,
    });
    sources.flatten().filter_map(|(_, source)| match source {
        HeaderSource::Env(name) => Some(name.clone()),
        HeaderSource::File(_) => None,
    })
}

fn value(source: &HeaderSource) -> Result<HeaderValue> {
    let wrong = |what: &'static str| {
        let error = Error::new(ErrorKind::Invalid, what);
        match source {
            HeaderSource::Env(name) => error.with("variable", name),
            HeaderSource::File(path) => error.with("file", path.display()),
        }
    };
    let text = match source {
        HeaderSource::Env(name) => {
            std::env::var_os(name).ok_or_else(|| wrong("its header's variable is not set"))?.into_encoded_bytes()
        }
        HeaderSource::File(path) => {
            read(path, VALUE_MAX).map_err(|e| wrong("its header's file cannot be read").because(e))?
        }
    };
    let text = match source {
        HeaderSource::Env(_) => &text[..],
        HeaderSource::File(_) => without_newline(&text),
    };
    // What is wrong with it is not said in detail: it is a secret.
    let visible = text.iter().all(|byte| *byte == b' ' || byte.is_ascii_graphic());
    let good = visible && !text.trim_ascii().is_empty() && text.len() <= VALUE_MAX;
    let value = Some(text).filter(|_| good).and_then(|text| HeaderValue::from_bytes(text).ok());
    let mut value = value.ok_or_else(|| {
        wrong("its header's value cannot be sent")
            .hint(format!("one line of 1 to {VALUE_MAX} visible ASCII characters, as in `Bearer TOKEN`"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Editors and `echo` end a file with one.
fn without_newline(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// The certificates to trust besides the system's.
///
/// # If it fails
/// `Invalid`: there is no such file, or it is too large.
pub(super) fn ca(server: &str, path: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let Some(path) = path else { return Ok(None) };
    read(path, CA_MAX).map(Some).map_err(|e| {
        Error::new(ErrorKind::Invalid, "its file of certificates cannot be read")
            .with("server", server)
            .with("ca", path.display())
            .because(e)
    })
}

/// At most so many bytes, and a newline.
fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(most as u64 + 3).read_to_end(&mut text)?;
    if text.len() > most + 2 { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}
