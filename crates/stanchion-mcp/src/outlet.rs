//! Where frames go out, one after the other, from threads that may wait and from tasks that must not.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Threads wait while so much is on its way.
const BACKLOG: usize = 4 << 20;
/// A pipe that takes anything takes this much at once.
const SURELY: usize = 4096;

/// A place where bytes can be written.
pub trait Sink: Write + Send + 'static {
    /// Can a few bytes be written without waiting?
    fn is_ready(&self) -> bool;
}

#[cfg(unix)]
impl<W: Write + std::os::fd::AsFd + Send + 'static> Sink for W {
    fn is_ready(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(self, PollFlags::OUT)];
        matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1))
    }
}

#[cfg(not(unix))]
impl<W: Write + Send + 'static> Sink for W {
    fn is_ready(&self) -> bool {
        false
    }
}

/// The way out to one peer. Whoever comes while another one writes leaves its bytes to it.
///
/// ```
/// let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
/// outlet.send(b"{}\n");
/// outlet.close();
/// assert!(outlet.is_closed());
/// ```
#[derive(Clone)]
pub struct Outlet(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    /// Something was left to the thread.
    left: Condvar,
    /// There is room again. Waking nobody is not free, so it is only told to those who wait.
    room: Condvar,
    sink: Mutex<Option<Box<dyn Sink>>>,
    name: &'static str,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Somebody writes, and will see what waits.
    writing: bool,
    /// Nothing more is taken: it was closed, or the peer is gone.
    closed: bool,
    /// How many wait for `room`.
    blocked: usize,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Outlet").field(&self.0.name).finish()
    }
}

impl Outlet {
    /// An outlet, and the thread that writes when nobody else may wait.
    ///
    /// # If it fails
    /// The thread cannot be started.
    ///
    /// ```
    /// assert!(stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).is_ok());
    /// ```
    pub fn new(name: &'static str, sink: impl Sink) -> io::Result<Self> {
        let inner = Arc::new(Inner {
            state: Mutex::default(),
            left: Condvar::new(),
            room: Condvar::new(),
            sink: Mutex::new(Some(Box::new(sink))),
            name,
        });
        let outlet = Self(Arc::clone(&inner));
        std::thread::Builder::new().name(format!("to {name}")).stack_size(256 << 10).spawn(move || inner.serve())?;
        Ok(outlet)
    }

    /// Writes, and waits if the peer does not read. For threads.
    ///
    /// ```
    /// # let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
    /// outlet.send(b"{}\n");
    /// ```
    pub fn send(&self, bytes: &[u8]) {
        let mut state = self.0.with_room();
        if state.closed {
            return;
        }
        if state.writing || !state.waiting.is_empty() {
            state.waiting.extend_from_slice(bytes);
            if !state.writing {
                self.0.left.notify_one();
            }
            return;
        }
        state.writing = true;
        drop(state);
        self.0.write(bytes);
        self.0.write_waiting();
    }

    /// Writes at once if that takes no time, else soon. Never waits: for tasks.
    ///
    /// ```
    /// # let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
    /// assert!(outlet.post(b"{}\n"));
    /// ```
    ///
    /// False if nothing is taken any more.
    pub fn post(&self, bytes: &[u8]) -> bool {
        let mut state = self.0.lock();
        if state.closed {
            return false;
        }
        let idle = !state.writing && state.waiting.is_empty();
        if idle && bytes.len() <= SURELY && self.0.is_ready() {
            state.writing = true;
            drop(state);
            self.0.write(bytes);
            state = self.0.lock();
            state.writing = false;
            self.0.tell(&state);
        } else {
            state.waiting.extend_from_slice(bytes);
        }
        // Others may have left something meanwhile; the thread will take it.
        if !state.writing && (!state.waiting.is_empty() || state.closed) {
            self.0.left.notify_one();
        }
        true
    }

    /// Is everything written that was taken?
    ///
    /// ```
    /// # let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
    /// assert!(outlet.is_idle());
    /// ```
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let state = self.0.lock();
        !state.writing && state.waiting.is_empty()
    }

    /// Waits while much of what was posted is not read. For threads that make others post.
    ///
    /// ```
    /// # let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
    /// outlet.wait_for_room();
    /// ```
    pub fn wait_for_room(&self) {
        drop(self.0.with_room());
    }

    /// Takes nothing more; what was taken is written, then the peer sees the end.
    ///
    /// ```
    /// # let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
    /// outlet.close();
    /// ```
    pub fn close(&self) {
        self.0.lock().closed = true;
        self.0.left.notify_one();
        self.0.room.notify_all();
    }

    /// Is nothing taken any more?
    ///
    /// ```
    /// # let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
    /// assert!(!outlet.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.lock().closed
    }

    /// How many bytes wait to be written.
    ///
    /// ```
    /// # let outlet = stanchion_mcp::Outlet::new("a file", tempfile::tempfile().unwrap()).unwrap();
    /// assert_eq!(outlet.waiting(), 0);
    /// ```
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.lock().waiting.len()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_room(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.waiting.len() > BACKLOG && !state.closed {
            state.blocked += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.blocked -= 1;
        }
        state
    }

    fn is_ready(&self) -> bool {
        self.sink.try_lock().is_ok_and(|sink| sink.as_ref().is_some_and(|sink| sink.is_ready()))
    }

    /// Only while `writing` is ours.
    fn write(&self, bytes: &[u8]) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(to) = sink.as_mut() else { return };
        if let Err(error) = to.write_all(bytes).and_then(|()| to.flush()) {
            tracing::debug!(peer = self.name, %error, "the peer does not read any more");
            *sink = None;
            let mut state = self.lock();
            state.closed = true;
            state.waiting = Vec::new();
        }
    }

    fn tell(&self, state: &State) {
        if state.blocked > 0 {
            self.room.notify_all();
        }
    }

    /// Writes what others have left, until nothing is left; then somebody else may write.
    fn write_waiting(&self) {
        loop {
            let mut state = self.lock();
            let bytes = std::mem::take(&mut state.waiting);
            state.writing = !bytes.is_empty();
            self.tell(&state);
            if bytes.is_empty() {
                if state.closed {
                    self.left.notify_one();
                }
                return;
            }
            drop(state);
            self.write(&bytes);
        }
    }

    /// The thread's work.
    fn serve(&self) {
        let idle = |state: &mut State| state.writing || (state.waiting.is_empty() && !state.closed);
        loop {
            let mut state = self.left.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
            if state.waiting.is_empty() {
                drop(state);
                // The peer sees the end of its input.
                *self.sink.lock().unwrap_or_else(PoisonError::into_inner) = None;
                return;
            }
            state.writing = true;
            drop(state);
            self.write_waiting();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn frames_of_many_threads_and_tasks_stay_whole_and_in_their_own_order() {
        let (ours, mut peer) = UnixStream::pair().unwrap();
        let outlet = Outlet::new("peer", ours).unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = String::new();
            peer.read_to_string(&mut all).unwrap();
            all
        });
        std::thread::scope(|scope| {
            for writer in 0..6 {
                let outlet = &outlet;
                scope.spawn(move || {
                    for n in 0..2000 {
                        let line = format!("{writer} {n} {}\n", "x".repeat(n % 97));
                        if writer % 2 == 0 {
                            outlet.send(line.as_bytes());
                        } else {
                            assert!(outlet.post(line.as_bytes()));
                        }
                    }
                });
            }
        });
        outlet.close();
        let all = reader.join().unwrap();
        let mut next = [0; 6];
        for line in all.lines() {
            let mut parts = line.split(' ');
            let (writer, n): (usize, usize) =
                (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse().unwrap());
            assert_eq!(next[writer], n);
            assert_eq!(parts.next().unwrap().len(), n % 97);
            next[writer] += 1;
        }
        assert_eq!(next, [2000; 6]);
    }

    #[test]
    fn a_post_never_waits_for_a_peer_that_does_not_read() {
        let (ours, peer) = UnixStream::pair().unwrap();
        let outlet = Outlet::new("peer", ours).unwrap();
        for _ in 0..1000 {
            assert!(outlet.post(&[b'x'; 4096]));
        }
        assert!(!outlet.is_idle(), "void: the peer has taken it all");
        drop(peer);
        stanchion_testkit::eventually_sync(std::time::Duration::from_secs(10), "the peer is seen to be gone", || {
            outlet.is_idle()
        });
        assert!(outlet.is_closed());
        assert!(!outlet.post(b"more"));
    }
}
