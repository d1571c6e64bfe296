//! The JSON Schema of the policy file, made from the same list of keys that reads it.

use serde_json::{Map, Value, json};

use super::keys::{RULE_KEYS, duration, or_none};
use super::target::HANG_UP;

/// The schema, for editors and other checkers. It knows the shape of the file; what keys mean together only
/// [`PolicyFile::parse`](super::PolicyFile::parse) knows.
///
/// ```
/// let schema = stanchion_mcp::policy::schema();
/// assert!(schema["definitions"]["rule"]["properties"]["wait"].is_object());
/// ```
#[must_use]
pub fn schema() -> Value {
    let mut server = rule();
    server.extend([
        (
            "command".to_owned(),
            described(
                json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 256}),
                "The program and its arguments; no shell is involved. Only serve needs it.",
            ),
        ),
        (
            "url".to_owned(),
            described(
                json!({"type": "string", "pattern": "^https?://[^/@\\s]+(/[^\\s#]*)?$", "maxLength": 2048}),
                "The address of a server that speaks Streamable HTTP.",
            ),
        ),
        (
            "env".to_owned(),
            described(
                json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 256}),
                "Variables for the command, besides those of the gateway.",
            ),
        ),
        ("cwd".to_owned(), described(json!({"type": "string", "minLength": 1}), "The working folder of the command.")),
        (
            "hang_up".to_owned(),
            described(
                or_none(duration()),
                &format!(
                    "After how long without a message the stream of a request ends; its client (from 2025-11-25 on) comes back for \
                     the rest. For balancers that cut long requests. Allowed: {HANG_UP}. Without it: \"none\"."
                ),
            ),
        ),
        (
            "headers".to_owned(),
            described(
                json!({
                    "type": "object",
                    "propertyNames": {"pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$"},
                    "additionalProperties": {"type": "string", "pattern": "^(env:[A-Za-z_][A-Za-z0-9_]*|file:[\\s\\S]+)$"},
                    "maxProperties": 32
                }),
                "Headers that are set on every request to the url: env:NAME or file:PATH says where the value is. Never the value.",
            ),
        ),
        (
            "ca".to_owned(),
            described(
                json!({"type": "string", "minLength": 1}),
                "A PEM file with certificates to trust for the url, besides the system's.",
            ),
        ),
        (
            "tools".to_owned(),
            described(
                json!({
                    "type": "object",
                    "propertyNames": {"minLength": 1, "maxLength": 128},
                    "additionalProperties": {"$ref": "#/definitions/rule"},
                    "maxProperties": 1024
                }),
                "Rules for tools by their exact name, or by a pattern with *. Only the closest one counts.",
            ),
        ),
    ]);
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "stanchion.toml",
        "description": "The policy file of Stanchion, the gateway for MCP servers.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "defaults": {"$ref": "#/definitions/rule", "description": "What holds for every tool unless its server or its own table says otherwise."},
            "servers": {
                "type": "object",
                "description": "The servers by name: /NAME under serve, --name under wrap.",
                "propertyNames": {"pattern": "^[a-z0-9][a-z0-9._-]{0,63}$"},
                "additionalProperties": {"$ref": "#/definitions/server"},
                "maxProperties": 256
            },
            "principals": {
                "type": "array",
                "description": "Who may call serve.",
                "items": {"$ref": "#/definitions/principal"},
                "maxItems": 1024
            },
            "audit": {"description": "For `stanchion audit`, which reads it; nothing here is for the gateway."}
        },
        "definitions": {
            "rule": {"type": "object", "additionalProperties": false, "properties": rule()},
            "server": {
                "type": "object",
                "additionalProperties": false,
                "properties": server,
                "not": {"required": ["command", "url"]},
                "dependencies": {"env": ["command"], "cwd": ["command"], "hang_up": ["command"], "headers": ["url"], "ca": ["url"]}
            },
            "principal": principal()
        }
    })
}

fn rule() -> Map<String, Value> {
    let property = |key: &super::keys::RuleKey| {
        let about = format!("{} Allowed: {}. Without it: {}.", key.about, key.allowed, key.default);
        (key.name.to_owned(), described((key.schema)(), &about))
    };
    RULE_KEYS.iter().map(property).collect()
}

fn principal() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 128, "description": "The name, as claims and the call log have it."},
            "token_env": {"type": "string", "minLength": 1, "description": "The variable that has the bearer token."},
            "token_file": {"type": "string", "minLength": 1, "description": "The file that has the bearer token."},
            "token_sha256": {"type": "string", "pattern": "^[0-9A-Fa-f]{64}$", "description": "The SHA-256 of the bearer token, as hex."}
        },
        "oneOf": [{"required": ["token_env"]}, {"required": ["token_file"]}, {"required": ["token_sha256"]}]
    })
}

fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = about.into();
    schema
}
