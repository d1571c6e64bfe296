//! Exit codes, in one place, and how errors reach a person.

use std::io::Write as _;

use clap::error::ContextKind;
use stanchion_core::{Error, ErrorKind};

/// Every code we exit with on our own account. A command's own code passes through `run` unchanged.
pub(crate) const CODES: &[(u8, &str)] = &[
    (0, "done; or: the lock was busy and --if-busy skip was given"),
    (
        1,
        "`audit`: something was found; `demo`: a guarded call was lost; `doctor`: a promise does not hold; `memory check`, `memory repair`: the file is damaged; `memory import`: a part was not understood; `race`: a race was found",
    ),
    (
        2,
        "the command line is wrong; `audit`: or the configuration, the baseline, a model file; `race`: or the specification, the schedule",
    ),
    (
        3,
        "`audit`: something could not be analysed, and in the rest nothing was found; `doctor --strict`: something is weak; `race`: nothing can be said",
    ),
    (69, "the store cannot be reached"),
    (
        75,
        "the lock is busy and the wait is over (-E changes this code); or it is held by our own parent; or another stanchion edits the file",
    ),
    (
        76,
        "the lock was lost; the command was stopped before the lease could run out, or, if the lock was taken away, when that was noticed",
    ),
    (77, "the claim is not in a state in which this can be done; or it, or a configuration file, changed meanwhile"),
    (78, "the configuration is wrong: store, option, key, ttl, or rights"),
    (125, "stanchion itself failed"),
    (126, "the command cannot be executed"),
    (127, "the command was not found"),
];

pub(crate) const DAMAGED: u8 = 1;
pub(crate) const BUSY: u8 = 75;
pub(crate) const LOST: u8 = 76;
pub(crate) const CONFLICT: u8 = 77;
pub(crate) const FAILED: u8 = 125;

/// The code that tells a script what kind of error this is.
pub(crate) fn code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Contended | ErrorKind::Deadlock | ErrorKind::InProgress | ErrorKind::Limited => BUSY,
        ErrorKind::LeaseLost | ErrorKind::FenceRejected => LOST,
        ErrorKind::Unavailable | ErrorKind::OutcomeUnknown => 69,
        ErrorKind::Invalid | ErrorKind::Denied | ErrorKind::Unsupported | ErrorKind::Damaged => 78,
        ErrorKind::Conflict | ErrorKind::KeyReused | ErrorKind::KeyExpired => CONFLICT,
        _ => FAILED,
    }
}

/// `error:` and, if there is one, `hint:` on stderr.
pub(crate) fn report(error: &Error) {
    say(&reported(error));
}

/// The same as text.
pub(crate) fn reported(error: &Error) -> String {
    let hint = error.next_step().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("error: {}{hint}", text(error))
}

/// The error and what caused it.
pub(crate) fn text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text += &format!(": {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// One line for a person, on stderr. A closed stderr is no reason to fail.
pub(crate) fn say(text: &str) {
    writeln!(std::io::stderr(), "{text}").unwrap_or_default();
}

/// Data, on stdout. A reader that went away (`| head`) ends us quietly.
pub(crate) fn print(text: &str) {
    writeln!(std::io::stdout(), "{text}").unwrap_or_default();
}

/// Text of others, for a terminal: control characters are shown, not obeyed.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// What was typed cannot be understood. Before the command of a verb, an option that we do not know is named with the
/// nearest one that we do.
pub(crate) fn mistyped(error: &clap::Error) -> u8 {
    let text = |kind| error.get(kind).map(ToString::to_string);
    let verb = text(ContextKind::Usage).filter(|usage| usage.contains("<CMD>"));
    let verb = verb.as_deref().and_then(|usage| usage.split_whitespace().nth(2));
    let unknown = text(ContextKind::InvalidArg).filter(|_| error.kind() == clap::error::ErrorKind::UnknownArgument);
    let (Some(verb), Some(option)) = (verb, unknown) else { error.exit() };
    say(&format!("error: unknown option '{}'", escaped(&option)));
    let near = text(ContextKind::SuggestedArg).map(|near| format!("there is '{near}'; ")).unwrap_or_default();
    say(&format!("hint: {near}{}", options(verb)));
    2
}

fn options(verb: &str) -> String {
    format!("`stanchion help {verb}` lists the options; the command comes after them")
}

/// Says so if the command of a verb is an option that we do not know: no command begins with a dash.
pub(crate) fn is_option(verb: &str, command: &[std::ffi::OsString]) -> bool {
    let Some(option) = command.first().filter(|first| first.as_encoded_bytes().starts_with(b"-")) else { return false };
    say(&format!("error: unknown option '{}'", option.to_string_lossy()));
    say(&format!("hint: {}", options(verb)));
    true
}

/// Ctrl-C, SIGTERM from a supervisor, or a closed terminal unless `nohup` says otherwise: the code of whoever was ended by it. It
/// listens from the call on, not from the first poll: what is started meanwhile would outlive whoever a signal ends without asking.
#[cfg(unix)]
pub(crate) fn signalled() -> impl Future<Output = u8> {
    let signals = crate::run::Signals::for_waiting();
    async {
        let Ok(mut signals) = signals else { return std::future::pending().await };
        128 + signals.next().await.number()
    }
}

#[cfg(not(unix))]
pub(crate) async fn signalled() -> u8 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 130,
        Err(_) => std::future::pending().await,
    }
}
