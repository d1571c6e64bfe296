//! Private servers and folders, started when the first benchmark needs them and gone with this program.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use stanchion_testkit::engines::{Postgres, Redis};
use tempfile::TempDir;

use crate::Outcome;

pub(crate) struct Engines {
    runtime: tokio::runtime::Runtime,
    redis: OnceCell<Result<Redis, String>>,
    postgres: OnceCell<Result<Postgres, String>>,
    folder: TempDir,
    memory: TempDir,
}

impl Engines {
    pub(crate) fn new() -> Outcome<Self> {
        // Where files are memory, the cell costs least; where there is no such place, any folder does.
        let memory = Path::new("/dev/shm");
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            redis: OnceCell::new(),
            postgres: OnceCell::new(),
            folder: tempfile::Builder::new().prefix("stanchion-bench-").tempdir()?,
            memory: if memory.is_dir() {
                TempDir::with_prefix_in("stanchion-bench-", memory)?
            } else {
                TempDir::new()?
            },
        })
    }

    /// Redis that keeps nothing on disk, or why there is none.
    pub(crate) fn redis(&self) -> Result<&Redis, String> {
        let start = || self.runtime.block_on(Redis::try_start()).map_err(|skip| skip.to_string());
        self.redis.get_or_init(start).as_ref().map_err(String::clone)
    }

    /// PostgreSQL with its own defaults for durability: every commit waits for the disk unless a session says no.
    pub(crate) fn postgres(&self) -> Result<&Postgres, String> {
        let start = || {
            let starting = Postgres::options().fsync(true).setting("shared_buffers=128MB").try_start();
            self.runtime.block_on(starting).map_err(|skip| skip.to_string())
        };
        self.postgres.get_or_init(start).as_ref().map_err(String::clone)
    }

    /// The servers that were started, with their versions.
    pub(crate) fn started(&self) -> Vec<String> {
        let redis = self.redis.get().and_then(|r| r.as_ref().ok());
        let postgres = self.postgres.get().and_then(|p| p.as_ref().ok());
        let redis = redis.map(|r| format!("Redis {} (no persistence)", r.version()));
        let postgres = postgres.map(|p| format!("PostgreSQL {} (fsync on)", p.version()));
        redis.into_iter().chain(postgres).collect()
    }

    /// A fresh folder on the disk of temporary files.
    pub(crate) fn fresh_folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A fresh cell, see [`Cell`](crate::cell::Cell).
    pub(crate) fn fresh_cell(&self) -> Outcome<PathBuf> {
        let path = self.memory.path().join("cell");
        std::fs::write(&path, [0; 8])?;
        Ok(path)
    }
}
