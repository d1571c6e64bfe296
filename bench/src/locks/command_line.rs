//! `stanchion run`: what it adds to a command, and what it keeps in memory meanwhile.

use super::{bench, subject};
use crate::Outcome;
use crate::crew::Program;
use crate::engines::Engines;
use crate::plan::{Bench, Kind, Place, Subject};
use crate::target::Target;

const OURS: &str = "stanchion run --lock x -- true";
const TRUE: &str = "true";
const FLOCK: &str = "flock FILE true";
const IDLE: &str = "stanchion run --lock x -- sleep 5";

const ABOUT: &str = "From spawn to exit, one run after the other. Stanchion on its embedded default store.";
const ABOUT_MEMORY: &str = "VmRSS of the `stanchion` process while its command sleeps.";

pub(super) fn benches(engines: &Engines) -> Outcome<Vec<Bench>> {
    let folder = engines.fresh_folder("command-line")?;
    let file = folder.join("flock").display().to_string();
    let home = format!("--home={}", folder.display());
    let program = std::env::current_exe()?.with_file_name("stanchion");
    let ours = |label, command: &[&str]| {
        let words =
            [program.display().to_string(), home.clone(), "run".into(), "--lock".into(), "x".into(), "--".into()];
        let words = words.into_iter().chain(command.iter().map(|word| (*word).to_owned())).collect();
        let missing = format!("no {} beside this program", program.file_name().unwrap_or_default().display());
        Subject {
            program: if program.is_file() { Ok(Program::Ours) } else { Err(missing) },
            ..subject(label, "command", Place::Words(words))
        }
    };
    let words = |words: &[&str]| Place::Words(words.iter().map(|word| (*word).to_owned()).collect());
    let subjects = vec![
        subject(TRUE, "command", words(&["true"])),
        subject(FLOCK, "command", words(&["flock", &file, "true"])).of(TRUE),
        ours(OURS, &["true"]).of(TRUE),
    ];
    let spawn = bench("command-line".into(), ABOUT, Kind::Spawn, subjects);
    let spawn = Bench { targets: vec![Target::Added { ours: OURS, base: TRUE, below_ms: 5.0 }], ..spawn };
    let idle = Subject { worker: "command-rss", ..ours(IDLE, &["sleep", "5"]) };
    let memory = bench("command-line-memory".into(), ABOUT_MEMORY, Kind::Memory, vec![idle]);
    let memory = Bench { targets: vec![Target::Memory { ours: IDLE, below_mib: 10.0 }], ..memory };
    Ok(vec![spawn, memory])
}
