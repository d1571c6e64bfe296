//! Which program a command name means, also for clients that were not started from a terminal.
//!
//! A graphical client starts servers with the PATH of the desktop, on which version managers are not. So a bare name
//! that is not found there is looked for where such tools are installed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use stanchion_core::{Error, ErrorKind};

/// What `execvp` takes when there is no PATH at all.
const PATH_DEFAULT: &str = "/bin:/usr/bin";

/// Where programs of a whole machine are.
const SYSTEM: &[&str] = &[
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/opt/local/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
    "/snap/bin",
    "/Applications/Docker.app/Contents/Resources/bin",
    "/usr/bin",
    "/bin",
];

/// Managers of node versions, in a home: the folder of the versions, and what follows a version.
const NODE_VERSIONS: &[(&str, &str)] = &[
    (".nvm/versions/node", "bin"),
    (".config/nvm/versions/node", "bin"),
    (".local/share/fnm/node-versions", "installation/bin"),
    ("Library/Application Support/fnm/node-versions", "installation/bin"),
    (".fnm/node-versions", "installation/bin"),
];

/// Where programs of one user are.
const USER: &[&str] = &[
    ".volta/bin",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".nodenv/shims",
    ".pyenv/shims",
    ".local/bin",
    ".cargo/bin",
    ".bun/bin",
    ".deno/bin",
    "n/bin",
    ".local/share/pnpm",
    "Library/pnpm",
    ".nix-profile/bin",
    ".docker/bin",
    ".rd/bin",
    "bin",
];

/// A program that can be started.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// Its absolute path.
    pub(crate) program: PathBuf,
    /// The PATH for it, where the client's own would not do: what it needs beside itself is found first.
    pub(crate) path: Option<OsString>,
    /// What to say on stderr, then.
    pub(crate) note: Option<String>,
}

/// Nothing was started.
#[derive(Debug)]
pub(crate) struct Unresolved {
    /// 127 if there is no such program, 126 if it may not be executed.
    pub(crate) code: u8,
    /// Which, and where it was looked for.
    pub(crate) error: Error,
}

/// What `execvp` would start with this PATH; for a bare name that it would not find, what a terminal would.
///
/// # If it fails
/// Nothing has been started; the error names the command, the PATH and the next step.
pub(crate) fn resolve(command: &OsStr, path: Option<&OsStr>, home: Option<&Path>) -> Result<Resolved, Unresolved> {
    resolve_in(command, path, home, SYSTEM)
}

fn resolve_in(
    command: &OsStr,
    path: Option<&OsStr>,
    home: Option<&Path>,
    system: &[&str],
) -> Result<Resolved, Unresolved> {
    let mut denied = None;
    let mut look = |program: PathBuf| match judge(&program) {
        Found::Yes => std::path::absolute(&program).ok(),
        Found::No => None,
        Found::Denied => {
            denied.get_or_insert(program);
            None
        }
    };
    let direct = |program| Resolved { program, path: None, note: None };
    if !is_bare(command) {
        let found = candidates(Path::new(""), command).find_map(&mut look).map(direct);
        return found.ok_or_else(|| unresolved(command, None, denied.as_deref()));
    }
    let searched = path.unwrap_or(OsStr::new(PATH_DEFAULT));
    let on_path = |dir: PathBuf| candidates(&dir, command).find_map(&mut look);
    if let Some(program) = std::env::split_paths(searched).find_map(on_path) {
        return Ok(direct(program));
    }
    let places = home.into_iter().flat_map(places_of_user).chain(system.iter().map(PathBuf::from));
    let found = places.filter(|dir| dir.is_absolute()).find_map(|dir| {
        let program = candidates(&dir, command).find_map(&mut look)?;
        Some((dir, program))
    });
    let Some((dir, program)) = found else { return Err(unresolved(command, Some(searched), denied.as_deref())) };
    let mut front = vec![dir];
    // The shims of asdf are scripts that call asdf itself.
    front.extend(
        home.map(|home| home.join(".asdf/bin")).filter(|bin| front[0].ends_with(".asdf/shims") && bin.is_dir()),
    );
    // An entry that cannot be in a PATH (it has a colon) was not found through one either.
    let repaired = std::env::join_paths(front.into_iter().chain(std::env::split_paths(searched))).ok();
    let note = format!(
        "stanchion: {} is not on the PATH of this client; using {}",
        command.to_string_lossy(),
        program.display()
    );
    Ok(Resolved { program, path: repaired, note: Some(note) })
}

fn unresolved(command: &OsStr, searched: Option<&OsStr>, denied: Option<&Path>) -> Unresolved {
    let name = command.to_string_lossy();
    let (code, error) = match denied {
        Some(program) => {
            let error = Error::new(ErrorKind::Denied, format!("command '{name}' cannot be executed"))
                .with("file", program.display())
                .hint(format!("it must be a file that you may execute: chmod +x {}", program.display()));
            (126, error)
        }
        None => (127, Error::new(ErrorKind::Invalid, format!("command '{name}' was not found"))),
    };
    let error = match searched {
        None if code == 127 => error.hint("it is named by a path, so PATH does not matter: check the path"),
        None => error,
        Some(path) if code == 127 => error.with("PATH", path.to_string_lossy()).hint(format!(
            "it is in no folder of PATH nor where nvm, fnm, volta, mise, asdf, homebrew, uv, cargo, bun and deno \
             install; install it, or give its full path, which `command -v {name}` prints in a terminal"
        )),
        Some(path) => error.with("PATH", path.to_string_lossy()),
    };
    Unresolved { code, error }
}

fn is_bare(command: &OsStr) -> bool {
    let text = command.to_string_lossy();
    let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
    !text.is_empty() && !text.contains(separators)
}

/// The files that a name can mean in a folder.
fn candidates(dir: &Path, command: &OsStr) -> impl Iterator<Item = PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &["", ".exe", ".cmd", ".bat"] } else { &[""] };
    // An empty folder of a PATH is the current one.
    let dir = if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir.to_owned() };
    endings.iter().map(move |ending| {
        let mut name = command.to_owned();
        name.push(ending);
        dir.join(name)
    })
}

enum Found {
    Yes,
    No,
    Denied,
}

fn judge(program: &Path) -> Found {
    match std::fs::metadata(program) {
        Ok(meta) if meta.is_file() && may_execute(program) => Found::Yes,
        Ok(meta) if meta.is_file() => Found::Denied,
        _ => Found::No,
    }
}

#[cfg(unix)]
fn may_execute(program: &Path) -> bool {
    rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn may_execute(_: &Path) -> bool {
    true
}

/// Version managers before plain folders: who has one, uses it.
fn places_of_user(home: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for (versions, bin) in NODE_VERSIONS {
        let versions = home.join(versions);
        let mut installed = installed(&versions);
        if let Some(default) = default_version(&versions, &installed) {
            installed.insert(0, default);
        }
        places.extend(installed.iter().map(|name| versions.join(name).join(bin)));
    }
    places.extend(USER.iter().map(|dir| home.join(dir)));
    places
}

/// The versions in a folder, the newest first.
fn installed(versions: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by_cached_key(|name| std::cmp::Reverse(numbers(name)));
    names
}

/// `v22.9.0` as numbers, because 9 is older than 10.
fn numbers(version: &str) -> Vec<u64> {
    version.trim_start_matches('v').split('.').map_while(|part| part.parse().ok()).collect()
}

/// The version that the manager takes where nobody says otherwise. `versions` is `…/versions/node` of nvm, or
/// `…/node-versions` of fnm.
fn default_version(versions: &Path, installed: &[String]) -> Option<String> {
    let up = versions.parent()?;
    if let Ok(link) = std::fs::read_link(up.join("aliases/default")) {
        // fnm: a link to `…/node-versions/v22.9.0/installation`.
        return installed.iter().find(|name| link.iter().any(|part| part == name.as_str())).cloned();
    }
    let aliases = up.parent()?.join("alias");
    let mut name = "default".to_owned();
    // An alias may name an alias (`lts/*`, `lts/krypton`, `v24.1.0`), and so on in a circle.
    for _ in 0..8 {
        if Path::new(&name).components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return None;
        }
        match std::fs::read_to_string(aliases.join(&name)) {
            Ok(text) => name = text.trim().to_owned(),
            Err(_) => break,
        }
    }
    let wanted = numbers(&name);
    if wanted.is_empty() {
        return None;
    }
    installed.iter().find(|name| numbers(name).starts_with(&wanted)).cloned()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A home, and folders that stand for those of the machine.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn dir(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn install(&self, name: &str) -> PathBuf {
            self.write(name, "#!/bin/sh\n", 0o755)
        }

        fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
            let file = self.dir(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            file
        }

        fn resolve(&self, command: &str, path: &str) -> Result<Resolved, Unresolved> {
            let system = self.dir("system");
            let path = path.split(':').map(|dir| self.dir(dir));
            let path = std::env::join_paths(path).unwrap();
            resolve_in(command.as_ref(), Some(&path), Some(&self.dir("home")), &[system.to_str().unwrap()])
        }

        /// The program that repairs a PATH on which it is not, from the root of the machine.
        fn repaired(&self, command: &str) -> String {
            let found = self.resolve(command, "empty").unwrap();
            assert!(found.path.is_some() && found.note.is_some(), "{found:?}");
            found.program.strip_prefix(self.0.path()).unwrap().to_str().unwrap().to_owned()
        }
    }

    #[test]
    fn what_is_on_the_path_is_taken_as_it_is() {
        let machine = Machine::new();
        let second = machine.install("b/npx");
        machine.install("c/npx");
        machine.install("home/.volta/bin/npx");
        std::fs::create_dir_all(machine.dir("a/npx")).unwrap();
        machine.write("x/npx", "", 0o644);
        let found = machine.resolve("npx", "a:x:b:c").unwrap();
        assert_eq!(found.program, second);
        assert!(found.path.is_none() && found.note.is_none());
    }

    #[test]
    fn a_command_with_a_folder_is_never_searched_for() {
        let machine = Machine::new();
        let file = machine.install("tools/server");
        machine.install("home/.local/bin/server");
        assert_eq!(machine.resolve(file.to_str().unwrap(), "empty").unwrap().program, file);
        let error = machine.resolve("./no/server", "tools").unwrap_err();
        assert_eq!(error.code, 127);
        assert!(error.error.to_string().contains("./no/server"), "{}", error.error);
        let error = machine.resolve("", "tools").unwrap_err();
        assert_eq!(error.code, 127);
    }

    #[test]
    fn every_known_place_repairs_the_path() {
        for place in [
            "home/.nvm/versions/node/v22.9.0/bin",
            "home/.config/nvm/versions/node/v22.9.0/bin",
            "home/.local/share/fnm/node-versions/v22.9.0/installation/bin",
            "home/.volta/bin",
            "home/.asdf/shims",
            "home/.local/share/mise/shims",
            "home/.local/bin",
            "home/.cargo/bin",
            "home/.bun/bin",
            "home/.deno/bin",
            "home/n/bin",
            "system",
        ] {
            let machine = Machine::new();
            let program = machine.install(&format!("{place}/uvx"));
            let found = machine.resolve("uvx", "empty").unwrap();
            assert_eq!(found.program, program, "{place}");
            let path: Vec<_> = std::env::split_paths(&found.path.unwrap()).collect();
            assert_eq!(path, [machine.dir(place), machine.dir("empty")], "{place}");
            let note = found.note.unwrap();
            assert!(note.starts_with("stanchion: uvx is not on the PATH") && note.contains(program.to_str().unwrap()));
        }
    }

    #[test]
    fn of_several_versions_the_default_is_taken_and_else_the_newest() {
        let machine = Machine::new();
        for version in ["v9.11.2", "v18.20.4", "v22.9.0", "v22.10.0"] {
            machine.install(&format!("home/.nvm/versions/node/{version}/bin/npx"));
        }
        machine.install("home/.nvm/versions/node/v18.20.4/bin/old");
        assert_eq!(machine.repaired("npx"), "home/.nvm/versions/node/v22.10.0/bin/npx");
        assert_eq!(machine.repaired("old"), "home/.nvm/versions/node/v18.20.4/bin/old");
        for (alias, version) in [
            ("18", "v18.20.4"),
            ("v22.9.0", "v22.9.0"),
            ("22", "v22.10.0"),
            ("node", "v22.10.0"),
            ("lts/*", "v18.20.4"),
            ("20", "v22.10.0"),
            ("../../../../etc/passwd", "v22.10.0"),
            ("default", "v22.10.0"),
        ] {
            machine.write("home/.nvm/alias/lts/*", "lts/hydrogen\n", 0o644);
            machine.write("home/.nvm/alias/lts/hydrogen", "v18.20.4\n", 0o644);
            machine.write("home/.nvm/alias/default", &format!("{alias}\n"), 0o644);
            assert_eq!(machine.repaired("npx"), format!("home/.nvm/versions/node/{version}/bin/npx"), "{alias}");
        }
    }

    #[test]
    fn the_default_of_fnm_is_followed() {
        let machine = Machine::new();
        let root = "home/.local/share/fnm";
        for version in ["v18.20.4", "v22.9.0"] {
            machine.install(&format!("{root}/node-versions/{version}/installation/bin/npx"));
        }
        std::fs::create_dir_all(machine.dir(&format!("{root}/aliases"))).unwrap();
        let target = machine.dir(&format!("{root}/node-versions/v18.20.4/installation"));
        symlink(target, machine.dir(&format!("{root}/aliases/default"))).unwrap();
        assert_eq!(machine.repaired("npx"), format!("{root}/node-versions/v18.20.4/installation/bin/npx"));
    }

    #[test]
    fn asdf_itself_is_found_by_its_shims() {
        let machine = Machine::new();
        machine.install("home/.asdf/shims/npx");
        machine.install("home/.asdf/bin/asdf");
        let path = machine.resolve("npx", "empty").unwrap().path.unwrap();
        let path: Vec<_> = std::env::split_paths(&path).collect();
        assert_eq!(path, ["home/.asdf/shims", "home/.asdf/bin", "empty"].map(|dir| machine.dir(dir)));
    }

    #[test]
    fn what_is_nowhere_is_named_with_the_path_and_the_next_step() {
        let machine = Machine::new();
        let error = machine.resolve("npx", "one:two").unwrap_err();
        assert_eq!(error.code, 127);
        let text = error.error.to_string();
        assert!(text.contains("'npx' was not found") && text.contains("/one:") && text.contains("/two"), "{text}");
        assert!(error.error.next_step().unwrap().contains("command -v npx"));
        machine.write("one/npx", "", 0o644);
        let error = machine.resolve("npx", "one:two").unwrap_err();
        assert_eq!(error.code, 126);
        assert!(error.error.next_step().unwrap().contains("chmod +x"));
    }

    #[test]
    fn without_a_path_the_default_of_the_system_is_searched() {
        let found = resolve("sh".as_ref(), None, None).unwrap();
        assert!(found.program.is_absolute() && found.program.ends_with("sh") && found.path.is_none(), "{found:?}");
    }
}
