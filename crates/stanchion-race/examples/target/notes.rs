//! MCP on pipes with a list of tools: notes that are added and listed, soundly or with one thing wrong.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Result, pause};

/// `sound` appends · `racy` reads, changes and writes back · `private` keeps them in memory · `short` lists five · `last` keeps one ·
/// `hang`, `crash`, `garbage` do so when something is added · `fickle` lists all but the last every second time · `forgets` every ninth · `mute` has no tools.
pub(crate) fn notes(file: &Path, how: &str) -> Result<()> {
    let (mut own, mut looks) = (Vec::new(), 0_usize);
    for line in std::io::stdin().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let text = message["params"]["arguments"]["text"].as_str().unwrap_or_default();
        let read = || -> Vec<String> {
            std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
        };
        let result = match (message["method"].as_str(), message["params"]["name"].as_str()) {
            (Some("initialize"), _) => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}),
            (Some("tools/list"), _) => json!({"tools": if how == "mute" { json!([]) } else { tools() }}),
            (_, Some("add_note")) => {
                match how {
                    "hang" => continue,
                    "crash" => return Err("a note too many".into()),
                    "garbage" => {
                        println_raw("a note was added")?;
                        continue;
                    }
                    "private" => own.push(text.to_owned()),
                    "forgets" if text.bytes().fold(0, u8::wrapping_add) % 9 == 0 => {}
                    "last" => own = vec![text.to_owned()],
                    "racy" => {
                        let mut all = read();
                        pause(Duration::from_millis(30));
                        all.push(text.to_owned());
                        let staged = file.with_extension(std::process::id().to_string());
                        std::fs::write(&staged, all.join("\n"))?;
                        // stanchion-audit: ignore RC101 -- by purpose: the race tester has to find it
                        std::fs::rename(&staged, file)?;
                    }
                    _ => {
                        let mut notes = std::fs::OpenOptions::new().append(true).create(true).open(file)?;
                        notes.write_all(format!("{text}\n").as_bytes())?;
                    }
                }
                json!({"content": [{"type": "text", "text": "added"}]})
            }
            _ => {
                looks += 1;
                let mut all = if matches!(how, "private" | "last") { own.clone() } else { read() };
                all.truncate(if how == "short" { 5 } else { usize::MAX });
                if how == "fickle" && looks.is_multiple_of(2) {
                    all.pop();
                }
                json!({"content": [{"type": "text", "text": json!({"notes": all}).to_string()}]})
            }
        };
        println_raw(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())?;
    }
    Ok(())
}

fn println_raw(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

fn tools() -> Value {
    let text = json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}});
    json!([
        {"name": "delete_note", "inputSchema": text},
        {"name": "list_notes", "inputSchema": {"type": "object"}},
        {"name": "add_note", "inputSchema": text},
    ])
}
