//! As much of YAML as deployments need, line by line: keys, lists, scalars, several documents. Helm's templates are not YAML;
//! a real parser would refuse them, this one skips lines that are only template and keeps `{{ … }}` as a value.

/// Nested deeper than this, lines are skipped.
const DEPTH_MOST: usize = 16;
/// More lines than this are not read.
const LINES_MOST: usize = 20_000;

/// A value with the keys that lead to it; `-` is an element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) value: String,
    pub(super) line: u32,
}

/// One document: all keys in order. A key with children has an empty value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Document(pub(super) Vec<Entry>);

impl Document {
    /// The value at a path such as `spec/replicas`.
    pub(super) fn get(&self, path: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.path == path)
    }

    pub(super) fn value(&self, path: &str) -> &str {
        self.get(path).map_or("", |entry| &entry.value)
    }

    /// All whose path ends with this, and what is in front.
    pub(super) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        self.0.iter().filter_map(move |entry| Some((entry.path.strip_suffix(end)?, entry)))
    }
}

pub(super) fn read(text: &str) -> Vec<Document> {
    let mut reader = Reader::default();
    for (number, line) in (1_u32..).zip(text.lines().take(LINES_MOST)) {
        reader.line(number, line);
    }
    reader.documents.push(reader.document);
    reader.documents.retain(|document| !document.0.is_empty());
    reader.documents
}

#[derive(Default)]
struct Reader {
    documents: Vec<Document>,
    document: Document,
    /// Open keys with their columns.
    open: Vec<(usize, String)>,
    /// The column of a key whose value is the block of text that follows.
    block: Option<usize>,
}

impl Reader {
    fn line(&mut self, number: u32, line: &str) {
        let column = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(at) = self.block {
            if line.trim().is_empty() || column > at {
                if let Some(last) = self.document.0.last_mut() {
                    last.value.push_str(line.trim());
                    last.value.push('\n');
                }
                return;
            }
            self.block = None;
        }
        if line.starts_with("---") {
            self.open.clear();
            return self.documents.push(std::mem::take(&mut self.document));
        }
        let rest = without_comment(line).trim();
        if rest.is_empty() || rest.starts_with('#') || rest.starts_with("{{") || rest.starts_with('%') {
            return;
        }
        self.content(number, column, rest);
    }

    /// What stands at a column: elements of lists first, as `- - key: value` has several.
    fn content(&mut self, number: u32, mut column: usize, mut rest: &str) {
        while rest == "-" || rest.starts_with("- ") {
            while self.open.last().is_some_and(|(at, key)| *at > column || *at == column && key == "-") {
                self.open.pop();
            }
            if self.open.len() >= DEPTH_MOST {
                return;
            }
            self.open.push((column, "-".to_owned()));
            let inner = rest.get(1..).unwrap_or_default().trim_start();
            column += rest.len() - inner.len();
            rest = inner;
        }
        let Some((key, value)) = pair(rest) else {
            // An element without a key, or the rest of something that goes over several lines.
            if self.open.last().is_some_and(|(at, key)| *at < column && key == "-") {
                self.push(number, "", rest);
                self.braces(number, rest);
            }
            return;
        };
        while self.open.last().is_some_and(|(at, _)| *at >= column) {
            self.open.pop();
        }
        if self.open.len() >= DEPTH_MOST {
            return;
        }
        let is_block = value.starts_with(['|', '>']);
        self.push(number, key, if is_block { "" } else { value });
        self.block = is_block.then_some(column);
        self.open.push((column, key.to_owned()));
        self.braces(number, value);
    }

    /// `{ key: value, list: [{ key: value }] }` on one line: its keys, as if each stood on a line of its own.
    fn braces(&mut self, line: u32, value: &str) {
        let within = |open: char, close: char| value.strip_prefix(open)?.strip_suffix(close);
        if self.open.len() >= DEPTH_MOST || value.starts_with("{{") {
            return;
        }
        if let Some(items) = within('[', ']') {
            for item in parts(items).into_iter().filter(|item| item.starts_with('{')) {
                self.open.push((0, "-".to_owned()));
                self.braces(line, item);
                self.open.pop();
            }
        } else if let Some(fields) = within('{', '}') {
            for (key, value) in parts(fields).into_iter().filter_map(pair) {
                self.push(line, key, value);
                self.open.push((0, key.to_owned()));
                self.braces(line, value);
                self.open.pop();
            }
        }
    }

    fn push(&mut self, line: u32, key: &str, value: &str) {
        let mut path: Vec<&str> = self.open.iter().map(|(_, key)| key.as_str()).collect();
        if !key.is_empty() {
            path.push(key);
        }
        let value = value.trim();
        let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        let value = quoted.unwrap_or(value).to_owned();
        self.document.0.push(Entry { path: path.join("/"), value, line });
    }
}

/// `key: value`; the colon ends the line or a blank follows it.
fn pair(text: &str) -> Option<(&str, &str)> {
    let (key, value) = match text.split_once(": ") {
        Some(pair) => pair,
        None => (text.strip_suffix(':')?, ""),
    };
    let key = key.trim().trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && !key.starts_with(['{', '[', '"']) && key.len() <= 100;
    is_key.then_some((key, value.trim()))
}

/// What commas part, outside of quotes and of further brackets.
fn parts(text: &str) -> Vec<&str> {
    let (mut all, mut from, mut depth, mut quote, mut before) = (Vec::new(), 0, 0_u32, None, ' ');
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                all.push(text.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    all.push(text.get(from..).unwrap_or_default().trim());
    all
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() => return line.get(..at).unwrap_or(line),
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<String> {
        let documents = read(text);
        let entries = documents.iter().flat_map(|document| &document.0);
        entries.map(|entry| format!("{}:{}={}", entry.line, entry.path, entry.value)).collect()
    }

    #[test]
    fn keys_lists_and_scalars() {
        let text = "a:\n  b: 1 # one\n  c: \"x # y\"\nlist:\n- name: n\n  v: 'w'\n-  other\nd: it's\n";
        let expected = [
            "1:a=",
            "2:a/b=1",
            "3:a/c=x # y",
            "4:list=",
            "5:list/-/name=n",
            "6:list/-/v=w",
            "7:list/-=other",
            "8:d=it's",
        ];
        assert_eq!(entries(text), expected);
    }

    #[test]
    fn keys_in_braces_on_one_line() {
        let text = "spec: { replicas: 3, template: { list: [{ name: \"a, b\" }, {c: d}], run: [x, y] } } # one\n\
            - { it: 1 }\nnext: {{ .x }}\n";
        let expected = [
            "1:spec={ replicas: 3, template: { list: [{ name: \"a, b\" }, {c: d}], run: [x, y] } }",
            "1:spec/replicas=3",
            "1:spec/template={ list: [{ name: \"a, b\" }, {c: d}], run: [x, y] }",
            "1:spec/template/list=[{ name: \"a, b\" }, {c: d}]",
            "1:spec/template/list/-/name=a, b",
            "1:spec/template/list/-/c=d",
            "1:spec/template/run=[x, y]",
            "2:spec/-={ it: 1 }",
            "2:spec/-/it=1",
            "3:next={{ .x }}",
        ];
        assert_eq!(entries(text), expected);
    }

    #[test]
    fn several_documents_templates_and_blocks() {
        let text = "kind: A\n---\n{{- if .x }}\nkind: B\nspec:\n  replicas: {{ .Values.n }}\n  {{- end }}\n  run: |\n    a: b\n\n    c\n  last: 1\n";
        assert_eq!(read(text).len(), 2);
        assert_eq!(
            entries(text),
            [
                "1:kind=A",
                "4:kind=B",
                "5:spec=",
                "6:spec/replicas={{ .Values.n }}",
                "8:spec/run=a: b\n\nc\n",
                "12:spec/last=1"
            ]
        );
    }

    #[test]
    fn broken_and_deep_text_ends() {
        for text in [
            "",
            ":",
            "- - - -",
            "a: [",
            "a: {b: {c: [{",
            "a: }{",
            "a: {,}",
            "- {",
            "\t\t:\t",
            "---\n---\n---",
            "key",
            ": x",
            "a:\n b\n  c:\n d: 1\n",
            "\u{feff}a: 1\n§: ü",
        ] {
            read(text);
        }
        let deep: String = (0..5_000).map(|depth| format!("{}k:\n", " ".repeat(depth))).collect();
        assert!(entries(&deep).len() <= DEPTH_MOST + 1);
        read(&"- ".repeat(100_000));
    }
}
