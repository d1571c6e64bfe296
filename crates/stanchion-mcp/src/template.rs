//! Names of locks, made from a call's arguments: `budget:{projectId}`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use stanchion_core::template::{Member, Template};
use stanchion_core::{Error, Key, Result};

/// A key with holes: `{projectId}` is an argument of the call, `{order.id}` a member of one. `{{` and `}}` are braces.
///
/// Different spellings of one value make one key: `7` and `7.0` are the text `7`. A hole that cannot be filled refuses
/// the call: running it without its lock would be silent.
///
/// ```
/// use serde_json::json;
/// use stanchion_mcp::ArgumentTemplate;
/// let template: ArgumentTemplate = "budget:{projectId}".parse()?;
/// assert_eq!(template.fill(&json!({"projectId": "atlas"}))?.as_str(), "budget:atlas");
/// assert!(template.fill(&json!({})).is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentTemplate(Template<Member>);

impl ArgumentTemplate {
    /// The key for one call. Arguments that name a member twice must have been refused before: of those, a value has
    /// only the last ([`Fingerprint::of_json`](stanchion_core::Fingerprint::of_json) refuses them).
    ///
    /// # If it fails
    /// `Invalid`, naming the hole: the argument is not there, is empty, is no text, number or boolean; or what comes out
    /// makes no good key. Nothing ran.
    ///
    /// ```
    /// # use serde_json::json;
    /// # use stanchion_mcp::ArgumentTemplate;
    /// let template: ArgumentTemplate = "file:{path}".parse()?;
    /// let error = template.fill(&json!({"paths": ["a"]})).unwrap_err();
    /// assert!(error.to_string().contains("{path}"), "{error}");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn fill(&self, arguments: &Value) -> Result<Key> {
        self.0.fill(|member| member.of(arguments)).map_err(|e| match e.next_step() {
            None => e.hint("the argument must be there, as text, number or boolean, and must not be empty"),
            Some(_) => e,
        })
    }

    /// The arguments it looks at, each once.
    ///
    /// ```
    /// # use stanchion_mcp::ArgumentTemplate;
    /// let template: ArgumentTemplate = "order:{order.id}:{order.line}:{user}".parse()?;
    /// assert_eq!(template.names(), ["order", "user"]);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.0.holes().map(Member::root) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Does it begin with a word of its own? If not, a caller names any lock of the store.
    pub(crate) fn begins_with_text(&self) -> bool {
        self.0.begins_with_text()
    }
}

impl FromStr for ArgumentTemplate {
    type Err = Error;

    fn from_str(template: &str) -> Result<Self> {
        let hint = "as in budget:{projectId} or order:{order.id}; {{ and }} are braces";
        Template::parse(template, hint, Member::parse).map(Self)
    }
}

impl fmt::Display for ArgumentTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stanchion_core::ErrorKind;

    use super::*;

    fn fill(template: &str, arguments: &Value) -> Result<String> {
        template.parse::<ArgumentTemplate>()?.fill(arguments).map(|key| key.as_str().to_owned())
    }

    #[test]
    fn holes_are_filled() {
        let arguments =
            json!({"id": "atlas", "n": 7, "f": 7.0, "zero": -0.0, "half": 0.5, "on": true, "a": {"b": {"c": "x"}}});
        for (template, filled) in [
            ("all", "all"),
            ("budget:{id}", "budget:atlas"),
            ("{n}/{f}/{zero}", "7/7/0"),
            ("x:{half}:{on}", "x:0.5:true"),
            ("{a.b.c}", "x"),
            ("{{{id}}}", "{atlas}"),
        ] {
            assert_eq!(fill(template, &arguments).unwrap(), filled, "{template}");
            let shown = template.parse::<ArgumentTemplate>().unwrap().to_string();
            assert_eq!(shown, template);
        }
    }

    #[test]
    fn what_cannot_be_filled_is_refused_with_its_name() {
        let arguments = json!({"empty": "", "null": null, "list": [1], "object": {}, "line": "a\nb"});
        for (template, names) in [
            ("a:{gone}", "{gone}"),
            ("a:{empty}", "{empty}"),
            ("a:{null}", "{null}"),
            ("a:{list}", "{list}"),
            ("a:{list.0}", "{list.0}"),
            ("a:{object}", "{object}"),
            ("a:{object.gone}", "{object.gone}"),
            ("a:{line}", "control character"),
        ] {
            let error = fill(template, &arguments).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(names) && error.next_step().is_some(), "{template}: {error}");
        }
        for arguments in [json!(null), json!([]), json!("text")] {
            assert!(fill("a:{b}", &arguments).is_err());
        }
    }

    #[test]
    fn bad_templates_are_refused() {
        let long = "x".repeat(513);
        for template in ["", "{", "}", "a}b", "{a", "{}", "{a..b}", "{.a}", "a\nb", "a\n{b}", &*long] {
            assert_eq!(template.parse::<ArgumentTemplate>().unwrap_err().kind(), ErrorKind::Invalid, "{template:?}");
        }
    }
}
