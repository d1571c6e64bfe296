//! For people at a terminal: what is wrong, where, why, and how to get rid of it.

use std::io::{self, Write};

use super::snippet::{self, cut};
use super::{Look, Report, Summary, flat, lines};
use crate::finding::{Finding, Severity, Sources, Surface};

/// More notes would hide the findings.
const NOTES_MOST: usize = 20;

/// Writes each open finding with its excerpt, then the notes, then a table if there are several rules, and one line
/// with the sums.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// # use stanchion_audit::format::{Look, Report, sample, text};
/// let report = Report { findings: vec![sample()], ..Report::default() };
/// let mut out = Vec::new();
/// text::write(&mut out, &report, &|_| Some("\n".repeat(9).into()), Look::default())?;
/// assert!(String::from_utf8(out).unwrap().starts_with("high: RC101 lost-update-file"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(out: &mut impl Write, report: &Report, sources: Sources<'_>, look: Look) -> io::Result<()> {
    let paint = Paint { colour: look.colour };
    let width = look.width.clamp(40, 400);
    for finding in report.open() {
        one(out, finding, sources, paint, width)?;
        writeln!(out)?;
    }
    for note in report.notes.iter().take(NOTES_MOST) {
        paragraph(out, paint, "note", &note.to_string(), width)?;
    }
    if let Some(more) = report.notes.len().checked_sub(NOTES_MOST).filter(|more| *more > 0) {
        paragraph(out, paint, "note", &format!("and {more} more; the format json has all of them"), width)?;
    }
    if !report.notes.is_empty() {
        writeln!(out)?;
    }
    table(out, &report.summary(), paint, width)
}

fn one(out: &mut impl Write, finding: &Finding, sources: Sources<'_>, paint: Paint, width: usize) -> io::Result<()> {
    let Finding { code, name, severity, confidence, scope, .. } = finding;
    let head = format!("{severity}: {code} {name}");
    writeln!(out, "{}", paint.severity(*severity, &head))?;
    wrapped(&flat(&finding.message), width.saturating_sub(2)).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    let function = if finding.function.is_empty() { String::new() } else { format!(" in {}", finding.function) };
    let place = flat(&format!("{}:{}{function}", finding.path, lines(finding.line, finding.end_line)));
    writeln!(out, "  {} {place}", paint.dim("-->"))?;
    out.write_all(snippet::write(finding, sources, paint, width).as_bytes())?;
    let mut facts = format!("{confidence} confidence, scope {scope}");
    if finding.surface != Surface::Product {
        facts.push_str(&format!(", {} code", finding.surface));
    }
    if !finding.resource.is_empty() {
        facts.push_str(&format!(", {}", finding.resource));
    }
    let parts =
        [("what", &facts), ("why", &finding.why), ("fix", &finding.fix.plain), ("stanchion", &finding.fix.stanchion)];
    parts
        .iter()
        .filter(|(_, part)| !part.is_empty())
        .try_for_each(|(word, part)| paragraph(out, paint, word, part, width))
}

/// `   word: text`, with further lines under the text.
fn paragraph(out: &mut impl Write, paint: Paint, word: &str, text: &str, width: usize) -> io::Result<()> {
    for (at, line) in wrapped(&flat(text), width.saturating_sub(12)).iter().enumerate() {
        let label = if at == 0 { format!("{word:>9}:") } else { " ".repeat(10) };
        writeln!(out, "{} {line}", paint.bold(&label))?;
    }
    Ok(())
}

fn table(out: &mut impl Write, summary: &Summary, paint: Paint, width: usize) -> io::Result<()> {
    if summary.rules.len() > 1 {
        let names = summary.rules.values().map(|count| count.name.chars().count()).max().unwrap_or(0);
        let names = names.clamp(4, width.saturating_sub(32).max(4));
        writeln!(
            out,
            "{}",
            paint.bold(&format!("{:<6} {:<names$} {:>6} {:>6} {:>6}", "code", "rule", "high", "medium", "low"))
        )?;
        for (code, count) in &summary.rules {
            let (high, medium, low) = (count.high, count.medium, count.low);
            writeln!(out, "{code:<6} {:<names$} {high:>6} {medium:>6} {low:>6}", cut(count.name, names))?;
        }
        let Summary { high, medium, low, .. } = summary;
        writeln!(out, "{:<6} {:<names$} {high:>6} {medium:>6} {low:>6}\n", "", "all")?;
    }
    wrapped(&summary.line(), width).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Lines of at most `width` characters; longer words are cut in two.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(10);
    let mut lines = vec![String::new()];
    let mut column = 0;
    for word in text.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        for (at, part) in letters.chunks(width).enumerate() {
            let blank = usize::from(column > 0 && at == 0);
            if column + blank + part.len() > width {
                lines.push(String::new());
                column = 0;
            } else if blank == 1 {
                lines.last_mut().iter_mut().for_each(|line| line.push(' '));
                column += 1;
            }
            lines.last_mut().iter_mut().for_each(|line| line.extend(part));
            column += part.len();
        }
    }
    lines
}

/// Colours, if they are wanted.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// How many characters of what [`Paint::dim`] gives are not seen.
    pub(super) const fn cost(self) -> usize {
        if self.colour { 8 } else { 0 }
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(super) fn note(self, text: &str) -> String {
        self.with("36", text)
    }

    pub(super) fn role(self, text: &str) -> String {
        if text.trim().is_empty() { text.to_owned() } else { self.with("1;35", text) }
    }

    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::High => self.with("1;31", text),
            Severity::Medium => self.with("1;33", text),
            Severity::Low => self.with("1;34", text),
        }
    }
}

#[cfg(test)]
mod tests;
