//! What the clients of an exploration do, and how it is judged.

pub mod calls;
pub mod fenced;
pub mod locks;
pub mod occ;
pub mod primitives;
pub mod redlock;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::Key;

use super::exhibit::Broken;

/// Of every lease in every room.
pub const TTL: Duration = Duration::from_secs(10);

#[must_use]
pub fn key() -> Key {
    Key::new("k").expect("a valid key")
}

/// What clients and judge share: counters, and the first thing that went wrong.
#[derive(Debug, Default)]
pub struct Notes<T> {
    inner: Arc<Mutex<(T, Option<Broken>)>>,
}

impl<T> Clone for Notes<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> Notes<T> {
    pub fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    pub fn broken(&self, property: &'static str, what: impl Into<String>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.1.get_or_insert_with(|| Broken::new(property, what));
    }

    /// For [`Visit::is_broken`](super::explore::Visit).
    #[must_use]
    pub fn watch(&self) -> Box<dyn Fn() -> bool + Send>
    where
        T: Send + 'static,
    {
        let notes = self.clone();
        Box::new(move || notes.verdict().is_some())
    }

    #[must_use]
    pub fn verdict(&self) -> Option<Broken> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}
