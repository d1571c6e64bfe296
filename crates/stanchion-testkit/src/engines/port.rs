//! Ports that stay ours while the server behind them is down.

use std::env;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};

/// Below the range from which kernels take the ports of outgoing connections, so that a stopped server's port is not
/// given away before it restarts.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A loopback port, reserved against other test processes by a kernel lock on a small file.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    _reservation: File,
}

impl Port {
    pub(super) fn number(&self) -> u16 {
        self.number
    }

    pub(super) fn reserve() -> Port {
        let user = rustix::process::getuid().as_raw();
        let folder = env::temp_dir().join(format!("stanchion-ports-{user}"));
        fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("cannot create {}: {e}", folder.display()));
        let count = RANGE.end - RANGE.start;
        let start = (RandomState::new().hash_one(std::process::id()) % u64::from(count)) as u16;
        for step in 0..count {
            let number = RANGE.start + (start + step) % count;
            let file = File::options().create(true).append(true).open(folder.join(number.to_string()));
            let file = file.unwrap_or_else(|e| panic!("cannot reserve port {number}: {e}"));
            // The lock keeps our own tests apart, the bind notices everybody else.
            if file.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Port { number, _reservation: file };
            }
        }
        panic!("no free port in {RANGE:?}");
    }
}
