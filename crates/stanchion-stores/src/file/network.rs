//! File systems on which a kernel lock may not reach the other machines.

use std::path::Path;

/// The name of the network or user-space file system under `path`, if it is one.
///
/// On these, `flock` may be local to one client, or lost with a lock daemon, without any error.
#[cfg(target_os = "linux")]
pub(crate) fn network_file_system(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
    name(u32::try_from(i128::from(kind) & 0xffff_ffff).ok()?)
}

/// Elsewhere the system does not tell; users choose `mode=heartbeat` themselves.
#[cfg(not(target_os = "linux"))]
pub(crate) fn network_file_system(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(any(target_os = "linux", test))]
const fn name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9P",
        0x5346_414f => "AFS",
        0x7375_7245 => "Coda",
        0x00c3_6400 => "Ceph",
        0x0bd0_0bd0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x7461_636f => "OCFS2",
        0x0116_1970 => "GFS2",
        0x786f_4256 => "VirtualBox shared folder",
        0xaad7_aaea => "PanFS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_disk_is_not_a_network() {
        assert_eq!(name(0xef53), None);
        assert_eq!(name(0x6969), Some("NFS"));
        assert_eq!(network_file_system(&std::env::temp_dir()), None);
    }
}
