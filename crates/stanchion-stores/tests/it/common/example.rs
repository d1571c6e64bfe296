//! The guards that others use without our code: where they are, and how their examples have to end.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use stanchion_testkit::engines::Skip;

/// A fence and its lease.
pub(crate) type Token<'a> = [&'a str; 2];

pub(crate) const OLD: Token<'_> = ["5", "00000000000000aa"];
pub(crate) const NEW: Token<'_> = ["1837810000000000", "00000000000000bb"];
/// The same number for another lease.
pub(crate) const TWIN: Token<'_> = [NEW[0], "00000000000000cc"];

pub(crate) fn guards(engine: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guards").join(engine)
}

/// What was printed, with nothing to complain about.
pub(crate) fn text(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}

/// Each example counts to three, with an old token and then with a new one; the old one and a twin of the new one are
/// refused afterwards. `arguments` adds what the example asks for. Those that ran: a language that is not installed is
/// reported.
pub(crate) fn assert_examples<'a>(
    engine: &str,
    examples: &[(&str, &'a str)],
    arguments: impl Fn(&mut Command, &str),
) -> Vec<&'a str> {
    let mut ran = Vec::new();
    for (program, file) in examples {
        let run = |[fence, lease]: Token<'_>| {
            let mut command = Command::new(program);
            command.arg(guards(engine).join("examples").join(file));
            arguments(&mut command, file);
            command.env("STANCHION_FENCE", fence).env("STANCHION_LEASE_ID", lease).output()
        };
        let Ok(first) = run(OLD) else {
            Skip::new(format!("{program} is not installed")).report();
            continue;
        };
        for (count, done) in (1..).zip([first, run(NEW).unwrap(), run(NEW).unwrap()]) {
            assert_eq!((text(&done), done.status.code()), (format!("count is {count}"), Some(0)), "{program}");
        }
        for stale in [OLD, TWIN] {
            let refused = run(stale).unwrap();
            assert_eq!(refused.status.code(), Some(3), "{program}");
            assert!(text(&refused).starts_with("refused"), "{program}");
        }
        ran.push(*file);
    }
    ran
}
