// also: RC302
use std::fs::{self, OpenOptions};

pub fn add(more: &str) {
    let lock = OpenOptions::new().create(true).write(true).open("/srv/lock").unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let text = fs::read_to_string("/srv/names").unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    fs::write("/srv/names", format!("{text}{more}")).unwrap(); // expect: RC105 read=7
}
