//! From the command line and the configuration file to what is looked at, and how.

use std::path::{Path, PathBuf};

use stanchion_audit::config::{self, Config};
use stanchion_audit::error::Error;
use stanchion_audit::format::Note;

use super::{AuditArgs, Wrong};

/// What is looked at.
pub(super) struct Settings {
    /// The root of the code base: paths are shown from here, and the configuration is here.
    pub(super) base: PathBuf,
    pub(super) roots: Vec<PathBuf>,
    pub(super) config: Config,
    /// What was there and does not count.
    pub(super) notes: Vec<Note>,
}

impl Settings {
    pub(super) fn new(args: &AuditArgs) -> Result<Self, Wrong> {
        let here = std::env::current_dir().map_err(|e| vec![Error::new(format!("there is no current folder: {e}"))])?;
        let missing: Vec<Error> = args.paths.iter().filter_map(|path| missing(path)).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        let base = match args.paths.as_slice() {
            // Another code base: as if one had gone there first.
            [only] if only.is_dir() && !is_below(only, &here) => only.clone(),
            _ => here,
        };
        let roots = if args.paths.is_empty() { vec![base.clone()] } else { args.paths.clone() };
        let mut config = match &args.config {
            Some(file) => Config::read(file)?,
            None => Config::find(&base)?,
        };
        let mut wrong = Vec::new();
        if !args.select.is_empty() {
            wrong.extend(config.select(&args.select).err());
        }
        wrong.extend(config.ignore(&args.ignore).err());
        if args.instances.is_some() {
            config.instances = args.instances;
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let mut settings = Self { base, roots, config, notes: Vec::new() };
        if args.config.is_none() {
            settings.notes = settings.roots.iter().filter_map(|root| settings.other_config(root)).collect();
        }
        Ok(settings)
    }

    /// A path as the report shows it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let full = std::path::absolute(path).ok().zip(std::path::absolute(&self.base).ok());
        let below = full.and_then(|(path, base)| path.strip_prefix(&base).ok().map(Path::to_owned));
        let parts = below.unwrap_or_else(|| path.to_owned());
        parts.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }

    /// A folder that was named can have a configuration of its own.
    fn other_config(&self, root: &Path) -> Option<Note> {
        let says = |name: &str| {
            let file = root.join(name);
            let is_ours = || {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                name == config::FILE || text.lines().any(|line| line.starts_with("[audit"))
            };
            (self.shown(&file) != name && file.is_file() && is_ours()).then_some(file)
        };
        let path = self.shown(&[config::FILE, config::SHARED_FILE].into_iter().find_map(says)?);
        let text = format!("not read: the configuration is that of this folder; --config {path} takes this one");
        Some(Note { path, line: 0, text })
    }
}

fn missing(path: &Path) -> Option<Error> {
    let error = path.metadata().err()?;
    let what = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        _ => format!("it cannot be looked at: {error}"),
    };
    Some(Error::new(what).at(path.display().to_string(), 0).hint("paths are relative to this folder"))
}

fn is_below(path: &Path, folder: &Path) -> bool {
    let full = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    full(path).zip(full(folder)).is_some_and(|(path, folder)| path.starts_with(folder))
}
