//! The words for what a call does.

use crate::error::nearest;

/// All that `does` may say.
const WORDS: &[&str] = &[
    "file.read",
    "file.write",
    "file.append",
    "file.check",
    "file.list",
    "file.create",
    "file.delete",
    "file.rename",
    "file.open",
    "file.opens",
    "file.handle",
    "file.stream",
    "file.temp",
    "file.save",
    "file.options",
    "path.join",
    "path.same",
    "path.part",
    "key.get",
    "key.check",
    "key.set",
    "key.setnx",
    "key.add",
    "key.del",
    "key.expire",
    "key.eval",
    "key.watch",
    "doc.get",
    "doc.check",
    "doc.set",
    "doc.put",
    "doc.update",
    "doc.insert",
    "doc.del",
    "doc.ref",
    "sql",
    "sql.prepare",
    "sql.prepared",
    "sql.bind",
    "sql.bound",
    "sql.run",
    "sql.rows",
    "sql.opens",
    "sql.begin",
    "sql.end",
    "sql.transaction",
    "row.find",
    "row.update",
    "row.create",
    "row.upsert",
    "row.delete",
    "row.save",
    "row.add",
    "build.find",
    "build.update",
    "build.insert",
    "build.upsert",
    "build.delete",
    "build.table",
    "build.where",
    "build.set",
    "build.new",
    "build.lock",
    "build.relative",
    "build.same",
    "build.run",
    "cond.equal",
    "cond.all",
    "cond.other",
    "cond.stored",
    "lock.acquire",
    "lock.release",
    "lock.renew",
    "lock.with",
    "lock.enter",
    "lock.permit",
    "lock.return",
    "effect",
    "sleep",
    "tool",
    "route",
    "consumer",
    "hook",
    "timer",
    "ticks",
    "retry",
    "retries",
    "spawn",
    "call",
    "later",
    "process.starts",
    "process.tells",
    "processes",
    "memory.add",
    "memory.remove",
    "pass",
    "member",
    "object",
    "list",
    "unique",
    "send",
    "input",
    "ignore",
];

/// What is wrong with a word, if it is none of them.
pub(super) fn unknown(word: &str) -> Option<String> {
    if WORDS.contains(&word) {
        return None;
    }
    let word = crate::format::flat(word);
    Some(match nearest(&word, WORDS.iter().copied()) {
        Some(known) => format!("`does` cannot be `{word}`; did you mean `{known}`?"),
        None => format!("`does` cannot be `{word}`"),
    })
}

/// The line that says so; 0 if it cannot be told.
pub(super) fn line(text: &str, word: &str) -> u32 {
    let says = |line: &str| {
        let value = line.trim_start().strip_prefix("does").and_then(|rest| rest.trim_start().strip_prefix('='));
        value.is_some_and(|value| value.contains(&format!("\"{word}\"")) || value.contains(&format!("'{word}'")))
    };
    (1_u32..).zip(text.lines()).find(|(_, line)| says(line)).map_or(0, |(number, _)| number)
}
