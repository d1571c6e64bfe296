//! `--emit-probe`: race specifications of findings.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use stanchion_audit::Audited;
use stanchion_audit::error::Error;
use stanchion_audit::probe::probe;

use crate::exit::{escaped, say};

/// Writes a file for each finding that can be probed, and says of the others why not. A file that is there may have been
/// filled in by a person: it stays.
pub(super) fn write(folder: &Path, audited: &Audited) -> Result<(), Error> {
    let wrong = |path: &Path| {
        let path = path.display().to_string();
        move |e: std::io::Error| Error::new(format!("the probe cannot be written: {e}")).at(path, 0)
    };
    fs::create_dir_all(folder).map_err(wrong(folder))?;
    let (mut written, mut kept, mut refused) = (0_usize, 0_usize, BTreeMap::<String, usize>::new());
    for finding in audited.report.open() {
        match probe(audited, finding) {
            Err(why) => *refused.entry(why).or_default() += 1,
            Ok(probe) => {
                let path = folder.join(&probe.file);
                match OpenOptions::new().write(true).create_new(true).open(&path) {
                    Ok(mut file) => {
                        file.write_all(probe.text.as_bytes()).map_err(wrong(&path))?;
                        written += 1;
                    }
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => kept += 1,
                    Err(error) => return Err(wrong(&path)(error)),
                }
            }
        }
    }
    let cannot: usize = refused.values().sum();
    say(&format!(
        "{}: {written} race specifications written, {kept} were there already, {cannot} findings have none",
        folder.display()
    ));
    refused.iter().for_each(|(why, count)| say(&format!("  {count} x {}", escaped(why))));
    Ok(())
}
