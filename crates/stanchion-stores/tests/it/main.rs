//! Every backend against the conformance suite and its own faults, one binary.

#[cfg(feature = "consul")]
mod consul;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "redlock")]
mod redlock;
#[cfg(feature = "zookeeper")]
mod zookeeper;

mod common;
#[cfg(feature = "file")]
mod file;
mod fuzz;
mod guard;
#[cfg(all(feature = "sqlite", feature = "postgres"))]
mod inbox;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod kills;
#[cfg(any(feature = "sqlite", feature = "redis", feature = "postgres"))]
mod primitives;
mod s3;
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
