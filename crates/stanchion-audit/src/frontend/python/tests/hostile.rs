//! Programs that are broken, deep, long, or none at all.

use super::*;

#[test]
fn code_around_a_syntax_error_survives() {
    let module = python("import a\ndef f():\n    b()\n    c = = d()\n    e()\ndef g():\n    h()\n");
    let shown = everything(&module);
    assert_eq!(module.errors, [4]);
    for part in ["f()", "b()", "d()", "e()", "g()", "h()"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let module = python("import a\nb()\nsave(load(\n");
    assert_eq!((module.imports.len(), module.errors.len()), (1, 1));
}

#[test]
fn every_prefix_of_a_program_is_read() {
    let text = "@d(1)\nclass A[T](B):\n\tx: int = f'a{b!r:>{w}}' 'é'\n\tdef f(self, *a, **k) -> T:\n\t\twith (a as b, c): \
                yield x[1:2]\n\t\ttry: pass\n\t\texcept (E, F) as e: raise X from e\n\t\tmatch a:\n\t\t\tcase {'k': [b, *c], **r} \
                if b: pass\n\t\t\tcase P(1, x=-2) as y | None: '%(a)s' % b\nfrom ..a import (b as c)\nx = [lambda y=1: await z async for i in j]\n";
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let _ = everything(&python(&text[..end]));
        let _ = everything(&python(&text[end..]));
    }
}

#[test]
fn nesting_costs_no_stack() {
    let deep = 100_000;
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("f(", ")"),
        ("a[", "]"),
        ("not ", ""),
        ("-", ""),
        ("lambda: ", ""),
        ("{1: ", "}"),
        ("a if b else ", ""),
    ] {
        let _ = python(&format!("x = {}y{}\n", open.repeat(deep / 20), close.repeat(deep / 20)));
        let _ = python(&open.repeat(deep / 20));
    }
    let _ = python(&"(".repeat(deep));
    one(&format!("x = {}y{}\n", "(".repeat(deep), ")".repeat(deep)), "x = y");
    for head in ["if a:\n", "class A:\n", "def f(self):\n", "try:\n"] {
        let blocks: String = (0..400).map(|depth| " ".repeat(depth) + head).collect();
        assert!(!python(&(blocks + &" ".repeat(400) + "b()\n")).errors.is_empty());
    }
}

#[test]
fn long_chains_stay_flat() {
    let many = 50_000;
    assert!(top(&format!("x = a{}\n", " + a".repeat(many))).starts_with("x = other(a, a, "));
    assert!(top(&format!("x = 'b'{}\n", " + a".repeat(many))).starts_with("x = `b${a}${a}"));
    assert!(top(&format!("x = a{}\n", " and a".repeat(many))).starts_with("x = other(a, a, "));
    assert!(top(&format!("x = a{}\n", " < a".repeat(many))).starts_with("x = other(a, a, "));
    assert!(top(&format!("{}1\n", "a = ".repeat(many))).starts_with("a = a = a"));
    assert!(!python(&format!("x = a{}\n", ".b()".repeat(many))).errors.is_empty());
}

#[test]
fn noise_is_read_without_harm() {
    let mut seed = 7_u64;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % most
    };
    let words: Vec<&str> =
        "def |class |(|)|:|\n|\n  |\t|f'{|}'|'''|match x|case |*|**|=|é|\\|async |with |as |@|lambda |\
                            import |from |.|yield |%|self|[|]|if |else|\0|\r|#|,|1|-|try|except"
            .split('|')
            .collect();
    for _ in 0..600 {
        let text: String = (0..next(60)).map(|_| words[next(words.len())]).collect();
        let bytes: Vec<u8> = (0..next(200)).map(|_| u8::try_from(next(256)).unwrap()).collect();
        let _ = everything(&python(&text));
        let _ = everything(&python(&String::from_utf8_lossy(&bytes)));
    }
}
