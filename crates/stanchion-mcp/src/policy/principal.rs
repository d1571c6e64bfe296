//! `[[principals]]`: who may call `serve`, and how each is known. A token itself is never in the file.

use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::source::{Item, Source, kind};

const PRINCIPALS_MAX: usize = 1024;
const KEYS: &[&str] = &["name", "token_env", "token_file", "token_sha256"];
const ONE_OF: &str = "exactly one of token_env, token_file, token_sha256";

/// Where the token of a principal is.
///
/// ```
/// use stanchion_mcp::policy::{PolicyFile, TokenSource};
/// let file = PolicyFile::parse("[[principals]]\nname = \"alice\"\ntoken_env = \"ALICE_TOKEN\"\n", "p.toml")?;
/// assert_eq!(file.principals()[0].token, TokenSource::Env("ALICE_TOKEN".into()));
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// In a variable of this name.
    Env(String),
    /// In a file, alone.
    File(PathBuf),
    /// Nowhere here: only its SHA-256 is known.
    Sha256([u8; 32]),
}

/// Somebody who may call.
///
/// ```
/// use stanchion_mcp::policy::PolicyFile;
/// let file = PolicyFile::parse("[[principals]]\nname = \"bob\"\ntoken_file = \"/run/secrets/bob\"\n", "p.toml")?;
/// assert_eq!(file.principals()[0].name, "bob");
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrincipalEntry {
    /// The name, as claims and the call log have it.
    pub name: String,
    /// Where the token is.
    pub token: TokenSource,
    /// Where the file speaks of it.
    pub line: usize,
}

/// Reads the whole list.
pub(super) fn read_all<'s>(source: &mut Source<'s>, item: &Item<'_, 's>) -> Vec<PrincipalEntry> {
    let tables = item.value.as_array().filter(|list| list.iter().all(|entry| entry.get_ref().is_table()));
    let Some(tables) = tables else {
        let what = format!("a list of tables belongs here, not {}", kind(item.value));
        source.hidden(item, what, "[[principals]]");
        return Vec::new();
    };
    if tables.len() > PRINCIPALS_MAX {
        source.hidden(item, format!("these are more than {PRINCIPALS_MAX} principals"), "fewer");
        return Vec::new();
    }
    let mut principals: Vec<PrincipalEntry> = Vec::new();
    for (nth, entry) in tables.iter().enumerate() {
        let DeValue::Table(table) = entry.get_ref() else { continue };
        let (path, at) = (format!("{}[{nth}]", item.path), entry.span().start);
        let Some(principal) = read(source, &path, at, table) else { continue };
        let twice = principals.iter().find(|other| other.name == principal.name || other.token == principal.token);
        if let Some(other) = twice {
            let same = if other.name == principal.name { "name" } else { "token" };
            source.at(at, &path, format!("the principal of line {} has this {same}, too", other.line)).allowed =
                Some("a name and a token for each".to_owned());
        }
        principals.push(principal);
    }
    principals
}

fn read<'s>(source: &mut Source<'s>, path: &str, at: usize, table: &DeTable<'s>) -> Option<PrincipalEntry> {
    let before = source.problems.len();
    let (mut name, mut tokens) = (None, Vec::new());
    for item in Source::items(path, table) {
        match (item.name, item.value.as_str()) {
            ("name", Some(text)) if good_name(text) => name = Some(text.to_owned()),
            ("name", _) => source.hidden(&item, "this is no name of a principal", "1 to 128 printable characters"),
            ("token_env", Some(text)) if !text.is_empty() && !text.contains(['=', '\0']) => {
                tokens.push(TokenSource::Env(text.to_owned()));
            }
            ("token_file", Some(text)) if !text.is_empty() && !text.contains('\0') => {
                tokens.push(TokenSource::File(text.into()));
            }
            ("token_sha256", Some(text)) if digest(text).is_some() => {
                tokens.extend(digest(text).map(TokenSource::Sha256));
            }
            ("token_env", _) => source.hidden(&item, "this is no name of a variable", "as in \"ALICE_TOKEN\""),
            ("token_file", _) => source.hidden(&item, "this is no path of a file", "as in \"/run/secrets/alice\""),
            ("token_sha256", _) => source.hidden(&item, "this is no SHA-256", "64 hex digits"),
            ("token", _) => {
                let what = "the token itself does not belong here: this file is shown, copied and committed";
                source.name(&item, what).allowed = Some(ONE_OF.to_owned());
            }
            _ => source.unknown(&item, KEYS),
        }
    }
    if source.problems.len() > before {
        return None;
    }
    let line = source.place(at).line;
    match (name, tokens.pop(), tokens.is_empty()) {
        (Some(name), Some(token), true) => return Some(PrincipalEntry { name, token, line }),
        (None, ..) => source.at(at, path, "this principal has no name").allowed = Some("name".to_owned()),
        (_, None, _) => {
            source.at(at, path, "nothing says where this principal's token is").allowed = Some(ONE_OF.to_owned())
        }
        (_, Some(_), false) => {
            source.at(at, path, "this principal's token is in two places").allowed = Some(ONE_OF.to_owned())
        }
    }
    None
}

fn good_name(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= 128 && !text.chars().any(char::is_control)
}

fn digest(hex: &str) -> Option<[u8; 32]> {
    if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut digest = [0; 32];
    for (nth, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * nth..2 * nth + 2], 16).ok()?;
    }
    Some(digest)
}
