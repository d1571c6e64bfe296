//! Which files to look at.

use std::path::{Path, PathBuf};

use stanchion_core::{Error, ErrorKind, Result};

use super::clients::{Base, CLIENTS, Client, Format};

/// A file that may hold servers.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The client's name, or `-` for a file that was named by hand.
    pub(super) client: &'static str,
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) keys: Vec<String>,
    /// A file of the current folder, which others may share.
    pub(super) project: bool,
    /// Named by hand: then it has to be there, and its key too.
    pub(super) named: bool,
}

/// The files of these clients (of all, if none is named) that are there. A file that two of them claim is listed once.
pub(super) fn targets(clients: &[String]) -> Result<Vec<Target>> {
    let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "the home folder is not known").hint("set HOME, or name the file: --file PATH")
    })?;
    let mut found: Vec<(PathBuf, Target)> = Vec::new();
    for client in CLIENTS.iter().filter(|client| clients.is_empty() || clients.iter().any(|name| name == client.name)) {
        for (base, path) in client.files {
            let path = root(*base, &home).join(path);
            // A dangling link is listed too: somebody meant a file there.
            if std::fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if found.iter().all(|(known, _)| *known != real) {
                found.push((real, target(client, path, *base == Base::Project)));
            }
        }
    }
    Ok(found.into_iter().map(|(_, target)| target).collect())
}

fn target(client: &Client, path: PathBuf, project: bool) -> Target {
    let keys = client.keys.iter().map(|key| (*key).to_owned()).collect();
    Target { client: client.name, path, format: client.format, keys, project, named: false }
}

/// A file named by hand. One that a client owns is taken for that client's, unless something else is said.
pub(super) fn named(path: &Path, format: Option<Format>, key: Option<&str>) -> Result<Target> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let known = targets(&[])
        .unwrap_or_default()
        .into_iter()
        .find(|target| std::fs::canonicalize(&target.path).is_ok_and(|found| found == real));
    if let (Some(known), None, None) = (&known, format, key) {
        return Ok(Target { path: path.to_path_buf(), named: false, ..known.clone() });
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    let format = match (format, ending.as_str()) {
        (Some(format), _) => format,
        (None, "json" | "jsonc") => Format::Json,
        (None, "toml") => Format::Toml,
        (None, "yaml" | "yml") => Format::Yaml,
        (None, _) => {
            return Err(Error::new(ErrorKind::Invalid, "the format of this file is not known by its name")
                .with("file", path.display())
                .hint("say --format json or --format toml"));
        }
    };
    let default = if format == Format::Toml { "mcp_servers" } else { "mcpServers" };
    let keys = vec![key.unwrap_or(default).to_owned()];
    Ok(Target { client: "-", path: path.to_path_buf(), format, keys, project: false, named: true })
}

fn root(base: Base, home: &Path) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = || set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let roaming = || set("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"));
    match base {
        Base::Project => PathBuf::from("."),
        Base::Home => home.to_path_buf(),
        Base::App if cfg!(target_os = "macos") => home.join("Library/Application Support"),
        Base::App | Base::Config if cfg!(windows) => roaming(),
        Base::App | Base::Config => config(),
    }
}
