//! A service that does nothing but remember what it was asked to do.

#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
mod none;

#[cfg(feature = "http")]
pub(crate) use self::http::Recorder;
#[cfg(not(feature = "http"))]
pub(crate) use self::none::Recorder;

/// One changing request that was done, whatever its sender was told.
#[derive(Debug, Clone)]
pub(crate) struct Effect {
    /// Everything in which the id of a call can stand: path, headers, body.
    pub(crate) text: String,
}
