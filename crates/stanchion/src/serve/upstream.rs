//! The servers of the policy, each with its guard.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use stanchion_core::{Error, ErrorKind, Locks, Result};
use stanchion_mcp::Gate;
use stanchion_mcp::calls::CallLog;
use stanchion_mcp::policy::{PolicyFile, PrincipalEntry, Target, TokenSource};
use stanchion_mcp::serve::{Endpoint, Nursery, Principal, Program, Remote, StdioEndpoint, StdioLimits};

use super::trust;
use crate::exit::say;
use crate::run::staged;
use crate::store::Store;
use crate::wrap::resolve::resolve;

/// A shorter token can be guessed.
const TOKEN_MIN: usize = 16;

/// Variables that are for us: the store's address may have a password, and no server has any use for the others. One that is a
/// stanchion of its own is given its own by the policy.
const OURS: [&str; 3] = ["STANCHION_STORE", "STANCHION_HOME", "STANCHION_CHAOS"];

pub(super) struct Upstreams<'a> {
    pub(super) file: &'a PolicyFile,
    pub(super) store: &'a Store,
    pub(super) log: &'a CallLog,
    pub(super) nursery: Nursery,
    pub(super) limits: StdioLimits,
}

impl Upstreams<'_> {
    /// All servers that can be reached; the others are named on stderr.
    pub(super) fn all(&self) -> Result<Vec<(String, Arc<dyn Endpoint>)>> {
        let mut all = Vec::new();
        for (name, entry) in self.file.servers() {
            let Some(target) = &entry.target else {
                say(&format!("stanchion: warning: {name} is not served: it has neither command nor url"));
                continue;
            };
            all.push((name.to_owned(), self.endpoint(name, target)?));
        }
        Ok(all)
    }

    fn endpoint(&self, name: &str, target: &Target) -> Result<Arc<dyn Endpoint>> {
        let locks = Locks::shared(Arc::clone(&self.store.locks));
        let gate = Gate::new(name, self.file.rules(name), self.store.claims(), locks, Arc::clone(&self.store.records));
        let gate = Arc::new(gate.log(self.log.clone()));
        Ok(match target {
            Target::Url { url, headers, ca } => {
                let (headers, roots) = (trust::headers(name, headers)?, trust::ca(name, ca.as_deref())?);
                let remote = Remote::trusting(gate, url, headers, roots.as_deref());
                Arc::new(remote.map_err(|e| e.with("server", name))?)
            }
            Target::Command { hang_up, .. } => {
                let (program, limits) = (self.program(name, target)?, self.limits.clone().hang_up(*hang_up));
                Arc::new(StdioEndpoint::new(gate, program, self.nursery.clone(), limits))
            }
        })
    }

    /// The command, by way of our second stage, so that it dies with us.
    fn program(&self, name: &str, target: &Target) -> Result<Program> {
        let Target::Command { command, env, cwd, .. } = target else { return Ok(Program::default()) };
        let (mut words, mut env) = (command.iter().map(OsString::from).collect::<Vec<_>>(), env.clone());
        let path = env.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
        // A path in the command is meant from the server's own folder.
        let elsewhere = cwd.is_some() && command.first().is_some_and(|program| program.contains('/'));
        if !elsewhere && let Some(program) = words.first_mut() {
            match resolve(program, path.as_deref(), std::env::home_dir().as_deref()) {
                Ok(found) => {
                    found.note.iter().for_each(|note| say(note));
                    if let Some(path) = found.path.as_deref().and_then(OsStr::to_str) {
                        env.insert("PATH".to_owned(), path.to_owned());
                    }
                    *program = found.program.into();
                }
                // It may come later; whoever calls it before is told.
                Err(unresolved) => say(&format!("stanchion: warning: {name}: {}", unresolved.error)),
            }
        }
        let staged = staged(&words)
            .map_err(|e| Error::new(ErrorKind::Unexpected, "our own program cannot be found").because(e))?;
        let words = std::iter::once(staged.get_program()).chain(staged.get_args()).map(OsStr::to_owned);
        let tokens = self.file.principals().iter().filter_map(|principal| match &principal.token {
            TokenSource::Env(name) => Some(name.clone()),
            _ => None,
        });
        let secrets = tokens.chain(trust::variables(self.file)).chain(OURS.map(str::to_owned));
        Ok(Program::new(words).env(env).cwd(cwd.clone()).without(secrets))
    }
}

/// Who may call, with their tokens.
///
/// # If it fails
/// `Invalid`: a token is missing, or can be guessed. It names the principal, never the token.
pub(super) fn principals(entries: &[PrincipalEntry]) -> Result<Vec<Principal>> {
    entries.iter().map(principal).collect()
}

fn principal(entry: &PrincipalEntry) -> Result<Principal> {
    let wrong = |what: &'static str| {
        Error::new(ErrorKind::Invalid, what).with("principal", &entry.name).with("line", entry.line)
    };
    let token = match &entry.token {
        TokenSource::Sha256(digest) => return Ok(Principal::with_digest(&entry.name, *digest)),
        TokenSource::Env(name) => {
            std::env::var(name).map_err(|_| wrong("its token's variable is not set").with("variable", name))?
        }
        TokenSource::File(path) => std::fs::read_to_string(path)
            .map_err(|e| wrong("its token's file cannot be read").with("file", path.display()).because(e))?,
    };
    let token = token.trim();
    if token.len() < TOKEN_MIN {
        return Err(
            wrong("its token is too short").hint(format!("make one of {TOKEN_MIN} characters or more, at random"))
        );
    }
    Ok(Principal::with_token(&entry.name, token))
}
