use http::Request;
use proptest::prelude::*;
use stanchion_core::ErrorKind;
use stanchion_http::KeyTemplate;

fn fill(template: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<String> {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    let template: KeyTemplate = template.parse().expect("a template");
    match template.fill(&parts, body.as_bytes()) {
        Ok(key) => Some(key.as_str().to_owned()),
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Invalid);
            None
        }
    }
}

#[test]
fn holes_are_filled() {
    let tenant = [("X-Tenant", " t1 ")];
    let body = r#"{"order":{"id":7,"kind":"a b","open":true,"sum":7.0,"half":0.5,"deep":{"x":{"y":"z"}}}}"#;
    for (template, path, filled) in [
        ("all", "/", "all"),
        ("order:{path.2}", "/orders/7", "order:7"),
        ("{path.1}/{path.2}", "/orders/7/lines?x=1", "orders/7"),
        ("{path.2}", "/orders/a%20b%2Fc", "a b/c"),
        ("{path.1}", "/orders/", "orders"),
        ("t:{header.x-tenant}", "/", "t:t1"),
        ("{header.X-TENANT}", "/", "t1"),
        ("{body.order.id}", "/", "7"),
        ("{body.order.sum}", "/", "7"),
        ("{body.order.half}", "/", "0.5"),
        ("{body.order.kind}-{body.order.open}", "/", "a b-true"),
        ("{body.order.deep.x.y}", "/", "z"),
        ("{{{path.1}}}", "/a", "{a}"),
    ] {
        assert_eq!(fill(template, path, &tenant, body).as_deref(), Some(filled), "{template} {path}");
        let shown = template.parse::<KeyTemplate>().unwrap().to_string();
        assert_eq!(shown.parse::<KeyTemplate>().unwrap(), template.parse().unwrap(), "{shown}");
    }
}

#[test]
fn one_value_makes_one_key_however_it_is_written() {
    for body in
        [r#"{"id":7}"#, r#"{"id":7.0}"#, r#"{"id":7e0}"#, r#"{"id":70e-1}"#, r#"{"id":"7"}"#, r#"{"\u0069d":7}"#]
    {
        assert_eq!(fill("{body.id}", "/", &[], body).as_deref(), Some("7"), "{body}");
    }
    for path in ["/orders/7", "/orders/%37", "/%6frders/7/", "//orders/7", "/orders//7"] {
        assert_eq!(fill("{path.2}", path, &[], "").as_deref(), Some("7"), "{path}");
    }
}

#[test]
fn what_cannot_be_filled_is_refused() {
    let long = format!("/{}", "x".repeat(513));
    for (template, path, body) in [
        ("{path.2}", "/orders", ""),
        ("{path.2}", "/orders/", ""),
        ("{path.1}", "/", ""),
        ("{path.2}", "/orders/7/../8", ""),
        ("{path.2}", "/orders/7/%2e%2E/8", ""),
        ("{path.2}", "/orders/./7", ""),
        ("{path.1}", "/%zz", ""),
        ("{path.1}", "/%f", ""),
        ("{path.1}", "/%ff", ""),
        ("{path.1}", "/a%0ab", ""),
        ("{path.1}", &*long, ""),
        ("{header.x-tenant}", "/", ""),
        ("{body.id}", "/", ""),
        ("{body.id}", "/", "[]"),
        ("{body.id}", "/", r#"{"id":[1]}"#),
        ("{body.id}", "/", r#"{"id":{}}"#),
        ("{body.id}", "/", r#"{"id":1,"id":2}"#),
        ("{body.0}", "/", r#"["a"]"#),
    ] {
        assert_eq!(fill(template, path, &[], body), None, "{template} {path} {body}");
    }
    assert_eq!(fill("{header.x-tenant}", "/", &[("x-tenant", "a"), ("x-tenant", "b")], ""), None);
    assert_eq!(fill("{header.x-tenant}", "/", &[("x-tenant", "")], ""), None);
}

#[test]
fn bad_templates_are_refused_when_they_are_read() {
    let long = "x".repeat(513);
    for template in [
        "",
        "{",
        "}",
        "a}",
        "{path.2",
        "{path}",
        "{path.}",
        "{path.0}",
        "{path.65}",
        "{path.x}",
        "{path.-1}",
        "{query.a}",
        "{header.}",
        "{header.a b}",
        "{body.}",
        "{body.a..b}",
        "{}",
        "a\nb",
        &*long,
    ] {
        assert_eq!(template.parse::<KeyTemplate>().unwrap_err().kind(), ErrorKind::Invalid, "{template:?}");
    }
}

proptest! {
    #[test]
    fn no_template_or_request_makes_it_panic(template in ".{0,40}", path in "/[a-z0-9%/.]{0,30}", body in ".{0,40}") {
        if let (Ok(template), Ok(request)) = (template.parse::<KeyTemplate>(), Request::post(path).body(())) {
            template.fill(&request.into_parts().0, body.as_bytes()).ok();
        }
    }
}
