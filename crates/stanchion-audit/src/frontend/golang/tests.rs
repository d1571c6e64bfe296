use crate::{
    frontend::{Dialect, hostile, lower, show},
    hir::Module,
};

fn go(text: &str) -> Module {
    lower(Dialect::Go, text).unwrap()
}

/// What these statements in a function become.
#[track_caller]
fn check(body: &str, expected: &str) {
    let module = go(&format!("package p\nimport \"fmt\"\ntype T struct {{ a, b int }}\nfunc f() {{\n{body}\n}}\n"));
    assert_eq!(module.errors, [0; 0], "{body}");
    assert_eq!(show::body(&module, "f").trim_end(), expected, "{body}");
}

const FILE: &str = include_str!("sample.txt");

#[test]
fn package_and_imports() {
    let module = go(
        "package p\nimport \"os\"\nimport (\n a \"encoding/json\"\n \"x.y/go-redis/v9\"\n \"gopkg.in/yaml.v3\"\n . \"strings\"\n _ \"embed\"\n)\n",
    );
    assert_eq!(module.package.as_deref(), Some("p"));
    let expected = "os = os Module\na = encoding/json Module\nredis = x.y/go-redis/v9 Module\nyaml = gopkg.in/yaml.v3 Module\n* = strings Everything\n";
    assert_eq!(show::imports(&module), expected);
}

#[test]
fn every_top_level_name_is_exported() {
    let module = go(
        "package p\nconst A, b = 1, 2\nvar (\n c int\n _ = d()\n)\ntype E int\nfunc F() {}\nfunc (e E) M() {}\nfunc init() {}\n",
    );
    let mut names: Vec<_> = module.exports.iter().map(|export| export.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["A", "E", "F", "b", "c"]);
}

#[test]
fn module_code_is_variables_then_init() {
    let module = go(
        "package p\nfunc init() { g() }\nvar mu sync.Mutex\nvar n, s = 1, \"x\"\nvar e error\nconst (\n A = iota\n B\n)\nfunc g() {}\n",
    );
    let expected = "mu = sync.Mutex{}\n[n, s] = [1, \"x\"]\ne = null\nA = iota\nB = iota\ndeclare fn#2\nfn#1()\n";
    assert_eq!(show::body(&module, "<module>"), expected);
}

#[test]
fn types_become_classes_with_fields_bases_and_methods() {
    let module = go(
        "package p\ntype S struct {\n sync.Mutex\n *Base\n a, b int\n g Set[int]\n}\ntype R interface { io.Reader; Read() }\ntype A = q.T\nfunc (s *S) M() {}\nfunc (l *Elsewhere[T]) N() {}\n",
    );
    let expected = "class#0 S(sync.Mutex, Base)\n  Mutex: sync.Mutex\n  Base: Base\n  a: int\n  b: int\n  g: Set[int]\n  M = fn#1\nclass#1 R(io.Reader)\nclass#2 A(q.T)\nclass#3 Elsewhere()\n  N = fn#2\n";
    assert_eq!(show::classes(&module), expected);
    assert_eq!(module.functions[2].class, Some(3));
}

#[test]
fn receiver_is_this_until_it_is_shadowed() {
    let module = go(
        "package p\nfunc (s *S) M(a, b int, rest ...string) (n int, err error) {\n s.x = s\n if s := s.copy(); s != nil { use(s) }\n func() { use(s) }()\n func(s int) { use(s) }(1)\n use(s)\n return\n}\n",
    );
    let expected = "fn#0 <module>()\nfn#1 M(a: int, b: int, ...rest: string) -> (n int, err error) of class#0\n  n = 0\n  err = null\n  this.x = this\n  block\n    s = this.copy()\n    if (s != null)\n      use(s)\n  fn#2()\n  fn#3(1)\n  use(this)\n  return [n, err]\nfn#2 () in fn#1\n  use(this)\nfn#3 (s: int) in fn#1\n  use(s)\n";
    assert_eq!(show::functions(&module), expected);
    assert_eq!(module.functions[1].receiver.as_deref(), Some("s"));
    assert_eq!((module.functions[1].parent, module.functions[2].parent), (Some(0), Some(1)));
}

#[test]
fn assignments() {
    check("data, err := os.ReadFile(p)", "[data, err] = os.ReadFile(p)");
    check("a, b = b, a", "[a, b] = [b, a]");
    check("_ = g()", "_ = g()");
    check("x.n++; y[i]--; z <<= 2", "x.n += 1\ny[i] -= 1\nz <<= 2");
    check("*p = *q; r := &q", "*p = *q\nr = &q");
    check(
        "var a, b int; var s string; var t T; var p *T; var x int = 2",
        "a = 0\nb = 0\ns = \"\"\nt = T{}\np = null\nx = 2",
    );
    check("v, ok := m[k]", "v = m[k]\nok = other(v)");
    check("_, ok := x.(T); v, ok := <-c", "ok = other(x)\nv = await c\nok = other(v)");
    check("h := s.handle; g := func() {}", "h = s.handle\ng = fn#2");
    let module = go("package p\nfunc f() { g := func() {}; h(T{Run: func() {}}) }");
    assert_eq!((module.functions[2].name.as_str(), module.functions[3].name.as_str()), ("g", "Run"));
}

#[test]
fn branches() {
    check(
        "if err := g(); err != nil { a() } else if b { c() } else { d() }",
        "block\n  err = g()\n  if (err != null)\n    a()\n  else\n    if b\n      c()\n    else\n      d()",
    );
    check(
        "switch x := g(); x { case 1, 2: a(); fallthrough; case 3: default: b() }",
        "block\n  x = g()\n  switch x\n  case 1, 2 falls\n    a()\n  case 3\n  default\n    b()",
    );
    check("switch { case a > b: c() }", "switch true\ncase (a > b)\n  c()");
    check(
        "switch x := y.(type) { case int, *T: a(); case nil: }",
        "switch y\ncase int, *T as x\n  a()\ncase null as x",
    );
    check(
        "select { case v := <-c: a(v); case d <- 1: case <-e: default: b() }",
        "switch other()\ncase (v = await c)\n  a(v)\ncase d.send(1)\ncase await e\ndefault\n  b()",
    );
}

#[test]
fn break_leaves_a_switch_but_break_in_the_hir_leaves_a_loop() {
    check(
        "for { switch x { case 1: if a { break }; b(); case 2: c(); break } }",
        "loop\n  switch x\n  case 1\n    if a\n    else\n      b()\n  case 2\n    c()",
    );
    check(
        "for { select { case <-c: if v, ok := m[k]; ok { break }; b() } }",
        "loop\n  switch other()\n  case await c\n    v = m[k]\n    ok = other(v)\n    if ok\n    else\n      b()",
    );
    check(
        "l: for { switch x { case 1: break l; case 2: continue } }",
        "loop\n  switch x\n  case 1\n    break\n  case 2\n    continue",
    );
    check("l: for { for { if a { continue l }; break } }", "loop\n  loop\n    if a\n      break\n    break");
}

#[test]
fn loops() {
    check("for i := 0; i < n; i++ { a(i) }", "loop init { i = 0 } while (i < n) step { i += 1 }\n  a(i)");
    check("for x { }; for { break }; for ; ; { }", "loop while x\nloop\n  break\nloop");
    check(
        "for k, v := range m { }; for i := range 9 { }; for range c { }; for _, t.a = range m { }",
        "loop [k, v] in m\nloop i in 9\nloop _ in c\nloop [_, t.a] in m",
    );
}

#[test]
fn defer_go_return_panic() {
    check("defer mu.Unlock(); go work(1); panic(\"no\")", "defer mu.Unlock()\ngo work(1)\nthrow \"no\"");
    check("return a, nil", "return [a, null]");
    check("return", "return");
    check("goto l; l: a()", "a()");
}

#[test]
fn expressions() {
    check("x = T{a: 1}; x = &T{1, 2}; x = pkg.T{}", "x = T{a: 1}\nx = &T{a: 1, b: 2}\nx = pkg.T{}");
    check(
        "x = []*T{{a: 1}}; x = map[string]T{\"k\": {b: 2}, k: t}; x = struct{ X int }{X: 1}",
        "x = [&T{a: 1}]\nx = {k: T{b: 2}, other(k, t)}\nx = {X: 1}",
    );
    check(
        "x = string(b); x = []byte(s); x = T(y); x = (*T)(y); x = y.(T); x = http.HandlerFunc(h)",
        "x = b\nx = s\nx = y\nx = y\nx = y\nx = http.HandlerFunc(h)",
    );
    check(
        "x = g[int](1); x = p.g[p.T](1); x = g[int, T](1, 2); x = g[int](1, 2)",
        "x = g(1)\nx = p.g(1)\nx = g(1, 2)\nx = g(1, 2)",
    );
    check("x = a[1:n]; c <- <-d; g(xs...)", "x = a[other(1, n)]\nc.send(await d)\ng(...xs)");
    check(
        "x = new(sync.Mutex); x = make(chan int, 1); x = make(map[string]int); x = make([]int, 3)",
        "x = &sync.Mutex{}\nx = make(chan int, 1)\nx = {}\nx = []",
    );
    check("type L int; x = L(y)", "declare class#1\nx = y");
    check("x = a && !b || c == nil", "x = ((a && !b) || (c == null))");
}

#[test]
fn strings_and_templates() {
    check(
        r#"x = "a\n\x41\101\u00e9\"" ; y = 'c'"#,
        r#"x = "a\nAAé\""
y = "c""#,
    );
    check("x = `a\\n\"`", r#"x = "a\\n\"""#);
    check(r#"x = dir + "/" + name + ".json""#, "x = `${dir}/${name}.json`");
    check(r#"x = a + b + "c""#, "x = `${a}${b}c`");
    check(r#"x = fmt.Sprintf("k:%s:%05d%%", a, b)"#, "x = `k:${a}:${b}%`");
    check(
        r#"x = fmt.Sprintf("%*d", 1, 2); x = fmt.Sprintf(form, a)"#,
        "x = fmt.Sprintf(\"%*d\", 1, 2)\nx = fmt.Sprintf(form, a)",
    );
}

#[test]
fn spans_and_comments() {
    let module = go("package p\n\n// stanchion-audit: hello\nfunc f() {\n\ta(\n\t\tb())\n}\n");
    let stmt = module.functions[1].body[0].span;
    assert_eq!((stmt.line, stmt.column, stmt.end_line), (5, 2, 6));
    let comment = &module.comments[0];
    assert_eq!((comment.text.as_str(), comment.span.line, module.lines), ("stanchion-audit: hello", 3, 7));
}

#[test]
fn errors_are_noted_and_the_rest_is_kept() {
    let module = go("package p\nfunc a() { x( }\nfunc b() { y() }\n");
    assert_eq!(module.errors, [2]);
    assert_eq!(show::body(&module, "b"), "y()\n");
}

#[test]
fn hostile_input() {
    hostile::prefixes(Dialect::Go, FILE);
    hostile::deep(Dialect::Go, "package p\nvar x = ", "", "\n");
    hostile::noise(Dialect::Go, FILE);
}
