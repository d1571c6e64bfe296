use stanchion_http::KeyTemplate;
use stanchion_http::proxy::PathPattern;

use super::SPELLINGS;

#[test]
fn patterns_match_by_decoded_segments() {
    for (pattern, yes, no) in [
        ("/", &["/", "//"][..], &["/a"][..]),
        ("/a", &["/a", "/a/", "//a", "/%61"], &["/", "/b", "/a/b", "/ab"]),
        ("/a/*", &["/a/b", "/a/%2f"], &["/a", "/a/b/c"]),
        ("/a/*/c", &["/a/b/c"], &["/a/b", "/a/b/d", "/a/b/c/d"]),
        ("/a/**", &["/a", "/a/b", "/a/b/c"], &["/", "/ab"]),
        ("/**", &["/", "/a", "/a/b"], &[]),
    ] {
        let read: PathPattern = pattern.parse().unwrap();
        for path in yes {
            assert!(read.matches(path), "{pattern} {path}");
        }
        for path in no {
            assert!(!read.matches(path), "{pattern} {path}");
        }
        assert_eq!(read.to_string().parse::<PathPattern>().unwrap(), read);
    }
}

/// What a route takes for one path must be one lock: else a spelling evades it.
#[test]
fn each_spelling_has_the_same_route_and_the_same_lock() {
    let route: PathPattern = "/orders/*".parse().unwrap();
    let lock: KeyTemplate = "order:{path.2}".parse().unwrap();
    let of = |path: &str| {
        let (parts, ()) = http::Request::post(path).body(()).unwrap().into_parts();
        (route.matches(path), lock.fill(&parts, b"").ok().map(|key| key.as_str().to_owned()))
    };
    for path in SPELLINGS {
        assert_eq!(of(path), (true, Some("order:7".into())), "{path}");
    }
    assert_eq!(of("/orders/8"), (true, Some("order:8".into())));
    assert_eq!(of("/orders//"), (false, None));
}

#[test]
fn bad_patterns_are_refused() {
    let long = format!("/{}", "x".repeat(1024));
    for pattern in
        ["", "a", "*", "**", "/a**", "/**/a", "/a/../b", "/.", "/a?b", "/a#b", "/a;b", "/a%2fb", "/a%", &long]
    {
        assert!(pattern.parse::<PathPattern>().is_err(), "{pattern}");
    }
}
