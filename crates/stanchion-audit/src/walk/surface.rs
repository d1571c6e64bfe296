//! What a file is for, by where it lies and by its text.

/// What a file is for. A race in a test does not harm users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Surface {
    /// What runs for users.
    Product,
    /// Tests and their data.
    Test,
    /// Run by a person, once at a time: scripts, migrations, build files.
    Script,
    /// Shown to readers.
    Example,
    /// Written by a program, or minified.
    Generated,
}

const TEST_FOLDERS: [&str; 16] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "e2e",
    "testdata",
    "test-data",
    "fixtures",
    "__fixtures__",
    "__mocks__",
    "__snapshots__",
    "testutil",
    "testutils",
    "benches",
    "benchmarks",
];
const EXAMPLE_FOLDERS: [&str; 8] =
    ["example", "examples", "_examples", "demo", "demos", "sample", "samples", "tutorials"];
const SCRIPT_FOLDERS: [&str; 5] = ["scripts", "script", "migrations", "alembic", "seeders"];

impl Surface {
    /// By path, relative to the root that was named.
    pub(crate) fn of(path: &str) -> Self {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        if within(&["generated", "__generated__"]) {
            Self::Generated
        } else if is_test_name(name) || within(&TEST_FOLDERS) {
            Self::Test
        } else if within(&EXAMPLE_FOLDERS) || path.starts_with("docs/") {
            Self::Example
        } else if within(&SCRIPT_FOLDERS) || is_script_name(name) {
            Self::Script
        } else {
            Self::Product
        }
    }
}

fn is_test_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_python = name.ends_with(".py");
    [".test", ".spec", ".bench", ".e2e", ".stories"].iter().any(|end| stem.ends_with(end))
        || name == "conftest.py"
        || is_python && (stem.starts_with("test_") || stem.ends_with("_test"))
        || name.ends_with("_test.go")
        || name.ends_with(".rs") && (stem == "tests" || stem.ends_with("_tests"))
}

fn is_script_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    matches!(name, "setup.py" | "noxfile.py" | "build.rs" | "gulpfile.js" | "Gruntfile.js") || stem.ends_with(".config")
}

/// Lines looked at for a generator's mark.
const HEAD_LINES: usize = 30;

/// Whether a program wrote it: by its name, by a mark in its first comments, or because it is minified.
pub(crate) fn is_generated(name: &str, text: &str) -> bool {
    let ends = [".min.js", ".min.mjs", ".bundle.js", ".pb.go", "_pb2.py", "_pb2_grpc.py", "_pb.js", "_pb.ts"];
    ends.iter().any(|end| name.ends_with(end)) || has_mark(text) || is_minified(text)
}

fn has_mark(text: &str) -> bool {
    let mut in_block = false;
    text.lines().take(HEAD_LINES).any(|line| {
        let line = line.trim_start();
        let starts = ["/*", "\"\"\"", "'''"].iter().any(|mark| line.starts_with(mark));
        let is_comment = in_block || starts || line.starts_with("//") || line.starts_with('#');
        if starts || in_block {
            in_block = if in_block { !closes(line) } else { !closes(line.get(2..).unwrap_or_default()) };
        }
        is_comment
            && line.len() < 2_000
            && (line.contains("@generated") || line.to_ascii_uppercase().contains("DO NOT EDIT"))
    })
}

fn closes(line: &str) -> bool {
    line.contains("*/") || line.contains("\"\"\"") || line.contains("'''")
}

/// Small files are not judged: one long line in a short file is a long line.
const MINIFIED_LEAST: usize = 4_096;

fn is_minified(text: &str) -> bool {
    if text.len() < MINIFIED_LEAST {
        return false;
    }
    let (mut lines, mut in_long) = (0, 0);
    for line in text.lines() {
        lines += 1;
        if line.len() > 1_000 {
            in_long += line.len();
        }
    }
    text.len() / lines.max(1) > 300 || in_long > text.len() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_decides_what_a_file_is_for() {
        for (path, surface) in [
            ("src/server.ts", Surface::Product),
            ("bin/cli.js", Surface::Product),
            ("src/tools/contest.py", Surface::Product),
            ("src/latest.ts", Surface::Product),
            ("pkg/attest.go", Surface::Product),
            ("tests/helper.py", Surface::Test),
            ("src/__tests__/a.ts", Surface::Test),
            ("src/a.test.ts", Surface::Test),
            ("src/a.spec.tsx", Surface::Test),
            ("pkg/store_test.go", Surface::Test),
            ("pkg/test_store.py", Surface::Test),
            ("conftest.py", Surface::Test),
            ("spec/a.js", Surface::Test),
            ("src/fixtures/a.ts", Surface::Test),
            ("examples/tests/a.py", Surface::Test),
            ("examples/server.py", Surface::Example),
            ("docs/snippet.py", Surface::Example),
            ("src/docs/search.py", Surface::Product),
            ("scripts/seed.ts", Surface::Script),
            ("app/migrations/0001_initial.py", Surface::Script),
            ("vite.config.ts", Surface::Script),
            ("setup.py", Surface::Script),
            ("src/generated/client.ts", Surface::Generated),
        ] {
            assert_eq!(Surface::of(path), surface, "{path}");
        }
    }

    #[test]
    fn marks_count_in_comments_only() {
        assert!(is_generated("a.go", "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n"));
        assert!(is_generated("a.ts", "/*\n * @generated by something\n */\n"));
        assert!(is_generated("a.py", "\"\"\"Client.\n\nDo not edit.\n\"\"\"\n"));
        assert!(!is_generated("a.ts", "const banner = '// @generated, DO NOT EDIT';\n"));
        assert!(!is_generated("a.ts", "/* one line */ x();\nconst banner = '@generated';\n"));
        assert!(!is_generated("a.ts", &format!("{}// DO NOT EDIT\n", "x();\n".repeat(100))));
    }

    #[test]
    fn long_lines_make_a_file_minified_but_one_in_a_long_file_does_not() {
        assert!(is_generated("a.js", &"x=1;".repeat(5_000)));
        assert!(is_generated("jquery.min.js", "x"));
        let one = format!("const data = '{}';\n{}", "a".repeat(3_000), "const short = 1;\n".repeat(500));
        assert!(!is_generated("a.js", &one));
        assert!(!is_generated("a.js", &"x".repeat(2_000)));
    }
}
