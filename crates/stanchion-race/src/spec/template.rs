//! Texts with `{words}` in them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What a word stands for in one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vars {
    pub(crate) id: String,
    pub(crate) n: usize,
    pub(crate) i: usize,
    pub(crate) round: u64,
    pub(crate) seed: u64,
    pub(crate) dir: String,
    pub(crate) root: String,
    pub(crate) port: u16,
    pub(crate) upstream: String,
}

/// Which words may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Target,
    Call,
}

impl Words {
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Target => "{i}, {round}, {seed}, {dir}, {root}, {port}, {upstream}",
            Self::Call => "{id}, {n}, {i}, {round}, {seed}, {dir}, {root}",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Id,
    N,
    I,
    Round,
    Seed,
    Dir,
    Root,
    Port,
    Upstream,
}

const WORDS: [(&str, Word); 9] = [
    ("id", Word::Id),
    ("n", Word::N),
    ("i", Word::I),
    ("round", Word::Round),
    ("seed", Word::Seed),
    ("dir", Word::Dir),
    ("root", Word::Root),
    ("port", Word::Port),
    ("upstream", Word::Upstream),
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Word(Word),
}

/// A text with words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    /// `"{n:number}"` and nothing else.
    number: bool,
}

impl Template {
    pub(super) fn parse(text: &str, words: Words) -> Result<Self, String> {
        let (mut parts, mut plain, mut number) = (Vec::new(), String::new(), false);
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                plain.push_str(from.get(..1).unwrap_or_default());
                rest = after;
                continue;
            }
            let named = from.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let Some((name, after)) = named else {
                return Err(format!("a brace without its partner in {text:?}"));
            };
            let (name, as_number) = name.strip_suffix(":number").map_or((name, false), |name| (name, true));
            let word = WORDS.iter().find(|(known, _)| *known == name).map(|(_, word)| *word);
            let Some(word) = word.filter(|word| word.fits(words)) else {
                return Err(format!("{{{name}}} means nothing here"));
            };
            if as_number && (!word.is_number() || !after.is_empty() || at > 0 || !parts.is_empty()) {
                return Err(format!("{text:?} cannot be a number: only a whole string \"{{n:number}}\" can"));
            }
            number |= as_number;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Word(word));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts, number })
    }

    /// Text without words.
    pub(super) fn literal(text: &str) -> Self {
        Self { parts: vec![Part::Text(text.to_owned())], number: false }
    }

    pub(super) fn word_dir() -> Self {
        Self { parts: vec![Part::Word(Word::Dir)], number: false }
    }

    pub(super) fn word_i() -> Self {
        Self { parts: vec![Part::Word(Word::I)], number: false }
    }

    pub(super) fn nothing() -> Self {
        Self { parts: Vec::new(), number: false }
    }

    fn uses(&self, word: Word) -> bool {
        self.parts.contains(&Part::Word(word))
    }

    pub(crate) fn uses_port(&self) -> bool {
        self.uses(Word::Port)
    }

    pub(crate) fn uses_id(&self) -> bool {
        self.uses(Word::Id)
    }

    pub(crate) fn uses_upstream(&self) -> bool {
        self.uses(Word::Upstream)
    }

    pub(crate) fn starts_with(&self, prefix: &str) -> bool {
        matches!(self.parts.first(), Some(Part::Text(text)) if text.starts_with(prefix))
    }

    pub(crate) fn fill(&self, vars: &Vars) -> String {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Word(word) => filled.push_str(&word.value(vars)),
            }
        }
        filled
    }
}

/// Whether it is a text of `[target]` as it stands, with or without words.
pub(crate) fn is_target_template(text: &str) -> bool {
    Template::parse(text, Words::Target).is_ok()
}

impl Word {
    fn fits(self, words: Words) -> bool {
        match self {
            Self::Port | Self::Upstream => words == Words::Target,
            Self::Id | Self::N => words == Words::Call,
            _ => true,
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::N | Self::I | Self::Round | Self::Seed)
    }

    fn value(self, vars: &Vars) -> String {
        match self {
            Self::Id => vars.id.clone(),
            Self::N => vars.n.to_string(),
            Self::I => vars.i.to_string(),
            Self::Round => vars.round.to_string(),
            Self::Seed => vars.seed.to_string(),
            Self::Dir => vars.dir.clone(),
            Self::Root => vars.root.clone(),
            Self::Port => vars.port.to_string(),
            Self::Upstream => vars.upstream.clone(),
        }
    }
}

/// A JSON value with templates in its strings.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTemplate {
    /// Nothing to fill in.
    Plain(Value),
    /// A string.
    Text(Template),
    /// An array.
    List(Vec<ValueTemplate>),
    /// An object.
    Table(BTreeMap<String, ValueTemplate>),
}

impl ValueTemplate {
    pub(crate) fn fill(&self, vars: &Vars) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => {
                let text = template.fill(vars);
                let number = template.number.then(|| text.parse::<u64>().ok()).flatten();
                number.map_or(Value::String(text), Value::from)
            }
            Self::List(items) => Value::Array(items.iter().map(|item| item.fill(vars)).collect()),
            Self::Table(entries) => {
                Value::Object(entries.iter().map(|(name, item)| (name.clone(), item.fill(vars))).collect::<Map<_, _>>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filled_in_and_braces_doubled_are_braces() {
        let vars = Vars { id: "ab".into(), n: 3, dir: "/d".into(), ..Vars::default() };
        let filled = |text| Template::parse(text, Words::Call).map(|it| it.fill(&vars));
        assert_eq!(filled("x{id}-{n}{dir}"), Ok("xab-3/d".into()));
        assert_eq!(filled("{{id}}"), Ok("{id}".into()));
        assert_eq!(filled(""), Ok(String::new()));
        for bad in ["{", "}", "{x}", "{id", "{port}", "a{n:number}", "{n:number}a", "{id:number}", "{}", "{ {id} }"] {
            assert!(filled(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_is_a_number_in_json() {
        let text = ValueTemplate::Text(Template::parse("{n:number}", Words::Call).unwrap());
        assert_eq!(text.fill(&Vars { n: 7, ..Vars::default() }), Value::from(7));
    }
}
