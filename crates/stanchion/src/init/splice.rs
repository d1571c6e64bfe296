//! Wrapping and unwrapping as edits of the text. Each undoes the other, byte for byte:
//!
//! - the original command moves as it is written, with its quotes and escapes;
//! - what is put in stands directly before the first original argument, and what is taken out ends there;
//! - a list of arguments that was not there is written as `[ … ]`, with one blank inside each bracket; in a list that
//!   was there, nothing stands between the bracket and our first word. So the two are told apart.

use super::server::{Args, Form, Launch};
use super::tree::{Layout, Span, Word};

/// Bytes to replace, and by what.
#[derive(Debug, Clone)]
pub(super) struct Splice {
    pub(super) span: Span,
    pub(super) text: String,
}

impl Splice {
    fn insert(at: usize, text: String) -> Self {
        Self { span: at..at, text }
    }
}

/// The text with all the splices made; they must not overlap.
pub(super) fn apply(source: &str, splices: &[Splice]) -> String {
    let mut ordered: Vec<&Splice> = splices.iter().collect();
    ordered.sort_by_key(|splice| splice.span.start);
    let (mut out, mut at) = (String::with_capacity(source.len() + 256), 0);
    for splice in ordered {
        out.push_str(&source[at..splice.span.start]);
        out.push_str(&splice.text);
        at = splice.span.end;
    }
    out.push_str(&source[at..]);
    out
}

/// A text with quotes, good for JSON and TOML alike.
pub(super) fn quoted(text: &str) -> String {
    // TOML wants DEL escaped, JSON allows it.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Puts `binary wrap [--name NAME] --` before the command.
pub(super) fn wrap(source: &str, launch: &Launch, binary: &str, name: Option<&str>) -> Vec<Splice> {
    let Some(command) = launch.words.first() else { return Vec::new() };
    let mut words = vec![quoted("wrap")];
    if let Some(name) = name {
        words.extend([quoted("--name"), quoted(name)]);
    }
    words.push(quoted("--"));
    match &launch.form {
        Form::Joined(list) => {
            words.insert(0, quoted(binary));
            vec![before(source, list, command, &words)]
        }
        Form::Split { command: key, args, layout } => {
            words.push(source[command.span.clone()].to_owned());
            let put = match (args, launch.words.get(1)) {
                (Some(args), Some(first)) => before(source, &args.list, first, &words),
                (Some(args), None) => Splice::insert(args.list.start + 1, words.join(", ")),
                (None, _) => sibling(source, key, command, *layout, &format!("[ {} ]", words.join(", "))),
            };
            vec![Splice { span: command.span.clone(), text: quoted(binary) }, put]
        }
    }
}

/// Our words before the first of the list: on a line of their own if it has one.
fn before(source: &str, list: &Span, first: &Word, words: &[String]) -> Splice {
    let at = first.span.start;
    let gap = match own_line(source, at) {
        Some((start, indent)) if start > list.start => format!("{}{indent}", newline(source, start)),
        _ => " ".to_owned(),
    };
    Splice::insert(at, format!("{},{gap}", words.join(", ")))
}

/// The start of the line of `at`, and its indentation, if nothing but that stands before it.
fn own_line(source: &str, at: usize) -> Option<(usize, &str)> {
    let start = source[..at].rfind('\n')? + 1;
    let indent = &source[start..at];
    indent.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some((start, indent))
}

/// The line end before `start`, which begins a line.
fn newline(source: &str, start: usize) -> &'static str {
    if source[..start].ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// A member `args` behind the command.
fn sibling(source: &str, key: &Span, command: &Word, layout: Layout, list: &str) -> Splice {
    let end = command.span.end;
    match layout {
        Layout::Json => {
            let gap = match own_line(source, key.start) {
                Some((start, indent)) => format!("{}{indent}", newline(source, start)),
                None => " ".to_owned(),
            };
            Splice::insert(end, format!(",{gap}\"args\": {list}"))
        }
        Layout::TomlInline => Splice::insert(end, format!(", args = {list}")),
        Layout::TomlLines => {
            let rest = &source[end..];
            let line = rest.find('\n').map_or(rest.len(), |at| if rest[..at].ends_with('\r') { at - 1 } else { at });
            let start = source[..key.start].rfind('\n').map_or(0, |at| at + 1);
            // `[a]` and `a.b.command =` alike: whatever stands before the last part of the key.
            let lead = &source[start..key.start];
            let newline = if source.contains("\r\n") { "\r\n" } else { "\n" };
            Splice::insert(end + line, format!("{newline}{lead}args = {list}"))
        }
    }
}

/// Takes out what [`wrap`] put in; `inner` is the original command.
///
/// # If it fails
/// Something of somebody else's stands between our words.
pub(super) fn unwrap(source: &str, launch: &Launch, inner: usize) -> Result<Vec<Splice>, &'static str> {
    let (words, Some(original)) = (&launch.words, launch.words.get(inner)) else { return Ok(Vec::new()) };
    let (from, put_back) = match &launch.form {
        Form::Joined(_) => return taken(source, words[0].span.start..original.span.start).map(|taken| vec![taken]),
        Form::Split { .. } => {
            let text = source[original.span.clone()].to_owned();
            (words[1].span.start, Splice { span: words[0].span.clone(), text })
        }
    };
    let Form::Split { command, args: Some(args), layout } = &launch.form else { return Ok(Vec::new()) };
    let out = match words.get(inner + 1) {
        Some(next) => taken(source, from..next.span.start)?,
        None => match added(source, command, &words[0], args, *layout) {
            Some(span) => Splice { span, text: String::new() },
            None => taken(source, from..comma_after(source, original.span.end))?,
        },
    };
    Ok(vec![put_back, out])
}

/// Only texts, commas and blanks may go; a comment is somebody's.
fn taken(source: &str, span: Span) -> Result<Splice, &'static str> {
    let mut quote = None;
    let mut escaped = false;
    for c in source[span.clone()].chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == ',' || c.is_whitespace() => {}
            None => return Err("a comment stands between the words of stanchion; move it first"),
        }
    }
    Ok(Splice { span, text: String::new() })
}

/// A formatter may have put a comma behind the last word; alone in the list it would be an error.
fn comma_after(source: &str, at: usize) -> usize {
    let rest = &source[at..];
    let blank = rest.len() - rest.trim_start().len();
    if rest[blank..].starts_with(',') { at + blank + 1 } else { at }
}

/// The member `args` that [`sibling`] made, if it still looks like that.
fn added(source: &str, command: &Span, word: &Word, args: &Args, layout: Layout) -> Option<Span> {
    let list = &source[args.list.clone()];
    let ours = list.starts_with("[ \"wrap\"") && list.ends_with(" ]") && !list.contains('\n');
    if !ours || args.key.start < command.end {
        return None;
    }
    match layout {
        Layout::Json | Layout::TomlInline => {
            let between = &source[word.span.end..args.key.start];
            let lone = between.bytes().all(|byte| byte == b',' || byte.is_ascii_whitespace());
            lone.then_some(word.span.end..args.list.end)
        }
        Layout::TomlLines => {
            let line = source[..args.key.start].rfind('\n')?;
            let start = if source[..line].ends_with('\r') { line - 1 } else { line };
            let rest = source[args.list.end..].lines().next().unwrap_or_default();
            rest.trim().is_empty().then_some(start..args.list.end)
        }
    }
}
