// also: RC101, RC302, RC201
use std::sync::Mutex;

pub fn bump(path: &str) -> std::io::Result<()> {
    let lock = Mutex::new(());
    let _held = lock.lock().unwrap(); // expect: RC206
    let count: u64 = std::fs::read_to_string(path)?.trim().parse().unwrap_or(0);
    std::fs::write(path, (count + 1).to_string())
}
