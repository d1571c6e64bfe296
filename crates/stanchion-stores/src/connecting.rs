//! Connecting again, for stores that have one connection for all.

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Held while connecting; remembers the last failure, so that those who waited for it share it: a server that does not
/// answer costs each of them one time-out, not one after the other.
pub(crate) struct Connecting<F>(Mutex<Option<(Instant, F)>>);

impl<F> Default for Connecting<F> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<F: Clone> Connecting<F> {
    /// The living connection, or a new one. `connect` also puts it where `living` finds it.
    pub(crate) async fn link<L, Connect: Future<Output = Result<L, F>>>(
        &self,
        living: impl Fn() -> Option<L>,
        connect: impl FnOnce() -> Connect,
    ) -> Result<L, F> {
        if let Some(link) = living() {
            return Ok(link);
        }
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some(link) = living() {
            return Ok(link);
        }
        if let Some((at, fault)) = &*last
            && *at >= asked
        {
            return Err(fault.clone());
        }
        let connected = connect().await;
        *last = connected.as_ref().err().map(|fault| (Instant::now(), fault.clone()));
        connected
    }
}
