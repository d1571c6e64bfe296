//! The specification that is made: its text is what is raced, and what the user goes on from.

use serde_json::Value;

use super::arguments::{MARK, escaped};
use super::{AutoTarget, CALLS_MAX, ROUNDS, SECONDS, START_SECONDS, TIMES};
use crate::spec::Spec;

/// What is known so far.
#[derive(Debug, Clone)]
pub(super) struct Draft<'t> {
    pub(super) target: &'t AutoTarget,
    pub(super) create: (String, Value),
    pub(super) show: (String, Value),
    /// Where in the listing the mark is; `None` if only its text has it.
    pub(super) select: Option<String>,
    /// Each thing is there exactly once.
    pub(super) is_once: bool,
    pub(super) instances: usize,
}

impl<'t> Draft<'t> {
    pub(super) fn new(target: &'t AutoTarget, create: (String, Value), show: (String, Value)) -> Self {
        Self { target, create, show, select: None, is_once: false, instances: 2 }
    }

    /// Only how the target is started.
    pub(super) fn of_target(target: &'t AutoTarget) -> Self {
        let nothing = || ("none".to_owned(), Value::Object(serde_json::Map::new()));
        Self::new(target, nothing(), nothing())
    }

    pub(super) fn spec(&self) -> Result<Spec, String> {
        Spec::parse(&self.text(), "--auto").map_err(|wrong| wrong.to_string())
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::from(
            "# Made by `stanchion race --auto` from the tools of the server; docs/race-spec.md says what else it can be told.\n",
        );
        let ((create, arguments), (show, shown)) = (&self.create, &self.show);
        let mut line = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        line(format!("version = 1\nname = {}\n\n[target]", quoted(&title(create, show))));
        if self.target.urls.is_empty() {
            let command = self.target.command.iter().map(|word| quoted(&template(word))).collect::<Vec<_>>().join(", ");
            line(format!("kind = \"mcp-stdio\"\ncommand = [{command}]\ncwd = \"{{root}}\""));
            line("# The whole environment is handed on, so it works on the store that your environment names.".into());
            line("inherit = true".into());
            if !self.target.env.is_empty() {
                let set = |(name, value): &(String, String)| format!("{} = {}", key(name), quoted(&template(value)));
                line(format!("env = {{ {} }}", self.target.env.iter().map(set).collect::<Vec<_>>().join(", ")));
            }
            line(format!("instances = {}", self.instances));
        } else {
            let urls = self.target.urls.iter().cycle().take(self.instances.max(self.target.urls.len()));
            let urls = urls.map(|url| quoted(&template(url))).collect::<Vec<_>>().join(", ");
            line(format!("kind = \"mcp-http\"\nurls = [{urls}]"));
        }
        line(format!("start_seconds = {START_SECONDS}"));
        line(format!("\n[limits]\ncalls = {CALLS_MAX}\nrounds = {ROUNDS}\nseconds = {SECONDS}"));
        line(format!("\n[[call]]\ntool = {}\narguments = {}", quoted(&escaped(create)), inline(arguments)));
        line(format!("times = {TIMES}"));
        line(format!("\n[read]\ntool = {}\narguments = {}", quoted(&escaped(show)), inline(shown)));
        if let Some(select) = &self.select {
            line(format!("select = {}", quoted(select)));
        }
        line(format!("\n[expect]\nevery = \"{MARK}\""));
        if self.is_once {
            line(format!("once = \"{MARK}\""));
        }
        text
    }
}

fn title(create: &str, show: &str) -> String {
    format!("{create}, shown by {show}").chars().take(200).collect()
}

/// Words that mean something stay; other braces are braces.
fn template(text: &str) -> String {
    if crate::spec::is_target_template(text) { text.to_owned() } else { escaped(text) }
}

/// What JSON escapes, TOML escapes the same way, and one character more.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// On one line; TOML has no null, and a field without a value is left out.
fn inline(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".into(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter(|it| !it.is_null()).map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, it)| !it.is_null());
            let fields: Vec<_> = fields.map(|(name, it)| format!("{} = {}", key(name), inline(it))).collect();
            if fields.is_empty() { "{}".into() } else { format!("{{ {} }}", fields.join(", ")) }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_the_server_and_the_user_say_the_text_is_a_specification() {
        let command = ["node", "a b\"c\\d", "{\"json\": 1}", "{dir}/x", "\u{7f}\n"].map(str::to_owned).to_vec();
        let target = AutoTarget { command, env: vec![("A".into(), "{dir}/m".into())], urls: Vec::new() };
        let arguments = json!({"a.b": [MARK, null, {"x y": 1.5}], "n": null, "é": true, "e": {}});
        let mut draft = Draft::new(&target, ("add{x}".into(), arguments), ("\"list\"".into(), json!({})));
        let spec = draft.spec().unwrap_or_else(|wrong| panic!("{wrong}\n{}", draft.text()));
        assert_eq!(spec.target.command.len(), 5);
        assert!(spec.target.is_inherited);
        draft.select = Some("/a/*/\"b".into());
        assert!(draft.spec().is_ok(), "{}", draft.text());
    }

    #[test]
    fn one_address_is_raced_with_two_sessions() {
        let target = AutoTarget { urls: vec!["http://127.0.0.1:1/mcp".into()], ..AutoTarget::default() };
        let spec = Draft::of_target(&target).spec().unwrap();
        assert_eq!(spec.target.instances, 2);
    }
}
