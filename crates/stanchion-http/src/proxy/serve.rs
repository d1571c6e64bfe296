//! Connections from callers.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use stanchion_core::{Error, ErrorKind, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::Proxy;
use super::headers::Peer;
use crate::Body;

/// How long a caller may take to send the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// How long requests may run on after `stop`.
const DRAIN: Duration = Duration::from_secs(30);
/// A pause after a failed accept: it fails at once again while the process has no file descriptors left.
const BREATHE: Duration = Duration::from_millis(50);

impl Proxy {
    /// Serves until `stop` is ready, then accepts nothing more and lets what runs end, for at most 30 s. A guarded request
    /// that runs longer is left with an unknown outcome.
    ///
    /// # If it fails
    /// `Unavailable` if requests were still running at the end.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::proxy::Proxy;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    /// Proxy::new(guard, "http://127.0.0.1:3000")?.serve(listener, std::future::ready(())).await?;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<()> {
        let proxy = Arc::new(self);
        let slots = Arc::new(Semaphore::new(proxy.connections));
        let (stopping, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            let accepted = async {
                let slot = Arc::clone(&slots).acquire_owned().await;
                (listener.accept().await, slot)
            };
            tokio::select! {
                () = &mut stop => break,
                (accepted, slot) = accepted => match accepted {
                    Ok((socket, _)) => {
                        let (proxy, stopped) = (Arc::clone(&proxy), stopped.clone());
                        connections.spawn(async move {
                            connection(proxy, socket, stopped).await;
                            drop(slot);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(BREATHE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listener);
        stopping.send_replace(true);
        let ended = tokio::time::timeout(DRAIN, async {
            while connections.join_next().await.is_some() {}
            for route in &proxy.routes {
                route.layer.idle().await;
            }
        });
        ended.await.map_err(|_| {
            Error::new(ErrorKind::Unavailable, "requests were still running when the proxy stopped")
                .with("waited", stanchion_core::text::duration(DRAIN))
        })
    }
}

async fn connection(proxy: Arc<Proxy>, socket: TcpStream, mut stopped: watch::Receiver<bool>) {
    let peer = socket.peer_addr().ok().map(|address| Peer(address.ip()));
    // Only a delay would be lost.
    socket.set_nodelay(true).ok();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let proxy = Arc::clone(&proxy);
        peer.map(|peer| request.extensions_mut().insert(peer));
        async move { Ok::<_, Infallible>(proxy.answer(request.map(Body::new)).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    let mut serving = pin!(http.serve_connection(TokioIo::new(socket), service));
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = async { drop(stopped.wait_for(|stopped| *stopped).await) } => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
