//! What is refused, and what the page says.

use super::*;

const GOOD: &str = r#"
version = 1
name = "x"
[target]
kind = "mcp-stdio"
command = ["node", "{root}/dist/index.js"]
[[call]]
tool = "add"
arguments = { name = "{id}" }
[read]
tool = "list"
select = "/names/*"
[expect]
every = "{id}"
"#;

const SET: &str = r#"
version = 1
name = "x"
[target]
kind = "mcp-stdio"
command = ["true"]
[[call]]
tool = "add"
operation = { do = "insert", value = "{id}", gives = "/new" }
[expect]
linearizable = "set"
"#;

/// The examples of `docs/race-spec.md`.
fn examples() -> Vec<String> {
    let page = include_str!("../../../../docs/race-spec.md");
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(str::to_owned).collect()
}

fn problems(text: &str) -> String {
    match Spec::parse(text, "p.toml") {
        Ok(_) => String::new(),
        Err(wrong) => wrong.to_string(),
    }
}

#[test]
fn every_example_of_the_page_is_read() {
    let examples = examples();
    assert_eq!(examples.len(), 3);
    for example in examples {
        assert_eq!(problems(&example), "", "{example}");
    }
}

#[test]
fn defaults_are_those_of_the_page() {
    let spec = Spec::parse(GOOD, "p.toml").unwrap();
    assert_eq!((spec.target.instances, spec.target.start.as_secs(), spec.calls[0].times), (2, 10, 20));
    let limits = spec.limits;
    assert_eq!((limits.calls, limits.run.as_secs(), limits.rounds, limits.call.as_secs()), (2000, 30, 20, 10));
    let faults = spec.faults;
    assert_eq!((faults.delay_ms, faults.pause_ms, faults.restart_ms, faults.chance), ((0, 50), 2000, 0, 0.2));
    assert_eq!(spec.target.cwd.fill(&Vars { dir: "/d".into(), ..Vars::default() }), "/d");
}

#[test]
fn whatever_is_wrong_is_told_with_its_place_and_the_next_step() {
    let http = GOOD
        .replace("\"mcp-stdio\"", "\"http\"\nurls = [\"http://127.0.0.1:{port}\"]")
        .replace("tool = \"add\"\narguments = { name = \"{id}\" }", "path = \"/add\"")
        .replace("tool = \"list\"", "path = \"/list\"");
    assert_eq!((problems(&http), problems(SET)), (String::new(), String::new()));
    let cases: &[(&str, &str, &str, &str)] = &[
        (GOOD, "version = 1", "version = 2", "(version)\n  = allowed: a whole number, 1 to 1"),
        (GOOD, "version = 1", "", "`version` is needed"),
        (GOOD, "name = \"x\"", "nmae = \"x\"", "did you mean `name`?"),
        (GOOD, "kind =", "knid =", "`kind` is needed"),
        (GOOD, "\"mcp-stdio\"", "\"mcp-stdoi\"", "did you mean \"mcp-stdio\"?"),
        (GOOD, "command = [\"node\", \"{root}/dist/index.js\"]", "", "`command` is needed"),
        (GOOD, "command =", "instances = 17\ncommand =", "(target.instances)\n  = allowed: a whole number, 1 to 16"),
        (GOOD, "command =", "urls = []\ncommand =", "mcp-stdio has no addresses"),
        (GOOD, "{root}", "{id}", "{id} means nothing here"),
        (GOOD, "tool = \"add\"", "", "`tool` is needed"),
        (GOOD, "tool = \"add\"", "tool = \"add\"\npath = \"/\"", "belongs to HTTP"),
        (GOOD, "tool = \"add\"", "tool = \"add\"\nselect = \"/a\"", "only [read] selects"),
        (GOOD, "tool = \"add\"", "tool = \"add\"\ntimes = 0", "(call.0.times)"),
        (GOOD, "tool = \"add\"", "tool = \"add\"\ntimes = 3000", "one round has 3000 calls, and only 2000"),
        (GOOD, "tool = \"add\"", "tool = \"add\"\nfaults = [\"reset\"]", "pipes cannot be reset"),
        (GOOD, "tool = \"add\"", "tool = \"add\"\nfaults = [\"dealy\"]", "did you mean \"delay\"?"),
        (GOOD, "tool = \"list\"", "tool = \"list\"\ntimes = 2", "made once on every instance"),
        (GOOD, "\"/names/*\"", "\"names\"", "not a JSON pointer"),
        (GOOD, "every = \"{id}\"", "", "nothing is expected"),
        (GOOD, "every = \"{id}\"", "effects = \"once\"", "add [upstream]"),
        (GOOD, "every = \"{id}\"", "unique = false", "(expect.unique)"),
        (GOOD, "every = \"{id}\"", "count = 1.5", "(expect.count)"),
        (GOOD, "every = \"{id}\"", "linearizable = \"stack\"", "register, counter, set, mutex"),
        (GOOD, "tool = \"add\"", "tool = \"add\"\noperation = { do = \"add\" }", "only `expect.linearizable` asks"),
        (GOOD, "every = \"{id}\"", "linearizable = \"set\"", "with one of: insert, remove, contains, list"),
        (SET, "\"insert\"", "\"isnert\"", "did you mean \"insert\"?"),
        (SET, "do = \"insert\", ", "", "`do` is needed"),
        (SET, "\"insert\"", "\"write\"", "allowed: insert, remove, contains, list"),
        (SET, "value = \"{id}\", ", "", "`value` is needed"),
        (SET, "gives = \"/new\"", "gives = \"new\"", "not a JSON pointer"),
        (SET, "gives = \"/new\"", "client = \"a\"", "only a mutex asks who calls"),
        (SET, "gives = \"/new\"", "from = 1", "only `cas` replaces a value"),
        (SET, "gives = \"/new\"", "error = \"yes\"", "not a known word"),
        (SET, ", gives = \"/new\"", "", "no operation gives anything"),
        (SET, "\"insert\", value = \"{id}\", gives = \"/new\"", "\"list\"", "its answer is not found"),
        (
            GOOD,
            "select = \"/names/*\"\n[expect]\nevery = \"{id}\"",
            "[expect]\nunique = true",
            "add `select` to [read]",
        ),
        (GOOD, "[read]\ntool = \"list\"\nselect = \"/names/*\"", "", "add [read]"),
        (GOOD, "[expect]", "[faults]\nchance = 1.5\n[expect]", "(faults.chance)"),
        (GOOD, "[expect]", "[faults]\ndelay_ms = [5, 1]\n[expect]", "(faults.delay_ms)"),
        (GOOD, "[expect]", "[limits]\nseconds = 0\n[expect]", "(limits.seconds)"),
        (GOOD, "[read]", "# fill in: the tool that lists\n[read]", "still to be filled in: the tool that lists"),
        (GOOD, "version = 1", "version = ", "allowed: TOML"),
        (&http, "{port}", "80", "with `command` there is one address, with {port} in it"),
        (&http, "http://127", "https://127", "does not begin with http://"),
        (&http, "path = \"/add\"", "path = \"add\"", "the path does not begin with /"),
        (&http, "path = \"/add\"", "path = \"/add\"\nmethod = \"PSOT\"", "did you mean \"POST\"?"),
        (&http, "path = \"/add\"", "path = \"/add\"\nbody = 3", "neither a table nor a text"),
        (&http, "command = [\"node\", \"{root}/dist/index.js\"]", "", "{port} is used, and nothing is started"),
        (&http, "\"{root}/dist", "\"{upstream}/dist", "add an [upstream] table"),
    ];
    for (text, from, to, expected) in cases {
        assert!(text.contains(from), "{from}");
        let said = problems(&text.replacen(from, to, 1));
        assert!(said.contains(expected), "{from} -> {to}: {said}");
        assert!(said.contains("p.toml:"), "{said}");
    }
}

#[test]
fn one_mistake_is_one_problem() {
    for (from, to) in
        [("\"mcp-stdio\"", "\"mcp\""), ("[target]\nkind", "[target]\nx = 1\nkind"), ("tool = \"add\"", "tool = 3")]
    {
        let wrong = Spec::parse(&GOOD.replacen(from, to, 1), "p.toml").unwrap_err();
        assert_eq!(wrong.problems().len(), 1, "{wrong}");
    }
    let wrong = Spec::parse(&format!("target = 3\n{}", GOOD.replace("[target]", "[limits]")), "p.toml").unwrap_err();
    assert_eq!(wrong.to_string().matches("not a table").count(), 1, "{wrong}");
}

#[test]
fn a_place_is_line_and_column_in_characters() {
    let wrong = Spec::parse(&GOOD.replace("name = \"x\"", "name = 'ä' # ä\nnumber = 3"), "p.toml").unwrap_err();
    let problem = &wrong.problems()[0];
    assert_eq!((problem.line, problem.column, problem.key.as_str()), (4, 1, "number"));
}

#[test]
fn hostile_text_is_refused_and_never_a_panic() {
    let cut = (0..GOOD.len()).filter_map(|at| GOOD.get(..at));
    for text in cut {
        assert!(!problems(text).is_empty() || text.trim_end().ends_with("\"{id}\""), "{text}");
    }
    for text in [
        "\u{0}",
        "[[[[",
        "a = [",
        "call = 3",
        "target = 1\nexpect = 2\nread = 3",
        "[[call]]\n[[call.x]]",
        "{",
        "\u{feff}",
    ] {
        assert!(!problems(text).is_empty(), "{text:?}");
    }
    let many = format!("{GOOD}\n{}", "[[setup]]\ntool = \"x\"\n".repeat(101));
    assert!(problems(&many).contains("at most 100"));
    assert!(problems(&" ".repeat((1 << 20) + 1)).contains("larger than 1 MiB"));
}
