//! Where files live, for `stanchion doctor`: the file system, its free space, and who else may touch them.

use std::path::Path;

use crate::Finding;

/// Below this a busy store is full within the hour.
const SPACE_LITTLE: u64 = 256 << 20;
/// Below this the next checkpoint or fence may find no room.
const SPACE_NONE: u64 = 4 << 20;

/// The facts of a folder that holds locks or a database.
pub(crate) fn folder(path: &Path) -> Vec<Finding> {
    let mut findings = vec![file_system(path)];
    findings.extend(space(path));
    findings.extend(permissions(path, "folder"));
    findings
}

#[cfg(target_os = "linux")]
fn file_system(path: &Path) -> Finding {
    let Ok(magic) = rustix::fs::statfs(path).map(|s| i128::from(s.f_type) & 0xffff_ffff) else {
        return Finding::weak("filesystem", format!("{} cannot be asked what it is", path.display()));
    };
    let name = match magic {
        0xef53 => "ext4",
        0x5846_5342 => "XFS",
        0x9123_683e => "Btrfs",
        0x2fc1_2fc1 => "ZFS",
        0xf2f5_2010 => "F2FS",
        0x794c_7630 => "overlay",
        0x0102_1994 | 0x8584_58f6 => {
            return Finding::weak("filesystem", "tmpfs: everything in it is lost with a restart of the machine")
                .fix("keep the store on a disk, unless it may be lost");
        }
        _ => "local",
    };
    match super::network::network_file_system(path) {
        // What to do about it depends on what lives there.
        Some(kind) => Finding::weak("filesystem", format!("{kind}: locks of the kernel may not reach other machines")),
        None => Finding::fine("filesystem", name),
    }
}

#[cfg(not(target_os = "linux"))]
fn file_system(_: &Path) -> Finding {
    Finding::fine("filesystem", "this system does not say of which kind it is")
}

#[cfg(unix)]
fn space(path: &Path) -> Option<Finding> {
    let facts = rustix::fs::statvfs(path).ok()?;
    Some(judge_space(facts.f_bavail.saturating_mul(facts.f_frsize)))
}

#[cfg(not(unix))]
fn space(_: &Path) -> Option<Finding> {
    None
}

#[cfg(any(unix, test))]
fn judge_space(free: u64) -> Finding {
    let says = if free >= 10 << 30 { format!("{} GiB free", free >> 30) } else { format!("{} MiB free", free >> 20) };
    let fix = "make room on this disk: a full one refuses every write";
    match free {
        ..SPACE_NONE => Finding::broken("space", says).fix(fix),
        SPACE_NONE..SPACE_LITTLE => Finding::weak("space", says).fix(fix),
        _ => Finding::fine("space", says),
    }
}

/// Who but the owner may read or write `path`.
#[cfg(unix)]
pub(crate) fn permissions(path: &Path, what: &'static str) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    Some(judge_mode(path, what, mode))
}

#[cfg(not(unix))]
pub(crate) fn permissions(_: &Path, _: &'static str) -> Option<Finding> {
    None
}

#[cfg(any(unix, test))]
fn judge_mode(path: &Path, what: &'static str, mode: u32) -> Finding {
    let says = |who: &str| format!("{who} the {what} (mode {mode:03o})");
    if mode & 0o002 != 0 && mode & 0o1000 == 0 {
        return Finding::broken("permissions", says("every user of this machine may change"))
            .fix(format!("chmod o-w {}", path.display()));
    }
    if what == "file" && mode & 0o004 != 0 {
        return Finding::weak("permissions", says("every user of this machine may read stored answers in"))
            .fix(format!("chmod o-r {}", path.display()));
    }
    Finding::fine("permissions", format!("no other user may change the {what} (mode {mode:03o})"))
}

/// `file:` itself: which kind of lock the file system allows.
pub(super) fn locks(folder: &Path, mode: &str) -> Finding {
    let network = super::network::network_file_system(folder);
    judge_locks(network, mode)
}

fn judge_locks(network: Option<&'static str>, mode: &str) -> Finding {
    match (network, mode) {
        (Some(kind), "kernel") => {
            Finding::broken("mode", format!("kernel locks on {kind}: two machines may hold one lock"))
                .fix("leave mode= away or set mode=heartbeat; better, use redis: or postgres:")
        }
        (Some(kind), _) => {
            Finding::weak("mode", format!("heartbeats, because this is {kind}: a dead holder blocks for stale= time"))
                .fix("for several machines use redis: or postgres:")
        }
        (None, "heartbeat") => Finding::fine("mode", "heartbeats"),
        (None, _) => Finding::fine("mode", "kernel locks: held until the process dies, on this machine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grade;

    #[test]
    fn a_network_a_full_disk_and_open_files_are_found() {
        let path = Path::new("/srv/x");
        assert_eq!(judge_locks(Some("NFS"), "kernel").grade, Grade::Broken);
        assert_eq!(judge_locks(Some("NFS"), "auto").grade, Grade::Weak);
        assert_eq!(judge_locks(None, "auto").grade, Grade::Fine);
        assert_eq!(judge_space(1 << 20).grade, Grade::Broken);
        assert_eq!(judge_space(100 << 20).grade, Grade::Weak);
        assert_eq!(judge_space(20 << 30), Finding::fine("space", "20 GiB free"));
        assert_eq!(judge_mode(path, "folder", 0o777).fix.unwrap(), "chmod o-w /srv/x");
        assert_eq!(judge_mode(path, "folder", 0o1777).grade, Grade::Fine, "as /tmp: only owners remove");
        assert_eq!(judge_mode(path, "file", 0o644).grade, Grade::Weak);
        assert_eq!(judge_mode(path, "file", 0o600).grade, Grade::Fine);
        let here = folder(&std::env::temp_dir());
        assert!(here.iter().any(|finding| finding.topic == "space"), "{here:?}");
    }
}
