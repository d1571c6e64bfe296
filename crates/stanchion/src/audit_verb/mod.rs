//! `audit`: races in source code. The analysis is `stanchion-audit`; here is what a person or a build server has of it.

mod args;
mod pages;
mod probes;
mod settings;

use std::io::IsTerminal as _;

use stanchion_audit::baseline::Baseline;
use stanchion_audit::diff::Changes;
use stanchion_audit::error::Error;
use stanchion_audit::finding::{Severity, Surface};
use stanchion_audit::format::{Format, Look, Note};
use stanchion_audit::{Audited, Progress, audit_and_tell};

pub(crate) use self::args::AuditArgs;
use self::settings::Settings;
use crate::exit::{escaped, say};
use crate::output as out;
use crate::progress::Bar;

/// Something was found.
const FOUND: u8 = 1;
/// What the user said cannot be followed.
const WRONG: u8 = 2;
/// Something that was named, or everything, could not be analysed.
const NOT_ANALYSED: u8 = 3;

/// What is wrong with what the user said; all of it at once.
type Wrong = Vec<Error>;

pub(crate) fn run(args: &AuditArgs) -> u8 {
    let done = match (&args.explain, args.rules) {
        (Some(code), _) => pages::explain(args, code),
        (None, true) => pages::rules(args),
        (None, false) => look(args),
    };
    done.unwrap_or_else(|wrong| {
        wrong.iter().for_each(report);
        WRONG
    })
}

fn look(args: &AuditArgs) -> Result<u8, Wrong> {
    if args.checklist {
        pages::allow(args.format()).map_err(one)?;
    }
    let settings = Settings::new(args)?;
    // Before the work: nobody should wait for an answer that cannot be given.
    let baseline = match &args.baseline {
        Some(file) if !args.write_baseline => Some(Baseline::read(file).map_err(one)?),
        _ => None,
    };
    let changes = args.diff.as_deref().map(|base| changes(base, &settings)).transpose().map_err(one)?;
    let bar = Bar::new();
    let audited =
        audit_and_tell(&settings.base, &settings.roots, &settings.config, &|Progress { doing, done, total }| {
            bar.tell(doing, done, total);
        });
    drop(bar);
    let mut audited = audited.map_err(one)?;
    audited.report.notes.extend(settings.notes);
    narrow(args, baseline.as_ref(), changes.as_ref(), &mut audited);
    if let (true, Some(file)) = (args.write_baseline, &args.baseline) {
        return write_baseline(file, &audited);
    }
    if let Some(folder) = &args.emit_probe {
        probes::write(folder, &audited).map_err(one)?;
    }
    if args.checklist {
        pages::checklist(args, &audited)?
    } else {
        print(args, &audited)?
    }
    tell_what_is_missing(&audited);
    let fail_on = args.fail_on.or(settings.config.fail_on).unwrap_or(Severity::Low);
    Ok(if audited.report.fails(fail_on) {
        FOUND
    } else if is_refused(&audited) {
        NOT_ANALYSED
    } else {
        0
    })
}

/// What changed since a revision: of the repository that this folder is in, or of the one that was named from outside.
fn changes(since: &str, settings: &Settings) -> Result<Changes, Error> {
    let here = Changes::since(since, &settings.base);
    match (here, settings.roots.as_slice()) {
        (Err(_), [only]) if only.is_dir() && *only != settings.base => {
            let shown = settings.shown(only);
            Changes::since(since, only).map(|changes| changes.below(&shown))
        }
        (here, _) => here,
    }
}

/// Leaves out what is known, untouched, in tests, or below what was asked for.
fn narrow(args: &AuditArgs, baseline: Option<&Baseline>, changes: Option<&Changes>, audited: &mut Audited) {
    let report = &mut audited.report;
    if let Some(baseline) = baseline {
        report.gone = baseline.mark(&mut report.findings);
    }
    if args.narrows() {
        // What was not looked for is not gone.
        report.gone.clear();
    }
    let (severity, confidence) = (args.severity, args.confidence);
    report.findings.retain(|finding| {
        severity.is_none_or(|least| finding.severity >= least)
            && confidence.is_none_or(|least| finding.confidence >= least)
            && changes.is_none_or(|changes| changes.concern(finding))
    });
    if !args.tests {
        let found = report.open().count();
        report.findings.retain(|finding| finding.surface != Surface::Test);
        let left = found - report.open().count();
        if left > 0 {
            let text = format!("{left} findings in tests are left out; --tests has them reported");
            report.notes.push(Note { path: String::new(), line: 0, text });
        }
    }
}

fn write_baseline(file: &std::path::Path, audited: &Audited) -> Result<u8, Wrong> {
    let open = audited.report.open().count();
    out::put(Some(file), Baseline::of(&audited.report.findings).to_text().as_bytes()).map_err(one)?;
    say(&format!("{}: {open} findings written; a run with --baseline reports only others", file.display()));
    tell_what_is_missing(audited);
    Ok(if is_refused(audited) { NOT_ANALYSED } else { 0 })
}

fn print(args: &AuditArgs, audited: &Audited) -> Result<(), Wrong> {
    let format = args.format();
    let look = if args.output.is_some() { Look::default() } else { out::look() };
    let mut text = Vec::new();
    let written = format.write(&mut text, &audited.report, &|path| audited.text(path), look);
    written.map_err(|e| one(Error::new(format!("the report cannot be written: {e}"))))?;
    out::put(args.output.as_deref(), &text).map_err(one)?;
    // What programs read has no line for people at its end.
    let is_read = args.output.is_none() && format == Format::Text;
    if !is_read && (args.output.is_some() || std::io::stderr().is_terminal()) {
        say(&audited.report.closing());
    }
    Ok(())
}

/// Whether the answer "nothing found" would say more than is known.
fn is_refused(audited: &Audited) -> bool {
    !audited.refused.is_empty() || audited.report.files == 0 && audited.report.left_out > 0
}

fn tell_what_is_missing(audited: &Audited) {
    for note in &audited.refused {
        say(&format!("error: {}", escaped(&note.to_string())));
    }
    match (audited.report.files, audited.report.left_out) {
        (0, 0) => {
            say("warning: there is no code here that can be analysed");
            say("hint: it reads TypeScript, JavaScript, Python, Go and Rust; name a file or folder that has some");
        }
        (0, _) if audited.refused.is_empty() => {
            say("error: nothing could be analysed");
            say(
                "hint: the notes say what was left out; name a folder to have it analysed, as in `stanchion audit dist`",
            );
        }
        _ => {}
    }
}

fn one(error: Error) -> Wrong {
    vec![error]
}

/// `error:` and, if there is one, `hint:` on stderr.
fn report(error: &Error) {
    let hint = error.hint.clone();
    say(&format!("error: {}", escaped(&Error { hint: None, ..error.clone() }.to_string())));
    if let Some(hint) = hint {
        say(&format!("hint: {}", escaped(&hint)));
    }
}
