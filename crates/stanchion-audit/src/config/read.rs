//! From text to [`Config`], with the line of everything that is wrong.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, Instances, Setting, globs};
use crate::catalogue::{self, RULES};
use crate::error::{Error, line_of, nearest};
use crate::finding::Severity;

const KEYS: [&str; 6] = ["include", "exclude", "rules", "fail_on", "instances", "models"];

/// `None` if a shared file says nothing about the audit.
pub(super) fn read(path: &str, text: &str, is_shared: bool) -> Result<Option<Config>, Vec<Error>> {
    let wrong = |error: &toml::de::Error| {
        let line = error.span().map_or(0, |span| line_of(text, span.start));
        Error::new(error.message().trim_end().replace('\n', ", ")).at(path, line)
    };
    let document = DeTable::parse(text).map_err(|error| vec![wrong(&error)])?;
    let mut reader = Reader { path, text, errors: vec![] };
    let table = if is_shared {
        let Some(audit) = document.get_ref().get("audit") else { return Ok(None) };
        let Some(table) = audit.get_ref().as_table() else {
            reader.say(audit, "`audit` is not a table", "write [audit]");
            return Err(reader.errors);
        };
        table
    } else {
        document.get_ref()
    };
    let config = reader.config(table);
    let Reader { mut errors, .. } = reader;
    errors.sort_by_key(|error| error.line);
    if errors.is_empty() { Ok(Some(config)) } else { Err(errors) }
}

struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    errors: Vec<Error>,
}

impl Reader<'_> {
    fn say<T>(&mut self, at: &Spanned<T>, what: impl Into<String>, hint: impl Into<String>) {
        let line = line_of(self.text, at.span().start);
        self.errors.push(Error::new(what).at(self.path, line).hint(hint));
    }

    fn config(&mut self, table: &DeTable<'_>) -> Config {
        let mut config = Config::default();
        for (key, value) in table {
            match &**key.get_ref() {
                "include" => (config.include, config.included) = self.patterns(value),
                "exclude" => (config.exclude, config.excluded) = self.patterns(value),
                "rules" => self.rules(value, &mut config),
                "fail_on" => config.fail_on = self.fail_on(value),
                "instances" => config.instances = self.instances(value),
                "models" => config.models = self.strings(value),
                other => {
                    let near = nearest(other, KEYS).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
                    let hint = format!("{near}allowed: {}", KEYS.join(", "));
                    self.say(key, format!("there is no such key: `{}`", crate::format::flat(other)), hint);
                }
            }
        }
        config
    }

    fn strings(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let mut strings = Vec::new();
        match value.get_ref().as_array() {
            None => self.say(value, format!("this is {}", kind(value)), "allowed: a list of texts, as in [\"src/**\"]"),
            Some(array) => {
                for item in array {
                    match item.get_ref().as_str() {
                        Some(text) => strings.push(text.to_owned()),
                        None => self.say(item, format!("this is {}", kind(item)), "allowed: texts, as in \"src/**\""),
                    }
                }
            }
        }
        strings
    }

    fn patterns(&mut self, value: &Spanned<DeValue<'_>>) -> (Vec<String>, ignore::gitignore::Gitignore) {
        let patterns = self.strings(value);
        match globs(&patterns) {
            Ok(matcher) => (patterns, matcher),
            Err((at, what)) => {
                let item = value.get_ref().as_array().and_then(|array| array.get(at)).unwrap_or(value);
                self.say(item, what, "patterns are as in .gitignore: src/**, *.test.ts, vendor/");
                (patterns, ignore::gitignore::Gitignore::empty())
            }
        }
    }

    fn rules(&mut self, value: &Spanned<DeValue<'_>>, config: &mut Config) {
        let Some(table) = value.get_ref().as_table() else {
            return self.say(value, format!("this is {}", kind(value)), "write [rules], and below it RC101 = \"off\"");
        };
        for (key, value) in table {
            let name = &**key.get_ref();
            let Some(rule) = catalogue::rule(name) else {
                let near = nearest(name, RULES.iter().flat_map(|rule| [rule.code, rule.name]));
                let hint = near.map_or_else(
                    || "rules have a code, as RC101, or a name, as lost-update-file".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                self.say(key, format!("there is no rule `{}`", crate::format::flat(name)), hint);
                continue;
            };
            let setting = match value.get_ref().as_str() {
                Some("off") => Some(Setting::Off),
                Some("on") => Some(Setting::On),
                word => word.and_then(|word| word.parse().ok()).map(Setting::Severity),
            };
            match setting {
                None => self.say(
                    value,
                    format!("`{}` is not understood here", shown(value)),
                    "allowed: \"off\", \"on\", \"low\", \"medium\", \"high\"",
                ),
                Some(setting) => {
                    if config.rules.insert(rule.code, setting).is_some() {
                        self.say(key, format!("{} is said twice, by code and by name", rule.code), "keep one of them");
                    }
                }
            }
        }
    }

    fn fail_on(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Severity> {
        let severity = value.get_ref().as_str().and_then(|word| word.parse().ok());
        if severity.is_none() {
            let what = format!("`{}` is not understood here", shown(value));
            self.say(value, what, "allowed: \"low\", \"medium\", \"high\"");
        }
        severity
    }

    fn instances(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Instances> {
        match value.get_ref() {
            DeValue::Integer(number) if number.as_str() == "1" => Some(Instances::One),
            DeValue::String(word) if word == "many" => Some(Instances::Many),
            _ => {
                let what = format!("`{}` is not understood here", shown(value));
                self.say(value, what, "allowed: 1, \"many\"");
                None
            }
        }
    }
}

fn kind(value: &Spanned<DeValue<'_>>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn shown(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(text) => crate::format::flat(text),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Boolean(is) => is.to_string(),
        _ => kind(value).to_owned(),
    }
}
