use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use stanchion_http::key::{BadKey, IDEMPOTENCY_KEY, KEY_CHARS_MAX, KeyRules};

fn read(rules: &KeyRules, lines: &[&[u8]]) -> Result<Option<String>, BadKey> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(rules.header_name(), HeaderValue::from_bytes(line).expect("a header value"));
    }
    rules.read(&headers).map(|key| key.map(|key| key.as_str().to_owned()))
}

fn one(line: &str) -> Result<Option<String>, BadKey> {
    read(&KeyRules::required(), &[line.as_bytes()])
}

#[test]
fn quoted_and_bare_forms_are_the_same_key() {
    for (line, key) in [
        ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        (r#""8e03978e-40d5-43dd-bc93-6894a57f9324""#, "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ("  padded  ", "padded"),
        (r#"  "padded"  "#, "padded"),
        ("two words", "two words"),
        (r#""two words""#, "two words"),
        (r#"" kept ""#, " kept "),
        (r#""a\"b\\c""#, r#"a"b\c"#),
        (r"a\c", r"a\c"),
        ("a;b=c", "a;b=c"), // the bare form has no parameters
        (r#""a;b=c""#, "a;b=c"),
        (r#""a,b""#, "a,b"),
        ("~!@#$%^&*()_+{}|<>?", "~!@#$%^&*()_+{}|<>?"),
    ] {
        assert_eq!(one(line), Ok(Some(key.to_owned())), "{line}");
    }
}

#[test]
fn parameters_are_checked_and_ignored() {
    for line in [r#""k";a=b"#, r#""k";a"#, r#""k";  a=1;b="x;\"y\"";c=?0;d=:aGk=:;e=1.5"#, r#""k";*x=@1659578233"#] {
        assert_eq!(one(line), Ok(Some("k".to_owned())), "{line}");
    }
    for (line, at) in [
        (r#""k";"#, 3),
        (r#""k";A=1"#, 3),
        (r#""k";a="#, 3),
        (r#""k";a="open"#, 3),
        (r#""k";a= b"#, 3),
        (r#""k"x"#, 3),
        (r#""k" ;a=b"#, 3),
        (r#""k"""#, 3),
        (r#""k";a=b c"#, 7),
    ] {
        assert_eq!(one(line), Err(BadKey::AfterTheKey { at }), "{line}");
    }
}

#[test]
fn bad_keys_are_refused_with_the_rule_they_break() {
    for (line, bad) in [
        (&b""[..], BadKey::Empty),
        (b"   ", BadKey::Empty),
        (br#""""#, BadKey::Empty),
        (br#""   ""#, BadKey::Empty),
        (br#"""#, BadKey::UnterminatedQuote),
        (br#""open"#, BadKey::UnterminatedQuote),
        (br#""open\""#, BadKey::UnterminatedQuote),
        (br#""open\"#, BadKey::UnterminatedQuote),
        (br#""a\nb""#, BadKey::BadEscape { at: 2 }),
        (br#"half""#, BadKey::BadCharacter { at: 4 }),
        (b"tab\there", BadKey::BadCharacter { at: 3 }),
        (b"\"tab\there\"", BadKey::BadCharacter { at: 4 }),
        ("schl\u{fc}ssel".as_bytes(), BadKey::BadCharacter { at: 4 }),
        ("\"schl\u{fc}ssel\"".as_bytes(), BadKey::BadCharacter { at: 5 }),
        (b"\xff", BadKey::BadCharacter { at: 0 }),
        (b"one, two", BadKey::Repeated),
        (br#""one", "two""#, BadKey::Repeated),
        (br#""one" , "two""#, BadKey::Repeated),
    ] {
        let shown = String::from_utf8_lossy(line);
        assert_eq!(read(&KeyRules::required(), &[line]), Err(bad), "{shown}");
        // A key that is there but bad is never taken for no key.
        assert_eq!(read(&KeyRules::optional(), &[line]), Err(bad), "{shown}");
    }
}

#[test]
fn a_missing_header_matters_only_where_it_is_required() {
    assert_eq!(read(&KeyRules::required(), &[]), Err(BadKey::Missing));
    assert_eq!(read(&KeyRules::optional(), &[]), Ok(None));
}

#[test]
fn two_header_lines_are_refused_even_if_equal() {
    for rules in [KeyRules::required(), KeyRules::optional()] {
        assert_eq!(read(&rules, &[b"a", b"b"]), Err(BadKey::Repeated));
        assert_eq!(read(&rules, &[b"a", b"a"]), Err(BadKey::Repeated));
    }
}

#[test]
fn the_limit_counts_characters_of_the_key() {
    let (fits, over) = ("k".repeat(255), "k".repeat(256));
    assert!(one(&fits).is_ok() && one(&format!("\"{fits}\"")).is_ok());
    assert_eq!(one(&over), Err(BadKey::TooLong { max_chars: 255 }));
    assert_eq!(one(&format!("\"{over}\"")), Err(BadKey::TooLong { max_chars: 255 }));
    assert_eq!(one(&"k".repeat(300)), Err(BadKey::TooLong { max_chars: 255 }));
    // Escapes do not count twice.
    assert!(one(&format!("\"{}\"", r#"\""#.repeat(255))).is_ok());
    assert!(KeyRules::required().max_chars(0).is_err() && KeyRules::required().max_chars(KEY_CHARS_MAX + 1).is_err());
    let narrow = KeyRules::required().max_chars(36).unwrap();
    assert_eq!(read(&narrow, &["k".repeat(37).as_bytes()]), Err(BadKey::TooLong { max_chars: 36 }));
}

#[test]
fn the_answer_is_400_and_names_header_and_rule() {
    for bad in [BadKey::Missing, BadKey::Empty, BadKey::Repeated, BadKey::TooLong { max_chars: 255 }] {
        let problem = bad.problem(&IDEMPOTENCY_KEY);
        let json = problem.to_json();
        assert_eq!((json["status"].as_u64(), json["mayHaveExecuted"].as_bool()), (Some(400), Some(false)));
        assert_eq!(json["detail"], format!("idempotency-key: {bad}"));
        let slug = if bad == BadKey::Missing { "idempotency-key-missing" } else { "idempotency-key-invalid" };
        assert!(json["type"].as_str().unwrap().ends_with(slug));
    }
}

proptest! {
    /// What a correct client writes is read back, quoted; and bare where the bare form can say it.
    #[test]
    fn every_printable_key_survives(key in "[ -~]{1,255}") {
        prop_assume!(!key.trim().is_empty());
        let quoted = format!("\"{}\"", key.replace('\\', r"\\").replace('"', r#"\""#));
        prop_assert_eq!(one(&quoted), Ok(Some(key.clone())));
        if !key.contains(['"', ',']) && key.trim() == key {
            prop_assert_eq!(one(&key), Ok(Some(key)));
        }
    }

    #[test]
    fn no_header_makes_it_panic_or_gives_a_key_out_of_range(line in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(value) = HeaderValue::from_bytes(&line) {
            let headers = HeaderMap::from_iter([(IDEMPOTENCY_KEY, value)]);
            if let Ok(Some(key)) = KeyRules::optional().read(&headers) {
                prop_assert!((1..=255).contains(&key.as_str().len()));
                prop_assert!(key.as_str().bytes().all(|b| (b' '..=b'~').contains(&b)));
            }
        }
    }
}
