//! A configuration file, read with care: bounded, and only if it is what we can edit.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use stanchion_core::{Error, ErrorKind, Result};

use super::clients::Format;
use super::find::Target;
use super::server::{self, Kind, Server};
use super::tree::Node;
use super::{json, secrets, toml};
use crate::init::splice::Splice;

/// The largest file that is looked at.
const LIMIT: u64 = 16 << 20;

const BOM: &str = "\u{feff}";

/// A file and the servers in it.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) target: Target,
    /// Where links lead: what is locked and replaced.
    pub(super) real: PathBuf,
    /// All of the file, as it was read.
    pub(super) text: String,
    pub(super) servers: Vec<Server>,
    /// What is not shown.
    pub(super) hidden: Vec<Splice>,
}

fn refuse(path: &Path, what: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, what).with("file", path.display())
}

/// All bytes of a file.
///
/// # If it fails
/// It is gone, not a file, too large, or not ours to read. Nothing was changed.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| {
        Error::new(ErrorKind::Denied, "the file cannot be read")
            .with("file", path.display())
            .because(e)
            .hint("look at its rights, and whether it is still there")
    };
    let meta = std::fs::metadata(path).map_err(failed)?;
    if !meta.is_file() {
        return Err(refuse(path, "this is not a file").hint("the client expects a file here; move away what is there"));
    }
    let mut content = Vec::new();
    File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut content)).map_err(failed)?;
    if content.len() as u64 > LIMIT {
        return Err(refuse(path, "the file is larger than 16 MiB").hint("edit it by hand"));
    }
    Ok(content)
}

/// The file and its servers.
///
/// # If it fails
/// The error names the file and what to do. Nothing was changed.
pub(super) fn load(target: &Target) -> Result<Loaded> {
    let path = &target.path;
    let real = std::fs::canonicalize(path).map_err(|e| {
        Error::new(ErrorKind::Denied, "the file cannot be found")
            .with("file", path.display())
            .because(e)
            .hint("if it is a link, look where it leads")
    })?;
    let text = String::from_utf8(bytes(&real)?)
        .map_err(|_| refuse(path, "the file is not UTF-8").hint("save it as UTF-8 in an editor, then try again"))?;
    let (servers, hidden) = understand(target, &text)?;
    Ok(Loaded { target: target.clone(), real, text, servers, hidden })
}

/// The servers in the text, and what of it is not to be shown. Places count from the text's first byte.
pub(super) fn understand(target: &Target, text: &str) -> Result<(Vec<Server>, Vec<Splice>)> {
    let path = &target.path;
    // Blanks of the same length, so that places stay what they are.
    let body = if text.starts_with(BOM) { &text.replacen(BOM, "   ", 1) } else { text };
    let (root, name) = match target.format {
        Format::Json => (json::parse(body), "JSON"),
        Format::Toml => (toml::parse(body), "TOML"),
        Format::Yaml => return Ok((Vec::new(), Vec::new())),
    };
    let root = root.map_err(|e| {
        Error::new(ErrorKind::Invalid, format!("the file is not {name} as we understand it: {e}"))
            .with("file", path.display())
            .hint("correct it there, or wrap the server by hand; nothing in it was changed")
    })?;
    let wrong = |why: String| {
        Error::new(ErrorKind::Invalid, why)
            .with("file", path.display())
            .hint("correct it there; --key says under which member the servers are")
    };
    let Some(root) = root else { return Ok((Vec::new(), Vec::new())) };
    if !matches!(root, Node::Map(_)) {
        return Err(wrong("the file does not hold an object".to_owned()));
    }
    let mut servers: Option<Vec<Server>> = None;
    for key in &target.keys {
        if let Some(found) = server::under(&root, key).map_err(wrong)? {
            servers.get_or_insert_default().extend(found);
        }
    }
    if servers.is_none() && target.named {
        return Err(wrong(format!("the file has no member `{}`", target.keys.join("`, `"))));
    }
    let servers = servers.unwrap_or_default();
    let hidden = secrets::hidden(&root, &launches(&servers), text);
    Ok((servers, hidden))
}

fn launches(servers: &[Server]) -> Vec<&server::Launch> {
    let launch = |server| match server {
        &Server { kind: Kind::Plain(ref launch) | Kind::Wrapped { ref launch, .. }, .. } => Some(launch),
        _ => None,
    };
    servers.iter().filter_map(launch).collect()
}
