//! A policy from where `--policy` says: a file, or `@NAME` for a ready-made one.

use std::io::Read as _;

use stanchion_core::{Error, ErrorKind, Result};
use stanchion_mcp::policy::{FILE_MAX_BYTES, PolicyFile, READY};

/// Reads and checks it, and says its warnings.
///
/// # If it fails
/// `Invalid`: it is not there, cannot be read, or is wrong; then with every problem. Nothing ran.
pub(crate) fn load(spec: &str) -> Result<PolicyFile> {
    let file = PolicyFile::parse(&text(spec)?, spec)?;
    super::warn(file.warnings());
    Ok(file)
}

/// The text of it.
pub(crate) fn text(spec: &str) -> Result<String> {
    match spec.strip_prefix('@') {
        Some(name) => ready(name).map(str::to_owned),
        None => file(spec),
    }
}

/// The text of a ready-made one.
pub(crate) fn ready(name: &str) -> Result<&'static str> {
    READY.iter().find(|(ready, _)| *ready == name).map(|(_, text)| *text).ok_or_else(|| {
        let names: Vec<_> = READY.iter().map(|(name, _)| *name).collect();
        Error::new(ErrorKind::Invalid, "there is no such ready-made policy")
            .with("name", format_args!("{name:?}"))
            .hint(format!("one of {}; a file of that name is written ./@{name}", names.join(", ")))
    })
}

fn file(path: &str) -> Result<String> {
    let failed = |e: std::io::Error| {
        Error::new(ErrorKind::Invalid, "the policy file cannot be read")
            .with("file", path)
            .because(e)
            .hint("a file, or @NAME for a ready-made policy; `stanchion policy ls` lists those")
    };
    let mut bytes = Vec::new();
    // One byte more than is allowed is enough to see that it is too large.
    let most = FILE_MAX_BYTES as u64 + 1;
    std::fs::File::open(path).map_err(failed)?.take(most).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > FILE_MAX_BYTES {
        return Err(Error::new(ErrorKind::Invalid, "the policy file is larger than 1 MiB").with("file", path));
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::Invalid, "the policy file is not UTF-8").with("file", path))
}
