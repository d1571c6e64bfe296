//! Placeholders of all drivers and formats.

use super::{Kind, Lexer, MARK, MAX_NAME, Operand, Placeholder, is_keyword, is_word};

impl Lexer<'_> {
    /// `'%s'` and `'{name}'`: quotes around what a format fills in.
    pub(super) fn placeholder_in(&mut self, text: &str) -> Option<Operand> {
        if text == "%s" || text == "%d" || text == "%v" || text == "{}" {
            return Some(self.next_position());
        }
        let name = text.strip_prefix('{')?.strip_suffix('}')?;
        name.chars().all(|c| is_word(c) || c.is_ascii_digit()).then(|| named(name))
    }

    /// The placeholder that begins here and its length.
    pub(super) fn placeholder(&mut self) -> Option<(Operand, usize)> {
        let next = self.peek(1);
        let name_from = |from: usize| -> String {
            self.rest(from)
                .iter()
                .take(MAX_NAME)
                .take_while(|c| (is_word(**c) || c.is_ascii_digit()) && **c != MARK)
                .collect()
        };
        let before = self.before();
        let after_value = is_word(before) || before.is_ascii_digit() || matches!(before, ')' | ']' | '"' | ':' | '\'');
        match self.peek(0) {
            // `$${values.length}`: which one it is, only the program knows.
            '$' if next == MARK => {
                self.next_hole += 1;
                Some((Operand::Placeholder(Placeholder::Number(0)), 2))
            }
            '$' | ':' | '@' if self.peek(0) == '$' || !(after_value || before == '<') => {
                let name = name_from(1);
                let quote = self.peek(0) == '$' && self.peek(name.len() + 1) == '$';
                let length = name.chars().count() + 1;
                (!name.is_empty() && !quote).then(|| (named(&name), length))
            }
            '?' if next.is_ascii_digit() => {
                let name = name_from(1);
                Some((named(&name), name.len() + 1))
            }
            '?' if next == '?' => Some((self.next_position(), 2)),
            '?' if !self.is_question_operator() => Some((self.next_position(), 1)),
            '%' if next == '(' => {
                let name = name_from(2);
                let length = name.chars().count();
                (self.peek(length + 2) == ')' && self.peek(length + 3).is_ascii_alphabetic())
                    .then(|| (named(&name), length + 4))
            }
            '%' if next == '[' && self.peek(2).is_ascii_digit() && self.peek(3) == ']' => {
                self.peek(2).to_digit(10).map(|n| (Operand::Placeholder(Placeholder::Number(n)), 5))
            }
            '%' if matches!(next, 's' | 'd' | 'v' | 'q' | 't' | 'i' | 'f') && !is_plain(self.peek(2)) => {
                Some((self.next_position(), 2))
            }
            '{' => {
                let inner: String = self.rest(1).iter().take(MAX_NAME).take_while(|c| **c != '}').collect();
                let length = inner.chars().count() + 2;
                let plain = inner.chars().all(|c| c != MARK && !c.is_whitespace() && !matches!(c, '{' | '\'' | ','));
                if self.peek(length - 1) != '}' || !plain {
                    return None;
                }
                let operand = if inner.is_empty() { self.next_position() } else { named(&inner) };
                Some((operand, length))
            }
            _ => None,
        }
    }

    /// PostgreSQL's JSON operators `?`, `?|`, `?&` stand between two values.
    pub(super) fn is_question_operator(&self) -> bool {
        let Some(last) = self.out.last() else { return false };
        let value_before = match last.kind {
            Kind::Word => !is_keyword(&last.text),
            Kind::Symbol => last.is_symbol(')') || last.is_symbol(']'),
            _ => true,
        };
        let mut next = self.at + 1;
        while self.chars.get(next).is_some_and(|c| c.is_whitespace()) {
            next += 1;
        }
        let next = self.chars.get(next).copied().unwrap_or(';');
        matches!(self.peek(1), '|' | '&') || (value_before && matches!(next, '\'' | '$' | ':' | '?' | '@'))
    }
}

fn named(name: &str) -> Operand {
    Operand::Placeholder(match name.parse() {
        Ok(number) => Placeholder::Number(number),
        Err(_) => Placeholder::Name(name.to_owned()),
    })
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
