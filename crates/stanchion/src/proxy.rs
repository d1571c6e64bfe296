//! `stanchion proxy`: the guard in front of any HTTP service.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method, Uri};
use stanchion_core::text::parse_duration;
use stanchion_core::{Error, ErrorKind, Guard, InFlight, Locks, Policy, Result, RetryPolicy};
use stanchion_http::key::KeyRules;
use stanchion_http::layer::{Meaning, Principal, RoutePolicy};
use stanchion_http::proxy::Proxy;

use crate::cli::{Cli, ProxyArgs};
use crate::exit::{say, signalled};
use crate::store;

/// How often old answers are dropped and dead calls marked.
const SWEEP: Duration = Duration::from_secs(10 * 60);

/// Who a request belongs to.
#[derive(Debug, Clone)]
pub(crate) enum Who {
    Header(HeaderName),
    Secret(HeaderName),
    Everyone,
}

pub(crate) async fn run(cli: &Cli, args: &ProxyArgs) -> Result<u8> {
    let policy = policy(args)?;
    let store = store::open(&cli.store).await?;
    let claims = store.claims();
    let guard = Guard::with(claims.clone(), Locks::shared(Arc::clone(&store.locks))).on_store_down(args.on_store_down);
    let mut proxy = Proxy::new(guard, &args.upstream)?;
    let name = name(args)?;
    for pattern in &args.routes {
        proxy = proxy.route(pattern.clone(), route(args, &name, policy.clone())?)?;
    }
    proxy = proxy.answer_within(args.answer_within)?;
    if let Some(name) = &args.fence_header {
        proxy = proxy.fence_header(header(name)?);
    }
    let listener = tokio::net::TcpListener::bind(args.listen)
        .await
        .map_err(|e| Error::new(ErrorKind::Invalid, "cannot listen there").with("address", args.listen).because(e))?;
    let address = listener.local_addr().unwrap_or(args.listen);
    // Before anybody can know that we are there.
    let stopped = stop();
    say(&format!(
        "stanchion: guarding {} at http://{address}, store {}, requests remembered as '{name}'",
        args.upstream, store.shown
    ));
    if !address.ip().is_loopback() {
        say("stanchion: warning: reachable from other machines; there is no TLS and no authentication of our own");
    }
    // Anywhere in the period: proxies that were started together do not sweep together.
    let mut pause = RetryPolicy::default().pauses(SWEEP, SWEEP)?.pause(0);
    let sweeping = tokio::spawn(async move {
        loop {
            tokio::time::sleep(pause).await;
            pause = SWEEP;
            if let Err(error) = claims.sweep().await {
                tracing::warn!(%error, "the claims could not be swept");
            }
        }
    });
    let served = proxy.serve(listener, stopped).await;
    sweeping.abort();
    served.map(|()| 0)
}

fn policy(args: &ProxyArgs) -> Result<Policy> {
    let policy = Policy::default()
        .effect(args.effect)
        .in_flight(args.in_flight)
        .lease(args.lease)?
        .keep(args.keep, args.keep_key)?;
    Ok(if args.allow_weak { policy.allow_weak() } else { policy })
}

/// One service has one name, however its address is spelled.
fn name(args: &ProxyArgs) -> Result<String> {
    if let Some(name) = &args.name {
        return Ok(name.clone());
    }
    let upstream = args.upstream.parse::<Uri>().ok();
    let Some((uri, to)) = upstream.as_ref().and_then(|uri| Some((uri, uri.authority()?))) else {
        return Err(
            Error::new(ErrorKind::Invalid, "the upstream is no address").hint("write http://HOST[:PORT][/PATH]")
        );
    };
    let (host, port) = (to.host().to_ascii_lowercase(), to.port_u16().unwrap_or(80));
    Ok(format!("{host}:{port}{}", uri.path().trim_end_matches('/')))
}

fn route(args: &ProxyArgs, name: &str, policy: Policy) -> Result<RoutePolicy> {
    let principal = match &args.principal {
        Who::Header(name) => Principal::header(name.clone()),
        Who::Secret(name) => Principal::secret(name.clone()),
        Who::Everyone => Principal::everyone("everyone"),
    };
    let methods = args.methods.iter().map(|name| {
        Method::from_bytes(name.trim().to_ascii_uppercase().as_bytes())
            .map_err(|_| Error::new(ErrorKind::Invalid, "not a method").with("method", name))
    });
    let rules = if args.require_key { KeyRules::required() } else { KeyRules::optional() };
    let route = RoutePolicy::new(name, principal)
        .methods(methods.collect::<Result<Vec<_>>>()?)
        .key(rules)
        .policy(policy)
        .on_status(500..=599, args.on_5xx)
        .body_limit(args.body_limit)?
        .response_cap(args.response_cap)?
        .lock_ttl(args.lock_ttl)?;
    Ok(args.locks.iter().fold(route, |route, template| route.lock(template.clone(), args.lock_wait)))
}

/// Until a signal asks to end.
pub(crate) fn stop() -> impl Future<Output = ()> {
    let signalled = signalled();
    async {
        signalled.await;
        say("stanchion: stopping; what runs may end");
    }
}

fn header(name: &str) -> Result<HeaderName> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| Error::new(ErrorKind::Invalid, "not the name of a header").with("name", name))
}

pub(crate) fn principal(text: &str) -> Result<Who, String> {
    let name = |name: &str| header(name).map_err(|e| e.to_string());
    match text.split_once(':') {
        Some(("header", field)) => name(field).map(Who::Header),
        Some(("secret", field)) => name(field).map(Who::Secret),
        None if text == "everyone" => Ok(Who::Everyone),
        _ => Err("allowed: header:NAME, secret:NAME, everyone".to_owned()),
    }
}

pub(crate) fn in_flight(text: &str) -> Result<InFlight, String> {
    match text {
        "reject" => Ok(InFlight::Reject),
        "attach" => Ok(InFlight::Attach),
        _ => {
            parse_duration(text).map(InFlight::Wait).map_err(|_| "allowed: reject, a time as in 10s, attach".to_owned())
        }
    }
}

pub(crate) fn meaning(text: &str) -> Result<Meaning, String> {
    match text {
        "unknown" => Ok(Meaning::Unknown),
        "final" => Ok(Meaning::Final),
        "nothing" => Ok(Meaning::NothingRan),
        _ => Err("allowed: unknown, final, nothing".to_owned()),
    }
}
