//! The `dynamodb:` URL, read once.

use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;
use crate::address::timeouts;
use crate::url::percent_decode;

pub(super) const KNOWN: &[&str] =
    &["region", "endpoint", "profile", "session_token", "create", "timeout", "connect_timeout", "durability"];

/// Which table, where, and as whom. Holds the secret key, so it has no `Debug`.
pub(super) struct Options {
    pub(super) table: String,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) profile: Option<String>,
    /// From the URL; without it the usual chain is asked.
    pub(super) login: Option<Login>,
    /// Make the table if it is missing.
    pub(super) create: bool,
    /// For the answer to a request, connecting included.
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// The URL without secrets.
    pub(super) shown: String,
}

pub(super) struct Login {
    pub(super) key_id: String,
    pub(super) secret: String,
    pub(super) session_token: Option<String>,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why)
        .hint("dynamodb://TABLE?region=eu-central-1, or dynamodb://KEY_ID:SECRET@TABLE?endpoint=http://127.0.0.1:8000")
}

impl Options {
    pub(super) fn read(url: &mut StoreUrl) -> Result<Self> {
        let shown = url.to_string();
        let rest = url.rest().trim_start_matches("//").to_owned();
        let (user_info, table) = rest.rsplit_once('@').unwrap_or(("", &rest));
        let table = table.strip_suffix('/').unwrap_or(table).to_owned();
        let named = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if !(3..=255).contains(&table.len()) || !table.chars().all(named) {
            return Err(invalid("a table's name is 3 to 255 letters, digits, dots, hyphens and underscores"));
        }
        let session_token = url.take("session_token");
        let login = match user_info.split_once(':').map(|(id, secret)| (percent_decode(id), percent_decode(secret))) {
            Some((key_id, secret)) if !key_id.is_empty() && !secret.is_empty() => {
                Some(Login { key_id, secret, session_token })
            }
            None if user_info.is_empty() && session_token.is_none() => None,
            _ => return Err(invalid("an access key in the URL is KEY_ID:SECRET, both of them")),
        };
        let endpoint = url.take("endpoint");
        if endpoint.as_ref().is_some_and(|text| !["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)))
        {
            return Err(invalid("endpoint= begins with http:// or https://"));
        }
        let profile = url.take("profile");
        if profile.is_some() && login.is_some() {
            return Err(invalid("give an access key or profile=, not both"));
        }
        let [timeout, connect_timeout] = timeouts(url)?;
        let options = Self {
            table,
            region: url.take("region").filter(|region| !region.is_empty()),
            endpoint,
            profile,
            login,
            create: url.take_choice("create", &["true", "false"])? == "true",
            timeout,
            // Connecting must end first: what fails then was surely not sent.
            connect_timeout: connect_timeout.min(timeout.mul_f32(0.8)),
            shown,
        };
        url.finish(KNOWN)?;
        Ok(options)
    }

    /// The command that makes the table by hand.
    pub(super) fn create_command(&self) -> String {
        let region = self.region.as_ref().map(|region| format!(" --region {region}")).unwrap_or_default();
        let endpoint = self.endpoint.as_ref().map(|url| format!(" --endpoint-url {url}")).unwrap_or_default();
        format!(
            "aws dynamodb create-table --table-name {} --attribute-definitions AttributeName=k,AttributeType=S \
             --key-schema AttributeName=k,KeyType=HASH --billing-mode PAY_PER_REQUEST{region}{endpoint}",
            self.table
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options> {
        Options::read(&mut StoreUrl::parse(text)?)
    }

    #[test]
    fn the_url_names_table_region_endpoint_and_login() {
        let options =
            read("dynamodb://id:s%2Fe/c+ret@locks?region=eu-central-1&endpoint=http://h:8000&timeout=2s").unwrap();
        let login = options.login.as_ref().unwrap();
        assert_eq!(
            (options.table.as_str(), login.key_id.as_str(), login.secret.as_str()),
            ("locks", "id", "s/e/c+ret")
        );
        assert_eq!((options.region.as_deref(), options.create), (Some("eu-central-1"), true));
        assert!(options.connect_timeout < options.timeout);
        assert!(!options.shown.contains("ret"), "{}", options.shown);
        assert_eq!(read("dynamodb:locks").unwrap().table, "locks");
        assert!(options.create_command().contains("--table-name locks"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "dynamodb:",
            "dynamodb://ab",
            "dynamodb://my table",
            "dynamodb://id@table",
            "dynamodb://id:@table",
            "dynamodb://table?session_token=x",
            "dynamodb://id:secret@table?profile=p",
            "dynamodb://table?endpoint=localhost:8000",
            "dynamodb://table?create=maybe",
            "dynamodb://table?timeout=0s",
            "dynamodb://table?tpyo=1",
        ] {
            assert_eq!(read(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
