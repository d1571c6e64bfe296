//! The memory server: a script of calls, an end somewhere in it, and a second server that finds what is left.

mod possible;
mod script;

use std::io;
use std::path::{Path, PathBuf};

use stanchion_memory::Selection;
use stanchion_testkit::peers::Peers;

pub use self::script::mutation_of_all_kinds;

use self::possible::{Possible, sorted, strict};
use self::script::{Step, read, script};
use super::points::{Harm, Scenario, Tried, Wrong};
use super::program::{Program, Talk, built};
use super::rpc::{Client, Told};
use super::tracer::{self, Moment, Point};

/// A server of the official protocol on a file.
#[derive(Clone, Debug)]
pub struct MemoryServer {
    pub name: String,
    pub path: PathBuf,
    /// Behind which the file is named.
    pub arguments: Vec<String>,
    /// A server that does not know keys is not judged by them.
    pub knows_keys: bool,
}

impl MemoryServer {
    /// Ours, with these flags.
    pub fn ours(flags: &[&str]) -> io::Result<Self> {
        let arguments = ["memory", "--quiet"].iter().chain(flags).chain(&["--file"]).map(|one| (*one).to_owned());
        let name = ["stanchion memory"].iter().chain(flags).copied().collect::<Vec<_>>().join(" ");
        Ok(Self { name, path: built("stanchion")?, arguments: arguments.collect(), knows_keys: true })
    }

    /// The control: writes the file where it is, from the graph in memory.
    pub fn naive() -> io::Result<Self> {
        let Program { path, arguments, .. } = Program::worker("naive-memory", &[])?;
        Ok(Self { name: "control: writes in place".to_owned(), path, arguments, knows_keys: false })
    }

    /// The official one, where `cargo xtask peers` has brought it.
    pub fn official() -> Option<Self> {
        let peers = Peers::find().ok()?;
        let (path, arguments) = (peers.node().to_owned(), vec![peers.memory_server().display().to_string()]);
        Some(Self { name: "npm @modelcontextprotocol/server-memory".to_owned(), path, arguments, knows_keys: false })
    }

    fn program(&self, folder: &Path) -> Program {
        let (file, home) = (folder.join(FILE), folder.join("home"));
        let shown = |path: &Path| path.display().to_string();
        let arguments = self.arguments.iter().cloned().chain([shown(&file)]).collect();
        let variable = |name: &str, path: &Path| (name.to_owned(), shown(path));
        let variables = vec![
            variable("HOME", &home),
            variable("STANCHION_HOME", &home),
            // Where the official server is told its file.
            variable("MEMORY_FILE_PATH", &file),
        ];
        Program { path: self.path.clone(), arguments, variables }
    }

    /// The first life: the script, as far as it comes.
    fn live(&self, talk: Talk) -> Vec<(Step, Vec<Told>)> {
        let Some(mut client) = Client::greet(talk) else { return Vec::new() };
        let mut lived = Vec::new();
        for step in script().into_iter().filter(|step| self.knows_keys || step.key.is_none()) {
            let told = client.call_all(&step.asks());
            let died = told.iter().any(|one| matches!(one, Told::Unknown(why) if why == "it died"));
            lived.push((step, told));
            if died {
                break;
            }
        }
        lived
    }

    /// The second life: what is there, what repeated keys say, and whether one can write.
    fn look(&self, talk: Talk, lived: &[(Step, Vec<Told>)], was_killed: bool, possible: &mut Possible) -> Vec<Wrong> {
        let Some(mut client) = Client::greet(talk) else { return vec![unreadable("the server does not start again")] };
        let found = match read(&mut client) {
            Ok(found) => found,
            Err(said) => return vec![unreadable(&said)],
        };
        if let Err(what) = possible.narrow(&found) {
            return vec![Wrong { property: "S5", harm: Harm::Lost, what }];
        }
        let mut wrong = Vec::new();
        if self.knows_keys {
            for step in script().into_iter().filter(Step::is_first_of_its_key) {
                let before = lived.iter().find(|(one, _)| one.key == step.key).and_then(|(_, told)| told.first());
                wrong.extend(repeat(&mut client, &step, before, was_killed, possible));
            }
        }
        let more = Step::new(script::entity("after", "the second life writes"));
        match client.call_all(&more.asks()).pop() {
            Some(Told::Done { .. }) => possible.happened(&more.mutations[0]),
            told => wrong.push(Wrong {
                property: "L1",
                harm: Harm::Stuck,
                what: format!("cannot write any more: {told:?}"),
            }),
        }
        match read(&mut client) {
            Ok(found) => {
                wrong.extend(possible.narrow(&found).err().map(|what| Wrong { property: "S5", harm: Harm::Lost, what }))
            }
            Err(said) => wrong.push(unreadable(&said)),
        }
        wrong
    }
}

const FILE: &str = "memory.jsonl";

fn unreadable(what: &str) -> Wrong {
    Wrong { property: "S5", harm: Harm::Unreadable, what: what.to_owned() }
}

/// A key that was sent before is sent again.
fn repeat(
    client: &mut Client,
    step: &Step,
    before: Option<&Told>,
    was_killed: bool,
    possible: &mut Possible,
) -> Option<Wrong> {
    let mutation = &step.mutations[0];
    let was_there = possible.all_have(mutation);
    let told = client.call_all(&step.asks()).pop()?;
    let extra = |what: &str| {
        Some(Wrong { property: "S4", harm: Harm::Extra, what: format!("{what}: {before:?}, then {told:?}") })
    };
    match (before, &told) {
        (Some(Told::Done { .. }), Told::Done { replayed: false, .. }) => extra("an acknowledged keyed call ran again"),
        // Where the disk failed, the answer may have gone out before it could be recorded.
        (Some(Told::Done { .. }), Told::Unknown(_) | Told::Failed(_)) if was_killed => {
            extra("an acknowledged keyed call is not remembered")
        }
        (Some(Told::Unknown(_)), Told::Done { replayed: false, .. }) if was_there => extra("a keyed call ran again"),
        (None | Some(Told::Unknown(_) | Told::Failed(_)), Told::Done { replayed: false, .. }) => {
            possible.happened(mutation);
            None
        }
        (Some(Told::Unknown(_)), Told::Done { replayed: true, .. }) if !was_there => {
            extra("what is said to be done is not")
        }
        (None, Told::Done { replayed: true, .. }) => extra("a key that was never sent is known"),
        (None, Told::Failed(_)) if possible.refuses(mutation) => None,
        (None, Told::Unknown(_) | Told::Failed(_)) => {
            Some(Wrong { property: "L1", harm: Harm::Stuck, what: format!("a new key is refused: {told:?}") })
        }
        _ => None,
    }
}

impl Scenario for MemoryServer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn at(&self, point: Option<Point>) -> io::Result<Tried> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("home"))?;
        let program = self.program(folder.path());
        let first = tracer::run(&program, point, |talk| self.live(talk))?;
        let was_killed = point.is_some_and(|p| matches!(p.moment, Moment::Before | Moment::Torn | Moment::After));
        let lived = first.told;
        let mut possible = Possible::after(lived.iter().map(|(step, told)| (step, told.as_slice())));
        let mut wrong = Vec::new();
        if first.hung {
            wrong.push(Wrong { property: "L1", harm: Harm::Stuck, what: "the first life did not end".to_owned() });
        }
        let looked = program.run(|talk| self.look(talk, &lived, was_killed, &mut possible))?;
        wrong.extend(looked.unwrap_or_else(|| {
            vec![Wrong { property: "L1", harm: Harm::Stuck, what: "the second life did not end".to_owned() }]
        }));
        if wrong.is_empty() {
            // Somebody who knows the official format only.
            let read = std::fs::read(folder.path().join(FILE))?;
            wrong.extend(match strict(&read) {
                Ok(found) => possible.narrow(&found).err().map(|what| Wrong { property: "S5", harm: Harm::Lost, what }),
                Err(what) => Some(unreadable(&what)),
            });
        }
        let done = |told: &&Told| matches!(told, Told::Done { .. });
        let acknowledged = lived.iter().flat_map(|(_, told)| told).filter(done).count() as u64;
        Ok(Tried { calls: first.calls, hit: first.hit, acknowledged, wrong })
    }
}

/// What [`read`] found, from an answer.
fn graph_in(content: &serde_json::Value) -> Result<Selection, String> {
    let part = |name: &str| content.get(name).cloned().unwrap_or_default();
    let entities = serde_json::from_value(part("entities")).map_err(|e| format!("{e} in {content}"))?;
    let relations = serde_json::from_value(part("relations")).map_err(|e| format!("{e} in {content}"))?;
    Ok(sorted(Selection { entities, relations }))
}
