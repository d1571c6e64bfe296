use crate::{
    frontend::{Dialect, hostile, lower, show},
    hir::Module,
};

fn rust(text: &str) -> Module {
    lower(Dialect::Rust, text).unwrap()
}

/// What these statements in a function become.
#[track_caller]
fn check(body: &str, expected: &str) {
    let module = rust(&format!("async fn f() {{\n{body}\n}}\n"));
    assert_eq!(module.errors, [0; 0], "{body}");
    assert_eq!(show::body(&module, "f").trim_end(), expected, "{body}");
}

const FILE: &str = include_str!("sample.txt");

#[test]
fn use_trees_are_flat() {
    let module = rust(
        "use std::fs;\nuse a::{b, c as d, e::*, f::{self, g}};\nuse h;\nuse i::J as _;\nuse ::k::l;\npub use m::n;\nextern crate o as p;\nmod q;\nfn f() { use r::s; }\n",
    );
    let expected = "q = self::q Module\nfs = std Name(\"fs\")\nb = a Name(\"b\")\nd = a Name(\"c\")\n* = a::e Everything\nf = a Name(\"f\")\ng = a::f Name(\"g\")\nh = h Module\nl = ::k Name(\"l\")\nn = m Name(\"n\")\np = o Module\ns = r Name(\"s\")\n";
    assert_eq!(show::imports(&module), expected);
    let passed_on = &module.exports[0];
    assert_eq!((passed_on.name.as_str(), passed_on.from.as_deref()), ("n", Some("m")));
}

#[test]
fn types_become_classes() {
    let module = rust(
        "#[derive(Debug)] struct S<T> { a: Arc<T>, pub b: u8 }\nstruct P(u8, pub String);\nenum E { A, B(u8) }\ntrait T: Base { fn need(&self); fn given(&self) { self.need() } }\nimpl<T> T for S<T> { fn need(&self) {} }\nimpl S<u8> { const N: u8 = 1; fn new() -> Self { Self { a: x, ..y } } }\nimpl X for &mut dyn a::Elsewhere { fn m(self: Arc<Self>) { Self::go(); } }\ntype Al = S<u8>;\n",
    );
    let expected = "@derive(Debug)\nclass#0 S(T)\n  a: Arc<T>\n  b: u8\n  static N: u8 = 1\n  need = fn#2\n  new = fn#3\nclass#1 P()\n  0: u8\n  1: String\nclass#2 E()\n  static A\n  static B\nclass#3 T(Base)\n  given = fn#1\nclass#4 Elsewhere(X)\n  m = fn#4\nclass#5 Al(S)\n";
    assert_eq!(show::classes(&module), expected);
    assert_eq!(show::body(&module, "new"), "return S{a: x, ...y}\n");
    assert_eq!(show::body(&module, "m"), "this.go()\n");
    let is_static: Vec<_> = module.functions.iter().map(|it| it.is_static).collect();
    assert_eq!(is_static, [false, false, false, true, false]);
}

#[test]
fn functions_have_attributes_and_parameters() {
    let module = rust(
        "#[tokio::main]\nasync fn main() {}\n/// Doc.\n#[tool(name = \"x\", annotations(read_only = true))]\npub(crate) async fn t(Json(a): Json<A>, mut b: u8, _: u8) -> u8 { fn inner() {} 1 }\n",
    );
    let tool = "@tool(name=\"x\", annotations(read_only=true))\nasync fn#2 t([a]: Json<A>, b: u8, _: u8) -> u8";
    let heads = ["fn#0 <module>()", "@tokio.main\nasync fn#1 main()", tool, "fn#3 inner() in fn#2"];
    assert_eq!(show::heads(&module), heads);
}

#[test]
fn modules_are_classes_and_statics_are_module_code() {
    let module = rust(
        "fn f() {}\n#[cfg(test)] mod m { fn f() { super::f() } const C: u8 = 1; }\nstatic S: Mutex<u8> = Mutex::new(0);\nlazy_static! { static ref L: u8 = g(); }\n",
    );
    assert_eq!(show::body(&module, "<module>"), "declare fn#1\nC = 1\ndeclare fn#2\nS = Mutex.new(0)\nL = g()\n");
    assert_eq!(show::classes(&module), "@cfg(test)\nclass#0 m()\n  f = fn#1\n");
    assert!(show::functions(&module).contains("fn#1 f()\n  return super.f()\n"));
    let names: Vec<_> = module.exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(names, ["m", "f", "S", "L"]);
}

#[test]
fn bindings() {
    check(
        "let x = g(); let (a, mut b): (u8, u8) = t(); let S { c, d: (e, _), .. } = s;",
        "x = g()\n[a, b] = t()\n{c: c, d: [e, _]} = s",
    );
    check("let Some(v) = opt else { return; };", "if (opt is [v])\nelse\n  return");
    check(
        "*self.n.lock().unwrap() += 1; self.a = 1; v[i] = 2; (a, b) = (b, a);",
        "*this.n.lock().unwrap() += 1\nthis.a = 1\nv[i] = 2\n[a, b] = [b, a]",
    );
    check("let [a, .., ref b] = s; let &c = d; let _ = e();", "[a, ..._, b] = s\nc = d\n_ = e()");
}

#[test]
fn the_value_of_a_body_is_returned() {
    check("g()", "return g()");
    check("g();", "g()");
    check("if a { 1 } else { match b { _ => { 2 } } }", "if a\n  return 1\nelse\n  switch b\n  default\n    return 2");
    check(
        "return match a { Ok(v) => v, Err(e) => return e };",
        "switch a\ncase Ok as [v]\n  return v\ncase Err as [e]\n  return e",
    );
    check("loop { break 3 }", "loop\n  <break> = 3\n  break\nreturn <break>");
    check("unsafe { g() }", "block\n  return g()");
}

#[test]
fn branches() {
    check("if let Some(x) = a && x > 3 && let Ok(_) = c { d(); }", "if (((a is [x]) && (x > 3)) && (c is [_]))\n  d()");
    check(
        "match x { None => a(), Some(1 | 2) => b(), Some(v) if v > 3 => c(), E::C { v, .. } => d(v), n @ 1..=5 => {}, (_, 'c') => {} other => {} };",
        "switch x\ncase null\n  a()\ncase other(Some, 1, 2) as [_]\n  b()\ncase (Some && (v > 3)) as [v]\n  c()\ncase E.C as {v: v}\n  d(v)\ncase other(1, 5) as n\ncase other(\"c\") as [_, _]\ndefault as other",
    );
    check(
        "let x = if a { 1 } else { 2 }; let y = { g(); 3 }; let z = { 4 };",
        "x = { if a { 1 } else { 2 } }\ny = { g(); 3 }\nz = 4",
    );
    check(
        "let x = match r { Ok(v) => v, Err(_) => return };",
        "x = { switch r case Ok as [v] { v } case Err as [_] { return } }",
    );
}

#[test]
fn loops() {
    check("while let Some(x) = it.next() { a(x); }", "loop while (it.next() is [x])\n  a(x)");
    check(
        "'o: for (i, x) in v.iter() { loop { continue 'o; } continue; }",
        "loop [i, x] in v.iter()\n  loop\n    break\n  continue",
    );
    check("let x = 'o: loop { loop { break 'o 1; } };", "x = { loop { loop { <break> = 1; break } }; <break> }");
    check("while a { break; }", "loop while a\n  break");
    check("'b: { if a { break 'b; } c(); };", "loop\n  if a\n    break\n  c()\n  break");
}

#[test]
fn expressions() {
    check("let d = tokio::fs::read(&self.path).await?;", "d = await tokio.fs.read(this.path)?");
    check(
        "Vec::<u8>::new(); <T as D>::d(); a.collect::<Vec<_>>(); x.0.y; ::std::fs::read(p);",
        "Vec.new()\nT.d()\na.collect()\nx.0.y\nstd.fs.read(p)",
    );
    check(
        "let x = a as u8 + -b; let y = !c; let z = a..b; let w = ..b; let w = ..=b; let v = [0; n];",
        "x = (a + -b)\ny = !c\nz = (a .. b)\nw = other(b)\nw = other(b)\nv = [0]",
    );
    check("drop(guard); std::mem::drop(&mut x);", "drop(guard)\nstd.mem.drop(x)");
    check("S { a, b: 1, ..c }; m::E::V { x };", "S{a: a, b: 1, ...c}\nm.E::V{x: x}".replace("m.E", "m::E").as_str());
    check(
        r##"let s = "a\u{e9}\x41\
        b"; let r = r#"a"b"#; let b = b"x\n"; let c = '\'';"##,
        "s = \"aéAb\"\nr = \"a\\\"b\"\nb = \"x\\n\"\nc = \"'\"",
    );
    check("let s = dir.to_string() + \"/\" + &name;", "s = `${dir.to_string()}/${name}`");
}

#[test]
fn closures_and_async_blocks_are_functions() {
    let module =
        rust("fn f() { let g = |a, (b, _): (u8, u8)| a + b; spawn(async move { h().await }); k(async |x| { x }); }");
    assert_eq!(show::body(&module, "f"), "g = fn#2\nspawn(fn#3)\nk(fn#4)\n");
    let heads = ["fn#2 g(a, [b, _]: (u8, u8)) in fn#1", "async fn#3 () in fn#1", "async fn#4 (x) in fn#1"];
    assert_eq!(show::heads(&module)[2..], heads);
    assert!(show::functions(&module).contains("async fn#3 () in fn#1\n  return await h()\n"));
}

#[test]
fn macros_have_arguments() {
    check("let s = format!(\"{}/{name}-{x:?}{{}}{0}\", dir, x = q);", "s = `${dir}/${name}-${q}{}${dir}`");
    check(
        "println!(\"hi {}\", s); write!(f, \"{s}\")?; other!(a, b.c());",
        "println!(`hi ${s}`)\nwrite!(f, `${s}`)?\nother!(a, b.c())",
    );
    check("let v = vec![1, g(2)]; let w = vec![0u8; n]; let e: Vec<u8> = vec![];", "v = [1, g(2)]\nw = [0u8]\ne = []");
    check(
        "let j = json!({\"a\": x.y, \"b\": [1, z(2), null], k: {\"c\": \"d\"}});",
        "j = {a: x.y, b: [1, z(2), null], other(k, {c: \"d\"})}",
    );
    check(
        "sqlx::query!(\"UPDATE t SET a = $1\", a).execute(&pool).await?;",
        "await sqlx.query!(\"UPDATE t SET a = $1\", a).execute(pool)?",
    );
    check(
        "info!(target: \"x\", key = %value, \"msg\"); odd!(a => b); odd!(a b.c); info!(x.y = 1, ?z, %w.v);",
        "info!(target=\"x\", key=value, \"msg\")\nodd!(a=b)\nodd!(other(a, b))\ninfo!(x.y=1, z, w.v)",
    );
    check("if matches!(x, Some(_)) { panic!(\"no {x}\") } unreachable!()", "if (x is [_])\n  throw `no ${x}`\nthrow");
    check(
        "let x = y.unwrap_or_else(|| panic!(\"z\")); let t = a.ok_or(todo!());",
        "x = y.unwrap_or_else(fn#2)\nt = a.ok_or({ throw })",
    );
    check("anyhow::bail!(\"a\");", "throw \"a\"");
    check(
        "tokio::select! { biased; Some(r) = rx.recv() => { one(r); } _ = sleep(d), if flag => two(), else => return }",
        "switch other()\ncase ([r] = await rx.recv())\n  one(r)\ncase (flag && (_ = await sleep(d)))\n  return two()\ndefault\n  return",
    );
}

#[test]
fn positions_in_macros_are_those_of_the_file() {
    let module = rust("fn f() {\n    x!(a,\n       b(c),\n       y![d()]);\n}\n");
    let crate::hir::StmtKind::Expr(value) = &module.functions[1].body[0].kind else { panic!("no expression") };
    let crate::hir::ExprKind::Call(call) = &value.kind else { panic!("no call") };
    let at: Vec<_> = call.args.iter().map(|arg| (arg.value.span.line, arg.value.span.column)).collect();
    assert_eq!(at, [(2, 8), (3, 8), (4, 8)]);
    let crate::hir::ExprKind::Call(inner) = &call.args[2].value.kind else { panic!("no call") };
    assert_eq!((inner.args[0].value.span.line, inner.args[0].value.span.column), (4, 11));
}

#[test]
fn errors_are_noted_and_the_rest_is_kept() {
    let module = rust("fn a() { let = ; }\nfn b() { y(); }\n");
    assert_eq!(module.errors, [1]);
    assert_eq!(show::body(&module, "b"), "y()\n");
}

#[test]
fn hostile_input() {
    hostile::prefixes(Dialect::Rust, FILE);
    hostile::deep(Dialect::Rust, "fn f() { x = ", "", "\n");
    hostile::noise(Dialect::Rust, FILE);
}
