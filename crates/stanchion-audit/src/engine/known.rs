//! A call that a model describes, and its arguments as the model names them.

use std::rc::Rc;

use super::call::Args;
use super::value::{Object, Origins, Shape, Value};
use crate::hir::Span;
use crate::models::{Argument, Call, Which};

/// A call that a model describes.
pub(super) struct Known<'a> {
    pub(super) model: &'a Call,
    pub(super) this: Option<&'a Value>,
    pub(super) args: &'a Args,
    pub(super) name: &'a str,
    pub(super) span: Span,
    /// What the callback is called with, if somebody else decides that.
    pub(super) pass: Option<Args>,
}

impl Known<'_> {
    /// The argument that the model means.
    pub(super) fn get(&self, which: &Argument) -> Option<Value> {
        which.0.iter().find_map(|which| self.one(which))
    }

    /// Whether it is a function that can be followed. With what else is given, one of a library is called as well:
    /// `to_thread(path.write_text, text)`.
    pub(super) fn runs(&self, of: &Value) -> bool {
        let is_known = matches!(of.shape, Shape::Method(..) | Shape::Package(_) | Shape::Wrapped(_));
        of.closure().is_some() || self.model.rest && is_known
    }

    /// What is given behind this.
    pub(super) fn after(&self, one: &Value) -> Args {
        self.args.iter().skip_while(|(_, arg)| arg.name != one.name).skip(1).cloned().collect()
    }

    fn one(&self, which: &Which) -> Option<Value> {
        match which {
            Which::Keyword(word) if word == "this" => self.this.cloned(),
            Which::Keyword(word) if word == "**" => self.keywords(),
            Which::Keyword(word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
                let (at, field) = word.split_once('.')?;
                let mut value = self.positional(at.parse().ok()?)?.clone();
                for field in field.split('.') {
                    value = match (&value.shape, field.parse::<usize>()) {
                        (Shape::List(items), Ok(at)) => items.get(at)?.clone(),
                        _ => value.option(field)?,
                    };
                }
                Some(value)
            }
            Which::Keyword(word) => {
                let by_name = self.args.iter().find(|(name, _)| name.as_deref() == Some(word));
                // In JavaScript options stand in an object.
                by_name
                    .map(|(_, value)| value.clone())
                    .or_else(|| self.args.iter().rev().find_map(|(_, value)| value.option(word)))
            }
            Which::Position(at) => self.positional(*at).cloned(),
        }
    }

    /// All that is given by name, as an object.
    fn keywords(&self) -> Option<Value> {
        let object = Object::new(false);
        for (name, value) in self.args {
            if let Some(name) = name {
                object.fields.borrow_mut().insert(Rc::clone(name), value.clone());
            }
        }
        let is_empty = object.fields.borrow().is_empty();
        (!is_empty).then(|| Value::of(object.into(), self.name))
    }

    fn positional(&self, at: usize) -> Option<&Value> {
        self.args.iter().filter(|(name, _)| name.is_none()).nth(at).map(|(_, value)| value)
    }

    /// All that the model asks for is there.
    pub(super) fn has_needs(&self) -> bool {
        self.model.needs.0.iter().all(|need| self.one(need).is_some())
    }

    pub(super) fn at(&self) -> Option<Value> {
        self.get(&self.model.at)
    }

    /// All that is given derives from these.
    pub(super) fn origins(&self) -> Origins {
        let this = self.this.map(Value::deep_origins).unwrap_or_default();
        self.args.iter().fold(this, |all, (_, arg)| all.with(&arg.deep_origins()))
    }

    /// A flag or mode beside the path and the content.
    pub(super) fn flag(&self, words: &[String]) -> bool {
        let (at, value) = (self.at(), self.get(&self.model.value));
        let is_data =
            |arg: &Value| [&at, &value].iter().any(|data| data.as_ref().is_some_and(|data| data.name == arg.name));
        let says = |value: &Value| match value.as_text() {
            Some(text) => words.iter().any(|word| text.split(['|', ' ']).any(|part| part == *word)),
            None => constants(&value.name).any(|constant| words.iter().any(|word| word == constant)),
        };
        self.args.iter().filter(|(_, arg)| !is_data(arg)).any(|(name, arg)| {
            let set = |value: &Value| !is_off(value) && says(value);
            set(arg)
                || name.as_deref().is_some_and(|name| words.iter().any(|word| word == name)) && !is_off(arg)
                || ["flag", "flags", "mode"].iter().any(|key| arg.option(key).is_some_and(|value| says(&value)))
                || words.iter().any(|word| word.len() > 2 && arg.option(word).is_some_and(|value| !is_off(&value)))
        })
    }

    /// One of these options is given and not off.
    pub(super) fn is_set(&self, words: &[String]) -> bool {
        self.args.iter().any(|(name, arg)| {
            name.as_deref().is_some_and(|name| words.iter().any(|word| word == name)) && !is_off(arg)
                || words.iter().any(|word| arg.option(word).is_some_and(|value| !is_off(&value)))
        })
    }

    /// One of these words.
    pub(super) fn says_any(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.says(word))
    }

    /// Words among options and flags: names of constants, strings, keys that are set.
    pub(super) fn says(&self, word: &str) -> bool {
        self.args.iter().any(|(name, value)| {
            name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(word)) && !is_off(value)
                || value.as_text().is_some_and(|text| text.eq_ignore_ascii_case(word))
                || value.option(word).or_else(|| value.option(&word.to_lowercase())).is_some_and(|v| !is_off(&v))
                || value.object().is_some_and(|object| {
                    let last = |value: &Value| value.name.rsplit('.').next().map(str::to_ascii_lowercase);
                    object.fields.borrow().values().any(|v| last(v).is_some_and(|last| last == word.to_lowercase()))
                })
                || matches!(value.shape, Shape::Unknown | Shape::Package(_) | Shape::Method(..))
                    && constants(&value.name).any(|constant| constant == word)
        })
    }
}

/// The constants that a value is put together from, each by its last name: `fs.constants.O_EXCL|fs.constants.O_WRONLY`. What a
/// variable, or a field of something that was given or computed, is called says nothing.
pub(super) fn constants(name: &str) -> impl Iterator<Item = &str> {
    let is_path = |part: &&str| part.chars().all(|c| c.is_alphanumeric() || "_.:/@-".contains(c));
    name.split('|').map(str::trim).filter(is_path).filter_map(|part| Some(part.rsplit_once(['.', ':'])?.1))
}

fn is_off(value: &Value) -> bool {
    matches!(value.shape, Shape::Bool(false) | Shape::Null)
}

#[cfg(test)]
mod tests {
    use super::constants;

    #[test]
    fn constants_count_by_their_last_names_and_variables_do_not() {
        let of = |name| constants(name).collect::<Vec<_>>();
        assert_eq!(of("os.O_APPEND|os.O_WRONLY"), ["O_APPEND", "O_WRONLY"]);
        assert_eq!(of("fs.constants.O_EXCL | node:fs.constants.O_RDWR"), ["O_EXCL", "O_RDWR"]);
        assert_eq!(of("append"), [""; 0]);
        assert_eq!(of("$options.append"), [""; 0]);
        assert_eq!(of("config().write"), [""; 0]);
    }
}
