//! The parts of an answer that count.

use serde_json::Value;

/// More values are not looked at.
const SELECTED_MAX: usize = 1_000_000;

/// What a JSON pointer with `*` finds, in the order of the answer.
pub(crate) fn select<'v>(value: &'v Value, pointer: &str) -> Vec<&'v Value> {
    let mut found = vec![value];
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let inner = found.into_iter().flat_map(|value| match value {
            Value::Array(items) if part == "*" => items.iter().collect(),
            Value::Object(fields) if part == "*" => fields.values().collect(),
            Value::Array(items) => name.parse().ok().and_then(|at: usize| items.get(at)).into_iter().collect(),
            Value::Object(fields) => fields.get(&name).into_iter().collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        found = inner.take(SELECTED_MAX).collect();
    }
    found
}

/// As a template would write it.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_star_stands_for_all_elements() {
        let value = json!({"a": [{"n": 1}, {"n": "x"}, {}], "b/c": {"~": 2}, "*": 3});
        let found = |pointer| select(&value, pointer).into_iter().map(text).collect::<Vec<_>>();
        assert_eq!(found("/a/*/n"), ["1", "x"]);
        assert_eq!(found("/a/1/n"), ["x"]);
        assert_eq!(found("/b~1c/~0"), ["2"]);
        assert_eq!(found("").len(), 1);
        assert!(found("/a/n").is_empty() && found("/z/*").is_empty() && found("/a/99999999999999999999").is_empty());
    }
}
