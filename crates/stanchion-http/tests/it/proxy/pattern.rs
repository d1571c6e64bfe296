use stanchion_http::proxy::PathPattern;

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

#[test]
fn bad_patterns_are_refused() {
    let long = format!("/{}", "x".repeat(1024));
    for pattern in ["", "a", "*", "**", "/a**", "/**/a", "/a/../b", "/.", "/a?b", "/a#b", &long] {
        assert!(pattern.parse::<PathPattern>().is_err(), "{pattern}");
    }
}
