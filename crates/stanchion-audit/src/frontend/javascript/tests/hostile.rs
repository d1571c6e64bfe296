use super::module;
use crate::frontend::Dialect;
use crate::frontend::show::inline as show;

const ALL: [Dialect; 3] = [Dialect::JavaScript, Dialect::TypeScript, Dialect::Tsx];

const SAMPLE: &str = "import a, {b as c} from 'm'; @d() export class E<T> extends F { #g = `h${i}`; constructor(private j: string) { super() } async *k() { for await (const [l, m = 1] of n) yield l } }\nexport default async ({o, ...p}) => { try { await using q = r?.(...s) } catch { switch (t) { case 'u': break; default: return v ?? w } } finally { do { x++ } while (y) } };\nmodule.exports = { z: <A b={c}>{d}</A>, [e]: /f/g, get h() { return sql<i>`j` } }; // ü 😀";

#[test]
fn every_prefix_is_lowered() {
    for dialect in ALL {
        for end in (0..=SAMPLE.len()).filter(|end| SAMPLE.is_char_boundary(*end)) {
            show(&module(dialect, &SAMPLE[..end]));
        }
    }
}

#[test]
fn every_suffix_is_lowered() {
    for start in (0..SAMPLE.len()).filter(|start| SAMPLE.is_char_boundary(*start)) {
        show(&module(Dialect::Tsx, &SAMPLE[start..]));
    }
}

#[test]
fn deep_nesting_costs_no_stack_and_is_noted() {
    let n = 100_000;
    let pieces = [
        "[",
        "(",
        "{",
        "f(",
        "a?b:",
        "!",
        "x=>",
        "a=",
        "if(a)",
        "if(a){}else ",
        "function f(){",
        "class A{x=",
        "a=>{",
        "`${",
        "({a:",
        "await ",
        "l:",
        "{using x=y;",
        "new ",
        "a**",
        "for(;;)",
        "({a:b=",
        "<A>",
        "switch(a){case ",
    ];
    for piece in pieces {
        for dialect in ALL {
            let module = module(dialect, &piece.repeat(n / 20));
            show(&module);
        }
    }
    let nested = format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(module(Dialect::JavaScript, &nested).errors, [1]);
}

#[test]
fn deep_nesting_that_is_closed_costs_no_stack() {
    let pairs = [
        ("{", "}"),
        ("x={a:", "1}"),
        ("({a:", "1})"),
        ("f(", ")"),
        ("if(a){", "}"),
        ("if(a){}else{", "}"),
        ("switch(a){case 1:", "}"),
        ("try{", "}catch{}"),
        ("try{}catch{}finally{", "}"),
        ("for(;;){", "}"),
        ("for(a of b)do{", "}while(c)"),
        ("x=class{x=", "1}"),
        ("class A{static{", "}}"),
        ("`${", "}`"),
        ("new A(", ")"),
        ("a[", "b]"),
        ("a?(", "b):c"),
        ("<A b={", "c}/>"),
        ("<A>", "</A>"),
        ("({a:[", "b]}=c)"),
        ("!(a=", "b)"),
        ("x=>{y(", ")}"),
        ("(await ", "a)"),
        ("a+(", "b)"),
        ("{using a=b;", "}"),
        ("namespace A{", "}"),
        ("export default {a:", "1}"),
    ];
    for (open, close) in pairs {
        for dialect in ALL {
            // Not shown: the printer follows functions into functions.
            let lowered = module(dialect, &format!("{}{}", open.repeat(2_000), close.repeat(2_000)));
            assert!(lowered.functions.len() <= 2_001 && lowered.lines == 1);
        }
    }
}

#[test]
fn long_chains_keep_their_parts() {
    let n = 50_000;
    let sum = show(&module(Dialect::JavaScript, &format!("x = a{}", "+f()".repeat(n))));
    assert_eq!(sum.matches("f()").count(), n);
    let text = show(&module(Dialect::TypeScript, &format!("x = ''{}", "+a+'b'".repeat(n))));
    assert_eq!((text.matches("${a}").count(), text.starts_with("x = `${a}b${a}b")), (n, true));
    let calls = show(&module(Dialect::JavaScript, &format!("x{}", ".f(a())".repeat(n))));
    assert_eq!(calls.matches("a()").count(), n);
    let fluent = show(&module(Dialect::JavaScript, &format!("x{}", ".f(y => z())".repeat(60))));
    assert_eq!((fluent.matches(".f(fn (y) { return z() })").count(), fluent.starts_with("x.f(")), (60, true));
    let list = show(&module(Dialect::JavaScript, &format!("[{}]", "f(),".repeat(n))));
    assert_eq!(list.matches("f()").count(), n);
}

#[test]
fn nested_functions_are_all_lowered() {
    let n = 1_000;
    let module = module(Dialect::JavaScript, &format!("{}g(){}", "(()=>{".repeat(n), "})()".repeat(n)));
    assert_eq!((module.functions.len(), module.errors.len()), (n + 1, 0));
}

#[test]
fn random_text_is_lowered() {
    let words = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "=",
        "=>",
        "`",
        "${",
        "'",
        "/",
        "*",
        "<",
        ">",
        ".",
        "?.",
        "async ",
        "await ",
        "class ",
        "function ",
        "x",
        "#y",
        "1",
        ";",
        "\n",
        ",",
        "...",
        "export ",
        "import ",
        "default ",
        "case ",
        "switch",
        "for",
        "of ",
        "\u{0}",
        "é",
        "using ",
        "@",
        ":",
    ];
    let mut state = 1_u64;
    let mut next = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % most
    };
    for round in 0..300 {
        let text: String = (0..60).map(|_| words[next(words.len())]).collect();
        show(&module(ALL[round % 3], &text));
        let bytes: Vec<u8> = (0..200).map(|_| u8::try_from(next(256)).unwrap()).collect();
        show(&module(ALL[round % 3], &String::from_utf8_lossy(&bytes)));
    }
}
