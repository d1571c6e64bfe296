use std::time::Duration;

use http::HeaderMap;
use proptest::prelude::*;
use stanchion_core::ErrorKind;
use stanchion_http::webhook::{Rejected, SECRETS_MAX, StandardWebhooks, TOLERANCE_MAX, Verified};

use super::{BINARY, SIGNED, bytes, changed, headers};

const FIRST: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const SECOND: &str = "whsec_ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoOEhYaHiImKi4yNjo+QkZKTlJWWl5iZmpucnZ6foKGiow==";
const BODY: &[u8] = br#"{"a":1}"#;
const BY_FIRST: &str = "v1,YOREwC5BRUvI4ezImQEgEteB7JbPr/Iy2YCZe049/5g=";
const BY_SECOND: &str = "v1,Nk8UEkeTCgM4D53sZ310+ulozxFFak42zKyqm2aVxcA=";

fn first() -> StandardWebhooks {
    StandardWebhooks::new([FIRST]).expect("a good secret")
}

fn delivery(signature: &str) -> HeaderMap {
    headers(&[("webhook-id", "msg_1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", signature)])
}

fn good() -> Result<Verified, Rejected> {
    Ok(Verified { id: Some("msg_1".into()), signed_at: SIGNED })
}

fn malformed(header: &'static str, why: &'static str) -> Result<Verified, Rejected> {
    Err(Rejected::Malformed { header, why })
}

#[test]
fn the_published_vector_is_accepted() {
    let webhooks = StandardWebhooks::new(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]).unwrap();
    let headers = headers(&[
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ]);
    let verified = webhooks.verify(&headers, br#"{"test": 2432232314}"#, 1_614_265_330).unwrap();
    assert_eq!(verified.id.as_deref(), Some("msg_p5jXN8AQM9LWM0D4loKWxJek"));
}

#[test]
fn good_deliveries_are_accepted() {
    let (first, second) = (first(), StandardWebhooks::new([SECOND]).unwrap());
    let cases: [(&StandardWebhooks, &[u8], &str); 6] = [
        (&first, BODY, BY_FIRST),
        (&first, b"", "v1,1mgOj6TVhp3BSMcTTSkIcSqwMImLcuoATUkCX45722Q="),
        (&first, BINARY, "v1,8axPmlOL/RqnXUJF/suBppY1vGFpGfLnftC6G1udsJk="),
        (&second, BODY, BY_SECOND),
        (&second, b"", "v1,sJ+AIoQpWVglV/I2bosTUjoV+kLx/6Wc2QIZfjxN/fA="),
        (&second, BINARY, "v1,/imfXICyunH3ZPNJjYtUvgYZJAxEXewTE5aTKRLKVTI="),
    ];
    for (webhooks, body, signature) in cases {
        assert_eq!(webhooks.verify(&delivery(signature), body, SIGNED), good(), "{body:?}");
    }
}

#[test]
fn any_secret_and_any_signature_of_the_list_may_match() {
    let both = StandardWebhooks::new([FIRST, SECOND]).unwrap();
    for list in [
        BY_FIRST.to_owned(),
        BY_SECOND.to_owned(),
        format!("{BY_SECOND} {BY_FIRST}"),
        format!(
            "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg== {BY_FIRST}"
        ),
        format!("v1, v1,AAAA v9,whatever {BY_FIRST}"),
    ] {
        assert_eq!(both.verify(&delivery(&list), BODY, SIGNED), good(), "{list}");
    }
    // Control: once the old secret is taken away, what it signed is refused.
    assert_eq!(first().verify(&delivery(BY_SECOND), BODY, SIGNED), Err(Rejected::NoSecretMatched));
}

#[test]
fn the_time_stamp_is_judged_in_both_directions() {
    let webhooks = first();
    let at = |now| webhooks.verify(&delivery(BY_FIRST), BODY, now);
    assert_eq!(at(SIGNED + 300), good());
    assert_eq!(at(SIGNED + 301), Err(Rejected::TooOld { age_s: 301, tolerance_s: 300 }));
    assert_eq!(at(SIGNED - 300), good());
    assert_eq!(at(SIGNED - 301), Err(Rejected::TooFarInTheFuture { ahead_s: 301, tolerance_s: 300 }));
    assert_eq!(at(0), Err(Rejected::TooFarInTheFuture { ahead_s: SIGNED, tolerance_s: 300 }));
    assert_eq!(at(u64::MAX), Err(Rejected::TooOld { age_s: u64::MAX - SIGNED, tolerance_s: 300 }));
    let strict = first().tolerance(Duration::from_secs(1)).unwrap();
    assert!(strict.verify(&delivery(BY_FIRST), BODY, SIGNED + 2).is_err());
}

#[test]
fn the_convenience_reads_the_real_clock() {
    // Signed in 2023: authentic, and by any real clock too old.
    let rejected = first().verify_now(&delivery(BY_FIRST), BODY).unwrap_err();
    assert!(matches!(rejected, Rejected::TooOld { tolerance_s: 300, .. }), "{rejected}");
}

#[test]
fn each_bad_header_has_its_own_reason() {
    let all = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    for name in all {
        let mut missing = delivery(BY_FIRST);
        missing.remove(name);
        assert_eq!(first().verify(&missing, BODY, SIGNED), Err(Rejected::MissingHeader { header: name }));

        let long = "x".repeat(5000);
        for (value, why) in [
            (&b""[..], "it is empty"),
            (long.as_bytes(), "it is longer than 4096 bytes"),
            ("é".as_bytes(), "it contains something other than printable ASCII"),
            (&[0xff], "it contains something other than printable ASCII"),
        ] {
            let mut bad = delivery(BY_FIRST);
            bad.insert(name, bytes(value));
            assert_eq!(first().verify(&bad, BODY, SIGNED), malformed(name, why));
        }
        let mut twice = delivery(BY_FIRST);
        twice.append(name, twice[name].clone());
        assert_eq!(first().verify(&twice, BODY, SIGNED), malformed(name, "it is sent more than once"));
    }
}

#[test]
fn bad_values_are_refused() {
    let verify = |name: &'static str, value: &str| {
        let mut bad = delivery(BY_FIRST);
        bad.insert(name, bytes(value.as_bytes()));
        first().verify(&bad, BODY, SIGNED)
    };
    let stamp = "the time stamp is not a number of seconds since 1970";
    let base64 = "a v1 signature is not the base64 form of 32 bytes";
    for (name, value, why) in [
        ("webhook-id", "msg.1", "the id contains a dot"),
        ("webhook-id", "msg 1", "the id contains white space"),
        ("webhook-id", &"x".repeat(256), "the id is longer than 255 bytes"),
        ("webhook-timestamp", "now", stamp),
        ("webhook-timestamp", "-1700000000", stamp),
        ("webhook-timestamp", "+1700000000", stamp),
        ("webhook-timestamp", "01700000000", stamp),
        ("webhook-timestamp", "1700000000.0", stamp),
        ("webhook-timestamp", "17 00", stamp),
        ("webhook-timestamp", "0", stamp),
        ("webhook-timestamp", "1700000000000", stamp), // milliseconds
        ("webhook-timestamp", "99999999999999999999999", stamp),
        ("webhook-signature", "v1", "an entry has no comma between scheme and signature"),
        ("webhook-signature", &BY_FIRST[3..], "an entry has no comma between scheme and signature"),
        ("webhook-signature", "v1,", base64),
        ("webhook-signature", "v1,AAAA", base64),
        ("webhook-signature", "v1,%%%%", base64),
        ("webhook-signature", &BY_FIRST[..BY_FIRST.len() - 1], base64),
        ("webhook-signature", &format!("{BY_FIRST}AAAA"), base64),
    ] {
        assert_eq!(verify(name, value), malformed(name, why), "{name}: {value}");
    }
    let only_ed25519 = verify("webhook-signature", "v1a,AAAA").unwrap_err();
    assert!(matches!(only_ed25519, Rejected::UnsupportedScheme { .. }));
    assert!(only_ed25519.to_string().contains("Ed25519, is not supported"), "{only_ed25519}");
}

#[test]
fn wrong_secrets_are_refused_and_never_shown() {
    let short = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRY"; // 23 bytes
    let long = format!("whsec_{}", "A".repeat(87)); // 65 bytes
    let many = vec![FIRST; SECRETS_MAX + 1];
    for (secrets, kind) in [
        (vec![], ErrorKind::Invalid),
        (many, ErrorKind::Invalid),
        (vec![""], ErrorKind::Invalid),
        (vec!["whsec_"], ErrorKind::Invalid),
        (vec![short], ErrorKind::Invalid),
        (vec![&long], ErrorKind::Invalid),
        (vec!["whsec_AAEC*wQFBgcICQoLDA0ODxAREhMUFRYX"], ErrorKind::Invalid),
        (vec!["AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"], ErrorKind::Invalid),
        (vec!["whpk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"], ErrorKind::Unsupported),
    ] {
        let e = StandardWebhooks::new(&secrets).unwrap_err();
        assert_eq!(e.kind(), kind, "{secrets:?}");
        assert!(!format!("{e} {e:?}").contains("AAEC"), "{e:?}");
    }
    let shown = format!("{:?}", StandardWebhooks::new([FIRST, SECOND]).unwrap());
    assert!(shown.contains("2 (hidden)") && !shown.contains("AAEC") && !shown.contains("0, 1, 2"), "{shown}");
}

#[test]
fn the_tolerance_is_bounded_on_both_sides() {
    for bad in [Duration::ZERO, Duration::from_millis(999), TOLERANCE_MAX + Duration::from_secs(1), Duration::MAX] {
        assert_eq!(first().tolerance(bad).unwrap_err().kind(), ErrorKind::Invalid, "{bad:?}");
    }
    assert!(first().tolerance(TOLERANCE_MAX).is_ok());
}

proptest! {
    /// One changed byte anywhere in what is signed, or in the signature itself.
    #[test]
    fn a_change_of_one_byte_is_refused(part in 0..4usize, at in 0..100usize, by in 1..=255u8) {
        prop_assert_eq!(first().verify(&delivery(BY_FIRST), BODY, SIGNED), good());
        let mut headers = delivery(BY_FIRST);
        let mut body = BODY.to_vec();
        match part {
            3 => body = changed(BODY, at, by),
            _ => {
                let name = ["webhook-id", "webhook-timestamp", "webhook-signature"][part];
                // Bytes that cannot stand in a header at all never reach us.
                let Ok(value) = http::HeaderValue::from_bytes(&changed(headers[name].as_bytes(), at, by)) else {
                    return Ok(());
                };
                headers.insert(name, value);
            }
        }
        prop_assert!(first().verify(&headers, &body, SIGNED).is_err());
    }

    #[test]
    fn no_header_makes_it_panic(id in ".{0,40}", stamp in "[0-9 .+-]{0,25}", signature in "(v1a?,[A-Za-z0-9+/=]{0,50} ?){0,4}", body in any::<Vec<u8>>()) {
        let mut headers = HeaderMap::new();
        for (name, value) in [("webhook-id", id), ("webhook-timestamp", stamp), ("webhook-signature", signature)] {
            if let Ok(value) = http::HeaderValue::from_bytes(value.as_bytes()) {
                headers.insert(name, value);
            }
        }
        prop_assert!(first().verify(&headers, &body, SIGNED).is_err());
    }
}
