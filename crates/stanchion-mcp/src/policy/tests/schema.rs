use serde_json::Value;

use super::super::{PolicyFile, READY, schema};
use super::parse;

const PUBLISHED: &str = include_str!("../../../../../policies/stanchion.schema.json");
const REFERENCE: &str = include_str!("../../../../../docs/gateway.md");

fn json(text: &str) -> Value {
    toml::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn validator() -> jsonschema::Validator {
    jsonschema::draft7::new(&schema()).expect("a schema")
}

#[test]
fn the_published_schema_is_current() {
    let published: Value = serde_json::from_str(PUBLISHED).unwrap();
    assert_eq!(published, schema(), "write it anew: stanchion policy schema > policies/stanchion.schema.json");
}

#[test]
fn the_schema_is_one() {
    jsonschema::draft7::meta::validate(&schema()).unwrap();
}

fn examples() -> Vec<&'static str> {
    REFERENCE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn ready_policies_and_examples_of_the_reference_are_valid() {
    let examples = examples();
    assert!(examples.len() >= 2, "the reference has examples");
    let validator = validator();
    for text in READY.iter().map(|(_, text)| *text).chain(examples) {
        let errors: Vec<_> = validator.iter_errors(&json(text)).map(|e| e.to_string()).collect();
        assert_eq!(errors, [] as [String; 0], "{text}");
        PolicyFile::parse(text, "p.toml").unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    }
}

/// The schema may be milder than the reader, which knows what keys mean together, and never stricter.
#[test]
fn wrong_files_are_refused_by_both() {
    let validator = validator();
    for text in [
        "[default]\nwait = \"1s\"",
        "[defaults]\nwiat = \"1s\"",
        "[defaults]\nwait = 20",
        "[defaults]\nwait = \"20\"",
        "[defaults]\neffect = \"transactional\"",
        "[defaults]\nlock = []",
        "[defaults]\nlock = \"{path}\"",
        "[defaults]\nlock = [\"a\", 3]",
        "[defaults]\nmode = \"both\"",
        "[defaults]\nfence = \"always\"",
        "[defaults]\nrate = \"10\"",
        "[defaults]\nconcurrency = 0",
        "[defaults]\nconcurrency = \"many\"",
        "[defaults]\nresponse_cap = \"1GiB\"",
        "[defaults]\nattempts = 0",
        "[defaults]\non_store_down = \"open\"",
        "[defaults]\nallow_weak = \"yes\"",
        "servers = 3",
        "[servers.Memory]",
        "[servers.a]\ncommand = \"npx\"",
        "[servers.a]\ncommand = []",
        "[servers.a]\nurl = \"ftp://x\"",
        "[servers.a]\ncommand = [\"x\"]\nurl = \"http://x\"",
        "[servers.a]\nurl = \"http://x\"\nenv = {A = \"b\"}",
        "[servers.a]\ncommand = [\"x\"]\nenv = {A = 1}",
        "[servers.a]\ncommand = [\"x\"]\nhang_up = 30",
        "[servers.a]\ncommand = [\"x\"]\nhang_up = \"soon\"",
        "[servers.a]\nurl = \"http://x\"\nhang_up = \"30s\"",
        "[servers.a.tools.x]\nhang_up = \"30s\"",
        "[servers.a]\nurl = \"http://x\"\nheaders = [\"A: b\"]",
        "[servers.a]\nurl = \"http://x\"\nheaders = {A = \"s3cret\"}",
        "[servers.a]\nurl = \"http://x\"\nheaders = {A = \"env:a b\"}",
        "[servers.a]\nurl = \"http://x\"\nheaders = {A = \"file:\"}",
        "[servers.a]\nurl = \"http://x\"\nheaders = {\"A:\" = \"env:B\"}",
        "[servers.a]\ncommand = [\"x\"]\nheaders = {A = \"env:B\"}",
        "[servers.a]\nheaders = {A = \"env:B\"}",
        "[servers.a]\nurl = \"https://x\"\nca = \"\"",
        "[servers.a]\nca = \"/x.pem\"",
        "[servers.a.tools.x]\ncommand = [\"x\"]",
        "[[principals]]\nname = \"a\"",
        "[[principals]]\ntoken_env = \"A\"",
        "[[principals]]\nname = \"a\"\ntoken = \"x\"",
        "[[principals]]\nname = \"a\"\ntoken_env = \"A\"\ntoken_file = \"b\"",
    ] {
        assert!(parse(text).is_err(), "the reader takes {text}");
        assert!(!validator.is_valid(&json(text)), "the schema takes {text}");
    }
}

#[test]
fn what_the_reader_takes_the_schema_takes() {
    let validator = validator();
    for text in [
        "",
        "[defaults]\nwait = \"0\"\nlock = \"{{x}}:{y}\"\nmode = \"slots:1024\"\nresponse_cap = 0\nconcurrency = \"none\"",
        "[defaults]\nlock = [\"a:{x}\"]\nin_flight = \"1m30s\"\nrate = \"none\"\nbreaker = \"1/1ms\"\ndedupe = \"none\"",
        "[defaults]\nfence = \"header:x-fence\"\nkey_argument = \"none\"\nattempts = 9",
        "[defaults]\nfence = \"argument:the fence\"",
        "[servers.a]\nurl = \"https://x.example/mcp?y=1\"\n[servers.a.tools.\"*\"]\n",
        "[servers.a]\nurl = \"https://x\"\nca = \"x.pem\"\nheaders = {A = \"env:_b1\", 'x!#$%&*+.^_`|~-' = \"file:a b:\\nc\"}",
        "[servers.a]\ncommand = [\"x\"]\nhang_up = \"30s\"\n[servers.b]\ncommand = [\"x\"]\nhang_up = \"none\"",
        "[servers.0]\nurl = \"http://[::1]:9\"",
        "[audit]\ninstances = 1\n[audit.rules]\nRC101 = \"off\"",
    ] {
        parse(text).unwrap_or_else(|wrong| panic!("{wrong}"));
        let errors: Vec<_> = validator.iter_errors(&json(text)).map(|e| e.to_string()).collect();
        assert_eq!(errors, [] as [String; 0], "{text}");
    }
}

/// The reference names every key, its default and nothing else.
#[test]
fn the_reference_has_every_key() {
    for key in super::super::keys::RULE_KEYS {
        let row = REFERENCE.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("no row for {}", key.name));
        let default = key.default.trim_matches('"');
        assert!(row.contains(default), "{}: {default} is not in {row}", key.name);
    }
}
