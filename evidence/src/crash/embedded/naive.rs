//! The control: what a service does that has never met a crash.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use super::worker::EFFECTS;

struct Naive {
    folder: PathBuf,
}

pub(in crate::crash) fn run(arguments: &[String]) -> ExitCode {
    let [folder, _] = arguments else { return ExitCode::from(2) };
    let naive = Naive { folder: folder.into() };
    let mut out = io::stdout();
    // Whoever does not listen any more does not miss it.
    writeln!(out, "ready").ok();
    for line in io::stdin().lock().lines().map_while(io::Result::ok) {
        let answer = naive.obey(&line).unwrap_or_else(|e| format!("failed {e}"));
        writeln!(out, "{answer}").ok();
    }
    ExitCode::SUCCESS
}

impl Naive {
    fn obey(&self, order: &str) -> io::Result<String> {
        let (verb, name) = order.split_once(' ').unwrap_or((order, ""));
        let mut values: BTreeMap<String, String> = match fs::read(self.folder.join("store.json")) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(_) => BTreeMap::new(),
        };
        let number = |values: &BTreeMap<String, String>, key: &str| -> u64 {
            values.get(key).and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        Ok(match verb {
            "count" | "add" => {
                let lock = self.folder.join(format!("{name}.lock"));
                OpenOptions::new().write(true).create_new(true).open(&lock)?;
                let (key, fence) = (format!("{verb}/{name}"), number(&values, "fence") + 1);
                let new = number(&values, &key) + 1;
                values.extend([(key, new.to_string()), ("fence".to_owned(), fence.to_string())]);
                self.write(&values)?;
                fs::remove_file(lock)?;
                format!("done {new} {fence}")
            }
            "counted" | "added" => {
                format!("done {}", number(&values, &format!("{}/{name}", verb.trim_end_matches("ed"))))
            }
            "call" | "both" => match values.get(&format!("call/{name}")) {
                Some(body) => format!("done replayed {body}"),
                None => {
                    let mut file = OpenOptions::new().append(true).create(true).open(self.folder.join(EFFECTS))?;
                    file.write_all(format!("\n{name} naive").as_bytes())?;
                    values.insert(format!("call/{name}"), "naive".to_owned());
                    self.write(&values)?;
                    "done ran naive".to_owned()
                }
            },
            "enqueue" => {
                values.insert(format!("job/{name}"), "Queued".to_owned());
                self.write(&values)?;
                format!("done id-{name} false")
            }
            "jobs" => {
                let job =
                    |(key, state): (&String, &String)| Some((key.strip_prefix("job/")?.to_owned(), state.clone()));
                let shown: Vec<_> =
                    values.iter().filter_map(job).map(|(key, state)| format!("{key}=id-{key}={state}")).collect();
                format!("done {}", shown.join(" "))
            }
            _ => "done nothing".to_owned(),
        })
    }

    fn write(&self, values: &BTreeMap<String, String>) -> io::Result<()> {
        // stanchion-audit: ignore RC101, RC302 -- the control, which has to lose
        fs::write(self.folder.join("store.json"), serde_json::to_vec(values)?)
    }
}
