// also: RC302
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File, OpenOptions};

fn open() -> File {
    OpenOptions::new().create(true).write(true).open("/srv/lock").unwrap()
}

pub fn by_trait(more: &str) {
    use fs4::fs_std::FileExt;
    let lock = open();
    FileExt::lock_exclusive(&lock).unwrap();
    let text = fs::read_to_string("/srv/one").unwrap();
    fs::write("/srv/one", format!("{text}{more}")).unwrap();
}

pub fn by_rustix(more: &str) {
    let lock = open();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let text = fs::read_to_string("/srv/two").unwrap();
    fs::write("/srv/two", format!("{text}{more}")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).unwrap();
}

pub fn by_nix(more: &str) {
    let _guard = Flock::lock(open(), FlockArg::LockExclusive).unwrap();
    let text = fs::read_to_string("/srv/three").unwrap();
    fs::write("/srv/three", format!("{text}{more}")).unwrap();
}
