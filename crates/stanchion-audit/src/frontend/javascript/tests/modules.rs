use super::module;
use crate::frontend::Dialect;
use crate::frontend::show::inline as show;
use crate::hir::{Imported, Module};

fn imports(module: &Module) -> String {
    let one = |import: &crate::hir::Import| {
        let what = match &import.what {
            Imported::Module => "*",
            Imported::Default => "default",
            Imported::Name(name) => name,
            Imported::Everything => "everything",
        };
        format!("{} = {}:{what}", import.local, import.module)
    };
    module.imports.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn exports(module: &Module) -> String {
    let one = |export: &crate::hir::Export| {
        let from = export.from.as_ref().map(|from| format!("{from}:")).unwrap_or_default();
        format!("{} = {from}{}", export.name, export.local)
    };
    module.exports.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn imported(text: &str, expected: &str) {
    let module = module(Dialect::TypeScript, text);
    assert_eq!((imports(&module).as_str(), show(&module).as_str()), (expected, ""), "{text}");
}

/// Exports, and the code that makes them.
fn exported(text: &str, expected: &str, code: &str) {
    for dialect in [Dialect::JavaScript, Dialect::TypeScript] {
        let module = module(dialect, text);
        assert_eq!((exports(&module).as_str(), show(&module).as_str()), (expected, code), "{dialect:?}: {text}");
    }
}

#[test]
fn import_statements() {
    imported("import a, { b, c as d, default as e } from 'm'", "a = m:default, b = m:b, d = m:c, e = m:default");
    imported("import * as a from 'm'; import b, * as c from './n.js'", "a = m:*, b = ./n.js:default, c = ./n.js:*");
    imported("import type { A } from 'a'; import { type B, C } from 'b'; import 'side'", "C = b:C,  = side:*");
    imported("import a = require('m')", "a = m:*");
}

#[test]
fn require_and_dynamic_import() {
    imported(
        "const a = require('m'), { b, c: d } = require('n'), e = require('o').f",
        "a = m:*, b = n:b, d = n:c, e = o:f",
    );
    imported(
        "const a = await import('m'); const { default: b } = await import('n'); const c = (await import('o')).d",
        "a = m:*, b = n:default, c = o:d",
    );
    imported("const a = __importStar(require('m')), b = tslib_1.__importDefault(require('n'))", "a = m:*, b = n:*");
}

#[test]
fn modules_in_expressions_are_imports() {
    let module = module(
        Dialect::JavaScript,
        "require('fs').readFileSync(p); const { a: { b } } = require('m'); function f() { const x = require('os') }\nconst d = require('debug')('x')",
    );
    assert_eq!(imports(&module), "require(fs) = fs:*, require(m) = m:*, x = os:*, require(debug) = debug:*");
    assert_eq!(
        show(&module),
        "fn f() {}\nrequire(fs).readFileSync(p)\n{a: {b: b}} = require(m)\nd = require(debug)(\"x\")"
    );
}

#[test]
fn export_statements() {
    exported(
        "export function f() {} export class C {} export const a = 1, { b, c: [d] } = e",
        "f = f, C = C, a = a, b = b, d = d",
        "fn f() {}\nclass C() {  }\na = 1\n{b: b, c: [d]} = e",
    );
    exported(
        "export { a, b as c, d as default }; export { x, default as y } from 'm'; export * from 'n'",
        "a = a, c = b, default = d, x = m:x, y = m:default, * = n:*",
        "",
    );
    exported("export * as ns from 'm'", "ns = import(m)", "");
    exported("export default function f() {}", "default = f", "fn f() {}");
    exported("export default async function () {}", "default = default", "async fn default() {}");
    exported("export default class {}", "default = default", "class default() {  }");
    exported("export default a", "default = a", "");
    exported("export default () => 1", "default = default", "default = fn default() { return 1 }");
    exported("export default { f() {} }", "default = default", "default = {f: fn f() {}}");
}

#[test]
fn exports_of_types_and_namespaces_are_left_out() {
    let module = module(
        Dialect::TypeScript,
        "export type { A } from 'a'; export { type B, c }; export interface D {} export type E = 1; export namespace F { export const g = 1 } export = h;",
    );
    assert_eq!(exports(&module), "c = c, default = h");
}

#[test]
fn common_js_exports() {
    exported("module.exports = f; function f() {}", "default = f", "fn f() {}\ndefault = f");
    exported(
        "exports.a = () => exports.b(); module.exports.b = c; exports['d'] = 1",
        "a = exports.a, b = c, d = exports.d",
        "exports.a = fn a() { return exports.b() }\nexports.b = c\nexports.d = 1",
    );
    exported(
        "module.exports = { a, b: c, d() {}, e: 1, ...require('m') }",
        "a = a, b = c, d = exports.d, e = exports.e, * = m:*, default = default",
        "exports.d = fn d() {}\nexports.e = 1\ndefault = {a: a, b: c, d: exports.d, e: exports.e, ...require(m)}",
    );
    exported("exports = module.exports = f", "default = f", "default = f");
    exported("var app = exports = module.exports = {}", "default = app", "app = {}");
    exported("exports.a = exports.b = void 0; __exportStar(require('m'), exports)", "* = m:*", "");
}

#[test]
fn exports_is_a_common_word_outside_common_js() {
    exported("import 'x'; const exports = f(); exports.a = 1", "", "exports = f()\nexports.a = 1");
}

#[test]
fn what_is_passed_on_by_a_getter_is_exported() {
    exported(
        "const m = require('./m'); Object.defineProperty(exports, 'a', { enumerable: true, get: function () { return m.b; } })",
        "a = ./m:b",
        "",
    );
    exported(
        "Object.defineProperty(exports, '__esModule', { value: true }); Object.defineProperty(exports, 'c', { get: () => d.e.f })",
        "__esModule = exports.__esModule, c = exports.c",
        "exports.__esModule = true\nexports.c = d.e.f",
    );
    exported("Object.defineProperty(module.exports, 'a', { get() { return b } })", "a = b", "");
    exported(
        "Object.defineProperty(a, 'b', { value: c }); Object.defineProperty(exports, d, { value: c })",
        "",
        "Object.defineProperty(a, \"b\", {value: c})\nObject.defineProperty(exports, d, {value: c})",
    );
}

#[test]
fn helpers_behind_a_comma_are_the_same_helpers() {
    exported("(0, tslib_1.__exportStar)(require('m'), exports)", "* = m:*", "");
    let module = module(Dialect::JavaScript, "const a = (0, tslib_1.__importStar)(require('a'))");
    assert_eq!(imports(&module), "a = a:*");
}
