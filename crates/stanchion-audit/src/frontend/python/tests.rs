use crate::{
    frontend::{Dialect, lower, show},
    hir::{Imported, Module},
};

mod hostile;

fn python(text: &str) -> Module {
    lower(Dialect::Python, text).unwrap()
}

fn everything(module: &Module) -> String {
    show::classes(module) + &show::functions(module)
}

/// The module's own statements; nothing in it may be unclear.
#[track_caller]
fn top(text: &str) -> String {
    let module = python(text);
    assert_eq!(module.errors, [0; 0], "{text}");
    show::body(&module, "<module>")
}

/// One statement or expression, on one line.
#[track_caller]
fn one(text: &str, shown: &str) {
    assert_eq!(top(text).trim_end(), shown, "{text}");
}

#[track_caller]
fn all(text: &str, shown: &str) {
    let module = python(text);
    assert_eq!(module.errors, [0; 0], "{text}");
    assert_eq!(everything(&module), shown);
}

fn imports(text: &str) -> Vec<String> {
    let shown = python(text).imports.into_iter().map(|import| match import.what {
        Imported::Module => format!("{} = {}", import.local, import.module),
        Imported::Name(name) => format!("{} = {} {name}", import.local, import.module),
        Imported::Everything => format!("{} = {} all", import.local, import.module),
        Imported::Default => "default".to_owned(),
    });
    shown.collect()
}

#[test]
fn parameters_keep_defaults_types_and_rests() {
    all(
        "def f(a, /, b: int = 1, *args: str, k=None, **kw) -> dict[str, int]:\n    return a\n",
        "fn#0 <module>()\n  declare fn#1\n\
         fn#1 f(a, b: int = 1, ...args: str, k = null, ...kw) -> dict[str, int]\n  return a\n",
    );
    all(
        "async def f(*, key: str): await g()\n",
        "fn#0 <module>()\n  declare fn#1\nasync fn#1 f(key: str)\n  await g()\n",
    );
}

#[test]
fn lambdas_return_and_are_named_by_what_they_are_bound_to() {
    all(
        "f = lambda x, *y: x\ng(lambda: 1)\nd = {'k': lambda: 2}\n",
        "fn#0 <module>()\n  f = fn#1\n  g(fn#2)\n  d = {k: fn#3}\n\
         fn#1 f(x, ...y)\n  return x\nfn#2 ()\n  return 1\nfn#3 k()\n  return 2\n",
    );
}

#[test]
fn nested_functions_know_where_they_stand_and_yield_makes_generators() {
    all(
        "def a():\n    async def b():\n        yield 1\n    return lambda: b\n",
        "fn#0 <module>()\n  declare fn#1\nfn#1 a()\n  declare fn#2\n  return fn#3\n\
         async generator fn#2 b() in fn#1\n  yield 1\nfn#3 () in fn#1\n  return b\n",
    );
    assert_eq!(python("def a(): pass\n").functions[1].parent, Some(0));
}

#[test]
fn the_object_of_a_method_is_this_whatever_it_is_called() {
    all(
        "class A:\n    def f(me, x: int):\n        me.x = x\n        def g(): return me.x\n        \
         def h(me): return me\n        me = None\n        return me\n",
        "class#0 A()\n  f = fn#1\nfn#0 <module>()\n  declare class#0\n\
         fn#1 f(x: int) of class#0\n  this.x = x\n  declare fn#2\n  declare fn#3\n  me = null\n  return me\n\
         fn#2 g() in fn#1\n  return this.x\nfn#3 h(me) in fn#1\n  return me\n",
    );
    all(
        "class A:\n    def f(self):\n        class B:\n            def g(it): return self, it\n",
        "class#0 A()\n  f = fn#1\nclass#1 B()\n  g = fn#2\nfn#0 <module>()\n  declare class#0\n\
         fn#1 f() of class#0\n  declare class#1\nfn#2 g() of class#1 in fn#1\n  return [self, this]\n",
    );
    assert_eq!(python("class A:\n    def f(me): pass\n").functions[1].receiver.as_deref(), Some("me"));
}

#[test]
fn static_and_class_methods_and_properties_are_told_apart() {
    all(
        "class A:\n    @staticmethod\n    def s(a): return a\n    @classmethod\n    def c(cls, a): return cls(a)\n    \
         @property\n    def p(self): return self.q\n    @p.setter\n    def p(self, v): self.q = v\n    \
         def __new__(cls): return cls\n    def free(*args): pass\n",
        "class#0 A()\n  s = fn#1\n  c = fn#2\n  p = fn#3\n  p = fn#4\n  __new__ = fn#5\n  free = fn#6\n\
         fn#0 <module>()\n  declare class#0\n@staticmethod\nstatic fn#1 s(a) of class#0\n  return a\n\
         @classmethod\nstatic fn#2 c(a) of class#0\n  return this(a)\n@property\n\
         fn#3 p() of class#0\n  return this.q\n@p.setter\nfn#4 p(v) of class#0\n  this.q = v\n\
         static fn#5 __new__() of class#0\n  return this\nfn#6 free(...args) of class#0\n",
    );
}

#[test]
fn constructors_have_one_name_where_defined_and_where_called() {
    all(
        "class A(B, m.C[int], metaclass=M):\n    def __init__(self, x):\n        super().__init__(x)\n        \
         super(A, self).go()\n        B.__init__(self, x)\n",
        "class#0 A(B, m.C[int])\n  constructor = fn#1\nfn#0 <module>()\n  declare class#0\n\
         fn#1 constructor(x) of class#0\n  super(x)\n  super.go()\n  B.constructor(this, x)\n",
    );
}

#[test]
fn assignments_in_classes_are_fields() {
    all(
        "class A:\n    \"\"\"What.\"\"\"\n    lock = Lock()\n    n: int = 0\n    c: ClassVar[int]\n    t: str\n    \
         u, v = 1, 2\n    class In(Base):\n        deep = 1\n    if X:\n        w = 1\n    else:\n        def m(self): pass\n    \
         register()\n",
        "class#0 A()\n  static lock = Lock()\n  static n: int = 0\n  static c: ClassVar[int]\n  t: str\n  static u = 1\n  static v = 2\n  static In = class#1\n  static w = 1\n  m = fn#1\n\
         class#1 In(Base)\n  static deep = 1\nfn#0 <module>()\n  declare class#0\n  X\n  register()\n\
         fn#1 m() of class#0\n",
    );
    all(
        "@dataclass(frozen=True)\nclass D:\n    a: int\n    b: list = field(default_factory=list)\n    C = 1\n",
        "@dataclass(frozen=true)\n\
         class#0 D()\n  a: int\n  b: list = field(default_factory=list)\n  static C = 1\n\
         fn#0 <module>()\n  declare class#0\n",
    );
    assert!(python("class A:\n    x = 1\n    for i in y: pass\n").exports.iter().all(|export| export.name == "A"));
}

#[test]
fn decorators_keep_their_arguments() {
    all(
        "@server.tool(\"x\", name=y)\n@asynccontextmanager\nasync def f(): yield\n",
        "fn#0 <module>()\n  declare fn#1\n@server.tool(\"x\", name=y)\n@asynccontextmanager\nasync generator fn#1 f()\n  yield\n",
    );
}

#[test]
fn type_parameters_and_aliases_are_read() {
    all(
        "class A[T](B): pass\ndef f[T: int](a: T) -> T: pass\ntype X[T] = list[T]\n",
        "class#0 A(B)\nfn#0 <module>()\n  declare class#0\n  declare fn#1\n  X = other()\nfn#1 f(a: T) -> T\n",
    );
}

#[test]
fn imports_say_name_module_and_part() {
    assert_eq!(imports("import a.b as c, json\n"), ["c = a.b", "json = json"]);
    assert_eq!(imports("import os.path\n"), ["os.path = os.path", "os = os"]);
    assert_eq!(imports("from . import x\nfrom .. import y\n"), ["x = . x", "y = .. y"]);
    assert_eq!(imports("from ..pkg.mod import (y as z, # why\n    w,)\n"), ["z = ..pkg.mod y", "w = ..pkg.mod w"]);
    assert_eq!(imports("from a.b import *\nfrom __future__ import annotations\n"), ["* = a.b all"]);
    assert_eq!(
        imports("def f():\n    import a\ntry:\n    import b\nexcept E:\n    from c import b\n"),
        ["a = a", "b = b", "b = c b"]
    );
}

#[test]
fn all_names_of_the_top_are_exported_once() {
    let module = python(
        "import a.b\nfrom c import d as e\nfrom .f import *\ndef g():\n    global h\n    h = no = 1\nclass I: x = 1\n\
         if j:\n    k, (l, *m) = 1\nk = 2\nn.o = 3\nfor p in [q for q in r]: pass\nwith s as t: pass\nif (u := 1): pass\n",
    );
    let names: Vec<String> = module.exports.iter().map(|export| export.name.clone()).collect();
    assert_eq!(names.join(" "), "a e * g h I k l m p t u");
    assert_eq!(module.exports[2].from.as_deref(), Some(".f"));
}

#[test]
fn with_has_items_in_every_spelling() {
    one("with open(p) as f: pass\n", "with open(p) as f");
    one("with a, b() as (c, d), e as f.g: x()\n", "with a, b() as [c, d], e as f.g\n  x()");
    one("with (\n    a as b,\n    c,\n): pass\n", "with a as b, c");
    one("with (a, b): pass\n", "with a, b");
    one("with (a as b): pass\n", "with a as b");
    one("with (a): pass\n", "with a");
    assert!(everything(&python("async def f():\n    async with a as b: pass\n")).contains("async with a as b"));
}

#[test]
fn try_has_types_names_and_all_its_parts() {
    one(
        "try: a()\nexcept (E, m.F) as e: b()\nexcept G: raise\nexcept: raise X(e) from e\nelse: c()\nfinally:\n    d()\n",
        "try\n  a()\ncatch E, m.F as e\n  b()\ncatch G\n  throw\ncatch\n  throw X(e)\nelse\n  c()\nfinally\n  d()",
    );
    one("try: a()\nexcept* E as e: b()\n", "try\n  a()\ncatch E as e\n  b()");
}

#[test]
fn loops_have_else_and_know_for_ever() {
    one("for a, (b, *c) in d: continue\nelse: e()\n", "loop [a, [b, ...c]] in d\n  continue\nelse\n  e()");
    one("while a: break\nelse: b()\n", "loop while a\n  break\nelse\n  b()");
    one("while True: a()\n", "loop\n  a()");
    one("while 1: a()\n", "loop\n  a()");
    assert!(everything(&python("async def f():\n    async for a in b: c()\n")).contains("async loop a in b\n    c()"));
}

#[test]
fn conditions_nest_and_many_of_them_become_a_switch() {
    one("if a: b()\nelif c: d()\nelse: e()\n", "if a\n  b()\nelse\n  if c\n    d()\n  else\n    e()");
    one("if __name__ == \"__main__\": main()\n", "if (__name__ == \"__main__\")\n  main()");
    let many = format!("if a: b()\n{}else: z()\n", "elif c: d()\n".repeat(5000));
    let shown = top(&many);
    assert!(shown.starts_with("switch true\ncase a\n  b()\ncase c\n  d()\n"), "{shown}");
    assert!(shown.ends_with("default\n  z()\n"));
}

#[test]
fn matches_test_and_bind() {
    let case = |pattern: &str, shown: &str| {
        one(&format!("match x:\n    case {pattern}: y()\n"), &format!("switch x\n{shown}"));
    };
    case("1 | -2 | \"a\" | None", "case 1, -2, \"a\", null\n  y()");
    case("_", "default\n  y()");
    case("a", "default as a\n  y()");
    case("(a)", "default as a\n  y()");
    case("Color.RED", "case Color.RED\n  y()");
    case("-1.5", "case -1.5\n  y()");
    case("[a, *rest]", "case [] as [a, ...rest]\n  y()");
    case("1, b", "case [1] as [_, b]\n  y()");
    case("{\"k\": v, **r}", "case other() as {k: v, : ...r}\n  y()");
    case("Point(0, b, y=c)", "case other(Point, 0) as {1: b, y: c}\n  y()");
    case("str() | int()", "case str, int\n  y()");
    case("a if a > 1", "case other() as a\n  if (a > 1)\n    y()");
    case("[a, b] as c", "case [] as c\n  [a, b] = c\n  y()");
    case("str() as s", "case str as s\n  y()");
    one("match a, b:\n    case _: pass\n", "switch [a, b]\ndefault");
}

#[test]
fn assignments_keep_their_targets() {
    one("a = b = c\n", "a = b = c");
    one("a, *b = c\n", "[a, ...b] = c");
    one("[a, (b.c, d[0])] = e, f\n", "[a, [b.c, d[0]]] = [e, f]");
    one("a.b += 1\n", "a.b += 1");
    one("a //= b\n", "a //= b");
    one("a **= b\n", "a **= b");
    one("a: int = 1\n", "a = 1");
    one("type(a).b = type(a).b + 1\n", "type(a).b = (type(a).b + 1)");
    one("type(a).b.c = d[e]\n", "type(a).b.c = d[e]");
    one("type(a).b += 1\n", "type(a).b += 1");
    one("type = 1\n", "type = 1");
    one("a: int\n", "");
    one("a.b: int = 1\n", "a.b = 1");
    one("del a.b, c[0], d\n", "delete a.b\ndelete c[0]\ndelete d");
    one("del (a)\n", "delete a");
    one("x = yield\n", "x = yield");
    one("x = yield from y\n", "x = yield y");
}

#[test]
fn small_statements_are_read() {
    one("assert a, \"b\"\n", "if !a\n  throw AssertionError(\"b\")");
    one("raise\n", "throw");
    one("raise a from b()\n", "b()\nthrow a");
    one("a; b()\n", "a\nb()");
    one("a, b()\n", "[a, b()]");
    one("print('a', end='')\n", "print(\"a\", end=\"\")");
    one("print >>a, b\n", "print(a, b)");
    one("exec \"a\" in b\n", "exec(\"a\", b)");
    one("exec(\"a\", b)\n", "exec(\"a\", b)");
    one("'''Only words.'''\n", "");
    one("pass\n", "");
    all("def f():\n    nonlocal a\n    return\n", "fn#0 <module>()\n  declare fn#1\nfn#1 f()\n  return\n");
}

#[test]
fn operators_have_the_words_of_every_language() {
    one("not a and b or c\n", "((!a && b) || c)");
    one("a is None, b is not None\n", "[(a == null), (b != null)]");
    one("a in b, c not in d\n", "[(a in b), !(c in d)]");
    one("a < b < c()\n", "other(a, b, c())");
    one("a + b * -c ** d\n", "(a + (b * -(c ** d)))");
    one("a - b - c\n", "((a - b) - c)");
    one("a - (b - c)\n", "(a - (b - c))");
    one("a if b else c\n", "(b ? a : c)");
    one("f(x := g())\n", "f((x = g()))");
    one("True, False, None, ..., 1_0, 2.5e3\n", "[true, false, null, other(), 1_0, 2.5e3]");
}

#[test]
fn calls_and_places_are_exact() {
    one("a.b(c, *d, k=e, **f)[g](h)\n", "a.b(c, ...d, k=e, ...f)[g](h)");
    one("f(a, *b.c(), *d[0])\n", "f(a, ...b.c(), ...d[0])");
    one("f(x for x in y)\n", "f([x for x in y])");
    one("a[1:n], a[:], a[b, c], a[::2]\n", "[a[other(1, n)], a[other()], a[[b, c]], a[other(2)]]");
    one("await a.b(c)\n", "await a.b(c)");
    one("(await a).b\n", "(await a).b");
    one("(a\n  # why\n  .b())\n", "a.b()");
    one("a.b \\\n  .c()\n", "a.b.c()");
}

#[test]
fn collections_and_comprehensions() {
    one("[a, *b], (c,), {d}, ()\n", "[[a, ...b], [c], [d], []]");
    one("{'a': b, 1: c, d: e, **f}\n", "{a: b, 1: c, other(d, e), ...f}");
    one("[a for a in b if a for c in a]\n", "[a for a in b for c in a if a]");
    one("{a for (a, b) in c}\n", "[a for [a, b] in c]");
    one("{a: b for a, b in c}\n", "[{other(a, b)} for [a, b] in c]");
    one("[a async for a in b]\n", "[a for a in await b]");
}

#[test]
fn strings_are_unescaped() {
    one(r"x = 'a\n\x41\u00e9\101\'\q'", r#"x = "a\nAéA'\\q""#);
    one(r"r'a\n', b'\x00', rb'\d'", r#"["a\\n", "\0", "\\d"]"#);
    one("x = 'a' \"b\" '''c\nd'''", r#"x = "abc\nd""#);
    one("x = 'a\\\nb'", r#"x = "ab""#);
    one("x = ('a'  # why\n 'b')", r#"x = "ab""#);
    one("x = ''", r#"x = """#);
}

#[test]
fn texts_with_values_in_them_are_templates() {
    one("x = f'a{b!r:>{w}}c{{d}}{e.f(g)=}'\n", "x = `a${b}c{d}${e.f(g)}`");
    one("x = f'{a}' 'b' rf'\\d{{{c}'\n", "x = `${a}b\\\\d{${c}`");
    one("x = f\"{a['k']}{f'{b}-'}\"\n", "x = `${a[\"k\"]}${b}-`");
    one("x = f'a'\n", "x = \"a\"");
    one("x = 'a' + b + 'c' + str(d)\n", "x = `a${b}c${str(d)}`");
    one("x = a + b + 'c'\n", "x = `${a}${b}c`");
    one("x = a + b + c\n", "x = ((a + b) + c)");
    one("x = 'a' + 'b'\n", "x = \"ab\"");
}

#[test]
fn formats_are_templates_where_the_order_stays() {
    one("x = 'a%sb%05.2f%%' % (c, d())\n", "x = `a${c}b${d()}%`");
    one("x = '%s-' % y + z\n", "x = `${y}-${z}`");
    one("x = '%(k)s/%(l)d' % row\n", "x = `${row[\"k\"]}/${row[\"l\"]}`");
    one("x = '%(k)s' % {'k': v()}\n", "x = `${v()}`");
    one("x = '%s %s' % pair()\n", "x = `%s %s${pair()}`");
    one("x = '%*d' % (a, b)\n", "x = `%*d${a}${b}`");
    one("x = 'a{}b{}'.format(c, d.e)\n", "x = `a${c}b${d.e}`");
    one("x = '{1}{{}}{0}{n:>3}'.format(a, b(), n=c)\n", "x = `${b()}{}${a}${c}`");
    one("x = '{0}{0}'.format(a)\n", "x = `${a}${a}`");
    one("x = '{0}{0}'.format(a())\n", "x = `{0}{0}${a()}`");
    one("x = '{a.b}'.format(a=c)\n", "x = `{a.b}${c}`");
    one("x = '{}{}'.format(*a)\n", "x = `{}{}${...a}`");
    one("x = 'a'.join(b)\n", "x = \"a\".join(b)");
    one("x = 7 % y\n", "x = (7 % y)");
}

#[test]
fn spans_count_from_one_and_comments_are_kept() {
    let module = python("# one\n\ndef f():\n    g() # stanchion-audit: two\n\n\nx = 1\n");
    let function = &module.functions[1];
    assert_eq!((function.span.line, function.span.column, function.span.end_line), (3, 1, 4));
    assert_eq!((function.body[0].span.line, function.body[0].span.column), (4, 5));
    let comments: Vec<(u32, &str)> = module.comments.iter().map(|one| (one.span.line, one.text.as_str())).collect();
    assert_eq!(comments, [(1, "one"), (4, "stanchion-audit: two")]);
    assert_eq!((module.lines, module.functions[0].name.as_str()), (7, "<module>"));
}

#[test]
fn tabs_carriage_returns_and_byte_order_marks_change_nothing() {
    let plain = "class A:\n    def f(self):\n        if a:\n            return 'x'\n        b()\n";
    let shown = everything(&python(plain));
    for text in [
        plain.replace('\n', "\r\n"),
        plain.replace("    ", "\t"),
        format!("\u{feff}{plain}"),
        plain.trim_end().to_owned(),
    ] {
        assert_eq!(everything(&python(&text)), shown, "{text:?}");
    }
    one("x = '''a\r\nb'''\r\n", "x = \"a\\nb\"");
}
