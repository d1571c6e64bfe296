//! What a process complained about, in a few words: the error, wherever it stands, and what came last.

use super::shown;

/// So much of it is kept: stacks are long, and the error stands above them.
pub(super) const KEPT: usize = 16 << 10;
/// Lines that are told if none of them names an error, and after one that does.
const LINES: usize = 4;
const AFTER: usize = 3;

/// How much a line looks like the one that says what is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Names {
    Nothing,
    Somewhere,
    First,
}

/// The first line that names an error, and the last lines after it: a stack alone says where, and not what.
pub(super) fn told(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let telling: Vec<&str> = lines.iter().copied().filter(|line| !is_stack(line)).collect();
    let lines = if telling.is_empty() { lines } else { telling };
    let names: Vec<Names> = (0..lines.len()).map(|at| names_error(&lines, at)).collect();
    let best = names.iter().copied().max()?;
    let last = |lines: &[&str], most: usize| {
        let last: Vec<&str> = lines.iter().skip(lines.len().saturating_sub(most)).map(|line| line.trim()).collect();
        last.join(" / ")
    };
    if best == Names::Nothing {
        return Some(shown(&last(&lines, LINES)));
    }
    let at = names.iter().position(|it| *it == best)?;
    let (error, after) = (lines.get(at)?, lines.get(at + 1..).unwrap_or_default());
    let mut text = shown(error);
    if !after.is_empty() {
        text.push_str(&format!(" / {}", shown(&last(after, AFTER))));
    }
    Some(text)
}

/// A frame of a stack, a sign below a line of source code, or what Node says at the end.
fn is_stack(line: &str) -> bool {
    let text = line.trim_start();
    let is_frame = text.len() < line.len() && (text.starts_with("at ") || text.starts_with("File \""));
    is_frame || text.starts_with("Node.js v") || !text.contains(char::is_alphanumeric)
}

fn names_error(lines: &[&str], at: usize) -> Names {
    let Some(line) = lines.get(at) else { return Names::Nothing };
    // What is indented is a line of source code, or belongs to an error that is named above it.
    if line.starts_with(char::is_whitespace) || line.starts_with("throw ") {
        return Names::Nothing;
    }
    // Python names it where the stack ends, by whatever name the class has.
    let above = lines.get(..at).unwrap_or_default().iter().rev().find(|line| !line.starts_with(char::is_whitespace));
    if above.is_some_and(|line| line.starts_with("Traceback (most recent call last)")) {
        return Names::First;
    }
    let lower = line.to_ascii_lowercase();
    let words = lower.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|it| it.len() > 1);
    let mut best = Names::Nothing;
    for (place, word) in words.enumerate() {
        let (name, sign) = word.split_at(word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
        if !["error", "exception", "panic", "panicked", "fatal", "err"].iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let is_first = place < 2 || sign == ":" || name == "panicked";
        best = best.max(if is_first { Names::First } else { Names::Somewhere });
    }
    best
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn an_error_is_told_although_a_stack_stands_below_it() {
        let node = "file:///srv/boom.mjs:1\nthrow new Error(\"DATABASE_URL is not set\")\n      ^\n\n\
                    Error: DATABASE_URL is not set\n    at file:///srv/boom.mjs:1:7\n    at ModuleJob.run (node:internal/modules/esm/module_job:343:25)\n\
                    \x20   at async onImport (node:internal/modules/esm/loader:665:26)\n\nNode.js v20.20.2\n";
        assert_eq!(told(node).as_deref(), Some("Error: DATABASE_URL is not set"));
        let module = "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/srv/srv.mjs'\n\
                      \x20   at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n";
        assert!(told(module).unwrap().starts_with("Error: Cannot find module '/srv/srv.mjs' / "), "{:?}", told(module));
        let python = "Starting\nTraceback (most recent call last):\n  File \"/srv/app.py\", line 2, in <module>\n    settings.load()\n\
                      app.Misconfigured: DATABASE_URL is not set\n";
        assert_eq!(told(python).as_deref(), Some("app.Misconfigured: DATABASE_URL is not set"));
        let rust = "\nthread 'main' (17) panicked at src/main.rs:2:5:\nDATABASE_URL is not set\nnote: run with `RUST_BACKTRACE=1`\n";
        let expected = "thread 'main' (17) panicked at src/main.rs:2:5: / DATABASE_URL is not set / note: run with `RUST_BACKTRACE=1`";
        assert_eq!(told(rust).as_deref(), Some(expected));
    }

    #[test]
    fn the_first_error_and_the_last_lines_are_told_and_no_more() {
        let many = format!("listening\n[error] no such table: notes\n{}gave up\n", "trying again\n".repeat(50));
        let expected = "[error] no such table: notes / trying again / trying again / gave up";
        assert_eq!(told(&many).as_deref(), Some(expected));
        let endless = format!("Error: {}\n{}", "x".repeat(9000), "y".repeat(9000));
        assert!(told(&endless).unwrap().chars().count() < 610);
    }

    #[test]
    fn without_an_error_the_last_lines_are_told() {
        assert_eq!(told("a\nb\n\nc\nd\ne\n").as_deref(), Some("b / c / d / e"));
        assert_eq!(told("    at nowhere\n").as_deref(), Some("at nowhere"));
        assert_eq!(told(" \n"), None);
    }
}
