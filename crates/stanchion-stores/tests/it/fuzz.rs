//! Mutated store URLs: no secret is shown, and what is shown says the same.

use stanchion_stores::StoreUrl;
use stanchion_testkit::fuzz::Target;

const SEEDS: &[&str] = &[
    "redis://app:pw@db:6379/0?timeout=5s&tls=on",
    "postgres://app:p%40w@db:5432/x?schema=s&listen_url=postgres://app:pw@db/x&sslpassword=pw",
    "redlock:redis://:pw@a:1,redis://:pw@b:2,redis://c?fence=time",
    "sqlite:/var/lib/x.db?durability=power&locks=lease",
    "file:/tmp/me@home/locks?mode=heartbeat",
    "etcd://root:pw@a:2379,b:2379/?ns=x",
    "consul://token@db:8500/?ns=s",
    "nats://token@db:4222/bucket",
    "dynamodb:table?endpoint=http://127.0.0.1:8000&region=x",
    "memory:",
];

const SECRET: &str = "s3cretqq";

/// The same with a password, where it has a place for one.
fn with_password(text: &str) -> Option<String> {
    let (before, query) = text.split_once('?').map_or((text, None), |(before, query)| (before, Some(query)));
    let at = before.rfind('@')?;
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{}:{SECRET}{}{query}", &before[..at], &before[at..]))
}

#[test]
fn mutated_urls_show_no_secret_and_say_what_they_show() {
    Target::text("urls", SEEDS.iter().copied()).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(()) };
        if let Some(with) = with_password(text) {
            let shown = StoreUrl::parse(&with).map_or_else(|e| e.to_string(), |url| format!("{url} {url:?}"));
            let is_path = ["file:", "sqlite:", "memory:"].iter().any(|path| shown.to_lowercase().starts_with(path));
            if shown.contains(SECRET) && !is_path {
                return Err(format!("shows its password: {shown}"));
            }
        }
        let url = match StoreUrl::parse(text) {
            Ok(url) => url,
            Err(e) if e.to_string().is_empty() => return Err("it does not say why".to_owned()),
            Err(_) => return Ok(()),
        };
        let shown = url.to_string();
        let Ok(again) = StoreUrl::parse(&shown) else { return Err(format!("cannot be read as it is shown: {shown}")) };
        if again.to_string() != shown || again.scheme() != url.scheme() {
            return Err(format!("{shown} shows {again}"));
        }
        if shown.chars().any(char::is_control) {
            return Err(format!("control characters are shown: {shown:?}"));
        }
        Ok(())
    });
}
