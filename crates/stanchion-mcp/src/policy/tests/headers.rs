use super::super::{HeaderSource, PolicyFile, Target};
use super::parse;

fn server(headers: &str) -> String {
    format!("[servers.a]\nurl = \"https://x\"\nheaders = {headers}\n")
}

fn read(file: &PolicyFile) -> Vec<(String, HeaderSource)> {
    let Some(Target::Url { headers, .. }) = &file.servers().next().unwrap().1.target else { panic!("{file:?}") };
    headers.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}

#[test]
fn values_are_named_by_variable_or_file() {
    for (written, name, value) in [
        ("{ Authorization = \"env:CRM_AUTH\" }", "authorization", HeaderSource::Env("CRM_AUTH".into())),
        ("{ Cookie = \"env:_c\" }", "cookie", HeaderSource::Env("_c".into())),
        ("{ \"X-Api-Key\" = \"file:/run/a b:c\" }", "x-api-key", HeaderSource::File("/run/a b:c".into())),
        ("{ x-mcp-tenant = \"file:tenant\" }", "x-mcp-tenant", HeaderSource::File("tenant".into())),
    ] {
        assert_eq!(read(&parse(&server(written)).unwrap()), [(name.to_owned(), value)], "{written}");
    }
    assert!(read(&parse("[servers.a]\nurl = \"http://x\"\n").unwrap()).is_empty());
}

#[test]
fn what_is_wrong_is_told_with_place_key_and_what_is_allowed() {
    for (written, column, key, what, allowed) in [
        ("3", 11, "headers", "not a number", "by name"),
        ("[\"A: b\"]", 11, "headers", "not a list", "by name"),
        ("{ \"\" = \"env:A\" }", 13, "headers", "no name of a header", "by name"),
        ("{ \"a b\" = \"env:A\" }", 13, "headers", "no name of a header", "by name"),
        ("{ \"A: s3cret\" = \"env:A\" }", 13, "headers", "no name of a header", "by name"),
        ("{ A = 1 }", 17, "headers.A", "not a number", "env:NAME"),
        ("{ A = \"\" }", 17, "headers.A", "does not belong here", "file:PATH"),
        ("{ A = \"s3cret\" }", 17, "headers.A", "shown, copied and committed", "file:PATH"),
        ("{ A = \"Bearer:s3cret\" }", 17, "headers.A", "shown, copied and committed", "file:PATH"),
        ("{ A = \"ENV:B\" }", 17, "headers.A", "does not belong here", "env:NAME"),
        ("{ A = \"env:\" }", 17, "headers.A", "no name of a variable", "env:NAME"),
        ("{ A = \"env:1B\" }", 17, "headers.A", "no name of a variable", "env:NAME"),
        ("{ A = \"env:Bearer s3cret\" }", 17, "headers.A", "no name of a variable", "env:NAME"),
        ("{ A = \"env:$B\" }", 17, "headers.A", "no name of a variable", "env:NAME"),
        ("{ A = \"file:\" }", 17, "headers.A", "no path", "file:PATH"),
        ("{ A = \"file:\\u0000\" }", 17, "headers.A", "no path", "file:PATH"),
        ("{ A = \"env:B\", a = \"env:C\" }", 26, "headers.a", "twice", "one of them"),
    ] {
        let wrong = parse(&server(written)).expect_err(written);
        let [problem] = wrong.problems() else { panic!("one problem in {written}\n{wrong}") };
        assert_eq!((problem.place.line, problem.place.column), (3, column), "{written}\n{wrong}");
        assert_eq!(problem.key, format!("servers.a.{key}"), "{written}");
        assert!(problem.what.contains(what), "{written}\n{wrong}");
        assert!(problem.allowed.as_ref().is_some_and(|text| text.contains(allowed)), "{written}\n{wrong}");
        assert!(!format!("{wrong} {wrong:?}").contains("s3cret"), "{wrong:?}");
    }
}

#[test]
fn headers_with_a_meaning_of_their_own_are_refused() {
    for name in [
        "Accept",
        "Accept-Encoding",
        "Connection",
        "Content-Encoding",
        "Content-Length",
        "content-type",
        "Expect",
        "HOST",
        "Idempotency-Key",
        "Keep-Alive",
        "Last-Event-ID",
        "Mcp-Session-Id",
        "mcp-param-x",
        "MCP-Protocol-Version",
        "Proxy-Authenticate",
        "Proxy-Authorization",
        "Proxy-Connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
    ] {
        let wrong = parse(&server(&format!("{{ {name} = \"env:A\" }}"))).expect_err(name);
        assert!(wrong.to_string().contains("meaning of its own"), "{wrong}");
        assert_eq!(wrong.problems()[0].key, format!("servers.a.headers.{name}"));
    }
}

#[test]
fn they_belong_to_an_address_and_a_fence_has_a_header_of_its_own() {
    let fence = "[servers.a.tools.t]\nlock = \"x\"\nfence = \"header:x-fence\"\n";
    for (text, line, what) in [
        ("[servers.a]\ncommand = [\"x\"]\nheaders = { A = \"env:B\" }".to_owned(), 3, "belongs to an address"),
        ("[servers.a]\nheaders = { A = \"env:B\" }".to_owned(), 2, "belongs to an address"),
        ("[servers.a]\ncommand = [\"x\"]\nca = \"/x.pem\"".to_owned(), 3, "belongs to an address"),
        ("[servers.a]\nurl = \"http://x\"\nca = \"/x.pem\"".to_owned(), 3, "without TLS"),
        ("[servers.a]\nurl = \"https://x\"\nca = \"\"".to_owned(), 3, "no file"),
        ("[servers.a]\nurl = \"https://x\"\nca = [\"/x.pem\"]".to_owned(), 3, "no file"),
        (format!("{}{fence}", server("{ X-Fence = \"env:B\" }")), 6, "set this header, too"),
    ] {
        let wrong = parse(&text).expect_err(&text);
        let [problem] = wrong.problems() else { panic!("one problem in {text}\n{wrong}") };
        assert_eq!(problem.place.line, line, "{wrong}");
        assert!(problem.what.contains(what) && problem.allowed.is_some(), "{wrong}");
    }
    assert!(parse(&format!("{}{fence}", server("{ X-Other = \"env:B\" }"))).is_ok());
}

#[test]
fn they_are_bounded() {
    let many = |n| server(&format!("{{ {} }}", (0..n).map(|i| format!("h{i} = \"env:A\", ")).collect::<String>()));
    let many = |n| many(n).replace(",  }", " }");
    assert_eq!(read(&parse(&many(32)).unwrap()).len(), 32);
    assert!(parse(&many(33)).unwrap_err().to_string().contains("more than 32 headers"));
    let long = |n| server(&format!("{{ {} = \"env:A\" }}", "h".repeat(n)));
    assert!(parse(&long(128)).is_ok());
    assert!(parse(&long(129)).unwrap_err().to_string().contains("no name of a header"));
}
