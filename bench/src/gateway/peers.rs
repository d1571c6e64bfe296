//! Other programs that put a stdio server behind Streamable HTTP, and how to find them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::spec::Spec;
use super::table::Line;
use crate::Outcome;

pub(super) const RUST: &str = "Rust mcp-proxy 0.6.0";
pub(super) const PYTHON: &str = "python mcp-proxy 0.13.0";
pub(super) const SUPERGATEWAY: &str = "npm supergateway 4.0.0";
pub(super) const FASTMCP: &str = "python fastmcp 4.1.2, its proxy";
pub(super) const ALL: [&str; 4] = [RUST, PYTHON, SUPERGATEWAY, FASTMCP];

/// Each in front of `server`, as quiet as it can be told to be.
pub(super) fn lines(peers: Option<&Path>, server: &[String]) -> Vec<Line> {
    vec![
        Line { label: RUST, spec: rust(peers, server) },
        Line { label: PYTHON, spec: python(peers, server) },
        Line { label: SUPERGATEWAY, spec: supergateway(peers, server) },
        Line { label: FASTMCP, spec: fastmcp(peers, server) },
    ]
}

fn rust(peers: Option<&Path>, server: &[String]) -> Result<Spec, String> {
    let program = installed(peers, "gateway-mcp-proxy-rs", "bin/mcp-proxy")?;
    let (command, words) = server.split_first().ok_or("no server")?;
    let text = format!(
        "[proxy]\nname = \"bench\"\nseparator = \"/\"\n\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {{port}}\n\n\
         [[backends]]\nname = \"echo\"\ntransport = \"stdio\"\ncommand = {command:?}\nargs = {words:?}\n"
    );
    let command = [program.join("bin/mcp-proxy").display().to_string(), "--config".into(), "{home}/proxy.toml".into()];
    Ok(Spec::http(command.into(), "/").file("proxy.toml", text).environment("RUST_LOG", "error".into()))
}

fn python(peers: Option<&Path>, server: &[String]) -> Result<Spec, String> {
    let packages = installed(peers, "gateway-mcp-proxy-py", "mcp_proxy")?;
    let interpreter = interpreter()?;
    let words = [&interpreter, "-m", "mcp_proxy", "--port", "{port}", "--log-level", "ERROR", "--"];
    Ok(python_path(Spec::http(with(&words, server), "/mcp"), &packages))
}

fn supergateway(peers: Option<&Path>, server: &[String]) -> Result<Spec, String> {
    let packages = installed(peers, "gateway-supergateway", "node_modules/supergateway")?;
    let script = packages.join("node_modules/supergateway/dist/index.js").display().to_string();
    let words = ["node", &script, "--outputTransport", "streamableHttp", "--stateful", "--port", "{port}"];
    // It splits the command at spaces in a shell.
    let server = server.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    Ok(Spec::http(with(&words, &["--logLevel".into(), "none".into(), "--stdio".into(), server]), "/mcp"))
}

fn fastmcp(peers: Option<&Path>, server: &[String]) -> Result<Spec, String> {
    let packages = installed(peers, "gateway-fastmcp", "fastmcp")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/fastmcp_proxy.py").display().to_string();
    Ok(python_path(Spec::http(with(&[&interpreter()?, &script, "{port}"], server), "/mcp"), &packages))
}

/// The interpreter itself: what is called `python3` may be a script that looks for one, and its time is not the peer's.
fn interpreter() -> Result<String, String> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.map_err(|e| format!("no python3: {e}"))?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !path.is_empty() { Ok(path) } else { Err("python3 does not run".into()) }
}

fn python_path(spec: Spec, packages: &Path) -> Spec {
    spec.environment("PYTHONPATH", packages.display().to_string())
}

fn with(words: &[&str], more: &[String]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).chain(more.iter().cloned()).collect()
}

fn installed(peers: Option<&Path>, folder: &str, proof: &str) -> Result<PathBuf, String> {
    let folder = peers.ok_or("no --peers; `cargo xtask bench` brings the packages")?.join(folder);
    let missing = || format!("{proof} is not installed in {}", folder.file_name().unwrap_or_default().display());
    let folder = folder.canonicalize().map_err(|_| missing())?;
    if folder.join(proof).exists() { Ok(folder) } else { Err(missing()) }
}

/// What is installed, as the packages themselves say: the peers, and the protocol libraries under them.
pub(super) fn versions(peers: Option<&Path>) -> Vec<String> {
    let Some(peers) = peers else { return Vec::new() };
    let rust = fs::read_to_string(peers.join("gateway-mcp-proxy-rs/.crates.toml")).unwrap_or_default();
    let rust = rust.split('"').find(|text| text.starts_with("mcp-proxy "));
    let rust = rust.and_then(|text| text.split(" (").next()).map(|text| format!("Rust {text}"));
    let python = |folder: &str, package: &str| {
        let names = fs::read_dir(peers.join(folder)).ok()?.flatten().map(|entry| entry.file_name());
        let mut names = names.filter_map(|name| name.into_string().ok());
        let of = |name: &str| name.strip_prefix(&format!("{package}-"))?.strip_suffix(".dist-info").map(str::to_owned);
        names.find_map(|name| of(&name)).map(|version| format!("python {package} {version}"))
    };
    let node = |package: &str| {
        let file = peers.join("gateway-supergateway/node_modules").join(package).join("package.json");
        let found = || -> Outcome<String> {
            let file: serde_json::Value = serde_json::from_str(&fs::read_to_string(file)?)?;
            Ok(file["version"].as_str().ok_or("no version")?.to_owned())
        };
        found().ok().map(|version| format!("npm {package} {version}"))
    };
    let found = [
        rust,
        python("gateway-mcp-proxy-py", "mcp_proxy"),
        python("gateway-mcp-proxy-py", "mcp"),
        python("gateway-fastmcp", "fastmcp"),
        python("gateway-fastmcp", "mcp"),
        node("supergateway"),
        node("@modelcontextprotocol/sdk"),
    ];
    found.into_iter().flatten().collect()
}
