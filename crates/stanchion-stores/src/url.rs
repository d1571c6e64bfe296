//! The store URL: what the user typed, its options, and a form that is safe to print.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use stanchion_core::text::parse_duration;
use stanchion_core::{Error, ErrorKind, Result};

/// A store URL: `scheme:rest?option=value&…`. Printing it hides passwords.
///
/// ```
/// use stanchion_stores::StoreUrl;
/// let url = StoreUrl::parse("redis://app:hunter2@db:6379/0?ns=prod")?;
/// assert_eq!(url.scheme(), "redis");
/// assert_eq!(url.to_string(), "redis://app:***@db:6379/0?ns=prod");
/// # Ok::<(), stanchion_core::Error>(())
/// ```
pub struct StoreUrl {
    scheme: String,
    rest: String,
    // A backend takes options out as it understands them; what is left at the end is a mistake.
    options: BTreeMap<String, String>,
    shown: String,
}

impl StoreUrl {
    /// Splits the text. The scheme is not checked here; [`open`](crate::open) knows the list.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]; the text itself is not repeated, because it may hold a password.
    ///
    /// ```
    /// assert!(stanchion_stores::StoreUrl::parse("no scheme").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &'static str| {
            Error::new(ErrorKind::Invalid, why)
                .hint("a store is SCHEME:…, as in sqlite:/var/lib/app.db; see `stanchion help stores`")
        };
        let (scheme, rest) = text.split_once(':').ok_or_else(|| refuse("the store has no scheme"))?;
        if scheme.is_empty() || !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) {
            return Err(refuse("the store's scheme is not a word"));
        }
        if text.chars().any(char::is_control) {
            return Err(refuse("the store contains a control character"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut options = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| refuse("a store option has no value"))?;
            if options.insert(name.to_owned(), percent_decode(value)).is_some() {
                return Err(refuse("a store option is given twice").with("option", name));
            }
        }
        let scheme = scheme.to_ascii_lowercase();
        let shown = show(&scheme, rest, query);
        Ok(Self { scheme, rest: rest.to_owned(), options, shown })
    }

    /// The scheme, in lower case.
    ///
    /// ```
    /// assert_eq!(stanchion_stores::StoreUrl::parse("FILE:/tmp/x")?.scheme(), "file");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Everything between the scheme's colon and the options, as typed. **May hold a password.**
    ///
    /// ```
    /// assert_eq!(stanchion_stores::StoreUrl::parse("file:/tmp/x?a=b")?.rest(), "/tmp/x");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// Takes an option out.
    ///
    /// ```
    /// let mut url = stanchion_stores::StoreUrl::parse("file:/tmp/x?mode=heartbeat")?;
    /// assert_eq!(url.take("mode").as_deref(), Some("heartbeat"));
    /// assert_eq!(url.take("mode"), None);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.options.remove(name)
    }

    /// Takes an option whose value must be one of `allowed`; the first is the default.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`], naming the allowed values.
    ///
    /// ```
    /// let mut url = stanchion_stores::StoreUrl::parse("file:/tmp/x?mode=wild")?;
    /// assert!(url.take_choice("mode", &["kernel", "heartbeat"]).is_err());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn take_choice(&mut self, name: &'static str, allowed: &'static [&'static str]) -> Result<&'static str> {
        let Some(value) = self.take(name) else { return Ok(allowed[0]) };
        allowed.iter().find(|a| **a == value).copied().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "a store option has a value that is not allowed")
                .with("option", format_args!("{name}={value}"))
                .hint(format!("allowed: {}", allowed.join(", ")))
        })
    }

    /// Takes an option that is a duration, as in `timeout=5s`.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`], naming the option.
    ///
    /// ```
    /// let mut url = stanchion_stores::StoreUrl::parse("redis://h/?timeout=5s")?;
    /// assert_eq!(url.take_duration("timeout")?.unwrap().as_secs(), 5);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn take_duration(&mut self, name: &'static str) -> Result<Option<Duration>> {
        self.take(name).map(|text| parse_duration(&text).map_err(|e| e.with("option", name))).transpose()
    }

    /// Refuses the options that nobody took: a typo must not pass silently.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`], naming the option and the ones this backend knows.
    ///
    /// ```
    /// let url = stanchion_stores::StoreUrl::parse("file:/tmp/x?mdoe=kernel")?;
    /// assert!(url.finish(&["mode"]).unwrap_err().to_string().contains("mdoe"));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn finish(&self, known: &[&str]) -> Result<()> {
        match self.options.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(Error::new(ErrorKind::Invalid, "unknown store option").with("option", name).hint(format!(
                    "{}: knows {}",
                    self.scheme,
                    if known.is_empty() { "no options".into() } else { known.join(", ") }
                )))
            }
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({})", self.shown)
    }
}

/// Where what stands alone before the `@` is no user but a token.
const TOKENS: [&str; 4] = ["consul", "consuls", "nats", "natss"];

/// The URL with `user:password@` and everything that may hold a secret masked.
fn show(scheme: &str, rest: &str, query: &str) -> String {
    let is_path = ["file", "sqlite", "memory"].contains(&scheme);
    let rest = match rest.rfind('@').filter(|_| !is_path) {
        Some(at) => {
            let (user_info, host) = (rest[..at].trim_start_matches('/'), &rest[at..]);
            let slashes = if rest.starts_with("//") { "//" } else { "" };
            match user_info.split_once(':') {
                Some((user, _)) => format!("{slashes}{user}:***{host}"),
                // Without slashes the scheme may be missing, and what was taken for it a user: `me:password@host`.
                None if TOKENS.contains(&scheme) || slashes.is_empty() => format!("{slashes}***{host}"),
                None => format!("{slashes}{user_info}{host}"),
            }
        }
        None => rest.to_owned(),
    };
    let query: Vec<String> = query.split('&').filter(|pair| !pair.is_empty()).map(show_option).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}:{rest}{mark}{}", query.join("&"))
}

/// An option whose name speaks of a secret, or whose value may be a URL with one, is shown by its name alone.
fn show_option(pair: &str) -> String {
    let Some((name, value)) = pair.split_once('=') else { return "***".to_owned() };
    let speaks = ["pass", "secret", "token", "key"].iter().any(|word| name.to_ascii_lowercase().contains(word));
    let holds = value.contains('@') || value.to_ascii_lowercase().contains("%40");
    if speaks || holds { format!("{name}=***") } else { pair.to_owned() }
}

/// Decodes `%41`; anything that is not a valid escape stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    let (bytes, mut out, mut i) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while i < bytes.len() {
        let escape = (bytes[i] == b'%').then(|| text.get(i + 1..i + 3)).flatten();
        // `from_str_radix` takes `+1` for a number, too.
        let escape = escape.filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_hex_digits_are_an_escape() {
        for (text, decoded) in
            [("%41%2b", "A+"), ("%+1", "%+1"), ("%4", "%4"), ("%", "%"), ("%é", "%é"), ("%zz", "%zz")]
        {
            assert_eq!(percent_decode(text), decoded);
        }
    }

    #[test]
    fn passwords_are_never_shown() {
        for (typed, shown) in [
            ("redis://app:hunter2@db:6379/0", "redis://app:***@db:6379/0"),
            ("redis://:hunter2@db/", "redis://:***@db/"),
            ("redis:app:hunter2@db", "redis:app:***@db"),
            (
                "postgres://a:hunter2@pgb/x?listen_url=postgres://app:hunter2@db/x",
                "postgres://a:***@pgb/x?listen_url=***",
            ),
            ("postgres://a@pgb/x?listen_url=postgres%3A%2F%2Fapp%3Ahunter2%40db", "postgres://a@pgb/x?listen_url=***"),
            ("postgres://db/x?sslpassword=hunter2&schema=s", "postgres://db/x?sslpassword=***&schema=s"),
            ("consul://hunter2@db:8500/?ns=s", "consul://***@db:8500/?ns=s"),
            ("nats://hunter2@db:4222", "nats://***@db:4222"),
            ("postgres://app@db/x", "postgres://app@db/x"),
            ("file:/srv/me@home/locks", "file:/srv/me@home/locks"),
        ] {
            let url = StoreUrl::parse(typed).unwrap();
            assert_eq!((url.to_string().as_str(), format!("{url:?}").contains("hunter2")), (shown, false));
        }
        assert!(!StoreUrl::parse("redis://u:pa?hunter2@h").unwrap_err().to_string().contains("hunter2"));
    }
}
