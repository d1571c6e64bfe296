use super::super::tests::{SOURCE, report};
use super::*;
use crate::finding::{Role, Step};
use crate::format::sample;

fn written(report: &Report, source: &str, look: Look) -> String {
    let mut out = Vec::new();
    write(&mut out, report, &|_| Some(source.into()), look).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_finding_shows_its_lines_with_their_roles_then_why_and_how() {
    let text = written(&report(), SOURCE, Look::default());
    let expected = "\
high: RC101 lost-update-file
  `notes.json` is read, changed and written back; what another process writes in between is lost
  --> src/store.ts:5 in add
     read 2 > const all = JSON.parse(await readFile(path));
            | ^ read: reads all notes
   window 3 > const more = await describe(note);
   window 4 > all.push(more);
    write 5 > await writeFile(path, JSON.stringify(all));
            | ^ write: writes all notes
     what: high confidence, scope host, file notes.json
      why: the file is shared by all processes of the host, and no lock is held
      fix: hold flock on a lock file from the read to the write
stanchion: stanchion wrap -- COMMAND

     note: big.js: too large: not analysed

1 finding (1 high) in 12 files, 3456 lines, 78 ms; 1 not analysed, 1 suppressed, 1 in the baseline
";
    assert_eq!(text, expected);
}

#[test]
fn several_rules_are_counted_in_a_table() {
    let mut report = report();
    report.findings.push(Finding { code: "RC302", name: "non-atomic-write", severity: Severity::Low, ..sample() });
    let text = written(&report, SOURCE, Look::default());
    let table = "\
code   rule               high medium    low
RC101  lost-update-file      1      0      0
RC302  non-atomic-write      0      0      1
       all                   1      0      1
";
    assert!(text.contains(table), "{text}");
}

#[test]
fn a_window_on_the_line_of_the_read_is_said_below_it() {
    let mut finding = sample();
    finding.flow.iter_mut().for_each(|step| step.note = "others can run here".into());
    finding.flow[1].line = 2;
    finding.flow[1].end_line = 2;
    let text = written(&Report { findings: vec![finding], ..Report::default() }, SOURCE, Look::default());
    assert!(text.contains("\n     read 2 > const all") && text.contains("| ^ window: others can run here\n"), "{text}");
    assert!(!text.contains("read+window"), "{text}");
}

#[test]
fn a_run_without_findings_says_so_in_one_line() {
    let text = written(&Report { files: 1, lines: 2, ..Report::default() }, "", Look::default());
    assert_eq!(text, "no findings in 1 file, 2 lines, 0 ms\n");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut report = report();
    report.findings[0].message = format!("{} {}", "word ".repeat(40), "x".repeat(300));
    let source = "\tlet text = '".to_owned() + &"ä".repeat(5000) + "';\n";
    let text = written(&report, &source.repeat(6), Look { width: 60, colour: false });
    for line in text.lines() {
        assert!(line.chars().count() <= 60, "{line}");
    }
    assert!(text.contains('…'));
}

#[test]
fn colours_come_only_when_asked_for_and_never_from_the_code() {
    let source = SOURCE.replace("const", "\u{1b}[2Jconst");
    assert!(!written(&report(), &source, Look::default()).contains('\u{1b}'));
    let coloured = written(&report(), SOURCE, Look { colour: true, width: 100 });
    assert!(coloured.contains("\u{1b}[1;31mhigh: RC101"));
    assert_eq!(coloured.matches('\u{1b}').count() % 2, 0);
}

#[test]
fn gaps_other_files_and_lines_that_are_not_there_are_shown_as_such() {
    let mut finding = sample();
    let step = |role, path: &str, line| Step { role, path: path.into(), line, end_line: line, note: String::new() };
    finding.flow = vec![step(Role::Read, "a.ts", 1), step(Role::Call, "b.ts", 2), step(Role::Write, "a.ts", 99)];
    let report = Report { findings: vec![finding], ..Report::default() };
    let text = written(&report, "one\ntwo\nthree\n", Look::default());
    assert!(text.contains("          ::: a.ts\n     read   1 > one\n"), "{text}");
    assert!(text.contains("         ...\n    write  99 > (not there any more)\n"), "{text}");
    assert!(text.contains("          ::: b.ts\n     call   2 > two\n"), "{text}");
}

#[test]
fn hostile_lines_and_flows_do_no_harm() {
    let mut finding = sample();
    let step = Step { role: Role::Window, path: "a".into(), line: u32::MAX, end_line: 0, note: "n".into() };
    finding.flow = vec![Step { line: 0, end_line: u32::MAX, ..step.clone() }; 5000];
    finding.flow.push(step);
    let report = Report { findings: vec![finding], ..Report::default() };
    assert!(written(&report, "x", Look { width: 0, colour: true }).contains("more steps"));
}
