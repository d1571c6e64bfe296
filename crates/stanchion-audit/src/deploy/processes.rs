//! Processes on one machine: commands in scripts and Dockerfiles, PM2, Procfile, systemd.

use serde_json::Value;

use super::{Facts, Instances, Kind, command, line_of};
use crate::resolve::json;

/// Lines of one file that are looked at.
const LINES_MOST: usize = 20_000;
/// Scripts of one `package.json`: for each, its line is searched.
const SCRIPTS_MOST: usize = 200;

/// Numbered lines with continued ones joined, comments left out.
fn joined(text: &str) -> Vec<(u32, String)> {
    let mut lines: Vec<(u32, String)> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1_u32..).zip(text.lines().take(LINES_MOST)) {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let (part, continues) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        match lines.last_mut() {
            Some((_, last)) if is_open => {
                last.push(' ');
                last.push_str(part);
            }
            _ => lines.push((number, part.to_owned())),
        }
        is_open = continues;
    }
    lines
}

/// Shell scripts, Dockerfiles, Makefiles, supervisord.
pub(super) fn commands(facts: &mut Facts<'_>, text: &str) {
    for (number, line) in joined(text) {
        let line = line.strip_prefix("command=").unwrap_or(&line).trim_start_matches('@');
        if let Some(count) = line.strip_prefix("numprocs=") {
            let instances = Instances::of(count);
            facts.add(
                Kind::Workers,
                instances,
                number,
                format!("supervisord with {}", instances.words("worker", count)),
            );
        }
        command::scan(facts, number, line);
    }
}

pub(super) fn procfile(facts: &mut Facts<'_>, text: &str) {
    for (number, line) in joined(text) {
        let Some((process, command)) = line.split_once(':') else { continue };
        command::scan(facts, number, command);
        if process == "web" {
            let words = "a web process, of which the platform may run several";
            facts.add(Kind::Platform, Instances::Unknown, number, words);
        }
    }
}

pub(super) fn systemd(facts: &mut Facts<'_>, name: &str, text: &str) {
    if name.ends_with("@.service") {
        facts.add(Kind::Systemd, Instances::Many(None), 1, "a systemd template: one process per instance name");
    }
    for (number, line) in joined(text) {
        if let Some(command) = line.strip_prefix("ExecStart=") {
            command::scan(facts, number, command.trim_start_matches(['-', '@', '+', '!']));
        } else if let Some(setting) = line.strip_prefix("Environment=") {
            command::scan(facts, number, setting);
        }
    }
}

pub(super) fn package_json(facts: &mut Facts<'_>, text: &str) {
    let value = json::parse(text);
    for (name, script) in value.get("scripts").and_then(Value::as_object).into_iter().flatten().take(SCRIPTS_MOST) {
        if let Some(script) = script.as_str() {
            command::scan(facts, line_of(text, &format!("\"{name}\"")), script);
        }
    }
}

/// `instances: 4`, `"instances": "max"`: JavaScript, JSON or YAML, so by what stands between brackets and commas.
pub(super) fn pm2(facts: &mut Facts<'_>, text: &str) {
    let mut has_number = false;
    for (number, line) in (1_u32..).zip(text.lines().take(LINES_MOST)) {
        let line = uncommented(line);
        for part in line.split(['{', '}', '[', ']', ',']) {
            let Some((key, value)) = part.split_once(':') else { continue };
            let value = value.split("/*").next().unwrap_or(value);
            let word = |text: &str| text.trim().trim_start_matches("- ").trim_matches(['"', '\'']).to_owned();
            let (key, value) = (word(key), word(value));
            let instances = match (key.as_str(), value.as_str()) {
                ("instances", "max" | "0" | "-1") => Instances::Many(None),
                ("instances", value) => command::worker_count(value),
                ("exec_mode", "cluster" | "cluster_mode") if !has_number => Instances::Unknown,
                _ => continue,
            };
            has_number |= key == "instances";
            facts.add(Kind::Pm2, instances, number, format!("PM2 with {}", instances.words("instance", &value)));
        }
    }
}

/// A line without the comment at its end. What follows a colon is the rest of an address.
fn uncommented(line: &str) -> &str {
    let mut marks = line.match_indices("//").map(|(at, _)| line.split_at(at).0);
    marks.find(|before| !before.ends_with(':')).unwrap_or(line)
}

pub(super) fn gunicorn_conf(facts: &mut Facts<'_>, text: &str) {
    for (number, line) in (1_u32..).zip(text.lines().take(LINES_MOST)) {
        let Some((key, value)) = line.split_once('=') else { continue };
        if key.trim() == "workers" {
            let instances = command::worker_count(value.split('#').next().unwrap_or_default());
            let text = format!("gunicorn with {}", instances.words("worker", value.trim()));
            facts.add(Kind::Workers, instances, number, text);
        }
    }
}
