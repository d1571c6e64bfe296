//! What would take for ever is followed as far as there is time for it, and said.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::*;
use crate::frontend::{Dialect, lower};
use crate::program::Source;

/// Debug builds on a busy machine: far from both a second and for ever.
const LONG: Duration = Duration::from_secs(60);

fn looked_at(files: &[(String, String)]) -> Hits {
    let source = |(path, text): &(String, String)| {
        let module = lower(Dialect::of(path).unwrap(), text).unwrap();
        Source { path: path.clone(), module }
    };
    let program = Program::new(files.iter().map(source).collect(), &[]);
    let models = Models::new(&[]).unwrap();
    let started = Instant::now();
    let hits =
        threads().unwrap().install(|| hits(&program, &models, &Schema::default(), Scope::Host, "it says so", &|_| {}));
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    hits
}

fn codes(hits: &Hits) -> Vec<(&str, usize)> {
    hits.found.iter().map(|(hit, _)| (hit.code, hit.write.file)).collect()
}

const LOST: &str = "\nimport json\ndef add(x):\n    every = json.load(open('n.json'))\n    every.append(x)\n    json.dump(every, open('n.json', 'w'))\n";

#[test]
fn calls_that_multiply_are_cut_and_counted_apart_for_entry_points() {
    let mut text = "import { promises as fs } from 'fs';\n".to_owned();
    for n in 0..40 {
        // Twice as many calls on each level.
        writeln!(text, "function f{n}(x) {{ f{0}(x); f{0}(x); f{0}([x]); f{0}(x); }}", n + 1).unwrap();
    }
    text += "function f40(x) {}\n";
    let plain = looked_at(&[("a.ts".into(), text.clone())]);
    assert!(plain.partly.is_empty() && plain.loose > 0, "{plain:?}");
    text += "server.registerTool('go', {}, async ({ x }) => { f0(x); return {}; });\n";
    assert_eq!(looked_at(&[("a.ts".into(), text)]).partly.get(&0), Some(&1));
}

#[test]
fn functions_after_one_that_uses_up_its_share_are_still_followed() {
    let mut text = String::new();
    for n in 0..40 {
        writeln!(text, "def f{n}(x):\n    return [f{0}(x), f{0}(x), f{0}(x)]", n + 1).unwrap();
    }
    let hits = looked_at(&[("a.py".into(), text + LOST)]);
    assert!(hits.loose > 0 && codes(&hits).contains(&("RC101", 0)), "{hits:?}");
}

/// A function that does nothing but call, for long, and then what `then` says.
fn long_way(then: &str) -> String {
    let mut text = String::from("import json\n");
    for n in 0..12 {
        writeln!(text, "def g{n}(x):\n    return [g{0}(x), g{0}(x)]", n + 1).unwrap();
    }
    format!("{text}def g12(x):\n    return x\ndef main(x=None):\n    g0(x)\n{then}")
}

const LOSES: &str =
    "    every = json.load(open('n.json'))\n    every.append(x)\n    json.dump(every, open('n.json', 'w'))\n";

#[test]
fn a_script_with_a_long_way_to_go_is_run_to_its_end_as_an_entry_point() {
    let script = long_way(LOSES) + "if __name__ == '__main__':\n    main()\n";
    let hits = looked_at(&[("a.py".into(), script)]);
    assert!(codes(&hits).contains(&("RC101", 0)), "{hits:?}");
    let callers = hits.found.iter().flat_map(|(_, callers)| callers.values());
    assert!(callers.copied().any(|entry| entry == Entry::Hook), "{hits:?}");
}

#[test]
fn whoever_imports_a_script_does_not_run_it() {
    let script = "place = 'n.json'\nif __name__ == '__main__':\n    place = 'm.json'\n".to_owned();
    let user = LOST.replace("import json", "import json\nfrom a import place").replace("'n.json'", "place");
    let mut files: Vec<_> = (0..FILES_MOST).map(|n| (format!("b{n:03}.py"), "x = 1\n".to_owned())).collect();
    files.insert(0, ("a.py".into(), script));
    files.push(("c.py".into(), user));
    let hits = looked_at(&files);
    let about: Vec<_> =
        hits.found.iter().filter(|(hit, _)| hit.code == "RC101").map(|(hit, _)| &hit.resource).collect();
    assert!(about.len() == 1 && about[0].contains("n.json") && !about[0].contains("m.json"), "{about:?}");
}

#[test]
fn a_function_that_nobody_calls_and_that_does_nothing_for_long_is_left_and_counted() {
    let before = looked_at(&[("a.py".into(), long_way(LOSES))]);
    assert!(before.loose > 0 && !codes(&before).contains(&("RC101", 0)), "{before:?}");
    // With something outside of memory first, it is followed on.
    let text = long_way(LOSES).replace("def main(x=None):\n", "def main(x=None):\n    open('m.json').read()\n");
    assert!(codes(&looked_at(&[("a.py".into(), text)])).contains(&("RC101", 0)));
}

#[test]
fn files_that_load_each_other_in_a_long_row_do_not_cost_the_stack() {
    let file = |n: usize| {
        let next = format!("from m{} import f\ny = [[f(1)]]\ndef f(x):\n    return [y]\n", n + 1);
        (format!("m{n}.py"), if n == 0 { next + LOST } else { next })
    };
    let files: Vec<_> = (0..600).map(file).collect();
    assert_eq!(codes(&looked_at(&files)).iter().filter(|hit| **hit == ("RC101", 0)).count(), 1);
}

#[test]
fn a_name_that_two_files_import_from_each_other_is_looked_for_once() {
    let files =
        [("a.py".into(), format!("from b import x\n{LOST}")), ("b.py".into(), "from a import x\ny = x\n".into())];
    assert!(codes(&looked_at(&files)).contains(&("RC101", 0)));
}

#[test]
fn ordinary_code_is_followed_to_the_end() {
    let hits = looked_at(&[("a.py".into(), LOST.into())]);
    assert_eq!((hits.partly.len(), hits.loose), (0, 0));
}
