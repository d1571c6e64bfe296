//! The program under test, beside this one.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::spec::{Call, Spec};
use crate::Outcome;

pub(super) struct Ours {
    program: PathBuf,
    server: Vec<String>,
    /// A state folder whose store has been made.
    warm: TempDir,
}

impl Ours {
    pub(super) fn find() -> Outcome<Self> {
        let bench = std::env::current_exe()?;
        let server = vec![bench.display().to_string(), "echo-server".into()];
        let program = bench.with_file_name("stanchion");
        let warm = TempDir::with_prefix("stanchion-bench-")?;
        let made = Command::new(&program).arg("--home").arg(warm.path()).args(["claims", "ls"]).output();
        match made {
            Ok(made) if made.status.success() => Ok(Self { program, server, warm }),
            Ok(made) => Err(format!("error: no store: {}", String::from_utf8_lossy(&made.stderr)).into()),
            Err(e) => Err(format!("error: no {}: {e}", program.display()).into()),
        }
    }

    /// The server behind everything.
    pub(super) fn server(&self) -> &[String] {
        &self.server
    }

    pub(super) fn direct(&self, call: Call) -> Spec {
        Spec::stdio(self.server.clone(), call)
    }

    pub(super) fn relay(&self, call: Call) -> Spec {
        let words = [self.server[0].clone(), "relay".into(), "--".into()];
        Spec::stdio(words.into_iter().chain(self.server.iter().cloned()).collect(), call)
    }

    pub(super) fn direct_http(&self) -> Spec {
        let words = ["--http".to_owned(), "127.0.0.1:{port}".to_owned()];
        Spec::http(self.server.iter().cloned().chain(words).collect(), "/mcp")
    }

    /// Embedded store in a fresh folder.
    pub(super) fn wrap(&self, call: Call) -> Spec {
        self.wrap_in("{home}/state", call)
    }

    /// As on every start but the very first: the store is there.
    pub(super) fn wrap_again(&self, call: Call) -> Spec {
        self.wrap_in(&self.warm.path().display().to_string(), call)
    }

    fn wrap_in(&self, home: &str, call: Call) -> Spec {
        let words = ["wrap", "--name", "bench", "--"];
        let words = self.stanchion(home, &words).into_iter().chain(self.server.iter().cloned());
        Spec::stdio(words.collect(), call)
    }

    pub(super) fn serve(&self) -> Spec {
        let words = ["serve", "--listen", "127.0.0.1:{port}", "--policy", "{home}/stanchion.toml"];
        let policy = format!("[servers.bench]\ncommand = {:?}\n", self.server);
        Spec::http(self.stanchion("{home}/state", &words), "/bench").file("stanchion.toml", policy)
    }

    fn stanchion(&self, home: &str, words: &[&str]) -> Vec<String> {
        let own = [self.program.display().to_string(), format!("--home={home}"), "--durability=process".into()];
        own.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect()
    }

    pub(super) fn version(&self) -> String {
        let output = Command::new(&self.program).arg("--version").output();
        output.map_or_else(|e| format!("stanchion: {e}"), |out| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }
}
