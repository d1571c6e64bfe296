use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Effect, InFlight, Mode, OnStoreDown, Policy};

use super::super::keys::RULE_KEYS;
use super::super::{HeaderSource, Layer, PolicyFile, Target, TokenSource};
use super::parse;
use crate::{Fencing, KeySources, Locking, Rate, Rule};

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn without_a_file_the_default_rule_holds() {
    for file in [PolicyFile::default(), parse("").unwrap(), parse("[servers.a]\n[defaults]\n").unwrap()] {
        assert_eq!(**file.rules("a").of("t"), Rule::default());
        assert_eq!(**file.rules("other").of("t"), Rule::default());
        assert!(file.warnings().is_empty());
    }
}

/// What is shown as built in, written into a file, changes nothing.
#[test]
fn what_is_called_built_in_is_what_holds() {
    let writable = RULE_KEYS.iter().filter(|key| !matches!(key.name, "effect" | "attempts"));
    let text: String = writable.map(|key| format!("{} = {}\n", key.name, key.default)).collect();
    let file = parse(&format!("[defaults]\n{text}")).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(**file.rules("a").of("t"), Rule::default());
}

#[test]
fn every_key_of_a_rule_arrives() {
    let file = parse(
        r#"
        [servers.a.tools.t]
        effect = "idempotent"
        lock = ["a:{x}", "b:{y.z}"]
        mode = "slots:3"
        wait = "1s"
        ttl = "2s"
        max_hold = "3s"
        fence = "argument:fence"
        key_argument = "idempotency_key"
        host_call_id = true
        dedupe = "4s"
        in_flight = "5s"
        keep = "6s"
        keep_key = "7s"
        keep_suspended = "8s"
        lease = "9s"
        response_cap = "64KiB"
        attempts = 3
        rate = "10/1s"
        concurrency = 4
        breaker = "5/10s"
        on_store_down = "local"
        allow_weak = true
        log_arguments = true
        "#,
    )
    .unwrap();
    let policy = Policy::default()
        .effect(Effect::Idempotent)
        .in_flight(InFlight::Wait(seconds(5)))
        .keep(seconds(6), seconds(7))
        .and_then(|policy| policy.lease(seconds(9)))
        .and_then(|policy| policy.response_cap(64 << 10))
        .unwrap()
        .keep_suspended(seconds(8))
        .attempts(3)
        .allow_weak();
    let expected = Rule {
        effect: Some(Effect::Idempotent),
        locking: Locking::Keys(vec!["a:{x}".parse().unwrap(), "b:{y.z}".parse().unwrap()]),
        mode: Mode::Slots(3),
        wait: seconds(1),
        ttl: seconds(2),
        max_hold: seconds(3),
        policy,
        key: KeySources { argument: Some("idempotency_key".to_owned()), host_call_id: true, dedupe: Some(seconds(4)) },
        fencing: Fencing::Argument("fence".to_owned()),
        rate: Some(Rate { most: 10, within: seconds(1) }),
        concurrency: Some(4),
        breaker: Some((5, seconds(10))),
        on_store_down: OnStoreDown::Local,
        log_arguments: true,
    };
    assert_eq!(**file.rules("a").of("t"), expected);
    assert!(file.rules("a").explain("t").iter().all(|source| source.layer == Layer::Tool("t".to_owned())));
}

#[test]
fn every_spelling_of_a_value_is_read() {
    let rule = |line: &str| {
        let file = parse(&format!("[defaults]\n{line}")).unwrap_or_else(|wrong| panic!("{wrong}"));
        Arc::clone(file.rules("a").of("t"))
    };
    assert_eq!(rule("lock = 'none'").locking, Locking::None);
    assert_eq!(rule("lock = 'default'").locking, Locking::Default);
    assert_eq!(rule("lock = 'x'").locking, Locking::Keys(vec!["x".parse().unwrap()]));
    assert_eq!(rule("mode = 'shared'").mode, Mode::Shared);
    assert_eq!(rule("wait = '0'").wait, Duration::ZERO);
    assert_eq!(rule("fence = 'meta'").fencing, Fencing::Meta);
    assert_eq!(rule("fence = 'header:X-Fence'").fencing, Fencing::Header("x-fence".to_owned()));
    assert_eq!(rule("in_flight = 'attach'").policy, Policy::default().in_flight(InFlight::Attach));
    assert_eq!(rule("response_cap = 0x10").policy, Policy::default().response_cap(16).unwrap());
    assert_eq!(rule("response_cap = '2MiB'").policy, Policy::default().response_cap(2 << 20).unwrap());
    assert_eq!(rule("concurrency = 'none'").concurrency, None);
    assert_eq!(rule("on_store_down = 'read_only'").on_store_down, OnStoreDown::ReadOnly);
}

#[test]
fn the_closest_table_that_says_something_wins() {
    let file = parse(
        r#"
        [defaults]
        wait = "1s"
        ttl = "1s"
        rate = "1/1s"
        [servers.a]
        ttl = "2s"
        max_hold = "2s"
        [servers.a.tools."*"]
        lease = "3s"
        [servers.a.tools."create_*"]
        max_hold = "4s"
        lease = "4s"
        [servers.a.tools.create_x]
        lease = "5s"
        rate = "none"
        "#,
    )
    .unwrap();
    let said = |tool: &str, key: &str| {
        let sources = file.rules("a").explain(tool);
        let source = sources.into_iter().find(|source| source.key == key).unwrap();
        (source.value, source.layer.to_string(), source.place.map(|place| place.line))
    };
    let is = |value: &str, layer: &str, line| (format!("\"{value}\""), layer.to_owned(), line);
    assert_eq!(said("create_x", "wait"), is("1s", "defaults", Some(3)));
    assert_eq!(said("create_x", "ttl"), is("2s", "server", Some(7)));
    assert_eq!(said("create_x", "max_hold"), is("2s", "server", Some(8)));
    assert_eq!(said("create_x", "lease"), is("5s", "tool create_x", Some(15)));
    assert_eq!(said("create_x", "rate"), is("none", "tool create_x", Some(16)));
    assert_eq!(said("create_y", "lease"), is("4s", "tool create_*", Some(13)));
    assert_eq!(said("create_y", "max_hold"), is("4s", "tool create_*", Some(12)));
    assert_eq!(said("other", "lease"), is("3s", "tool *", Some(10)));
    assert_eq!(said("other", "keep"), is("24h", "built in", None));
    let rules = file.rules("a");
    assert_eq!((rules.of("create_x").rate, rules.of("create_y").rate.is_some()), (None, true));
    assert_eq!(rules.of("create_y").max_hold, seconds(4));
    assert_eq!(rules.of("create_x").max_hold, seconds(2));
    assert_eq!(file.rules("b").of("create_x").ttl, seconds(1));
}

#[test]
fn what_stays_behind_in_a_wider_table_is_said() {
    let file = parse(
        "[servers.a.tools.\"*\"]\nlock = \"all\"\nwait = \"1s\"\n[servers.a.tools.\"set_*\"]\nwait = \"2s\"\n\
         [servers.a.tools.get]\nlock = \"none\"\nwait = \"0\"\n",
    )
    .unwrap();
    let [warning] = file.warnings() else { panic!("{:?}", file.warnings()) };
    assert_eq!((warning.place.line, warning.key.as_str()), (4, "servers.a.tools.\"set_*\""));
    assert!(warning.what.contains("`set_*` does not get lock from `*` (line 1)"), "{warning}");
}

#[test]
fn rules_that_no_tool_obeys_are_found() {
    let file = parse("[servers.a.tools.creat]\n[servers.a.tools.\"del_*\"]\n[servers.a.tools.get]\n").unwrap();
    let unknown = file.unknown_tools("a", &["create", "get", "delete"]);
    let told: Vec<_> = unknown.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 1: `creat` is no tool of this server; did you mean `create`?",
            "line 2: `del_*` matches no tool of this server"
        ]
    );
    assert!(file.unknown_tools("a", &["creat", "del_x", "get"]).is_empty());
    assert!(file.unknown_tools("b", &[]).is_empty());
}

#[test]
fn servers_and_principals_arrive() {
    let file = parse(
        r#"
        [servers.memory]
        command = ["npx", "-y", "server-memory"]
        env = { MEMORY_FILE_PATH = "/tmp/m.jsonl" }
        cwd = "/srv"
        hang_up = "30s"
        [servers.web]
        url = "https://127.0.0.1:9000/mcp"
        headers = { Authorization = "env:WEB_AUTHORIZATION", "X-Api-Key" = "file:/run/secrets/web" }
        ca = "/etc/web.pem"
        [[principals]]
        name = "alice"
        token_env = "ALICE_TOKEN"
        [[principals]]
        name = "bob"
        token_file = "/run/secrets/bob"
        [[principals]]
        name = "carol"
        token_sha256 = "00000000000000000000000000000000000000000000000000000000000000FF"
        "#,
    )
    .unwrap();
    let servers: Vec<_> =
        file.servers().map(|(name, entry)| (name, entry.line, entry.target.clone().unwrap())).collect();
    let command = Target::Command {
        command: ["npx", "-y", "server-memory"].map(str::to_owned).to_vec(),
        env: [("MEMORY_FILE_PATH".to_owned(), "/tmp/m.jsonl".to_owned())].into(),
        cwd: Some("/srv".into()),
        hang_up: Some(std::time::Duration::from_secs(30)),
    };
    let web = Target::Url {
        url: "https://127.0.0.1:9000/mcp".to_owned(),
        headers: vec![
            (http::header::AUTHORIZATION, HeaderSource::Env("WEB_AUTHORIZATION".to_owned())),
            (http::HeaderName::from_static("x-api-key"), HeaderSource::File("/run/secrets/web".into())),
        ],
        ca: Some("/etc/web.pem".into()),
    };
    assert_eq!(servers, [("memory", 2, command), ("web", 7, web)]);
    let mut digest = [0; 32];
    digest[31] = 255;
    let principals: Vec<_> = file.principals().iter().map(|who| (who.name.as_str(), who.token.clone())).collect();
    let expected = [
        ("alice", TokenSource::Env("ALICE_TOKEN".to_owned())),
        ("bob", TokenSource::File("/run/secrets/bob".into())),
        ("carol", TokenSource::Sha256(digest)),
    ];
    assert_eq!(principals, expected);
}
