//! Which calls a hit names.

use std::collections::BTreeSet;

use super::*;
use crate::frontend::{Dialect, lower};
use crate::program::Source;

/// The lines of all calls that the hit of this code names.
fn lines(code: &str, text: &str) -> BTreeSet<u32> {
    let module = lower(Dialect::of("a.js").unwrap(), text).unwrap();
    let program = Program::new(vec![Source { path: "a.js".to_owned(), module }], &[]);
    let because = "it is an MCP server, one process per client";
    let found = hits(&program, &Models::new(&[]).unwrap(), &Schema::default(), Scope::Host, because, &|_| {}).found;
    let hits = found.iter().filter(|(hit, _)| hit.code == code);
    let sites = hits.flat_map(|(hit, _)| {
        hit.calls.iter().flat_map(|(read, write)| [*read, *write]).chain(hit.frames.iter().copied())
    });
    sites.map(|site| site.span.line).collect()
}

/// The lines at which hits of this code are told, with the lines that each says read and write.
fn told(code: &str, text: &str) -> Vec<(u32, Vec<u32>, Vec<u32>)> {
    let module = lower(Dialect::of("a.js").unwrap(), text).unwrap();
    let program = Program::new(vec![Source { path: "a.js".to_owned(), module }], &[]);
    let because = "it is an MCP server, one process per client";
    let found = hits(&program, &Models::new(&[]).unwrap(), &Schema::default(), Scope::Host, because, &|_| {}).found;
    let lines = |sites: Vec<Site>| sites.iter().map(|site| site.span.line).collect();
    let hits = found.iter().filter(|(hit, _)| hit.code == code);
    hits.map(|(hit, _)| (hit.at.span.line, lines(hit.reads()), lines(hit.writes()))).collect()
}

#[test]
fn a_race_is_told_in_each_function_that_puts_read_and_write_together() {
    let text = "import fs from 'node:fs/promises';\n\
                async function all() { return JSON.parse(await fs.readFile('/data/a', 'utf8')); }\n\
                async function keep(x) { await fs.writeFile('/data/a', JSON.stringify(x)); }\n\
                export async function put(k, v) {\n\
                const x = await all();\n\
                if (!v) {\ndelete x[k];\nawait keep(x);\nreturn;\n}\n\
                x[k] = v;\n\
                await keep(x);\n\
                }\n\
                export async function cut(k) {\n\
                const x = await all();\n\
                delete x[k];\n\
                await keep(x);\n\
                }\n";
    assert_eq!(told("RC101", text), [(8, vec![5, 2], vec![8, 12, 3]), (17, vec![15, 2], vec![17, 3])]);
    assert_eq!(told("RC304", text), [], "nothing is taken for empty");
    assert_eq!(told("RC302", text), [(3, vec![], vec![3])], "a matter of the helper");
}

#[test]
fn what_a_function_does_that_is_given_to_a_call_is_told_where_it_stands() {
    let text = "import fs from 'node:fs/promises';\n\
                export async function put(names) {\n\
                const x = JSON.parse(await fs.readFile('/data/a', 'utf8'));\n\
                await each(names, async (name) => {\n\
                x[name] = true;\n\
                await fs.writeFile('/data/a', JSON.stringify(x));\n\
                });\n\
                }\n";
    assert_eq!(told("RC101", text), [(6, vec![3], vec![6])]);
}

#[test]
fn every_function_that_changes_a_store_is_named() {
    let mut text = "import fs from 'node:fs/promises';\n\
                    async function all() { return JSON.parse(await fs.readFile('/data/a', 'utf8')); }\n\
                    async function keep(x) { await fs.writeFile('/data/a', JSON.stringify(x)); }\n"
        .to_owned();
    for n in 0..20 {
        text.push_str(&format!(
            "export async function f{n}(v) {{ const x = await all(); x.f{n} = v; await keep(x); }}\n"
        ));
    }
    assert_eq!(lines("RC101", &text), (4..24).collect());
}

#[test]
fn the_calls_between_a_function_that_does_both_and_the_file_are_named() {
    let text = "import fs from 'node:fs/promises';\n\
                async function load(p) { return JSON.parse(await fs.readFile(p, 'utf8')); }\n\
                async function store(p, x) { await fs.writeFile(p, JSON.stringify(x)); }\n\
                async function book() { return load('/data/book'); }\n\
                async function keep(x) { await store('/data/book', x); }\n\
                export async function enter(k, v) { const x = await book(); x[k] = v; await keep(x); }\n";
    assert_eq!(lines("RC101", text), [4, 5, 6].into());
}

#[test]
fn the_callers_of_a_read_at_the_start_and_of_each_write_are_named() {
    let text = "import fs from 'node:fs';\n\
                function load() { return JSON.parse(fs.readFileSync('/data/plan', 'utf8')); }\n\
                function save(d) { fs.writeFileSync('/data/plan', JSON.stringify(d)); }\n\
                class Plan {\n\
                constructor() {\nthis.state = load();\n}\n\
                put(k, v) { this.state[k] = v; save(this.state); }\n\
                cut(k) { delete this.state[k]; save(this.state); }\n\
                }\n\
                export const plan = new Plan();\n";
    assert_eq!(told("RC107", text), [(8, vec![6, 2], vec![8, 3]), (9, vec![6, 2], vec![9, 3])]);
}
