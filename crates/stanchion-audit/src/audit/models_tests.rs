//! One program with a race and one without for every family of libraries.

use super::*;
use crate::frontend::{Dialect, lower};
use crate::program::Source;

mod go;
mod javascript;
mod python;
mod rust;

/// A family, its program, and what is to be found: code, line of the read, line of the write.
type Table = &'static [(&'static str, &'static str, &'static [(&'static str, u32, u32)])];

/// Runs a table; rules about how a file is written are the matter of other tests.
fn check(path: &str, table: Table) {
    let models = Models::new(&[]).unwrap();
    let mut wrong = Vec::new();
    for (family, text, expected) in table {
        let module = lower(Dialect::of(path).unwrap(), text).unwrap();
        let program = Program::new(vec![Source { path: path.to_owned(), module }], &[]);
        let hits = hits(&program, &models, &Schema::default(), Scope::Cluster, "several copies run", &|_| {});
        let found: Vec<(&str, u32, u32)> = hits
            .found
            .iter()
            .map(|(hit, _)| hit)
            .filter(|hit| !matches!(hit.code, "RC302" | "RC303" | "RC301"))
            .map(|hit| (hit.code, hit.read.map_or(0, |r| r.span.line), hit.write.span.line))
            .collect();
        if found != *expected {
            wrong.push(format!("{family}: found {found:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Whatever it finds, it ends.
#[test]
fn hostile_programs_do_no_harm() {
    let models = Models::new(&[]).unwrap();
    let chain =
        format!("import knex from 'knex';\nconst q = knex({{}})('t'){};\nawait q;", ".where('a', 1)".repeat(5_000));
    let list = format!("const s = '{}';\nexport const f = () => g([{}]);", "x".repeat(9_000), "s,".repeat(20_000));
    let wrapped = format!("from tenacity import retry\n{}def f():\n    f()\n", "@retry()\n".repeat(500));
    let text = format!("export async function f(db) {{ await db.query(`SELECT {} FROM t`) }}", "${db}".repeat(3_000));
    let circle = "class A extends B {}\nclass B extends A {}\nexport const f = () => A.x.y(new B().z());";
    let models_of_circle =
        "from django.db import models\nclass A(B): pass\nclass B(A): pass\nA.objects.get(id=1).save()\n";
    let stdin = "import sys\ndef f():\n    sys.stdin.read()\n    f()\nf()\n";
    let again = "setInterval(function f() { setInterval(f, 1); }, 1);";
    let all = [
        ("a.ts", chain.as_str()),
        ("a.ts", &list),
        ("a.py", &wrapped),
        ("a.ts", &text),
        ("a.ts", circle),
        ("a.py", models_of_circle),
        ("a.py", stdin),
        ("a.ts", again),
    ];
    for (path, text) in all {
        let Some(module) = lower(Dialect::of(path).unwrap(), text) else { continue };
        let program = Program::new(vec![Source { path: path.to_owned(), module }], &[]);
        hits(&program, &models, &Schema::default(), Scope::Cluster, "", &|_| {});
    }
}
