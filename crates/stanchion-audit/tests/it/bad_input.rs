//! Input that nobody wrote to be analysed: no panic, a note where something was left out, bounded time and memory, and what
//! stands beside it is found all the same.

use std::fs;
use std::path::Path;
use std::time::Duration;

use stanchion_audit::audit;
use stanchion_audit::config::Config;
use stanchion_audit::finding::Severity;
use stanchion_audit::format::Report;

use stanchion_testkit::fuzz::Meter;

/// A lost update in each language: (file, text), the write is on the last line but one.
const RACES: &[(&str, &str)] = &[
    (
        "race.ts",
        "import fs from 'fs';\nexport function add(x: number) {\n  const all = JSON.parse(fs.readFileSync('n.json', 'utf8'));\n  all.push(x);\n  fs.writeFileSync('n.json', JSON.stringify(all));\n}\n",
    ),
    (
        "race.py",
        "import json\ndef add(x):\n    all = json.load(open('n.json'))\n    all.append(x)\n    json.dump(all, open('n.json', 'w'))\n    return x\n",
    ),
];

fn look(folder: &Path) -> Report {
    look_at(folder, folder)
}

fn look_at(base: &Path, root: &Path) -> Report {
    look_within(base, root, Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 }))
}

/// `most` is processor time.
fn look_within(base: &Path, root: &Path, most: Duration) -> Report {
    let mut config = Config::default();
    config.instances = Some(stanchion_audit::config::Instances::Many);
    let meter = Meter::start();
    let report = audit(base, &[root.to_owned()], &config).unwrap().report;
    let spent = meter.stop();
    assert!(spent.time < most && spent.memory < 500 << 20, "{spent}");
    report
}

fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn texts(files: &[(&str, &str)]) -> tempfile::TempDir {
    let bytes: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    tree(&bytes)
}

fn found(report: &Report, code: &str) -> Vec<(String, u32)> {
    let of_code = report.findings.iter().filter(|finding| finding.code == code);
    of_code.map(|finding| (finding.path.clone(), finding.line)).collect()
}

#[track_caller]
fn noted(report: &Report, path: &str, words: &str) {
    let texts: Vec<_> = report.notes.iter().map(ToString::to_string).collect();
    assert!(report.notes.iter().any(|note| note.path == path && note.text.contains(words)), "{path}: {texts:?}");
}

#[test]
fn a_syntax_error_is_noted_with_its_line_and_the_rest_of_the_file_is_analysed() {
    for (path, race) in RACES {
        let broken = if path.ends_with(".py") { "def broken(:\n    )\n\n" } else { "function broken( { ]\n}\n\n" };
        let text = format!("{race}\n{broken}");
        let report = look(texts(&[(path, &text)]).path());
        noted(&report, path, "syntax errors");
        let line = report.notes.iter().find(|note| note.path == *path).unwrap().line;
        assert!(line >= 7, "{path}: {:?}", report.notes);
        assert_eq!(found(&report, "RC101"), [((*path).to_owned(), 5)], "{path}");
    }
}

#[test]
fn what_is_not_text_is_noted_and_what_stands_beside_it_is_analysed() {
    for (race_path, race) in RACES {
        let latin = b"x = '\xe4'\n";
        let folder = tree(&[
            ("binary.js", b"\x7fELF\0\0\x01"),
            ("wide.ts", b"\xff\xfea\0b\0"),
            ("latin.py", latin),
            ("empty.go", b""),
            ("bom.py", b"\xef\xbb\xbfx = 1\n"),
            ("package.json", b"\x00\x01"),
            ("compose.yaml", b"\xff\xff\xff"),
            (race_path, race.as_bytes()),
        ]);
        let report = look(folder.path());
        noted(&report, "binary.js", "binary");
        noted(&report, "wide.ts", "UTF-16");
        noted(&report, "latin.py", "not UTF-8 (line 1)");
        noted(&report, "package.json", "binary");
        noted(&report, "compose.yaml", "not UTF-8");
        assert_eq!(report.files, 3);
        assert_eq!(found(&report, "RC101"), [((*race_path).to_owned(), 5)]);
    }
}

#[test]
fn a_file_of_fifty_megabytes_is_noted_and_not_read() {
    let folder = texts(RACES);
    for name in ["data.py", "bundle.js"] {
        fs::write(folder.path().join(name), vec![b'a'; 50 << 20]).unwrap();
    }
    let report = look(folder.path());
    noted(&report, "data.py", "52428800 bytes");
    noted(&report, "bundle.js", "the limit is");
    assert_eq!(found(&report, "RC101").len(), 2);
}

/// As large as a file may be.
#[test]
fn the_largest_files_that_are_read_take_bounded_time_and_memory() {
    let fill = |text: &str| text.repeat(((2 << 20) - 100) / text.len());
    for (path, text) in [
        ("minified.js", fill("var a=function(b,c){return b?c(b,d=>d+1):[{e:b,f:c}]};")),
        ("table.py", format!("x = [\n{}]\n", "    (1, 'a', {'b': [2.5]}),\n".repeat(70_000))),
        ("functions.go", format!("package a\n{}", fill("func f() { a.b(1); go g() }"))),
    ] {
        let report = look(texts(&[(path, &text)]).path());
        assert_eq!((report.files, report.findings.len()), (1, 0), "{path}");
    }
}

#[test]
fn noise_takes_bounded_time_in_every_language() {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u8::try_from(32 + (state >> 33) % 95).unwrap()
    };
    let noise: Vec<u8> = (0..60_000).map(|_| next()).collect();
    let names = ["a.js", "a.ts", "a.tsx", "a.py", "a.go", "a.rs"];
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, noise.as_slice())).collect();
    let report = look(tree(&files).path());
    for name in names {
        assert!(report.notes.iter().any(|note| note.path == name), "{name}: {:?}", report.notes);
    }
}

#[test]
fn what_is_nested_very_deeply_takes_bounded_time() {
    let deep = |open: &str, close: &str| format!("x = {}1{}\n", open.repeat(20_000), close.repeat(20_000));
    let indented: String = (0..400).map(|depth| format!("{}if a:\n", " ".repeat(depth))).collect();
    let folder = texts(&[
        ("parens.py", &deep("(", ")")),
        ("lists.js", &deep("[", "]")),
        ("calls.ts", &deep("f(", ")")),
        ("arrows.ts", &deep("() => {", "}")),
        ("indented.py", &indented),
        ("compose.yaml", &deep("{a: ", "}")),
        ("package.json", &"[".repeat(100_000)),
        ("schema.sql", &format!("CREATE TABLE a (b int DEFAULT {}1{});", "(".repeat(20_000), ")".repeat(20_000))),
    ]);
    assert_eq!(look(folder.path()).files, 5);
}

#[cfg(unix)]
#[test]
fn links_that_go_in_circles_and_things_that_are_no_files_end() {
    use std::os::unix::fs::symlink;
    let folder = texts(RACES);
    let at = |name: &str| folder.path().join(name);
    symlink(folder.path(), at("up")).unwrap();
    symlink(at("self.py"), at("self.py")).unwrap();
    symlink(at("b.ts"), at("a.ts")).unwrap();
    symlink(at("a.ts"), at("b.ts")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.py")).unwrap();
    assert_eq!(look(folder.path()).files, 2);
    for name in ["self.py", "a.ts", "socket.py", "gone.py"] {
        let report = look_at(folder.path(), &at(name));
        assert_eq!((report.files, report.notes.len()), (0, 1), "{name}: {:?}", report.notes);
    }
}

#[test]
fn imports_of_nothing_leave_the_rest_as_it_is() {
    for (path, race) in RACES {
        let missing = if path.ends_with(".py") {
            "from .gone import *\nfrom ... import x\nimport a.b.c.d\n"
        } else {
            "import x, { y } from './gone';\nexport * from '../../../../gone';\nimport('./' + x);\n"
        };
        let text = format!("{missing}{race}");
        let report = look(texts(&[(path, &text)]).path());
        assert_eq!(found(&report, "RC101"), [((*path).to_owned(), 8)], "{path}");
    }
}

#[test]
fn imports_that_go_in_circles_end_and_races_through_them_are_found() {
    let report = look(
        texts(&[
            ("a.ts", "export * from './b';\nexport { q } from './b';\nexport * from './a';\nexport class A extends B {}\nimport { B } from './b';\nimport fs from 'fs';\nexport const foo = () => JSON.parse(fs.readFileSync('n.json', 'utf8'));\n"),
            ("b.ts", "export * from './a';\nexport { q } from './a';\nimport { A, foo } from './a';\nexport class B extends A {}\nimport fs from 'fs';\nexport function bar(x: number) {\n  const all = foo();\n  all.push(x);\n  fs.writeFileSync('n.json', JSON.stringify(all));\n}\n"),
            ("pkg/__init__.py", "from .a import *\nfrom .b import *\nfrom . import pkg\n"),
            ("pkg/a.py", "import json\nfrom .b import write\nfrom . import *\ndef read():\n    return json.load(open('p.json'))\n"),
            ("pkg/b.py", "import json\nfrom .a import read\ndef write(x):\n    all = read()\n    all.append(x)\n    json.dump(all, open('p.json', 'w'))\n"),
            ("go.mod", "module x.y/z\n"),
            ("p/p.go", "package p\nimport \"x.y/z/q\"\nfunc F() { q.F() }\n"),
            ("q/q.go", "package q\nimport \"x.y/z/p\"\nfunc F() { p.F() }\n"),
            ("src/lib.rs", "mod a;\nuse a::*;\npub use a::f;\nfn g() { f() }\n"),
            ("src/a.rs", "use super::*;\npub use super::g as f;\nmod lib;\n"),
            ("tsconfig.json", "{\"extends\": \"./tsconfig.json\", \"compilerOptions\": {\"paths\": {\"*\": [\"*\"]}}}"),
        ])
        .path(),
    );
    assert_eq!(found(&report, "RC101"), [("b.ts".to_owned(), 9), ("pkg/b.py".to_owned(), 6)]);
}

#[test]
fn calls_that_go_in_circles_or_multiply_take_bounded_time() {
    let doubling: String =
        (0..40).map(|n| format!("def f{n}(x):\n    f{}(x)\n    f{}(f{0}(x))\n", n + 1, n + 1)).collect();
    let everybody: String = (0..120)
        .map(|n| {
            let calls: String = (0..120).map(|m| format!("f{m}();")).collect();
            format!("export async function f{n}() {{ {calls} }}\n")
        })
        .collect();
    let folder = texts(&[
        ("doubling.py", &format!("{doubling}def f40(x):\n    open('a', 'w')\n")),
        ("everybody.ts", &everybody),
        (
            "itself.ts",
            "export const f = (g = f) => g(f(f, g), () => f(() => g(f)));\nclass A extends A { m() { return super.m(new A()).m } }\n",
        ),
        (
            "itself.py",
            "class A(A):\n    @property\n    def a(self): return self.a.a\n    __enter__ = __exit__ = a\nx = lambda: x()(x)\n",
        ),
    ]);
    assert_eq!(look(folder.path()).files, 4);
}

/// Each is an entry point, and each stands in all the branches around it.
#[test]
fn handlers_inside_of_handlers_take_bounded_time() {
    let handler = "cron.schedule('* * * * *', async () => {\n  const mine = await redis.set('a', '1', 'EX', 9, 'NX');\n  if (!mine) return;\n  counters.set('a', (counters.get('a') ?? 0) + 1);\n";
    let head = "import cron from 'node-cron';\nimport Redis from 'ioredis';\nconst redis = new Redis();\nconst counters = new Map<string, number>();\n";
    let folder = texts(&[("nested.ts", &format!("{head}{}", handler.repeat(400)))]);
    let most = Duration::from_millis(if cfg!(debug_assertions) { 20_000 } else { 2_500 });
    look_within(folder.path(), folder.path(), most);
}

/// What a program wrote is not for people to change: it is analysed, and never severe.
#[test]
fn generated_code_is_analysed_and_nothing_in_it_is_severe() {
    for (path, race) in RACES {
        let mark = if path.ends_with(".py") { "# @generated" } else { "// @generated" };
        let severity = |text: &str| -> Vec<Severity> {
            let report = look(texts(&[(path, text)]).path());
            let races = report.findings.iter().filter(|finding| finding.code == "RC101");
            races.map(|finding| finding.severity).collect()
        };
        assert!(severity(race)[0] > Severity::Low, "{path}");
        assert_eq!(severity(&format!("{mark}\n{race}")), [Severity::Low], "{path}");
    }
}
