//! What of a statement counts for a fingerprint: its words, numbers, strings and operators, however they are laid out.

use crate::frontend::Dialect;
use crate::hir::Language;

/// So much of a statement counts: minified files have lines of megabytes.
const BYTES_MOST: usize = 4096;
/// And so much is looked at, with what does not count.
const LOOKED_AT_MOST: usize = 64 << 10;

/// The statement or expression at the beginning of this text, without comments, white space, parentheses, commas and kinds of
/// quotes: formatters add and remove those.
pub(super) fn normalised(path: &str, text: &str) -> String {
    let end = (0..=LOOKED_AT_MOST.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let language = Dialect::of(path).map(Dialect::language);
    let mut reader = Reader { rest: text.get(..end).unwrap_or_default(), language, depth: 0, out: String::new() };
    while reader.out.len() < BYTES_MOST && reader.step() {}
    reader.out
}

struct Reader<'a> {
    rest: &'a str,
    language: Option<Language>,
    /// Open brackets.
    depth: usize,
    out: String,
}

impl<'a> Reader<'a> {
    /// Goes on by one word or sign; `false` at the end of the statement.
    fn step(&mut self) -> bool {
        let is_new_line = self.skip();
        let Some(first) = self.rest.chars().next() else { return false };
        if is_new_line && self.depth == 0 && !self.out.is_empty() && !self.goes_on(first) {
            return false;
        }
        match first {
            // A block is no part of the statement that decides about it.
            '{' if self.depth == 0 && self.ends_at_block() && !self.out.is_empty() => return false,
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' if self.depth == 0 => return false,
            ')' | ']' | '}' => self.depth -= 1,
            ';' | ',' if self.depth == 0 => return false,
            ':' if self.depth == 0 && self.language == Some(Language::Python) => return false,
            '"' | '`' => return self.string(first),
            '\'' if self.language != Some(Language::Rust) || self.is_letter() => return self.string(first),
            _ => {}
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            first if is_word(first) => self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len()),
            first => first.len_utf8(),
        };
        let token = self.take(length);
        if !matches!(token, "(" | ")" | "," | ";") {
            // One blank between two words, none elsewhere.
            if token.starts_with(is_word) && self.out.ends_with(is_word) {
                self.out.push(' ');
            }
            self.push(token);
        }
        true
    }

    /// White space and comments; whether a line has ended.
    fn skip(&mut self) -> bool {
        let mut is_new_line = false;
        loop {
            let blank = self.rest.find(|c: char| !c.is_whitespace()).unwrap_or(self.rest.len());
            is_new_line |= self.take(blank).contains('\n');
            let is_hash = matches!(self.language, Some(Language::Python) | None);
            let length = if self.rest.starts_with("\\\n") || self.rest.starts_with("\\\r\n") {
                // The line goes on.
                self.rest.find('\n').map_or(0, |at| at + 1)
            } else if self.rest.starts_with('#') && is_hash
                || self.rest.starts_with("//") && self.language != Some(Language::Python)
            {
                self.rest.find('\n').unwrap_or(self.rest.len())
            } else if self.rest.starts_with("/*") && self.language != Some(Language::Python) {
                self.rest.find("*/").map_or(self.rest.len(), |at| at + 2)
            } else {
                return is_new_line;
            };
            self.take(length);
        }
    }

    /// Whether a statement goes on in the next line, which begins with this. Where semicolons end statements it does.
    fn goes_on(&self, first: char) -> bool {
        let is_open = |c: char| "=+-*/%&|^<>?:.!~".contains(c);
        self.language == Some(Language::Rust)
            || self.out.ends_with(is_open) && !self.out.ends_with("++") && !self.out.ends_with("--")
            || self.language != Some(Language::Python) && matches!(first, '.' | '?' | ':' | '&' | '|' | '=')
    }

    /// Where no parenthesis parts a condition from its block.
    fn ends_at_block(&self) -> bool {
        matches!(self.language, Some(Language::Rust | Language::Go))
    }

    /// Rust's `'a'`, and not the name of a lifetime.
    fn is_letter(&self) -> bool {
        let mut after = self.rest.chars().skip(1);
        after.next() == Some('\\') || after.next() == Some('\'')
    }

    /// A string as what is in it, whatever quotes are around it.
    fn string(&mut self, quote: char) -> bool {
        let thrice = self.rest.get(..3).filter(|three| three.chars().all(|c| c == quote) && quote != '`');
        let end = thrice.map_or_else(|| quote.to_string(), ToOwned::to_owned);
        self.take(end.len());
        self.push("\"");
        while !self.rest.is_empty() && self.out.len() < BYTES_MOST {
            if self.rest.starts_with(&end) {
                self.take(end.len());
                break;
            }
            // What is not closed ends with its line.
            let Some(letter) = self.rest.chars().next().filter(|c| *c != '\n' || end.len() > 1 || quote == '`') else {
                break;
            };
            let escapes = letter == '\\' && self.rest.get(1..).is_some_and(|rest| rest.starts_with(['"', '\'']));
            let raw = self.take(letter.len_utf8());
            if !escapes {
                self.push(raw);
                let next = (letter == '\\').then(|| self.rest.chars().next()).flatten();
                let next = next.map_or("", |next| self.take(next.len_utf8()));
                self.push(next);
            } else {
                let quote = self.take(1);
                self.push(quote);
            }
        }
        self.push("\"");
        true
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (token, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        token
    }

    fn push(&mut self, token: &str) {
        let end = token.floor_char_boundary(BYTES_MOST.saturating_sub(self.out.len()));
        self.out.push_str(token.get(..end).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::normalised;

    fn all_the_same(path: &str, texts: &[&str]) {
        let first = normalised(path, texts[0]);
        assert!(!first.is_empty());
        for text in texts {
            assert_eq!(normalised(path, text), first, "{text}");
        }
    }

    #[test]
    fn what_formatters_change_does_not_count() {
        all_the_same(
            "a.ts",
            &[
                "save(path, { a: 'it', n: [1, 2] })",
                "save(path, { a: \"it\", n: [1, 2] });",
                "save(path, {\n  a: \"it\", // the first\n  n: [\n    1,\n    2,\n  ],\n});\nnext();",
                "save(path, { a: 'it' /* why */, n: [1,2] }); next(); }",
            ],
        );
        all_the_same(
            "a.ts",
            &["store.all().save(x)", "store\n  .all()\n  .save(x)\nnext()", "store.all().save(x) }\n"],
        );
        all_the_same("a.ts", &["this.n = this.n + 1", "this.n =\n  this.n + 1;\nnext()"]);
        all_the_same("a.ts", &["f(x => x)", "f((x) => x)"]);
        all_the_same("a.ts", &[r"f('it\'s', '\n')", r#"f("it's", "\n")"#]);
        all_the_same(
            "a.py",
            &[
                "open('a.json', 'w').write(text)  # all of it\nnext()",
                "open(\n    \"a.json\",\n    \"w\",\n).write(text)\n",
                "open('a.json', 'w').write(text); next()",
            ],
        );
        all_the_same("a.py", &["with open(p) as f: f.write(x)", "with open(p) as f:\n    f.write(x)"]);
        all_the_same("a.py", &["a = b // 2", "a = (\n    b // 2\n)\n"]);
        all_the_same("a.rs", &["fs::write(&p, s)?;", "fs::write(\n    &p, s,\n)?;\nnext();"]);
        all_the_same(
            "a.go",
            &["os.WriteFile(p, b, 0o644)", "os.WriteFile(\n\tp, b,\n\t0o644, // rights\n)\nreturn nil"],
        );
    }

    #[test]
    fn a_block_is_no_part_of_the_statement_before_it() {
        all_the_same("a.rs", &["if fs::write(&p, s).is_err()", "if fs::write(&p, s).is_err() { warn(); } next();"]);
        all_the_same("a.rs", &["fs::write(&p, s).is_err() {\n    warn();\n}\nnext();", "fs::write(&p, s).is_err() {}"]);
        all_the_same("a.go", &["for save(p) {\n\twarn()\n}", "for save(p) {\n\tcount(1)\n}\nnext()"]);
    }

    #[test]
    fn what_is_done_counts() {
        for (path, one, other) in [
            ("a.ts", "f(1)", "f(2)"),
            ("a.ts", "f('a b')", "f('a  b')"),
            ("a.ts", "f(a + b)", "f(a - b)"),
            ("a.ts", "f(`//x`)", "f(`//y`)"),
            ("a.py", "f(a // 2)", "f(a // 3)"),
            ("a.py", "returnx", "return x"),
            ("a.rs", "f::<'a>(x)", "f::<'a>(y)"),
            ("a.rs", "save(Item { n: 1 })", "save(Item { n: 2 })"),
        ] {
            assert_ne!(normalised(path, one), normalised(path, other), "{one}");
        }
    }

    #[test]
    fn endless_and_broken_text_is_read_in_part() {
        for text in ["", "\"", "'a", "((((", "/*", "\\", "`${", "é", "'é", "\"\\"] {
            for path in ["a.ts", "a.py", "a.rs", "a.go", "a"] {
                normalised(path, text);
            }
        }
        for part in ["é", "(", "a ", "'é", "\n", "\"a\\"] {
            assert!(normalised("a.ts", &part.repeat(500_000)).len() <= super::BYTES_MOST);
        }
    }
}
