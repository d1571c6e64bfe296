//! Who may call over HTTP: whoever has the token.

use std::fs::File;
use std::io::Read as _;

use stanchion_core::{Error, ErrorKind, Result};
use stanchion_mcp::serve::{Principal, Serve};

use super::args::MemoryArgs;

/// A shorter token can be guessed.
const TOKEN_MIN: usize = 16;
/// Clients cannot send longer ones.
const TOKEN_MAX: u64 = 4096;
/// All callers have one token, so they are one principal.
const PRINCIPAL: &str = "token";

/// The front of the server: hosts, origins, and the token if one was given.
///
/// # If it fails
/// `Invalid`: the token is missing, can be guessed, or is needed and not given. It is never said.
pub(super) fn front(args: &MemoryArgs) -> Result<Serve> {
    let mut front = Serve::new();
    for host in &args.allowed_hosts {
        front = front.allowed_host(host);
    }
    for origin in &args.allowed_origins {
        front = front.allowed_origin(origin);
    }
    match token(args)? {
        Some(token) => Ok(front.principal(Principal::with_token(PRINCIPAL, &token))),
        None if args.http.is_some_and(|address| !address.ip().is_loopback()) => {
            Err(Error::new(ErrorKind::Invalid, "everybody could call from other machines")
                .hint("give --token-env NAME or --token-file FILE, or listen on 127.0.0.1"))
        }
        None => Ok(front),
    }
}

fn token(args: &MemoryArgs) -> Result<Option<String>> {
    let wrong = |what: &'static str| Error::new(ErrorKind::Invalid, what);
    let token = match (&args.token_env, &args.token_file) {
        (Some(name), _) => {
            std::env::var(name).map_err(|_| wrong("the token's variable is not set").with("variable", name))?
        }
        (None, Some(path)) => {
            let wrong = |e| wrong("the token's file cannot be read").with("file", path.display()).because(e);
            let mut text = String::new();
            File::open(path).and_then(|file| file.take(TOKEN_MAX).read_to_string(&mut text)).map_err(wrong)?;
            text
        }
        (None, None) => return Ok(None),
    };
    let token = token.trim();
    if token.len() < TOKEN_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("the token cannot be used")
            .hint(format!("make one of {TOKEN_MIN} or more visible characters, at random")));
    }
    Ok(Some(token.to_owned()))
}
