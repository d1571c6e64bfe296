//! Cuts text into tokens. Strings, quoted names, placeholders and holes keep what they stand for, so that later steps
//! never look into quotes.

mod placeholder;

use super::{Operand, Piece, Placeholder};

/// Stands for a hole in joined text; a private character, so no text loses a letter when it is removed from it.
pub(super) const MARK: char = '\u{E000}';
/// Longest name between braces or dollar signs.
const MAX_NAME: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// A name in quotes, or one with a hole in it: never a keyword.
    Quoted,
    Text,
    Number,
    Slot,
    /// One character.
    Symbol,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// What it stands for: strings, numbers and slots.
    pub(super) operand: Option<Operand>,
    /// Something blank stands before it.
    pub(super) spaced: bool,
}

impl Token {
    /// It is this keyword (given in capitals).
    pub(super) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(super) fn is_symbol(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol && self.text.starts_with(symbol)
    }

    /// As the name of a table or column.
    pub(super) fn name(&self) -> Option<String> {
        match self.kind {
            Kind::Word | Kind::Quoted => Some(self.text.to_lowercase()),
            Kind::Slot => self.operand.as_ref().and_then(slot_name),
            _ => None,
        }
    }

    pub(super) fn value(&self) -> Option<Operand> {
        match self.kind {
            Kind::Quoted => Some(Operand::Column(self.text.to_lowercase())),
            _ => self.operand.clone(),
        }
    }
}

/// How a name is written that the program gives.
pub(super) fn slot_name(operand: &Operand) -> Option<String> {
    match operand {
        Operand::Hole(hole) => Some(format!("{{{hole}}}")),
        Operand::Placeholder(Placeholder::Name(name)) => Some(format!("{{{name}}}")),
        Operand::Placeholder(Placeholder::Number(number)) => Some(format!("{{${number}}}")),
        Operand::Placeholder(Placeholder::Position(position)) => Some(format!("{{?{position}}}")),
        _ => None,
    }
}

/// One text with a mark per hole, the holes in order, and whether it was cut.
pub(super) fn join(pieces: &[Piece], max: usize) -> (String, Vec<usize>, bool) {
    let mut text = String::new();
    let mut holes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Hole(hole) => {
                text.push(MARK);
                holes.push(*hole);
            }
            Piece::Text(part) => {
                let mut end = part.len().min(max.saturating_sub(text.len()));
                while !part.is_char_boundary(end) {
                    end -= 1;
                }
                text.extend(part.get(..end).unwrap_or("").chars().map(|c| if c == MARK { ' ' } else { c }));
                if end < part.len() {
                    return (text, holes, true);
                }
            }
        }
        if text.len() > max {
            return (text, holes, true);
        }
    }
    (text, holes, false)
}

/// The tokens as one line.
pub(super) fn text(tokens: &[Token]) -> String {
    let mut line = String::new();
    for token in tokens {
        if token.spaced && !line.is_empty() {
            line.push(' ');
        }
        match token.kind {
            Kind::Text => {
                line.push('\'');
                line.push_str(&token.text);
                line.push('\'');
            }
            _ => line.push_str(&token.text),
        }
    }
    line
}

pub(super) fn tokens(text: &str, holes: &[usize]) -> Vec<Token> {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
        holes,
        next_hole: 0,
        position: 0,
        // Whoever quotes names with backticks speaks MySQL, where double quotes hold strings.
        double_is_text: text.contains('`'),
        spaced: false,
        out: Vec::new(),
    };
    while lexer.at < lexer.chars.len() {
        let before = lexer.at;
        lexer.step();
        if lexer.at == before {
            lexer.at += 1;
        }
    }
    lexer.out
}

struct Lexer<'a> {
    chars: Vec<char>,
    at: usize,
    holes: &'a [usize],
    next_hole: usize,
    position: usize,
    double_is_text: bool,
    spaced: bool,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn rest(&self, ahead: usize) -> &[char] {
        self.chars.get(self.at + ahead..).unwrap_or(&[])
    }

    fn before(&self) -> char {
        self.at.checked_sub(1).and_then(|at| self.chars.get(at)).copied().unwrap_or(' ')
    }

    fn push(&mut self, kind: Kind, text: String, operand: Option<Operand>) {
        self.out.push(Token { kind, text, operand, spaced: self.spaced });
        self.spaced = false;
    }

    fn slot(&mut self, operand: Operand, length: usize) {
        self.at += length;
        let text = slot_name(&operand).unwrap_or_default();
        self.push(Kind::Slot, text, Some(operand));
    }

    fn symbol(&mut self) {
        let c = self.peek(0);
        self.at += 1;
        self.push(Kind::Symbol, c.to_string(), None);
    }

    fn step(&mut self) {
        let c = self.peek(0);
        match c {
            _ if c.is_whitespace() || c.is_control() => {
                self.at += 1;
                self.spaced = true;
            }
            '-' if self.peek(1) == '-' => self.skip_line(),
            '#' if self.peek(1) == ' ' => self.skip_line(),
            '/' if self.peek(1) == '*' => self.skip_block(),
            '\'' => self.quoted('\'', Kind::Text, false),
            '"' if self.double_is_text => self.quoted('"', Kind::Text, false),
            '"' | '`' => self.quoted(c, Kind::Quoted, false),
            '[' if self.bracket_name() => self.quoted(']', Kind::Quoted, false),
            _ if c.is_ascii_digit() => self.number(),
            _ if is_word(c) => self.word(),
            _ => match self.placeholder() {
                Some((operand, length)) if matches!(c, '{' | '%') && is_word(self.peek(length)) => {
                    self.at += length;
                    self.name(slot_name(&operand).unwrap_or_default(), vec![operand]);
                }
                Some((operand, length)) => self.slot(operand, length),
                None if c == '$' && self.dollar_quoted() => {}
                None if c == '@' && self.peek(1) == '@' && is_word(self.peek(2)) => {
                    self.at += 2;
                    self.word();
                }
                None => {
                    // Formats write `%%` for one sign; JDBC writes `??` for PostgreSQL's operator.
                    if c == '%' && self.peek(1) == '%' {
                        self.at += 1;
                    }
                    self.symbol();
                }
            },
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.skip_hole();
        }
        self.spaced = true;
    }

    fn skip_block(&mut self) {
        self.at += 2;
        while self.at < self.chars.len() && !(self.peek(0) == '*' && self.peek(1) == '/') {
            self.skip_hole();
        }
        self.at += 2;
        self.spaced = true;
    }

    fn skip_hole(&mut self) {
        if self.peek(0) == MARK {
            self.next_hole += 1;
        }
        self.at += 1;
    }

    fn hole(&mut self) -> Operand {
        let hole = self.holes.get(self.next_hole).copied().unwrap_or(0);
        self.next_hole += 1;
        Operand::Hole(hole)
    }

    fn next_position(&mut self) -> Operand {
        self.position += 1;
        Operand::Placeholder(Placeholder::Position(self.position - 1))
    }

    /// `[name]` of T-SQL; `ARRAY[…]` and `column[1]` stick to a word.
    fn bracket_name(&self) -> bool {
        let before = self.before();
        (is_word(self.peek(1)))
            && !(is_word(before) || before.is_ascii_digit() || matches!(before, ')' | ']' | '"'))
            && self
                .rest(1)
                .iter()
                .take(MAX_NAME)
                .find(|c| !(is_word(**c) || c.is_ascii_digit() || **c == ' '))
                .is_some_and(|c| *c == ']')
    }

    fn quoted(&mut self, end: char, kind: Kind, escapes: bool) {
        self.at += 1;
        let mut text = String::new();
        let mut inside = Vec::new();
        while self.at < self.chars.len() {
            let c = self.peek(0);
            if c == end && self.peek(1) == end {
                text.push(c);
                self.at += 2;
                continue;
            }
            if c == end {
                break;
            }
            if c == '\\' && kind == Kind::Text && self.peek(1) == end && (escapes || is_word(self.peek(2))) {
                text.push(end);
                self.at += 2;
                continue;
            }
            if c == MARK {
                let operand = self.hole();
                text.push_str(&slot_name(&operand).unwrap_or_default());
                inside.push(operand);
                self.at += 1;
                continue;
            }
            text.push(c);
            self.at += 1;
        }
        self.at += 1;
        if kind == Kind::Quoted {
            return self.push(kind, text, None);
        }
        let whole = match inside.as_slice() {
            [operand] if slot_name(operand).as_deref() == Some(text.as_str()) => operand.clone(),
            [] => self.placeholder_in(&text).unwrap_or_else(|| Operand::Literal(text.clone())),
            _ => Operand::Other(inside),
        };
        self.push(kind, text, Some(whole));
    }

    fn dollar_quoted(&mut self) -> bool {
        let tag = self.rest(1).iter().take(MAX_NAME).take_while(|c| is_word(**c) && **c != MARK).count();
        let length = tag + 2;
        if self.peek(length - 1) != '$' {
            return false;
        }
        let mark: Vec<char> = self.rest(0).iter().take(length).copied().collect();
        let rest = self.rest(length);
        let end = rest.windows(length).position(|window| window == mark.as_slice()).unwrap_or(rest.len());
        let body: String = rest.iter().take(end).collect();
        self.next_hole += body.chars().filter(|c| *c == MARK).count();
        self.at += length + end + length;
        self.push(Kind::Text, body.clone(), Some(Operand::Literal(body)));
        true
    }

    fn number(&mut self) {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || (self.peek(0) == '.' && self.peek(1).is_ascii_digit()) {
            self.at += 1;
        }
        let text: String = self.chars.iter().take(self.at).skip(start).collect();
        self.push(Kind::Number, text.clone(), Some(Operand::Literal(text)));
    }

    fn word(&mut self) {
        if self.peek(1) == '\'' && matches!(self.peek(0), 'E' | 'e' | 'N' | 'n' | 'X' | 'x' | 'B' | 'b') {
            let escapes = matches!(self.peek(0), 'E' | 'e');
            self.at += 1;
            return self.quoted('\'', Kind::Text, escapes);
        }
        self.name(String::new(), Vec::new());
    }

    /// The rest of a name of which this much was read.
    fn name(&mut self, mut text: String, mut slots: Vec<Operand>) {
        loop {
            let c = self.peek(0);
            if c == MARK {
                slots.push(self.hole());
            } else if is_word(c) || c.is_ascii_digit() || (c == '$' && !text.is_empty() && slots.is_empty()) {
                text.push(c);
                self.at += 1;
                continue;
            } else {
                // `users_%s` and `{tenant}_users` are one name.
                let glued = !text.is_empty() && matches!(c, '{' | '%');
                let Some((operand, length)) = glued.then(|| self.placeholder()).flatten() else { break };
                slots.push(operand);
                self.at += length - 1;
            }
            text.push_str(&slots.last().and_then(slot_name).unwrap_or_default());
            self.at += 1;
        }
        match slots.as_slice() {
            [] => self.push(Kind::Word, text, None),
            [only] if slot_name(only).as_deref() == Some(text.as_str()) => {
                let operand = only.clone();
                self.push(Kind::Slot, text, Some(operand));
            }
            _ => self.push(Kind::Quoted, text, None),
        }
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == MARK
}

/// Words after which a value begins, or that end a list of columns: never a column themselves unless quoted.
pub(super) fn is_keyword(word: &str) -> bool {
    const WORDS: &str = "ALL AND ANY AS ASC BETWEEN BY CASE CAST CROSS DEFAULT DESC DISTINCT DO ELSE END EXCEPT EXISTS \
        FALSE FETCH FOR FROM FULL GROUP HAVING IN INNER INTERSECT INTERVAL INTO IS JOIN LEFT LIKE ILIKE \
        LIMIT NOT NULL OFFSET ON OR ORDER OUTER OUTPUT RETURNING RIGHT SELECT SET THEN TOP TRUE UNION \
        UPDATE USING VALUES WHEN WHERE WINDOW WITH";
    WORDS.split(' ').any(|known| known.eq_ignore_ascii_case(word))
}
