//! YAML is shown, not written: no editor keeps its comments and its many ways to write one thing.

use super::splice::quoted;

/// What to change by hand, one text per server that is started by a command, as far as lines tell.
pub(super) fn advice(text: &str, keys: &[String], binary: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let top = bare.len() == line.len() && !bare.starts_with('-');
        if top {
            inside = keys.iter().any(|key| bare.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with(':')));
            continue;
        }
        let entry = bare.strip_prefix("- ").unwrap_or(bare);
        let Some((name, value)) = entry.split_once(':') else { continue };
        let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        if !inside || !matches!(name.trim(), "cmd" | "command") || value.is_empty() {
            continue;
        }
        let file = value.rsplit(['/', '\\']).next().unwrap_or_default();
        if matches!(file, "stanchion" | "stanchion.exe") {
            continue;
        }
        let name = name.trim();
        let number = at + 1;
        out.push(format!(
            "line {number}: `{name}: {value}` becomes `{name}: {}`, and the list `args` below it begins with \"wrap\", \"--\", {}",
            quoted(binary),
            quoted(value)
        ));
    }
    out
}
