//! The fencing token of the lock, as the server gets it.

use serde_json::{Value, json};

use super::site::{Instance, PIPE, Site, WEB};
use crate::http_client::ToolCall;

/// What a caller would like the server to believe.
const FORGED: &str = "999999999999-0123456789abcdef";

/// The number of a token.
fn number(token: &Value) -> u64 {
    let text = token.as_str().unwrap_or_else(|| panic!("a token: {token}"));
    assert_ne!(text, FORGED);
    let (number, nonce) = text.split_once('-').expect("a number and a nonce");
    assert_eq!(nonce.len(), 16, "{text}");
    number.parse().expect("a number")
}

pub(super) fn the_fence_arrives_and_grows(site: &Site) {
    let rule = |name: &str, kind: &str, fence: &str| {
        let tool =
            format!("[servers.{name}.tools.echo]\neffect = \"non_idempotent\"\nlock = \"fenced\"\nfence = {fence:?}");
        site.server(name, kind, &tool)
    };
    let policy = [
        rule("meta", PIPE, "meta"),
        rule("argument", PIPE, "argument:fence"),
        rule("header", WEB, "header:x-fence"),
        rule("web_meta", WEB, "meta"),
        rule("web_argument", WEB, "argument:fence"),
        rule("off", WEB, "none"),
    ];
    let policy = policy.concat();
    let (first, second) = (site.instance_with(&policy), site.instance_with(&policy));
    // The server shows what reached it.
    let seen = |instance: &Instance, server: &str, arguments: Value| {
        let got = instance.client(server).with("x-fence", FORGED).ask("1", &ToolCall::new("echo", arguments));
        serde_json::from_str::<Value>(&got.text()).unwrap_or_else(|e| panic!("{e}: {got:?}"))
    };
    let in_meta = |instance: &Instance, server: &str| {
        seen(instance, server, json!({"raw": true}))["params"]["_meta"]["dev.stanchion/fence"].clone()
    };
    let in_arguments = |instance: &Instance, server: &str| {
        let sent = seen(instance, server, json!({"raw": true, "fence": FORGED}));
        assert_eq!(sent["params"]["arguments"].as_object().expect("arguments").len(), 2, "{sent}");
        sent["params"]["arguments"]["fence"].clone()
    };
    let in_header =
        |instance: &Instance, server: &str| seen(instance, server, json!({"headers": true}))["x-fence"].clone();
    // One lock behind all of them: its tokens grow whoever asks, through whichever instance.
    let mut last = 0;
    for _ in 0..2 {
        for instance in [&first, &second] {
            let tokens = [
                in_meta(instance, "meta"),
                in_arguments(instance, "argument"),
                in_header(instance, "header"),
                in_meta(instance, "web_meta"),
                in_arguments(instance, "web_argument"),
            ];
            for token in tokens {
                let now = number(&token);
                assert!(now > last, "{now} after {last}");
                last = now;
            }
        }
    }
    assert_eq!(in_meta(&first, "off"), Value::Null, "void: a token arrives without being asked for");
}
