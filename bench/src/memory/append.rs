//! The least that a safe write can be: take a file lock, append the line, give the lock back.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Outcome;
use crate::gateway::echo::Request;

/// A file that is only ever appended to, under a lock of its own.
pub(super) struct Append {
    file: File,
    lock: File,
    line: Vec<u8>,
}

impl Append {
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        let lock = File::options().write(true).create(true).truncate(false).open(path.with_extension("lock"))?;
        let mut file = File::options().append(true).create(true).open(path)?;
        // The official server ends its file without one.
        file.write_all(b"\n")?;
        Ok(Self { file, lock, line: Vec::new() })
    }

    /// `entity`: an object as it came.
    pub(super) fn entity(&mut self, entity: &str) -> Outcome {
        let members = entity.trim_start().strip_prefix('{').ok_or("not an entity")?;
        self.line.clear();
        self.line.extend_from_slice(br#"{"type":"entity","#);
        self.line.extend_from_slice(members.as_bytes());
        self.line.push(b'\n');
        self.lock.lock()?;
        let written = self.file.write_all(&self.line);
        self.lock.unlock()?;
        Ok(written?)
    }
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    entities: Vec<&'a RawValue>,
}

/// `stanchion-bench append-server FILE`: does that for each `create_entities`, and nothing else.
pub(crate) fn main(path: &Path) -> Outcome {
    let mut append = Append::open(path)?;
    let mut input = BufReader::with_capacity(64 * 1024, std::io::stdin().lock());
    let mut output = File::from(rustix::io::dup(std::io::stdout())?);
    let (mut line, mut out) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        out.clear();
        if answer(&mut append, &line, &mut out)? {
            output.write_all(&out)?;
        }
    }
}

fn answer(append: &mut Append, line: &[u8], out: &mut Vec<u8>) -> Outcome<bool> {
    let request: Request<'_> = serde_json::from_slice(line)?;
    let (Some(id), Some(method)) = (request.id, request.method) else { return Ok(false) };
    let params = request.params.map_or("{}", RawValue::get);
    write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":"#)?;
    if method == "tools/call" {
        let call: Params<'_> = serde_json::from_str(params)?;
        for entity in &call.arguments.entities {
            append.entity(entity.get())?;
        }
        // As long as the answer of a real server: the text and the same again as data.
        let text = serde_json::to_string(&call.arguments.entities)?;
        let quoted = serde_json::to_string(&text)?;
        write!(
            out,
            r#"{{"content":[{{"type":"text","text":{quoted}}}],"structuredContent":{{"entities":{text}}}}}}}"#
        )?;
    } else {
        out.extend_from_slice(br#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"append","version":"1"}}}"#);
    }
    out.push(b'\n');
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_appends_its_line_and_gives_the_entity_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.jsonl");
        let (mut append, mut out) = (Append::open(&path).unwrap(), Vec::new());
        let call = br#"{"id":1,"method":"tools/call","params":{"name":"create_entities","arguments":{"entities":[{"name":"a"}]}}}"#;
        assert!(answer(&mut append, call, &mut out).unwrap());
        let answer: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(answer["result"]["structuredContent"]["entities"][0]["name"], "a");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "\n{\"type\":\"entity\",\"name\":\"a\"}\n");
    }
}
