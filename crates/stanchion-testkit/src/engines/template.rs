//! Data folders that take seconds to make: made once for each version, copied for every server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::locate::{self, Program};
use super::user::{give_to, unprivileged};

/// The template for this version, made by whoever comes first. `make` runs in an empty folder of its user, and leaves the
/// template in that folder's `data`. `recipe` is to be raised with every change to what `make` does.
pub(super) fn template(name: &str, recipe: u32, server: &Program, make: impl FnOnce(&Path, Option<u32>)) -> PathBuf {
    let folder = locate::engines_dir();
    let ready = folder.join(format!("{name}-template-{}-{recipe}", server.version()));
    if ready.is_dir() {
        return ready;
    }
    fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("cannot create {}: {e}", folder.display()));
    let lock = File::create(folder.join(format!("{name}-template.lock"))).expect("the folder was just created");
    lock.lock().expect("a lock on a local file");
    if ready.is_dir() {
        return ready;
    }
    let user = unprivileged();
    let work = tempfile::tempdir().expect("a temporary folder");
    give_to(work.path(), user);
    make(work.path(), user);
    // Copied beside its place and renamed, so that no one ever sees half a template.
    let staging = tempfile::tempdir_in(&folder).expect("the engines folder exists");
    copy_tree(&work.path().join("data"), &staging.path().join("data"), None);
    fs::rename(staging.path().join("data"), &ready).expect("a rename inside one folder");
    ready
}

pub(super) fn copy_tree(from: &Path, to: &Path, owner: Option<u32>) {
    let copied = (|| {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                copy_tree(&entry.path(), &target, owner);
            } else {
                fs::copy(entry.path(), &target)?;
                give_to(&target, owner);
            }
        }
        fs::set_permissions(to, fs::metadata(from)?.permissions())
    })();
    copied.unwrap_or_else(|e: std::io::Error| panic!("cannot copy {} to {}: {e}", from.display(), to.display()));
    give_to(to, owner);
}
