//! `stanchion wrap -- CMD`: any MCP server over stdio, guarded, as if it were started directly.

mod args;
mod name;
pub(crate) mod resolve;
mod server;

use std::fs::File;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Key, Locks, Result};
use stanchion_mcp::calls::CallLog;
use stanchion_mcp::policy::{PolicyFile, Rules};
use stanchion_mcp::stdio::{self, PipeClient};
use stanchion_mcp::{Caller, Fencing, Gate, Outlet, Session};
use tokio::sync::oneshot;

pub(crate) use self::args::{WrapArgs, frame_limit};

use self::server::{Happened, NotStarted, Server};
use crate::cli::Cli;
use crate::exit::{self, say};
use crate::{policy_verb, store};

/// How long calls may run on when their client has gone; then their outcome is unknown.
const DRAIN: Duration = Duration::from_secs(5);
/// How long a server whose client has gone may take to end.
const LEAVE: Duration = Duration::from_secs(10);
/// How long what the ended server has written is read on, if something it started keeps its output open.
const REST: Duration = Duration::from_secs(2);
/// How often it is looked whether the client has read everything.
const TICK: Duration = Duration::from_millis(2);
/// So many lines that are no messages are shown.
const NOISE: usize = 20;

pub(crate) async fn run(cli: &Cli, args: &WrapArgs) -> Result<u8> {
    if exit::is_option("wrap", &args.command) {
        return Ok(2);
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name::server_name(&args.command),
    };
    let rules = rules(args, &name)?;
    let lock = match (&args.lock, args.no_lock) {
        (_, true) => None,
        (Some(lock), _) => Some(lock.clone()),
        (None, _) => Some(Key::new(format!("mcp:{name}"))?),
    };
    let (server, pipes) = match Server::start(&args.command) {
        Ok(started) => started,
        Err(NotStarted { code, error }) => {
            exit::report(&error);
            return Ok(code);
        }
    };
    // The server starts meanwhile.
    let store = store::open(&cli.store).await?;
    if !args.quiet {
        let lock = lock.as_ref().map_or_else(|| "no lock".to_owned(), |lock| format!("lock {lock}"));
        say(&format!("stanchion: guarding '{name}', {lock}, store {}", store.shown));
    }
    let log = CallLog::open(store::home(&cli.store)?.join(stanchion_mcp::calls::FILE_NAME)).unwrap_or_else(|error| {
        say(&format!("stanchion: warning: calls are not logged: {error}"));
        CallLog::none()
    });
    let mut gate =
        Gate::new(&name, rules, store.claims(), Locks::shared(Arc::clone(&store.locks)), Arc::clone(&store.records))
            .log(log.clone());
    if let Some(lock) = lock {
        gate = gate.default_lock(lock);
    }
    let code = between(Arc::new(gate), server, pipes, args).await;
    log.flush().unwrap_or_else(|error| tracing::warn!(%error, "the call log could not be written"));
    code
}

/// Carries messages until the client or the server has gone.
async fn between(gate: Arc<Gate>, mut server: Server, pipes: server::Pipes, args: &WrapArgs) -> Result<u8> {
    let failed = |e: std::io::Error| Error::new(ErrorKind::Unexpected, "a thread cannot be started").because(e);
    // Without the buffers of `std`: pumps have their own.
    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned().map_err(failed)?);
    let to_client = Outlet::new("client", stdout).map_err(failed)?;
    let to_server = Outlet::new("server", pipes.input).map_err(failed)?;
    let client = Arc::new(PipeClient(to_client.clone()));
    let session = Session::new(gate, to_server, client, tokio::runtime::Handle::current());
    let (client_done, client_gone) = oneshot::channel::<()>();
    let (server_done, server_silent) = oneshot::channel::<()>();
    let most = args.frame_limit;
    let caller = Caller::new(&principal());
    let pump = Arc::clone(&session);
    thread("from client", move || {
        if let Err(error) = stdio::pump_client(&pump, stdin, &caller, most) {
            tracing::warn!(%error, "the client cannot be read any more");
        }
        drop(client_done);
    })
    .map_err(failed)?;
    let (pump, outlet, output) = (Arc::clone(&session), to_client.clone(), pipes.output);
    thread("from server", move || {
        let mut noise = noise();
        if let Err(error) = stdio::pump_server(&pump, output, &outlet, most, &mut noise) {
            tracing::warn!(%error, "the server cannot be read any more");
        }
        pump.server_gone();
        drop(server_done);
    })
    .map_err(failed)?;
    let mut leaving = std::pin::pin!(async {
        // Nothing is sent: it ends when the pump has let go of it.
        client_gone.await.unwrap_or_default();
        session.drain(DRAIN).await;
        session.to_server().close();
        tokio::time::sleep(LEAVE).await;
    });
    let mut left = false;
    let ended = loop {
        tokio::select! {
            biased;
            happened = server.next() => match happened? {
                Happened::Ended(ended) => break ended,
                Happened::Signal(signal) => server.send(signal),
            },
            () = &mut leaving, if !left => {
                left = true;
                say("stanchion: warning: the server did not end with its input; it is stopped now");
                server.stop();
            }
        }
    };
    // What it has written is still passed on, however slowly the client reads; then whatever waits for it is told. A signal ends that.
    let ending = async {
        let mut server_silent = server_silent;
        while tokio::time::timeout(REST, &mut server_silent).await.is_err() {
            if to_client.is_idle() {
                tracing::warn!("something that the server has started keeps its output open");
                break;
            }
        }
        session.server_gone();
        session.drain(DRAIN).await;
        while !to_client.is_idle() && !to_client.is_closed() {
            tokio::time::sleep(TICK).await;
        }
    };
    tokio::select! {
        () = ending => {}
        () = server.signal() => say("stanchion: warning: stopped before everything was passed on and recorded"),
    }
    Ok(ended.code)
}

/// The rules of the policy for this server. Ready-made policies, and many others, are for one server: it needs no second name.
fn rules(args: &WrapArgs, name: &str) -> Result<Rules> {
    let file = match &args.policy {
        Some(policy) => policy_verb::load::load(policy)?,
        None => PolicyFile::default(),
    };
    let names: Vec<&str> = file.servers().map(|(name, _)| name).collect();
    let known = match &names[..] {
        [only] if *only != name => only,
        _ => name,
    };
    if names.len() > 1 && !names.contains(&name) {
        say(&format!(
            "stanchion: warning: the policy has no server '{name}' (it has {}); only its defaults apply",
            names.join(", ")
        ));
    }
    let (dedupe, wait, max_hold, log) = (args.dedupe, args.wait, args.max_hold, args.log_arguments);
    let by_header = std::cell::Cell::new(false);
    let rules = file.rules(known).changed(|rule| {
        by_header.set(by_header.get() || matches!(rule.fencing, Fencing::Header(_)));
        rule.key.dedupe = rule.key.dedupe.or(dedupe);
        rule.wait = wait.unwrap_or(rule.wait);
        rule.max_hold = max_hold.unwrap_or(rule.max_hold);
        rule.log_arguments |= log;
    });
    if by_header.get() {
        return Err(Error::new(
            ErrorKind::Invalid,
            "the policy hands the fence on as a header, and a server over stdio has none",
        )
        .hint("use fence = \"meta\" or fence = \"argument:NAME\""));
    }
    Ok(rules)
}

/// The user of this machine: all its clients are one principal, so that a repetition may come through any of them.
fn principal() -> String {
    #[cfg(unix)]
    {
        let uid = rustix::process::geteuid().as_raw();
        store::user_name(uid).unwrap_or_else(|| format!("uid-{uid}"))
    }
    #[cfg(not(unix))]
    "local".to_owned()
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).stack_size(512 << 10).spawn(work).map(drop)
}

/// Servers that print to standard output are common; their lines must not break the stream, and must not be lost.
fn noise() -> impl FnMut(&str) {
    let mut seen = 0;
    move |line| {
        seen += 1;
        let shown: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
        if seen <= NOISE {
            say(&format!(
                "stanchion: warning: the server wrote a line that is no message to its standard output: {shown}"
            ));
        }
        if seen == NOISE {
            say("stanchion: warning: further lines like that are not shown");
        }
    }
}
