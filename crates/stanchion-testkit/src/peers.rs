//! Real MCP servers, clients and suites, as `cargo xtask peers` installs them.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use stanchion_testkit::peers_or_skip;
//!
//! let peers = peers_or_skip!();
//! let mut server = std::process::Command::new(peers.node());
//! server.arg(peers.memory_server()); // speaks MCP on standard input and output
//! # let _unused = server;
//! # }
//! ```
//!
//! They live in `target/peers/mcp`, or where `STANCHION_PEERS` says. As with [`engines`](crate::engines), peers that
//! are missing **fail** the test wherever `cargo xtask peers` could have brought them, and are a visible skip only
//! where it cannot: on a machine without Node.js or Python.

use std::env;
use std::path::{Path, PathBuf};

use crate::engines::Skip;

/// Where the installed peers are; every path exists.
#[derive(Clone, Debug)]
pub struct Peers {
    npm: PathBuf,
    node: PathBuf,
    python: PathBuf,
}

/// The installed [`Peers`], or leaves the test with a visible `SKIPPED` line where they cannot exist.
///
/// ```
/// use stanchion_testkit::peers_or_skip;
/// let peers = peers_or_skip!();
/// assert!(peers.memory_server().is_file());
/// ```
#[macro_export]
macro_rules! peers_or_skip {
    () => {
        match $crate::peers::Peers::find() {
            Ok(peers) => peers,
            Err(skip) => {
                skip.report();
                return;
            }
        }
    };
}

impl Peers {
    /// The peers that `cargo xtask peers` installed.
    ///
    /// ```
    /// use stanchion_testkit::peers::Peers;
    /// if let Err(skip) = Peers::find() {
    ///     skip.report(); // and leave the test
    /// }
    /// ```
    ///
    /// # If it fails
    /// The machine has no Node.js or no Python, so nothing can bring the peers. Report the [`Skip`].
    ///
    /// # Panics
    /// When they could be had: a test that quietly does not run is worse than a red one.
    pub fn find() -> Result<Peers, Skip> {
        let folder = folder();
        let tools = ["node", "npm", "python3"].map(|tool| (tool, on_path(tool)));
        let missing = tools.iter().find(|(_, path)| path.is_none()).map(|(tool, _)| *tool);
        // The installer writes these two files last.
        let whole = ["npm", "python"].iter().all(|part| folder.join(part).join("installed").is_file());
        let [(_, Some(node)), _, _] = tools else {
            return Err(Skip::new("peers: no `node` on PATH"));
        };
        if !whole {
            let Some(missing) = missing else {
                panic!("no MCP peers in {}; run `cargo xtask peers` first", folder.display());
            };
            return Err(Skip::new(format!("peers: no `{missing}` on PATH, and they need it")));
        }
        Ok(Peers { npm: folder.join("npm"), python: folder.join("python/bin/python"), node })
    }

    /// The machine's own Node.js.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.node().is_file());
    /// ```
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Node.js 22, which the conformance suite and the Inspector need. On a platform for which no package brings it,
    /// the machine's own.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.node22().is_file());
    /// ```
    pub fn node22(&self) -> PathBuf {
        let platforms = ["linux-x64", "linux-arm64", "darwin-x64"];
        let packaged = platforms.map(|platform| self.package(&format!("node-{platform}")).join("bin/node"));
        packaged.into_iter().find(|path| path.is_file()).unwrap_or_else(|| self.node.clone())
    }

    /// Python with the official `mcp` package.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.python().is_file());
    /// ```
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// The folder whose `node_modules` holds every npm package. A script finds them with
    /// `createRequire(folder + "/")` from `node:module`.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.npm().join("node_modules").is_dir());
    /// ```
    pub fn npm(&self) -> &Path {
        &self.npm
    }

    /// One installed npm package's folder.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.package("@modelcontextprotocol/client").join("package.json").is_file());
    /// ```
    pub fn package(&self, name: &str) -> PathBuf {
        self.npm.join("node_modules").join(name)
    }

    /// The official memory server: `node FILE`, with `MEMORY_FILE_PATH` in its environment.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.memory_server().is_file());
    /// ```
    pub fn memory_server(&self) -> PathBuf {
        self.package("@modelcontextprotocol/server-memory").join("dist/index.js")
    }

    /// The official server with a little of everything: `node FILE [stdio]`, or `PORT=… node FILE streamableHttp`.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.everything_server().is_file());
    /// ```
    pub fn everything_server(&self) -> PathBuf {
        self.package("@modelcontextprotocol/server-everything").join("dist/index.js")
    }

    /// The official Inspector: `node22 FILE --cli …`.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.inspector().is_file());
    /// ```
    pub fn inspector(&self) -> PathBuf {
        self.package("@modelcontextprotocol/inspector").join("clients/launcher/build/index.js")
    }

    /// The official conformance suite: `node22 FILE server --url …`.
    ///
    /// ```
    /// # let peers = stanchion_testkit::peers_or_skip!();
    /// assert!(peers.conformance().is_file());
    /// ```
    pub fn conformance(&self) -> PathBuf {
        self.package("@modelcontextprotocol/conformance").join("dist/index.js")
    }
}

/// `target/peers/mcp` of the workspace, wherever cargo's own target folder is.
fn folder() -> PathBuf {
    let workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
    env::var_os("STANCHION_PEERS").map_or_else(|| workspace().join("target/peers/mcp"), PathBuf::from)
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/bin", "/usr/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(system).map(|folder| folder.join(program)).find(|file| file.is_file())
}
