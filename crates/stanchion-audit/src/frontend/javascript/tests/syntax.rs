use super::{js, module, same, ts};
use crate::frontend::Dialect;
use crate::frontend::show::inline as show;

#[test]
fn a_sequence_is_its_last_part_after_the_others() {
    same("(0, m.f)(a); x = (1, b); y = (c = d, e())", "m.f(a)\nx = b\ny = { c = d; e() }");
    same(
        "async () => { await (0, m.f)(a).g(b); c = (await (0, d)(1)).e; f(await (g ? h : i)(2)) }",
        "async fn () { await m.f(a).g(b); c = (await d(1)).e; f(await (g ? h : i)(2)) }",
    );
}

#[test]
fn functions_of_every_form() {
    same("function f(a) { return a }", "fn f(a) { return a }");
    same("const f = x => x, g = async () => { await h() }", "f = fn f(x) { return x }\ng = async fn g() { await h() }");
    same("const f = async x => x", "f = async fn f(x) { return x }");
    same("const f = function* g() { yield* x; yield; yield 1 }", "f = generator fn g() { yield x; yield; yield 1 }");
    same("async function* f() {}", "async generator fn f() {}");
    same(
        "x = { f() {}, async g() {}, *h() {}, get i() { return 1 }, set i(v) {} }",
        "x = {f: fn f() {}, g: async fn g() {}, h: generator fn h() {}, i: fn i() { return 1 }, i: fn i(v) {}}",
    );
    same("(function () { a() })(); (async () => { b() })()", "(fn () { a() })()\n(async fn () { b() })()");
    same("const f = () => ({ a: 1 })", "f = fn f() { return {a: 1} }");
}

#[test]
fn parameters_of_every_form() {
    same("function f(a, b = g(), ...c) {}", "fn f(a, b = g(), ...c) {}");
    same("function f({a, b: [c, , d], ...e} = {}) {}", "fn f({a: a, b: [c, _, d], : ...e} = {}) {}");
    same("const f = ({a = 1, b: c = 2}) => c", "f = fn f({a: a, b: c}) { a ??= 1; c ??= 2; return c }");
    same("function f(g = () => 1) {}", "fn f(g = fn g() { return 1 }) {}");
    assert_eq!(
        ts("function f(this: T, a?: string, ...b: any[]): Promise<void> {}"),
        "fn f(a: string, ...b: any[]) -> Promise<void> {}"
    );
}

#[test]
fn functions_know_where_they_stand() {
    let module = module(
        Dialect::TypeScript,
        "function a() { function b() { return () => 1 } } class C { m() { x(() => 2) } f = () => 3 }",
    );
    let seen: Vec<_> = module.functions.iter().map(|one| (one.name.as_str(), one.parent, one.class)).collect();
    let expected = [
        ("<module>", None, None),
        ("a", Some(0), None),
        ("m", Some(0), Some(0)),
        ("f", Some(0), Some(0)),
        ("b", Some(1), None),
        ("", Some(2), None),
        ("", Some(4), None),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn functions_get_the_name_they_are_bound_to() {
    same(
        "a.f = () => 1; this.g = function () {}; ({ h: () => 2, 'i-j': () => 3 })",
        "a.f = fn f() { return 1 }\nthis.g = fn g() {}\n{h: fn h() { return 2 }, i-j: fn i-j() { return 3 }}",
    );
    same("let C = class { m() {} }", "C = class C() { fn m() {} }");
    assert_eq!(ts("const f = ((x) => x) as F"), "f = fn f(x) { return x }");
}

#[test]
fn functions_of_a_block_come_first() {
    same("f(); function f() {} { g(); function g() {} }", "fn f() {}\nf()\n{ fn g() {}; g() }");
    same("h(); export default function () {}", "fn default() {}\nh()");
}

#[test]
fn classes() {
    same(
        "class A extends B.C { x = 1; static #y = f(); z; constructor() { super(1); super.m() } static async s() {} #p() { return this.#y } get g() { return 1 } ['q']() {} [Symbol.asyncDispose]() {} }",
        "class A(B.C) { x = 1; static #y = f(); z; fn constructor() { super(1); super.m() }; static async fn s() {}; fn #p() { return this.#y }; fn g() { return 1 }; fn q() {}; fn Symbol.asyncDispose() {} }",
    );
    same("class A { static { a() } }", "class A() {  }\n{ a() }");
    same("f(class extends g(H) {})", "f(class (g(H)) {  })");
    same("@a @b.c(1) class A { @d() m() {} @e f = 1 }", "@a @b.c(1) class A() { f = 1; @d() fn m() {} }");
    assert_eq!(ts("@a export class A {}"), "@a class A() {  }");
}

#[test]
fn parameter_properties_are_fields_and_assignments() {
    assert_eq!(
        ts("class A { constructor(private readonly path: string, n: number, readonly m = 1) { f() } }"),
        "class A() { path: string; m; fn constructor(path: string, n: number, m = 1) { this.path = path; this.m = m; f() } }"
    );
}

#[test]
fn types_do_nothing() {
    assert_eq!(
        ts(
            "interface A { f(): void } type B = { x: 1 }; enum C { D = 1 } declare const e: number; declare function f(): void; function g(): void;"
        ),
        ""
    );
    assert_eq!(
        ts(
            "abstract class A<T> extends B<T> implements C { abstract m(): void; declare x: T; y!: string; n(): void; n() {} }"
        ),
        "class A(B) { y: string; fn n() {} }"
    );
    assert_eq!(ts("(a as any).b!.c = <T>(d satisfies U)!; f<T>(x as const)"), "a.b.c = d\nf(x)");
    assert_eq!(ts("namespace A.B { export function f() {} g() }"), "{ fn f() {}; g() }");
    assert_eq!(ts("import a = b.c;"), "a = b.c");
}

#[test]
fn loops() {
    same(
        "for (let i = 0, n = f(); i < n; i++, j--) g(i)",
        "loop init { i = 0; n = f() } while (i < n) step { i += 1; j -= 1 } { g(i) }",
    );
    same("for (;;) { break }", "loop { break }");
    same("for (i = 0; ;) {}", "loop init { i = 0 } {}");
    same("for (const [k, v = 1] of m) { f(k) }", "loop [k, v] in m { v ??= 1; f(k) }");
    same("for (const k in o) f(k)", "loop k in other(o) { f(k) }");
    same("for (a.b of c);", "loop a.b in c {}");
    same("async () => { for await (const x of y) z(x) }", "async fn () { async loop x in y { z(x) } }");
    same("while (a()) b()", "loop while a() { b() }");
    same("do { a() } while (b())", "loop { a(); if !b() { break } }");
    same("out: for (;;) { for (;;) { continue out; break out } }", "loop { loop { continue; break } }");
}

#[test]
fn branches() {
    same("if (a) b(); else if (c) { d() } else e()", "if a { b() } else { if c { d() } else { e() } }");
    same(
        "switch (x) { case 1: case 2: a(); case 3: { b(); break } case 4: return; default: c() }"
            .replace("return", "throw e")
            .as_str(),
        "switch x case 1, 2 falls { a() } case 3 { { b() } } case 4 { throw e } default { c() }",
    );
    same(
        "switch (x) { case 1: default: a(); break; case 2: if (y) break; b() }",
        "switch x case 1 falls {} default { a() } case 2 { if y { break }; b() }",
    );
    same("try { a() } catch (e) { b(e) } finally { c() }", "try { a() } catch as e { b(e) } finally { c() }");
    same("try { a() } catch { b() }", "try { a() } catch { b() }");
    same("try { a() } catch ({ code }) {}", "try { a() } catch as {code: code} {}");
}

#[test]
fn using_covers_the_rest_of_the_block() {
    same("{ a(); using x = b(); c(x); using y = d(); e() }", "{ a(); with b() as x { c(x); with d() as y { e() } } }");
    same(
        "async () => { await using l = await m.lock(); f() }",
        "async fn () { async with await m.lock() as l { f() } }",
    );
    same("{ await using x = f(), y = g(); h() }", "{ async with f() as x, g() as y { h() } }");
    assert_eq!(js("for (using x of y) { z() }"), "loop x in y { with x { z() } }");
}

#[test]
fn assignments() {
    same(
        "a = b = c; a += 1; b ??= {}; c ||= d; e &&= f; g++; --h.i",
        "a = b = c\na += 1\nb ??= {}\nc ||= d\ne &&= f\ng += 1\nh.i -= 1",
    );
    same("f(a = 1, b++, c += 2)", "f((a = 1), ((b += 1) - 1), (c += 2))");
    same("[a, b.c, ...d] = e; ({ f, g: h[0], i = 1 } = j)", "[a, b.c, ...d] = e\n{f: f, g: h[0], i: i} = j\ni ??= 1");
    same("let a, { b, ...c } = d", "a = null\n{b: b, : ...c} = d");
    same("while ((m = r.exec(s)) !== null) f(m)", "loop while ((m = r.exec(s)) != null) { f(m) }");
    same("delete a.b; void f(); x = (delete c[d], void 0)", "delete a.b\nvoid f()\nx = { delete c[d]; null }");
}

#[test]
fn operators() {
    same("x = a === b && c !== d || !e", "x = (((a == b) && (c != d)) || !e)");
    same("x = a ?? (b ? c : d)", "x = (a ?? (b ? c : d))");
    same(
        "x = typeof a == 'b', y = k in o, z = p instanceof Q",
        "x = (typeof a == \"b\")\ny = (k in o)\nz = (p instanceof Q)",
    );
    same("x = -1 + a * 2", "x = (-1 + (a * 2))");
    same("a(), b(); x = (c(), d)", "a()\nb()\nx = { c(); d }");
    same(
        "class A { #x; static is(o) { return #x in o } }",
        "class A() { #x; static fn is(o) { return (\"#x\" in o) } }",
    );
}

#[test]
fn calls_and_members() {
    same("x = a?.b?.(c)?.[d]", "x = a.b(c)[d]");
    same("new A; new a.B(c, ...d)", "new A()\nnew a.B(c, ...d)");
    same("x = await fs.readFile(path, 'utf8')", "x = await fs.readFile(path, \"utf8\")");
    same("p.then(r => r.json()).catch(() => null)", "p.then(fn (r) { return r.json() }).catch(fn () { return null })");
    same("x = [a, ...b, , c]; y = import.meta.url; z = undefined", "x = [a, ...b, c]\ny = import.meta.url\nz = null");
    same("x = /a\\/b/g.test(y)", "x = \"/a\\\\/b/g\".test(y)");
}

#[test]
fn objects() {
    same(
        "x = { a, 'b': 1, 2: 3, ['c']: 4, [d]: 5, ...e, [f()]() {} }",
        "x = {a: a, b: 1, 2: 3, c: 4, other(d, 5), ...e, other(f(), fn () {})}",
    );
}

#[test]
fn strings_are_unescaped_and_joined() {
    same(
        r#"x = 'a\n\x41\u{1F600}\u0042\'\
b\0'"#,
        "x = \"a\\nA\u{1F600}B'b\\0\"",
    );
    same("x = 'a' + 'b' + c + 1", "x = `ab${c}${1}`");
    same("x = a + b + '/c' + `d${e}f`", "x = `${(a + b)}/cd${e}f`");
    same("x = `a${b}\\n${'c'}`; y = `plain`", "x = `a${b}\\nc`\ny = \"plain\"");
    same("sql`select ${a}`; db.q`b`", "sql(`select ${a}`)\ndb.q(\"b\")");
    for row in ["Row", "Row[]", "{ id: number }[]", "Page<Row>"] {
        assert_eq!(ts(&format!("x = await sql<{row}>`select ${{a}}`")), "x = await sql(`select ${a}`)", "{row}");
        assert_eq!(ts(&format!("const x = await a.sql<{row}>`b`")), "x = await a.sql(\"b\")", "{row}");
    }
    same("x = (await f()).g", "x = (await f()).g");
}

#[test]
fn jsx_keeps_what_it_calls() {
    for dialect in [Dialect::JavaScript, Dialect::Tsx] {
        let text = "x = <A b={c} d='e' {...f} on={() => g()}>{h()} text <B k={l}/> </A>";
        assert_eq!(show(&module(dialect, text)), "x = other(c, \"e\", ...f, fn () { return g() }, h(), other(l))");
    }
}
