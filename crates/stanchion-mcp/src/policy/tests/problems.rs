use stanchion_core::{Error, ErrorKind};

use super::super::{FILE_MAX_BYTES, PolicyFile};
use super::parse;

/// One wrong file: its text, where the problem is, the key, and words of what is wrong and what is allowed.
type Wrong = (&'static str, (usize, usize), &'static str, &'static str, &'static str);

const TIMES: &[Wrong] = &[
    ("[defaults]\nwait = 20", (2, 8), "defaults.wait", "without a unit", "0\" to \"24h"),
    ("[defaults]\nwait = \"20\"", (2, 8), "defaults.wait", "no time", "20s"),
    ("[defaults]\nwait = \"-1s\"", (2, 8), "defaults.wait", "no time", "20s"),
    ("[defaults]\nwait = \"25h\"", (2, 8), "defaults.wait", "out of range", "24h"),
    ("[defaults]\nwait = true", (2, 8), "defaults.wait", "not true or false", "20s"),
    ("[defaults]\nttl = \"1ms\"", (2, 7), "defaults.ttl", "out of range", "50ms"),
    ("[defaults]\nmax_hold = \"31d\"", (2, 12), "defaults.max_hold", "out of range", "30d"),
    ("[defaults]\nlease = \"0\"", (2, 9), "defaults.lease", "out of range", "50ms"),
    ("[defaults]\nkeep = \"0s\"", (2, 8), "defaults.keep", "out of range", "1ms"),
    ("[defaults]\nkeep = \"100h\"", (2, 8), "defaults.keep", "longer than its key", "at most keep_key"),
    ("[defaults]\nkeep_key = \"1h\"", (2, 12), "defaults.keep_key", "longer than its key", "at most keep_key"),
    ("[defaults]\nkeep_suspended = \"400d\"", (2, 18), "defaults.keep_suspended", "out of range", "366d"),
    ("[defaults]\ndedupe = \"31d\"", (2, 10), "defaults.dedupe", "out of range", "30d"),
    ("[defaults]\nin_flight = \"wait\"", (2, 13), "defaults.in_flight", "no time", "attach"),
    ("[defaults]\nin_flight = \"0\"", (2, 13), "defaults.in_flight", "out of range", "reject"),
    ("[servers.a]\ncommand = [\"x\"]\nhang_up = \"9ms\"", (3, 11), "servers.a.hang_up", "out of range", "50ms"),
    (
        "[servers.a]\nurl = \"http://x\"\nhang_up = \"9s\"",
        (3, 1),
        "servers.a.hang_up",
        "belongs to a command",
        "command",
    ),
];

const VALUES: &[Wrong] = &[
    ("[defaults]\neffect = \"readonly\"", (2, 10), "defaults.effect", "no such effect class", "read_only"),
    ("[defaults]\neffect = \"transactional\"", (2, 10), "defaults.effect", "not in the transaction", "idempotent"),
    ("[defaults]\nlock = \"\"", (2, 8), "defaults.lock", "1 to 512 bytes", "budget:{projectId}"),
    ("[defaults]\nlock = \"a:{b\"", (2, 8), "defaults.lock", "{ without its }", "none"),
    ("[defaults]\nlock = \"{b}\"", (2, 8), "defaults.lock", "word of its own", "none"),
    ("[defaults]\nlock = []", (2, 8), "defaults.lock", "empty list", "1 to 16"),
    ("[defaults]\nlock = [\"a\", 3]", (2, 8), "defaults.lock", "list of texts", "1 to 16"),
    ("[defaults]\nlock = [\"a:{x}\", \"a:{x}\"]", (2, 8), "defaults.lock", "twice", "1 to 16"),
    ("[defaults]\nmode = \"slots:0\"", (2, 8), "defaults.mode", "number of slots", "1 to 1024"),
    ("[defaults]\nmode = \"slots:1025\"", (2, 8), "defaults.mode", "number of slots", "1 to 1024"),
    ("[defaults]\nmode = \"both\"", (2, 8), "defaults.mode", "no such mode", "exclusive"),
    ("[defaults]\nresponse_cap = \"1GiB\"", (2, 16), "defaults.response_cap", "no size", "64KiB"),
    ("[defaults]\nresponse_cap = \"16MiB\"", (2, 16), "defaults.response_cap", "cannot be kept", "15MiB"),
    ("[defaults]\nresponse_cap = -1", (2, 16), "defaults.response_cap", "out of range", "15MiB"),
    ("[defaults]\nattempts = 0", (2, 12), "defaults.attempts", "at least once", "from 1"),
    ("[defaults]\nattempts = 1.5", (2, 12), "defaults.attempts", "whole number", "from 1"),
    ("[defaults]\nkey_argument = \"\"", (2, 16), "defaults.key_argument", "no name", "argument"),
    ("[defaults]\nhost_call_id = \"yes\"", (2, 16), "defaults.host_call_id", "not a text", "true, false"),
    ("[defaults]\nfence = \"argument:\"", (2, 9), "defaults.fence", "no name", "argument:NAME"),
    ("[defaults]\nfence = \"header:a b\"", (2, 9), "defaults.fence", "name of a header", "header:NAME"),
    ("[defaults]\nfence = \"header:Authorization\"", (2, 9), "defaults.fence", "meaning of its own", "header:NAME"),
    ("[defaults]\nfence = \"always\"", (2, 9), "defaults.fence", "no such way", "meta"),
    ("[defaults]\nrate = \"10\"", (2, 8), "defaults.rate", "/ belongs", "10/1s"),
    ("[defaults]\nrate = \"0/1s\"", (2, 8), "defaults.rate", "1 to 10000", "10/1s"),
    ("[defaults]\nrate = \"1/25h\"", (2, 8), "defaults.rate", "1ms to 24h", "10/1s"),
    ("[defaults]\nbreaker = \"5/2h\"", (2, 11), "defaults.breaker", "out of range", "1h"),
    ("[defaults]\nconcurrency = 0", (2, 15), "defaults.concurrency", "out of range", "1 to 10000"),
    ("[defaults]\non_store_down = \"open\"", (2, 17), "defaults.on_store_down", "no such policy", "refuse"),
];

const TABLES: &[Wrong] = &[
    ("servers = 3", (1, 11), "servers", "not a number", "[servers]"),
    ("[servers]\nmemory = \"x\"", (2, 10), "servers.memory", "not a text", "[servers.memory]"),
    ("[servers.Memory]", (1, 10), "servers.Memory", "no name of a server", "a-z"),
    ("[servers.\"-x\"]", (1, 10), "servers.-x", "no name of a server", "a-z"),
    ("[servers.\"a/b\"]", (1, 10), "servers.\"a/b\"", "no name of a server", "a-z"),
    ("[servers.metrics]", (1, 10), "servers.metrics", "answers under this name", "another"),
    ("[servers.a]\ntools = []", (2, 9), "servers.a.tools", "not a list", "[servers.a.tools]"),
    ("[servers.a.tools]\nx = 1", (2, 5), "servers.a.tools.x", "not a number", "[servers.a.tools.x]"),
    ("[servers.a.tools.\"\"]", (1, 18), "servers.a.tools.\"\"", "no name of a tool", "1 to 128"),
    ("[servers.a]\ncommand = \"npx x\"", (2, 11), "servers.a.command", "list of texts", "no shell"),
    ("[servers.a]\ncommand = []", (2, 11), "servers.a.command", "program is missing", "program first"),
    ("[servers.a]\nurl = \"ftp://x\"", (2, 7), "servers.a.url", "no address", "http://HOST"),
    ("[servers.a]\nurl = \"http://me:pw@x/\"", (2, 7), "servers.a.url", "secret", "without a user"),
    ("[servers.a]\ncommand = [\"x\"]\nurl = \"http://x\"", (3, 1), "servers.a.url", "not both", "one of"),
    ("[servers.a]\nurl = \"http://x\"\nenv = {A = \"b\"}", (3, 1), "servers.a.env", "belongs to a command", "command"),
    ("[servers.a]\ncommand = [\"x\"]\nenv = {A = 1}", (3, 12), "servers.a.env.A", "no variable", "value"),
    ("[servers.a]\ncommand = [\"x\"]\ncwd = \"\"", (3, 7), "servers.a.cwd", "no folder", "path"),
    (
        "[servers.a]\ncommand = [\"x\"]\n[servers.a.tools.t]\nfence = \"header:x-fence\"",
        (4, 9),
        "servers.a.tools.t.fence",
        "no headers",
        "argument:NAME",
    ),
    (
        "[servers.a.tools.t]\nlock = \"none\"\nfence = \"meta\"",
        (3, 9),
        "servers.a.tools.t.fence",
        "without a lock",
        "a lock",
    ),
    (
        "[defaults]\nkeep_key = \"100h\"\n[servers.a.tools.t]\nkeep = \"101h\"",
        (4, 8),
        "servers.a.tools.t.keep",
        "longer than its key",
        "at most keep_key",
    ),
    (
        "[servers.a.tools.\"list_*\"]\n[servers.a.tools.\"*_list\"]",
        (2, 18),
        "servers.a.tools.\"*_list\"",
        "ambiguous: `*_list` can match the same tool as `list_*` (line 1)",
        "exact names",
    ),
];

const PRINCIPALS: &[Wrong] = &[
    ("principals = 1", (1, 14), "principals", "list of tables", "[[principals]]"),
    ("[[principals]]\ntoken_env = \"A\"", (1, 1), "principals[0]", "no name", "name"),
    ("[[principals]]\nname = \"a\"", (1, 1), "principals[0]", "where this principal's token is", "exactly one"),
    (
        "[[principals]]\nname = \"a\"\ntoken_env = \"A\"\ntoken_file = \"b\"",
        (1, 1),
        "principals[0]",
        "two places",
        "exactly one",
    ),
    ("[[principals]]\nname = \"a\"\ntoken_sha256 = \"ab\"", (3, 16), "principals[0].token_sha256", "SHA-256", "64 hex"),
    ("[[principals]]\nname = \"a\"\ntoken = \"s3cret\"", (3, 1), "principals[0].token", "committed", "token_env"),
    (
        "[[principals]]\nname = \"a\"\ntoken_env = \"A\"\n[[principals]]\nname = \"a\"\ntoken_env = \"B\"",
        (4, 1),
        "principals[1]",
        "line 1 has this name",
        "for each",
    ),
    (
        "[[principals]]\nname = \"a\"\ntoken_env = \"A\"\n[[principals]]\nname = \"b\"\ntoken_env = \"A\"",
        (4, 1),
        "principals[1]",
        "line 1 has this token",
        "for each",
    ),
];

#[test]
fn every_problem_has_file_place_key_reason_and_what_is_allowed() {
    for (text, (line, column), key, what, allowed) in [TIMES, VALUES, TABLES, PRINCIPALS].concat() {
        let wrong = parse(text).expect_err(text);
        let [problem] = wrong.problems() else { panic!("one problem in {text}\n{wrong}") };
        assert_eq!(problem.file, "p.toml");
        assert_eq!((problem.place.line, problem.place.column), (line, column), "{text}\n{wrong}");
        assert_eq!(problem.key, key, "{text}");
        assert!(problem.what.contains(what), "{text}\n{wrong}");
        assert!(problem.allowed.as_ref().is_some_and(|text| text.contains(allowed)), "{text}\n{wrong}");
    }
}

#[test]
fn unknown_keys_are_refused_with_the_one_that_was_meant() {
    for (text, line, key, meant) in [
        ("[default]\n", 1, "default", Some("defaults")),
        ("[defaults]\nwiat = \"1s\"", 2, "defaults.wiat", Some("wait")),
        ("[defaults]\nmax-hold = \"1s\"", 2, "defaults.max-hold", Some("max_hold")),
        ("[defaults]\ntimeout = \"1s\"", 2, "defaults.timeout", None),
        ("[servers.a]\ncomand = [\"x\"]", 2, "servers.a.comand", Some("command")),
        ("[servers.a.tool.x]\n", 1, "servers.a.tool", Some("tools")),
        ("[servers.a.tools.x]\nurl = \"http://x\"", 2, "servers.a.tools.x.url", None),
        ("[[principals]]\nname = \"a\"\ntoken_evn = \"A\"", 3, "principals[0].token_evn", Some("token_env")),
    ] {
        let wrong = parse(text).expect_err(text);
        let [problem] = wrong.problems() else { panic!("one problem in {text}\n{wrong}") };
        assert_eq!((problem.place.line, problem.key.as_str()), (line, key), "{text}");
        assert_eq!(problem.did_you_mean.as_deref(), meant, "{text}");
        assert!(problem.allowed.is_some(), "{text}");
    }
}

#[test]
fn all_problems_are_told_at_once_and_in_order() {
    let text =
        "[servers.b]\nwait = 5\nttl = \"1\"\n[servers.a.tools.x]\nmode = 1\nlok = \"a\"\n[defaults]\nkeep = \"x\"\n";
    let wrong = parse(text).unwrap_err();
    let places: Vec<_> = wrong.problems().iter().map(|problem| (problem.place.line, problem.key.as_str())).collect();
    let expected = [
        (2, "servers.b.wait"),
        (3, "servers.b.ttl"),
        (5, "servers.a.tools.x.mode"),
        (6, "servers.a.tools.x.lok"),
        (8, "defaults.keep"),
    ];
    assert_eq!(places, expected);
}

#[test]
fn a_problem_reads_like_one_of_a_compiler() {
    let wrong = parse("\n\n[servers.memory.tools.create_entities]\nwait = \"20\"\n").unwrap_err();
    let expected = r#"error: this is no time
 --> p.toml:4:8 (servers.memory.tools.create_entities.wait)
  |
4 | wait = "20"
  |        ^^^^
  = allowed: "0" to "24h", as in "250ms", "20s", "5m""#;
    assert_eq!(wrong.to_string(), expected);
    let error = Error::from(wrong);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().starts_with("the policy file cannot be used: 1 problem\n"), "{error}");
}

#[test]
fn what_may_be_secret_is_never_shown() {
    for text in [
        "[[principals]]\nname = \"a\"\ntoken = \"s3cret\"",
        "[[principals]]\nname = \"a\"\ntoken_sha256 = \"s3cret\"",
        "[servers.a]\ncommand = [\"x\"]\nenv = { A = [\"s3cret\"] }",
        "[servers.a]\ncommand = \"run --token s3cret\"",
        "[servers.a]\nurl = \"http://me:s3cret@x/\"",
        "[servers.a]\ncommand = [\"x\"]\nenv = { A = \"s3cret\" B }",
        "[servers.a]\ntoken = \"s3cret\"",
    ] {
        let wrong = parse(text).expect_err(text);
        assert!(!format!("{wrong} {wrong:?}").contains("s3cret"), "{wrong}\n{wrong:?}");
    }
    let file = parse("[servers.a]\ncommand = [\"x\", \"s3cret\"]\nenv = { A = \"s3cret\" }").unwrap();
    assert!(!format!("{file:?}").contains("s3cret"), "{file:?}");
}

#[test]
fn what_is_no_toml_is_told_by_place() {
    for (text, line) in
        [("[defaults\n", 1), ("[defaults]\nwait = \n", 2), ("[defaults]\nwait = \"1s\"\nwait = \"2s\"\n", 3)]
    {
        let wrong = parse(text).expect_err(text);
        assert_eq!(wrong.problems()[0].place.line, line, "{wrong}");
        assert!(wrong.problems()[0].what.starts_with("this is no TOML: "), "{wrong}");
    }
}

#[test]
fn columns_count_characters_and_lines_survive_windows() {
    let wrong = parse("[servers.a]\r\ncommand = [\"é\"]\r\nenv = {\"é\" = 1}\r\n").unwrap_err();
    let place = wrong.problems()[0].place;
    assert_eq!((place.line, place.column), (3, 14));
}

#[test]
fn size_and_numbers_are_bounded() {
    assert!(parse(&"#".repeat(FILE_MAX_BYTES)).is_ok());
    assert!(parse(&"#".repeat(FILE_MAX_BYTES + 1)).unwrap_err().to_string().contains("too large"));
    let many = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
    let servers = |n| many(n, &|i| format!("[servers.s{i}]\n"));
    assert_eq!(parse(&servers(256)).unwrap().servers().count(), 256);
    assert!(parse(&servers(257)).unwrap_err().to_string().contains("more than 256 servers"));
    let tools = |n| many(n, &|i| format!("[servers.a.tools.t{i}]\n"));
    assert!(parse(&tools(1024)).is_ok());
    assert!(parse(&tools(1025)).unwrap_err().to_string().contains("more than 1024 rules"));
    let patterns = |n| many(n, &|i| format!("[servers.a.tools.\"t{i:03}*\"]\n"));
    assert!(parse(&patterns(64)).is_ok());
    assert!(parse(&patterns(65)).unwrap_err().to_string().contains("more than 64 patterns"));
    let wrong = parse(&many(300, &|i| format!("k{i} = 1\n"))).unwrap_err();
    assert_eq!(wrong.problems().len(), 100);
    assert!(wrong.to_string().ends_with("and 200 more"), "{wrong}");
}

#[test]
fn no_text_makes_it_panic() {
    let text = "[defaults]\nlock = [\"a:{x}\", 'b']\nrate = \"10/1s\"\n[servers.a.tools.\"é*\"]\nmode = \"slots:3\"\n\
                [[principals]]\nname = \"a\"\ntoken_env = \"A\"\n";
    assert!(parse(text).is_ok());
    for cut in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        drop(PolicyFile::parse(&text[..cut], "p.toml"));
        drop(PolicyFile::parse(&text[cut..], "p.toml"));
        let mut without = text.to_owned();
        without.remove(cut);
        drop(PolicyFile::parse(&without, "p.toml"));
    }
}
