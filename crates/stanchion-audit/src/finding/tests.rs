use super::*;
use crate::format::sample;

fn prints(text: &str, places: &[(u32, u32)]) -> Vec<String> {
    let mut findings: Vec<_> = places.iter().map(|&(line, end_line)| Finding { line, end_line, ..sample() }).collect();
    finish(&mut findings, &|_| Some(text.into()));
    findings.iter().map(|finding| finding.fingerprint().to_owned()).collect()
}

#[test]
fn a_fingerprint_stays_when_lines_move_and_code_is_formatted() {
    let one = prints("save(path, {a: 1})\n", &[(1, 1)]);
    assert_eq!(one, prints("\n\n// more\r\n  save( path, {\r\n    a: 1\r\n  } )\r\n", &[(4, 6)]));
    assert_eq!(one, prints("save(path, {a: 1}) // stanchion-audit: ignore RC101 -- why not\n", &[(1, 1)]));
    assert_ne!(one, prints("save(path, {a: 2})\n", &[(1, 1)]));
    assert_ne!(prints("return x", &[(1, 1)]), prints("returnx", &[(1, 1)]));
}

#[test]
fn a_statement_is_known_again_when_it_gets_a_line_of_its_own() {
    let at = |text: &'static str, line, column| {
        let mut finding = Finding { line, end_line: line, ..sample() };
        finding.marks.column = column;
        let mut all = vec![finding];
        finish(&mut all, &|_| Some(text.into()));
        all.remove(0).marks.fingerprint
    };
    let one = at("async (q) => { const v = await foo(); await bar(v); }\n", 1, 45);
    assert_eq!(one, at("async (q) => {\n  const v = await foo();\n  await bar(v); // all\n};\n", 3, 9));
    assert_ne!(one, at("async (q) => {\n  const v = await foo();\n  await bar(v); // all\n};\n", 2, 19));
    assert_eq!(at("x", 1, 400), at("x", 1, 0));
}

#[test]
fn everything_but_lines_and_words_for_people_makes_a_fingerprint() {
    let print = |change: fn(&mut Finding)| {
        let mut finding = sample();
        change(&mut finding);
        let mut all = vec![finding];
        finish(&mut all, &|_| None);
        all.remove(0).marks.fingerprint
    };
    let same = print(|_| {});
    assert_eq!(same, print(|f| (f.line, f.end_line) = (77, 78)));
    assert_eq!(same, print(|f| f.message = "other words".into()));
    let others: [fn(&mut Finding); 4] =
        [|f| f.code = "RC999", |f| f.path.push('x'), |f| f.function.push('x'), |f| f.resource.push('x')];
    for other in others {
        assert_ne!(same, print(other));
    }
    // The parts do not run into each other.
    assert_ne!(
        print(|f| (f.function, f.resource) = ("ab".into(), "c".into())),
        print(|f| (f.function, f.resource) = ("a".into(), "bc".into()))
    );
}

#[test]
fn equal_statements_of_a_file_are_numbered_from_the_top() {
    let got = prints("save()\nsave()\nload()\nsave()\n", &[(4, 4), (1, 1), (2, 2)]);
    assert_eq!(got, [got[0].clone(), format!("{}#2", got[0]), format!("{}#3", got[0])]);
}

#[test]
fn findings_are_ordered_by_path_line_code_whatever_the_order_they_came_in() {
    let at = |path: &str, line, code| Finding { path: path.into(), line, end_line: line, code, ..sample() };
    let mut one = vec![at("b", 1, "RC101"), at("a", 10, "RC301"), at("a", 10, "RC101"), at("a", 9, "RC401")];
    let mut two: Vec<_> = one.iter().rev().cloned().collect();
    finish(&mut one, &|_| None);
    finish(&mut two, &|_| None);
    assert_eq!(one, two);
    let order: Vec<_> = one.iter().map(|f| (f.path.as_str(), f.line, f.code)).collect();
    assert_eq!(order, [("a", 9, "RC401"), ("a", 10, "RC101"), ("a", 10, "RC301"), ("b", 1, "RC101")]);
}

#[test]
fn of_two_that_say_the_same_of_a_line_the_surest_stays() {
    let mut findings = vec![Finding { confidence: Confidence::Low, message: "a".into(), ..sample() }, sample()];
    finish(&mut findings, &|_| None);
    assert_eq!((findings.len(), findings[0].confidence), (1, Confidence::High));
}

#[test]
fn lines_that_are_not_there_and_endless_ones_do_no_harm() {
    assert_eq!(prints("", &[(0, 0)]).len(), 1);
    assert_eq!(prints("x", &[(9, 3)]).len(), 1);
    assert_eq!(prints("x", &[(1, u32::MAX)]).len(), 1);
    assert_eq!(prints(&"ä".repeat(5_000_000), &[(1, 1)]).len(), 1);
}

#[test]
fn words_are_read_as_they_are_written() {
    for scope in Scope::ALL {
        assert_eq!(scope.as_str().parse::<Scope>().as_ref(), Ok(scope));
        assert_eq!(serde_json::to_string(scope).unwrap(), format!("\"{scope}\""));
    }
    let error = "hihg".parse::<Severity>().unwrap_err().to_string();
    assert_eq!(error, "`hihg` is not allowed here; allowed: low, medium, high");
}

#[test]
fn of_two_that_say_the_same_the_ways_of_both_are_told() {
    let (first, mut second) = (sample(), sample());
    second.flow[0].line = 1;
    let both = |mut findings: Vec<Finding>| {
        finish(&mut findings, &|_| Some("x\n".repeat(9).into()));
        findings
    };
    let told = both(vec![first.clone(), second.clone(), first.clone()]);
    assert_eq!((told.len(), told[0].flow.len()), (1, first.flow.len() + 1));
    assert!(first.flow.iter().chain(&second.flow).all(|step| told[0].flow.contains(step)));
    assert_eq!(told, both(vec![second, first]));
}
