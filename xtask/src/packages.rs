//! Distribution packages into a private folder, without root and without touching the system.
//!
//! apt resolves and downloads with lists and caches of its own. It is shown a copy of the machine's package status
//! from which our engines are struck out, so that it names exactly the engines plus the libraries that this machine
//! lacks, also where an engine is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Outcome, capture};

/// Names (or beginnings of names) that are struck out of the status copy.
const STRUCK: [&str; 11] = [
    "redis",
    "valkey",
    "postgresql",
    "pgbouncer",
    "mariadb",
    "etcd",
    "nats-server",
    "zookeeper",
    "consul",
    "faketime",
    "libfaketime",
];

/// A release that still has what later ones dropped: Consul. What both have comes from the machine's own, being newer.
const OLDER: &str = "bullseye";

/// Never unpacked: a second C library under a foreign loader crashes every program that finds it.
const NEVER: [&str; 5] = ["libc6", "libc-bin", "libgcc-s1", "libstdc++6", "gcc-12-base"];

pub(crate) struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Fetches package lists into `engines/apt`.
    pub(crate) fn open(engines: &Path) -> Outcome<Apt> {
        let apt = Apt { folder: engines.join("apt") };
        let error = |e| format!("cannot prepare {}: {e}", apt.folder.display());
        for part in ["sources", "lists/partial", "cache/archives/partial", "debs"] {
            fs::create_dir_all(apt.folder.join(part)).map_err(error)?;
        }
        fs::write(apt.folder.join("sources/engines.sources"), sources()?).map_err(error)?;
        let status = fs::read_to_string("/var/lib/dpkg/status").map_err(error)?;
        fs::write(apt.folder.join("status"), strike_out(&status)).map_err(error)?;
        capture(apt.command("apt-get").args(["update", "-q"]))?;
        Ok(apt)
    }

    /// Whether the lists hold all of these packages.
    pub(crate) fn knows(&self, packages: &[&str]) -> bool {
        capture(self.command("apt-cache").arg("show").args(packages)).is_ok()
    }

    /// Unpacks the packages and what they need and the machine lacks.
    pub(crate) fn unpack(&self, packages: &[&str], root: &Path) -> Outcome {
        let plan = capture(
            self.command("apt-get")
                .args(["install", "--print-uris", "-qq", "-y", "--no-install-recommends"])
                .args(packages),
        )?;
        let debs = self.folder.join("debs");
        let wanted: Vec<&str> = plan.lines().filter_map(package_of).collect();
        let mut download = self.command("apt-get");
        capture(download.args(["download", "-q"]).args(&wanted).current_dir(&debs))?;
        fs::create_dir_all(root).map_err(|e| format!("cannot create {}: {e}", root.display()))?;
        let entries = fs::read_dir(&debs).map_err(|e| format!("cannot read {}: {e}", debs.display()))?;
        for deb in entries.flatten().map(|entry| entry.path()) {
            capture(Command::new("dpkg").arg("-x").arg(&deb).arg(root))?;
            fs::remove_file(&deb).map_err(|e| format!("cannot remove {}: {e}", deb.display()))?;
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let option = |name: &str, part: &str| format!("{name}={}", self.folder.join(part).display());
        let options = [
            "Dir::Etc::sourcelist=/dev/null".to_owned(),
            option("Dir::Etc::sourceparts", "sources"),
            option("Dir::State::lists", "lists"),
            option("Dir::State::status", "status"),
            option("Dir::Cache", "cache"),
            // The download helper's own user may not enter a private checkout.
            "APT::Sandbox::User=root".to_owned(),
            "Debug::NoLocking=1".to_owned(),
            "Acquire::Retries=3".to_owned(),
        ];
        command.args(options.iter().flat_map(|option| ["-o", option]));
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

/// `'http://…' name_version_arch.deb size hash` names one package; the wanted word is `name`.
fn package_of(line: &str) -> Option<&str> {
    let file = line.strip_prefix('\'')?.split_whitespace().nth(1)?;
    let name = file.split('_').next()?;
    (!NEVER.contains(&name)).then_some(name)
}

/// Drops the stanzas of packages that we want to unpack ourselves.
fn strike_out(status: &str) -> String {
    let ours = |stanza: &&str| {
        let name = stanza.lines().next().and_then(|line| line.strip_prefix("Package: ")).unwrap_or_default();
        STRUCK.iter().any(|struck| name == *struck || name.starts_with(&format!("{struck}-")))
    };
    status.split_inclusive("\n\n").filter(|stanza| !ours(stanza)).collect()
}

/// The machine's own entries for its release, plus the same entry for that release's backports and for [`OLDER`].
fn sources() -> Outcome<String> {
    let release = fs::read_to_string("/etc/os-release").map_err(|e| format!("no /etc/os-release: {e}"))?;
    let field = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = field.ok_or("no VERSION_CODENAME in /etc/os-release")?.trim_matches('"');
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = parts.chain([PathBuf::from("/etc/apt/sources.list")]).collect();
    files.sort();
    let mut stanzas = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        match file.extension().and_then(|e| e.to_str()) {
            Some("sources") => stanzas.extend(text.split("\n\n").map(without_comments)),
            _ => stanzas.extend(text.lines().filter_map(from_one_line)),
        }
    }
    select(&stanzas, codename)
}

/// Keeps what belongs to the release; other vendors' entries may need keys and hosts that are none of our business.
fn select(stanzas: &[String], codename: &str) -> Outcome<String> {
    let backports = format!("{codename}-backports");
    let mut chosen = Vec::new();
    for stanza in stanzas {
        let suites = value(stanza, "Suites").unwrap_or_default();
        let binary = value(stanza, "Types").is_some_and(|types| types.split_whitespace().any(|t| t == "deb"));
        let ours = |suite: &str| suite == codename || suite.starts_with(&format!("{codename}-"));
        if !binary || !suites.split_whitespace().any(ours) || value(stanza, "Enabled") == Some("no") {
            continue;
        }
        chosen.push(stanza.clone());
        if suites.split_whitespace().any(|suite| suite == codename) {
            for other in [backports.as_str(), OLDER] {
                chosen.push(stanza.replace(&format!("Suites: {suites}"), &format!("Suites: {other}")));
            }
        }
    }
    if chosen.is_empty() {
        Err(format!("no package source for {codename} in /etc/apt"))
    } else {
        Ok(chosen.join("\n\n") + "\n")
    }
}

fn value<'a>(stanza: &'a str, field: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).map(str::trim)
}

fn without_comments(stanza: &str) -> String {
    let lines = stanza.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// `deb [signed-by=FILE] URI SUITE COMPONENT…`, the older form of an entry.
fn from_one_line(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb ")?.trim();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    let components = words.collect::<Vec<_>>().join(" ");
    let mut stanza = format!("Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: {components}");
    if let Some(key) = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by=")) {
        stanza += &format!("\nSigned-By: {key}");
    }
    Some(stanza)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_other_vendors_are_left_out_and_backports_are_added() {
        let old =
            from_one_line("deb [arch=amd64 signed-by=/k.gpg] http://mirror/debian bookworm main contrib").unwrap();
        let vendor = from_one_line("deb https://vendor/apt cloud-sdk-bookworm main").unwrap();
        let text = select(&[old, vendor], "bookworm").unwrap();
        assert!(text.contains("Suites: bookworm\nComponents: main contrib\nSigned-By: /k.gpg"), "{text}");
        assert!(text.contains("Suites: bookworm-backports\nComponents: main contrib"), "{text}");
        assert!(text.contains(&format!("Suites: {OLDER}\nComponents: main contrib")), "{text}");
        assert!(!text.contains("vendor"), "{text}");
    }

    #[test]
    fn engines_are_struck_out_of_the_status_and_their_libraries_stay() {
        let status =
            "Package: redis-server\nStatus: x\n\nPackage: libpq5\nStatus: x\n\nPackage: postgresql-15\nStatus: x\n";
        assert_eq!(strike_out(status), "Package: libpq5\nStatus: x\n\n");
    }

    #[test]
    fn the_c_library_is_never_taken() {
        assert_eq!(package_of("'http://m/a.deb' liblzf1_3.6-3_amd64.deb 10 MD5Sum:0"), Some("liblzf1"));
        assert_eq!(package_of("'http://m/a.deb' libc6_2.36_amd64.deb 10 MD5Sum:0"), None);
    }
}
