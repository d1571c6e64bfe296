//! MCP on pipes with a list of tools: notes that are added and listed, soundly or with one thing wrong.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Result, pause};

/// `sound` appends · `racy` reads, changes and writes back · `private` keeps them in memory · `short` lists five · `last` keeps one ·
/// `torn` writes in two steps, and does not start if the second is missing · `two` has tags as well, of which it lists five ·
/// `hang`, `crash`, `garbage` do so when something is added · `fickle` lists all but the last every second time · `forgets` every ninth · `mute` has no tools.
pub(crate) fn notes(file: &Path, how: &str) -> Result<()> {
    let (mut own, mut looks) = (Vec::new(), 0_usize);
    let tags = file.with_extension("tags");
    if how == "torn" && std::fs::read_to_string(file).is_ok_and(|text| !text.ends_with('\n')) {
        return Err("half a note".into());
    }
    for line in std::io::stdin().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let text = message["params"]["arguments"]["text"].as_str().unwrap_or_default();
        let read = || -> Vec<String> {
            std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
        };
        let result = match (message["method"].as_str(), message["params"]["name"].as_str()) {
            (Some("initialize"), _) => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}),
            (Some("tools/list"), _) => json!({"tools": if how == "mute" { json!([]) } else { tools(how == "two") }}),
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
                    "torn" => {
                        let mut notes = std::fs::OpenOptions::new().append(true).create(true).open(file)?;
                        notes.write_all(text.as_bytes())?;
                        pause(Duration::from_millis(30));
                        notes.write_all(b"\n")?;
                    }
                    _ => {
                        let mut notes = std::fs::OpenOptions::new().append(true).create(true).open(file)?;
                        notes.write_all(format!("{text}\n").as_bytes())?;
                    }
                }
                json!({"content": [{"type": "text", "text": "added"}]})
            }
            (_, Some("create_tag")) => {
                let mut tags = std::fs::OpenOptions::new().append(true).create(true).open(&tags)?;
                tags.write_all(format!("{text}\n").as_bytes())?;
                json!({"content": []})
            }
            (_, Some("list_tags")) => {
                let all = std::fs::read_to_string(&tags).unwrap_or_default();
                json!({"structuredContent": {"tags": all.lines().take(5).collect::<Vec<_>>()}})
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

fn tools(has_tags: bool) -> Value {
    let text = json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}});
    let mut tools = vec![
        json!({"name": "delete_note", "inputSchema": text}),
        json!({"name": "list_notes", "inputSchema": {"type": "object"}}),
        json!({"name": "add_note", "inputSchema": text}),
    ];
    if has_tags {
        tools.push(json!({"name": "create_tag", "inputSchema": text}));
        tools.push(json!({"name": "list_tags", "inputSchema": {"type": "object"}}));
    }
    Value::Array(tools)
}
