//! Connections from clients, from the first to the last.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
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
use tokio::time::Instant;

use super::patient::Patient;
use super::{Front, Serve};

/// How long a client may take to send the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// A pause after a failed accept: it fails at once again while the process has no file descriptors left.
const BREATHE: Duration = Duration::from_millis(50);
/// Responses that are ready are written within this, though everything else took until the deadline to end.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Serve {
    /// Serves until `stop` is ready; then accepts nothing more, waits for what runs, and ends the servers it has started.
    ///
    /// # If it fails
    /// `Invalid`: everybody could call from other machines, and that was not allowed. Nothing was served.
    /// `Unavailable`: something was still running at the end.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    /// stanchion_mcp::serve::Serve::new().run(listener, std::future::ready(())).await?;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<()> {
        let address = listener
            .local_addr()
            .map_err(|e| Error::new(ErrorKind::Invalid, "the listener has no address").because(e))?;
        let front = Arc::new(self.ready_for(address)?);
        let slots = Arc::new(Semaphore::new(front.connections));
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
                        let (front, stopped) = (Arc::clone(&front), stopped.clone());
                        connections.spawn(async move {
                            connection(front, socket, stopped).await;
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
        front.stopping.store(true, Ordering::Release);
        drop(listener);
        stopping.send_replace(true);
        front.wind_up(connections).await
    }
}

impl Front {
    async fn wind_up(&self, mut connections: JoinSet<()>) -> Result<()> {
        let deadline = Instant::now() + self.drain;
        let ends = self.endpoints.values().map(|endpoint| endpoint.shut_down(self.drain));
        let closed = async { while connections.join_next().await.is_some() {} };
        let ended = futures_util::future::join_all(ends);
        let mut closed = pin!(closed);
        let mut ended = pin!(ended);
        // Servers are ended when their calls have; connections end when their responses have.
        let mut all_closed = false;
        tokio::select! {
            _ = &mut ended => {}
            () = &mut closed => {
                all_closed = true;
                ended.await;
            }
        }
        let last = deadline.max(Instant::now() + LAST_WORDS);
        if !all_closed && tokio::time::timeout_at(last, closed).await.is_err() {
            return Err(Error::new(ErrorKind::Unavailable, "clients were still connected at the end")
                .with("waited", stanchion_core::text::duration(self.drain)));
        }
        Ok(())
    }
}

async fn connection(front: Arc<Front>, socket: TcpStream, mut stopped: watch::Receiver<bool>) {
    // Only a delay would be lost.
    socket.set_nodelay(true).ok();
    let service = service_fn(move |request: Request<Incoming>| {
        let front = Arc::clone(&front);
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(64 << 10);
    let mut serving = pin!(http.serve_connection(TokioIo::new(Patient::new(socket)), service));
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
