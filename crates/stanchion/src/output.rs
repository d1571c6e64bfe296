//! Where a report goes, and how it looks there.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;

use stanchion_audit::error::Error;
use stanchion_audit::format::Look;

/// Colours and width of the terminal, if there is one.
pub(crate) fn look() -> Look {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = columns(io::stdout()).or(said).filter(|width| *width > 0);
    Look { colour: is_coloured(), ..width.map_or_else(Look::default, |width| Look { width, ..Look::default() }) }
}

/// Whether standard output may be painted.
pub(crate) fn is_coloured() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// How wide a terminal is; `None` if it is none.
#[cfg(unix)]
pub(crate) fn columns(stream: impl std::os::fd::AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0)
}

#[cfg(not(unix))]
pub(crate) fn columns<T>(_stream: T) -> Option<usize> {
    None
}

/// Writes to the file, or to standard output. A reader that went away (`| head`) is no error.
pub(crate) fn put(file: Option<&Path>, text: &[u8]) -> Result<(), Error> {
    let (written, place) = match file {
        Some(file) => (replace(file, text), file.display().to_string()),
        None => {
            let mut stdout = io::stdout().lock();
            (stdout.write_all(text).and_then(|()| stdout.flush()), "standard output".to_owned())
        }
    };
    match written {
        Err(error) if file.is_some() || error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::new(format!("it cannot be written: {error}")).at(place, 0))
        }
        _ => Ok(()),
    }
}

/// The old file or the new one, never half: build servers pick reports up while they are written.
pub(crate) fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    if file.metadata().is_ok_and(|meta| !meta.is_file()) {
        // A pipe or a terminal cannot be replaced.
        return std::fs::OpenOptions::new().write(true).open(file)?.write_all(text);
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut new = builder.tempfile_in(folder)?;
    new.write_all(text)?;
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}
