//! A store of its own for each test, and what its helper processes need.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::any::Any;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Error, Key, RecordStore};
use stanchion_stores::Opened;
use stanchion_testkit::process::Child;
use tempfile::TempDir;

/// How long a test waits for what must come; only failures take that long.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Long enough for a busy machine to renew, short enough to wait for its end.
pub(super) const LEASE: Duration = Duration::from_millis(600);

/// A running engine, and a log of what ran that belongs to the test alone.
pub(super) struct Place {
    pub(super) url: String,
    folder: TempDir,
    _engine: Box<dyn Any>,
}

impl Place {
    fn new(url: String, folder: TempDir, engine: impl Any) -> Self {
        Self { url, folder, _engine: Box::new(engine) }
    }

    pub(super) async fn records(&self) -> Arc<dyn RecordStore> {
        open(&self.url).await.records.unwrap()
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// This test once more as a helper, in a role, with a log.
    pub(super) fn helper(&self, role: &str, log: &str, more: &[(&str, &str)]) -> Child {
        let log = self.log(log);
        let mut variables = vec![("URL", self.url.as_str()), ("ROLE", role), ("LOG", log.to_str().unwrap())];
        variables.extend(more);
        Child::rerun_this_test_with(&variables)
    }

    pub(super) fn lines(&self, log: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.log(log)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[cfg(feature = "sqlite")]
pub(super) async fn sqlite() -> Place {
    let folder = tempfile::tempdir().unwrap();
    Place::new(format!("sqlite:{}/store.db?locks=lease", folder.path().display()), folder, ())
}

#[cfg(feature = "redis")]
pub(super) async fn redis() -> Place {
    let server = stanchion_testkit::engines::Redis::start().await;
    Place::new(server.url(), tempfile::tempdir().unwrap(), server)
}

#[cfg(feature = "postgres")]
pub(super) async fn postgres() -> Place {
    let server = stanchion_testkit::engines::Postgres::start().await;
    Place::new(server.url(), tempfile::tempdir().unwrap(), server)
}

pub(super) async fn open(url: &str) -> Opened {
    stanchion_stores::open(url).await.unwrap_or_else(|e| panic!("{url}: {e}"))
}

pub(super) fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// What the test told a helper.
pub(super) fn told(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("a helper needs {name}"))
}

pub(super) async fn helpers_store() -> Opened {
    open(&told("URL")).await
}

/// Says it to the log before anything else can happen to this process.
pub(super) fn log(line: &str) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(told("LOG")).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// A line to the test. Not `println!`: what a helper says is no forgotten trace.
pub(super) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A test that is gone does not listen any more, and ends us.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

/// A helper's answer, on one line.
pub(super) fn answer(result: Result<impl AsRef<[u8]>, Error>) {
    match result {
        Ok(value) => say(&format!("VALUE {}", String::from_utf8_lossy(value.as_ref()))),
        Err(e) => say(&format!("FAILED {} {e}", e.kind().code())),
    }
}

/// Makes each function a test per engine. A helper process runs `helper` of the same module instead.
macro_rules! on_every_engine {
    ($($test:ident),+ $(,)?) => {
        on_every_engine!(@ "sqlite" sqlite $($test)+);
        on_every_engine!(@ "redis" redis $($test)+);
        on_every_engine!(@ "postgres" postgres $($test)+);
    };
    (@ $feature:literal $engine:ident $($test:ident)+) => {
        #[cfg(feature = $feature)]
        mod $engine {
            $(
                #[tokio::test]
                async fn $test() {
                    if stanchion_testkit::process::is_helper() {
                        return super::helper().await;
                    }
                    super::$test($crate::primitives::engine::$engine().await).await;
                }
            )+
        }
    };
}
