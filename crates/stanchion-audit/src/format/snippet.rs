//! The lines of a flow, with what they have to do with the race in the margin.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::text::Paint;
use super::visible;
use crate::finding::{Finding, Lines, Role, Sources, Step};

/// Of a longer step, the first lines are shown.
const STEP_MOST: u32 = 4;
/// So many steps are shown in full; generated code can have thousands.
const STEPS_MOST: usize = 24;
const TAB: usize = 4;

/// A line that is shown.
#[derive(Default)]
struct Shown {
    roles: Vec<Role>,
    notes: Vec<(Role, String)>,
}

/// The excerpts, file by file in the order of the flow.
pub(super) fn write(finding: &Finding, sources: Sources<'_>, paint: Paint, width: usize) -> String {
    let own = [Step {
        role: Role::Write,
        path: finding.path.clone(),
        line: finding.line,
        end_line: finding.end_line,
        note: String::new(),
    }];
    let steps = if finding.flow.is_empty() { &own[..] } else { &finding.flow[..] };
    let mut paths: Vec<&str> = Vec::new();
    for step in steps.iter().take(STEPS_MOST) {
        if !paths.contains(&step.path.as_str()) {
            paths.push(&step.path);
        }
    }
    let last = steps.iter().map(|step| step.line.saturating_add(STEP_MOST)).max().unwrap_or(0);
    let digits = last.to_string().len();
    let mut text = String::new();
    let mut lines = Lines::default();
    for path in &paths {
        if paths.len() > 1 {
            writeln!(text, "{} {}", paint.dim(&format!("{:>1$}", ":::", digits + 11)), super::flat(path))
                .unwrap_or_default();
        }
        lines.open(path, sources);
        let shown = shown(steps.iter().take(STEPS_MOST).filter(|step| step.path == **path));
        excerpt(&mut text, &shown, &lines, paint, digits, width);
    }
    if steps.len() > STEPS_MOST {
        writeln!(text, "{:digits$}         … and {} more steps", "", steps.len() - STEPS_MOST).unwrap_or_default();
    }
    text
}

fn shown<'a>(steps: impl Iterator<Item = &'a Step>) -> BTreeMap<u32, Shown> {
    let mut shown: BTreeMap<u32, Shown> = BTreeMap::new();
    for step in steps {
        let last = step.end_line.clamp(step.line, step.line.saturating_add(STEP_MOST - 1));
        for line in step.line..=last {
            let entry = shown.entry(line).or_default();
            if !entry.roles.contains(&step.role) {
                entry.roles.push(step.role);
            }
        }
        if let (false, Some(entry)) = (step.note.is_empty(), shown.get_mut(&step.line)) {
            entry.notes.push((step.role, step.note.clone()));
        }
    }
    for line in shown.values_mut() {
        // That others can run is said once: in the margin, or below what the line does besides.
        let is_window = |role: &Role| *role == Role::Window;
        if line.roles.iter().all(is_window) {
            line.notes.retain(|(role, _)| !is_window(role));
        } else {
            line.roles.retain(|role| !is_window(role));
        }
    }
    shown
}

fn excerpt(text: &mut String, shown: &BTreeMap<u32, Shown>, lines: &Lines, paint: Paint, digits: usize, width: usize) {
    let room = width.saturating_sub(digits + 13);
    let indent =
        shown.keys().filter_map(|line| lines.get(*line)).filter(|line| !line.trim().is_empty()).map(indent).min();
    let mut before: Option<u32> = None;
    for (&number, line) in shown {
        // A single line between two marked ones is shown: leaving it out takes as much room.
        match before.map(|before| number - before) {
            Some(2) => row(text, "", number - 1, lines, paint, digits, room, indent),
            Some(3..) => drop(writeln!(text, "{:>w$}", paint.dim("..."), w = digits + 10 + paint.cost())),
            _ => {}
        }
        before = Some(number);
        let label: Vec<_> = line.roles.iter().map(|role| role.as_str()).collect();
        row(text, &label.join("+"), number, lines, paint, digits, room, indent);
        for (role, note) in &line.notes {
            let note = cut(&super::flat(&format!("{role}: {note}")), room.saturating_sub(2));
            writeln!(text, "{:w$} {} {}", "", paint.dim("|"), paint.note(&format!("^ {note}")), w = digits + 10)
                .unwrap_or_default();
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "one row is where everything about a row meets")]
fn row(
    text: &mut String,
    label: &str,
    number: u32,
    lines: &Lines,
    paint: Paint,
    digits: usize,
    room: usize,
    indent: Option<usize>,
) {
    let source = lines
        .get(number)
        .map_or_else(|| "(not there any more)".to_owned(), |line| code(line, indent.unwrap_or(0), room));
    let bar = if label.is_empty() { "|" } else { ">" };
    let (label, number) = (format!("{:>9}", cut(label, 9)), format!("{number:>digits$}"));
    let line = format!("{} {} {} {source}", paint.role(&label), paint.dim(&number), paint.dim(bar));
    writeln!(text, "{}", line.trim_end()).unwrap_or_default();
}

/// How far a line is set in, in columns.
fn indent(line: &str) -> usize {
    line.chars()
        .take(1000)
        .take_while(|letter| letter.is_whitespace())
        .map(|letter| if letter == '\t' { TAB } else { 1 })
        .sum()
}

/// The line for a terminal: without what it shares of its indentation, tabs as blanks, cut to the room there is.
fn code(line: &str, indent: usize, room: usize) -> String {
    let mut columns = String::new();
    for letter in line.chars().take(room.saturating_add(indent).saturating_add(2)) {
        match letter {
            '\t' => columns.push_str(&" ".repeat(TAB)),
            letter => columns.push(visible(letter)),
        }
    }
    let blanks = columns.chars().take_while(|letter| *letter == ' ').count().min(indent);
    cut(columns.get(blanks..).unwrap_or_default(), room)
}

/// At most so many characters, the last of them `…` if some are missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}
