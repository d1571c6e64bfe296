use std::time::Duration;

use http::HeaderMap;
use proptest::prelude::*;
use stanchion_core::ErrorKind;
use stanchion_http::webhook::{Rejected, SECRETS_MAX, Stripe, Verified};

use super::{BINARY, SIGNED, bytes, changed, headers};

const FIRST: &str = "whsec_first_0123456789abcdef";
const SECOND: &str = "whsec_second_0123456789abcde";
const BODY: &[u8] = br#"{"id":"evt_7"}"#;
const BY_FIRST: &str = "5998817ced012a0e04d9bb738122adfaaa743171eb3e770a911019b863070ade";
const BY_SECOND: &str = "b48264857d92791dd7db059dd908d6ebf63d15c9376258f4d7342acdc6075c56";
const HEADER: &str = "stripe-signature";

fn first() -> Stripe {
    Stripe::new([FIRST]).expect("a good secret")
}

fn delivery(value: &str) -> HeaderMap {
    headers(&[("Stripe-Signature", value)])
}

fn by_first() -> HeaderMap {
    delivery(&format!("t=1700000000,v1={BY_FIRST}"))
}

fn good(id: Option<&str>) -> Result<Verified, Rejected> {
    Ok(Verified { id: id.map(str::to_owned), signed_at: SIGNED })
}

#[test]
fn good_deliveries_are_accepted_and_their_event_is_named() {
    let cases: [(&str, &[u8], &str, Option<&str>); 6] = [
        (FIRST, BODY, BY_FIRST, Some("evt_7")),
        (FIRST, b"", "190001a60ff3cdc5f673325491d0ed2d6eed8eabf7692e5912edd4b28a4ae5cd", None),
        (FIRST, BINARY, "0d385daf2bdad9e246358331a98cccb352892eca0dfae4190a0069aa15cf8585", None),
        (SECOND, BODY, BY_SECOND, Some("evt_7")),
        (SECOND, b"", "4b90c093516a50c2d842c6076944d5fb8e96f2469996e1d3911a38b3ca670faa", None),
        (SECOND, BINARY, "5258b5d319ab316e55d22133b01235b948406691c7e5167a0ec991e52ba65809", None),
    ];
    for (secret, body, signature, id) in cases {
        let headers = delivery(&format!("t=1700000000,v1={signature}"));
        assert_eq!(Stripe::new([secret]).unwrap().verify(&headers, body, SIGNED), good(id), "{body:?}");
    }
}

#[test]
fn any_secret_and_any_signature_may_match() {
    let both = Stripe::new([SECOND, FIRST]).unwrap();
    let zero = "0".repeat(64);
    for value in [
        format!("t=1700000000,v1={BY_SECOND}"),
        format!("t=1700000000,v1={BY_SECOND},v1={BY_FIRST}"),
        format!("t=1700000000,v1={zero},v1={BY_FIRST},v0={zero}"),
        format!("v1=,v1=short,v1={BY_FIRST},t=1700000000"),
    ] {
        assert_eq!(both.verify(&delivery(&value), BODY, SIGNED), good(Some("evt_7")), "{value}");
    }
    // Control: once the old secret is taken away, what it signed is refused.
    let late = first().verify(&delivery(&format!("t=1700000000,v1={BY_SECOND}")), BODY, SIGNED);
    assert_eq!(late, Err(Rejected::NoSecretMatched));
}

#[test]
fn the_time_stamp_is_judged_in_both_directions() {
    let at = |now| first().verify(&by_first(), BODY, now);
    assert_eq!(at(SIGNED + 300), good(Some("evt_7")));
    assert_eq!(at(SIGNED + 301), Err(Rejected::TooOld { age_s: 301, tolerance_s: 300 }));
    assert_eq!(at(SIGNED - 300), good(Some("evt_7")));
    assert_eq!(at(SIGNED - 301), Err(Rejected::TooFarInTheFuture { ahead_s: 301, tolerance_s: 300 }));
    let wide = first().tolerance(Duration::from_secs(600)).unwrap();
    assert_eq!(wide.verify(&by_first(), BODY, SIGNED + 600), good(Some("evt_7")));
    assert!(first().tolerance(Duration::ZERO).is_err());
    assert!(matches!(first().verify_now(&by_first(), BODY), Err(Rejected::TooOld { .. })));
}

#[test]
fn bad_headers_have_reasons() {
    let missing = first().verify(&HeaderMap::new(), BODY, SIGNED);
    assert_eq!(missing, Err(Rejected::MissingHeader { header: HEADER }));
    let hex = "a v1 signature is not 64 lower-case hex digits";
    let stamp = "the time stamp is not a number of seconds since 1970";
    let upper = format!("t=1700000000,v1={}", BY_FIRST.to_uppercase());
    let long = format!("t=1700000000,v1={}", "0".repeat(5000));
    for (value, why) in [
        ("", "it is empty"),
        ("é", "it contains something other than printable ASCII"),
        (&long, "it is longer than 4096 bytes"),
        ("garbage", "a part is not name=value"),
        ("t=1700000000", "it has no signature"),
        ("t=1700000000,", "a part is not name=value"),
        (&format!("v1={BY_FIRST}"), "it has no time stamp"),
        (&format!("t=1700000000,t=1700000000,v1={BY_FIRST}"), "it has two time stamps"),
        (&format!("t=,v1={BY_FIRST}"), stamp),
        (&format!("t=soon,v1={BY_FIRST}"), stamp),
        (&format!("t=-5,v1={BY_FIRST}"), stamp),
        (&format!("t=1700000000000,v1={BY_FIRST}"), stamp),
        ("t=1700000000,v1=", hex),
        ("t=1700000000,v1=00", hex),
        (&format!("t=1700000000,v1={BY_FIRST}00"), hex),
        (&format!("t=1700000000,v1={}", "g".repeat(64)), hex),
        (&upper, hex),
    ] {
        let verified = first().verify(&delivery(value), BODY, SIGNED);
        assert_eq!(verified, Err(Rejected::Malformed { header: HEADER, why }), "{value}");
    }
    let mut twice = by_first();
    twice.append(HEADER, twice[HEADER].clone());
    assert!(matches!(first().verify(&twice, BODY, SIGNED), Err(Rejected::Malformed { .. })));
    let v0 = first().verify(&delivery(&format!("t=1700000000,v0={BY_FIRST}")), BODY, SIGNED);
    assert!(matches!(v0, Err(Rejected::UnsupportedScheme { .. })));
}

#[test]
fn wrong_secrets_are_refused_and_never_shown() {
    let long = format!("whsec_{}", "x".repeat(250));
    let api_key = "sk_live_51AbCdEfGhIjKlMnOp";
    for secrets in [
        vec![],
        vec![FIRST; SECRETS_MAX + 1],
        vec![""],
        vec!["whsec_"],
        vec![api_key],
        vec![&long],
        vec!["whsec_first 0123456789abcdef"],
        vec!["whsec_first_0123456789abcdef\n"],
    ] {
        let e = Stripe::new(&secrets).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Invalid, "{secrets:?}");
        assert!(!format!("{e} {e:?}").contains("51AbCd") && !format!("{e:?}").contains("first"), "{e:?}");
    }
    let shown = format!("{:?}", first());
    assert!(shown.contains("hidden") && !shown.contains("first_"), "{shown}");
}

#[test]
fn a_rejection_is_a_problem_document_without_secrets() {
    let rejected = first().verify(&by_first(), b"{}", SIGNED).unwrap_err();
    let problem = rejected.problem();
    let json = problem.to_json().to_string();
    assert_eq!((problem.status().as_u16(), problem.may_have_executed()), (400, false));
    assert!(!json.contains("first_") && !json.contains(BY_FIRST), "{json}");
}

proptest! {
    #[test]
    fn a_change_of_one_byte_is_refused(in_body in any::<bool>(), at in 0..100usize, by in 1..=255u8) {
        prop_assert!(first().verify(&by_first(), BODY, SIGNED).is_ok());
        let (mut headers, mut body) = (by_first(), BODY.to_vec());
        if in_body {
            body = changed(BODY, at, by);
        } else {
            let Ok(value) = http::HeaderValue::from_bytes(&changed(headers[HEADER].as_bytes(), at, by)) else {
                return Ok(());
            };
            headers.insert(HEADER, value);
        }
        prop_assert!(first().verify(&headers, &body, SIGNED).is_err());
    }

    #[test]
    fn no_header_makes_it_panic(value in "(t|v1|v0|x)?=?[0-9a-f,=]{0,80}", body in any::<Vec<u8>>()) {
        prop_assert!(first().verify(&headers(&[(HEADER, &value)]), &body, SIGNED).is_err());
        prop_assert!(first().verify(&HeaderMap::from_iter([(http::header::HOST, bytes(b"a"))]), &body, SIGNED).is_err());
    }
}
