//! Every backend against the conformance suite and its own faults, one binary.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;

#[cfg(feature = "file")]
mod file;
#[cfg(any(feature = "sqlite", feature = "redis", feature = "postgres"))]
mod guard;
#[cfg(all(feature = "sqlite", feature = "postgres"))]
mod inbox;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod kills;
#[cfg(any(feature = "sqlite", feature = "redis", feature = "postgres"))]
mod primitives;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod sqlite_fused;
#[cfg(feature = "sqlite")]
mod sqlite_guard;
#[cfg(feature = "sqlite")]
mod sqlite_own_lock;
#[cfg(feature = "sqlite")]
mod sqlite_transactional;
