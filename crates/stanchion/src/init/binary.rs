//! Which path of our own binary is written into configurations: GUI clients know no PATH, so it is absolute.

use std::path::{Path, PathBuf};

use stanchion_core::{Error, ErrorKind, Result};

/// Our own path. A name on PATH that leads to this very binary wins over its target: packagers keep the name when
/// they replace the version behind it.
pub(super) fn own() -> Result<String> {
    let unknown = || {
        Error::new(ErrorKind::Unexpected, "the path of this binary is not known; nothing was changed")
            .hint("start stanchion again, by its full path")
    };
    let real = std::env::current_exe().and_then(std::fs::canonicalize).map_err(|e| unknown().because(e))?;
    let path = on_path(&real).unwrap_or(real);
    path.into_os_string().into_string().map_err(|_| {
        Error::new(ErrorKind::Invalid, "the path of this binary is not Unicode, and configurations are")
            .hint("move stanchion to a folder with a plain name")
    })
}

fn on_path(real: &Path) -> Option<PathBuf> {
    let name = if cfg!(windows) { "stanchion.exe" } else { "stanchion" };
    let folders = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&folders).filter(|folder| folder.is_absolute()).map(|f| f.join(name));
    candidates.find(|path| std::fs::canonicalize(path).is_ok_and(|found| found == real))
}

/// Why this path may be gone tomorrow.
pub(super) fn passing(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let has = |name: &str| parts.contains(&name);
    if has("target") && (has("debug") || has("release")) {
        Some("a build folder")
    } else if Path::new(path).starts_with(std::env::temp_dir()) || path.starts_with("/tmp/") {
        Some("a temporary folder")
    } else if has("_npx") || has("node_modules") || has("uv") && has("archive-v0") {
        Some("a package cache")
    } else {
        None
    }
}
