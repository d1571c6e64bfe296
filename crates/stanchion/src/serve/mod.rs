//! `stanchion serve`: many MCP servers behind one address, each guarded.

mod args;
mod metrics;
mod trust;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Idempotency, Result, RetryPolicy};
use stanchion_mcp::calls::{CallLog, FILE_NAME};
use stanchion_mcp::policy::PolicyFile;
use stanchion_mcp::serve::{Nursery, Serve, StdioLimits};

pub(crate) use self::args::ServeArgs;
use self::upstream::Upstreams;
use crate::cli::Cli;
use crate::exit::say;
use crate::policy_verb::load;
use crate::store;

/// How often old answers are dropped and dead calls marked.
const SWEEP: Duration = Duration::from_secs(10 * 60);

pub(crate) async fn run(cli: &Cli, args: &ServeArgs) -> Result<u8> {
    let file = load::load(&args.policy)?;
    for warning in file.warnings() {
        say(&format!("stanchion: warning: {warning}"));
    }
    let reachable = file.servers().filter(|(_, entry)| entry.target.is_some()).count();
    if reachable == 0 {
        return Err(Error::new(ErrorKind::Invalid, "the policy has no server to serve")
            .with("policy", &args.policy)
            .hint("give at least one [servers.NAME] a command or a url"));
    }
    let principals = upstream::principals(file.principals())?;
    // Before the store: whoever comes early waits in the kernel's line instead of being refused, and nobody makes a store for nothing.
    let listener = tokio::net::TcpListener::bind(args.listen)
        .await
        .map_err(|e| Error::new(ErrorKind::Invalid, "cannot listen there").with("address", args.listen).because(e))?;
    let store = store::open(&cli.store).await?;
    let log = CallLog::open(store::home(&cli.store)?.join(FILE_NAME)).unwrap_or_else(|error| {
        say(&format!("stanchion: warning: calls are not logged: {error}"));
        CallLog::none()
    });
    let claims = store.claims();
    let nursery =
        Nursery::start().map_err(|e| Error::new(ErrorKind::Unexpected, "a thread cannot be started").because(e))?;
    let limits = StdioLimits::default()
        .max_sessions(args.max_sessions)
        .session_idle(args.session_idle)
        .frame_max(args.frame_limit);
    let metrics = metrics::install()?;
    let mut front = Serve::new()
        .allow_anonymous(args.allow_anonymous)
        .frame_max(args.frame_limit)
        .drain(args.drain)
        .store(Arc::clone(&store.records))
        .metrics(move || metrics.render());
    for host in &args.allowed_hosts {
        front = front.allowed_host(host);
    }
    for origin in &args.allowed_origins {
        front = front.allowed_origin(origin);
    }
    for principal in principals {
        front = front.principal(principal);
    }
    let upstreams = Upstreams { file: &file, store: &store, log: &log, nursery, limits };
    let mut names = Vec::new();
    for (name, endpoint) in upstreams.all()? {
        front = front.endpoint(&name, endpoint);
        names.push(name);
    }
    // The nursery lives on in its servers.
    drop(upstreams);
    // Before anybody can know that we are there.
    let stopped = crate::proxy::stop();
    announce(args, &file, &listener, &names, &store.shown);
    let sweeping = tokio::spawn(sweep(claims)?);
    let served = front.run(listener, stopped).await;
    sweeping.abort();
    log.flush().unwrap_or_else(|error| tracing::warn!(%error, "the call log could not be written"));
    served.map(|()| 0)
}

fn announce(args: &ServeArgs, file: &PolicyFile, listener: &tokio::net::TcpListener, names: &[String], store: &str) {
    let address = listener.local_addr().unwrap_or(args.listen);
    for name in names {
        say(&format!("stanchion: serving {name} at http://{address}/{name}"));
    }
    say(&format!("stanchion: store {store}"));
    if !address.ip().is_loopback() {
        let open = if file.principals().is_empty() { "everybody may call, and " } else { "" };
        say(&format!("stanchion: warning: reachable from other machines; {open}there is no TLS of our own"));
    }
}

/// Anywhere in the period at first: gateways that were started together do not sweep together.
fn sweep(claims: Idempotency) -> Result<impl Future<Output = ()> + Send> {
    let first = RetryPolicy::default().pauses(SWEEP, SWEEP)?.pause(0);
    Ok(async move {
        let mut pause = first;
        loop {
            tokio::time::sleep(pause).await;
            pause = SWEEP;
            if let Err(error) = claims.sweep().await {
                tracing::warn!(%error, "the claims could not be swept");
            }
        }
    })
}
