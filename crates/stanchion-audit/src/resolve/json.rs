//! JSON with comments and trailing commas, as configuration files have it.

use serde_json::Value;

/// Larger configuration counts as empty.
const TEXT_MOST: usize = 1 << 20;

/// The value, or `Null` if it is broken.
pub(crate) fn parse(text: &str) -> Value {
    if text.len() > TEXT_MOST {
        return Value::Null;
    }
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&plain(text))).unwrap_or_default()
}

/// Without comments and trailing commas; line breaks stay.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                out.push(c);
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            ('}' | ']', _) => {
                let end = out.trim_end().len();
                if out.get(..end).is_some_and(|out| out.ends_with(',')) {
                    out.truncate(end - 1);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// All strings in a value, in order, at most as many: the conditions of an `exports` entry are all tried.
pub(crate) fn strings(value: &Value) -> Vec<String> {
    const MOST: usize = 32;
    let (mut found, mut open) = (Vec::new(), vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(fields) => open.extend(fields.values().rev()),
            _ => {}
        }
        if found.len() >= MOST {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_no_error() {
        let text = "// a\n{ \"a\": [1, 2, ], /* b, */ \"c\": \"// no /* comment */, ]\", \"d\\\"\": 1, // e\n}\n";
        assert_eq!(parse(text), serde_json::json!({"a": [1, 2], "c": "// no /* comment */, ]", "d\"": 1}));
    }

    #[test]
    fn what_is_broken_is_null() {
        for text in ["", "{", "{\"a\": }", "/* open", "\"open", &"[".repeat(100_000), "{\"a\" 1}"] {
            assert_eq!(parse(text), Value::Null);
        }
    }
}
