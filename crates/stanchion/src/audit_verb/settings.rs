//! From the command line and the configuration file to what is looked at, and how.

use std::path::{Path, PathBuf};

use stanchion_audit::config::Config;
use stanchion_audit::error::Error;

use super::{AuditArgs, Wrong};

/// What is looked at.
pub(super) struct Settings {
    /// The root of the code base: paths are shown from here, and the configuration is here.
    pub(super) base: PathBuf,
    pub(super) roots: Vec<PathBuf>,
    pub(super) config: Config,
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
        if wrong.is_empty() { Ok(Self { base, roots, config }) } else { Err(wrong) }
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
