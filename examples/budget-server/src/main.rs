//! An MCP server whose tools move money, send invoices and queue reports, and beside each the article's version.

mod app;
mod balance;
mod cluster;
mod database;
mod http;
mod outbox;
mod server;
mod tools;

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use stanchion_core::{Error, ErrorKind, Result};

/// A budget server for agents: MCP over Streamable HTTP, state in PostgreSQL, any number of instances.
#[derive(Debug, Parser)]
#[command(name = "budget-server")]
struct Options {
    /// The PostgreSQL database.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL", required_unless_present = "balance")]
    database: Option<String>,

    /// Where to listen; port 0 means any.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    listen: SocketAddr,

    /// Start this many instances and a balancer in front of them.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16), value_name = "N")]
    instances: u16,

    /// Be only the balancer, in front of these instances. May be given several times.
    #[arg(long, value_name = "ADDR", conflicts_with = "instances")]
    balance: Vec<SocketAddr>,

    /// Create these budgets if they are missing, with this much money each: `--seed marketing=1000`.
    #[arg(long, value_name = "NAME=CENTS")]
    seed: Vec<String>,

    /// End when standard input does: for instances that must not outlive who started them.
    #[arg(long, hide = true)]
    until_stdin_closes: bool,

    #[command(flatten)]
    settings: app::Settings,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Err(e) = run(Options::parse()).await else { return ExitCode::SUCCESS };
    // Nobody is left to tell if standard error is gone.
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "budget-server: {e}").ok();
    if let Some(hint) = e.next_step() {
        writeln!(stderr, "  {hint}").ok();
    }
    ExitCode::FAILURE
}

async fn run(options: Options) -> Result<()> {
    let Some(database) = options.database.as_deref().filter(|_| options.balance.is_empty()) else {
        return balance::run(options.listen, options.balance).await;
    };
    if options.instances > 1 {
        let (_instances, addresses) = cluster::start(options.instances).await?;
        return balance::run(options.listen, addresses).await;
    }
    let app = app::App::open(database, options.settings).await?;
    for seed in &options.seed {
        app.database.seed(seed).await?;
    }
    let app = Arc::new(app);
    tokio::spawn(tools::work(Arc::clone(&app)));
    let serve = http::run(options.listen, server::Server::new(app)?);
    if !options.until_stdin_closes {
        return serve.await;
    }
    // A thread of its own: a runtime that ends would wait for a read of its own for ever.
    let (closed, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
        closed.send(()).ok();
    });
    tokio::select! {
        ended = serve => ended,
        _ = end => Ok(()),
    }
}

/// Binds, and says where on standard output: `READY 127.0.0.1:4242`.
async fn listen(address: SocketAddr) -> Result<tokio::net::TcpListener> {
    let failed = |e| Error::new(ErrorKind::Unavailable, "cannot listen here").with("address", address).because(e);
    let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "READY {bound}").and_then(|()| stdout.flush()).map_err(failed)?;
    Ok(listener)
}
