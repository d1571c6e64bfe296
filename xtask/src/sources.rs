//! Other people's code, for `cargo xtask bench audit`: TypeScript, JavaScript and Python of packages by name and version.
//!
//! It goes to `target/peers/audit/tree`, and nothing but code stays there, so that every analyser sees the same files.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell::{Outcome, capture, say, step, which};

/// Packages of npm, and the folder in them that holds the code as it was written.
const NPM: &[(&str, &str)] = &[
    ("viem@2.57.13", "."),
    ("zod@4.6.7", "src"),
    ("mongodb@7.8.0", "src"),
    ("ethers@6.17.0", "src.ts"),
    ("rxjs@7.8.2", "src"),
    ("@trpc/server@11.23.0", "src"),
    ("@tanstack/query-core@5.107.1", "src"),
    ("knex@3.3.0", "lib"),
    ("mongoose@9.12.0", "lib"),
    ("@modelcontextprotocol/server-filesystem@2026.8.31", "dist"),
    ("@modelcontextprotocol/server-memory@2026.8.31", "dist"),
    ("@modelcontextprotocol/server-everything@2026.8.31", "dist"),
];

/// Packages of PyPI; wheels, which are plain folders of modules.
const PYPI: &[&str] = &[
    "Django==5.2.19",
    "SQLAlchemy==2.1.8",
    "ansible-core==2.19.14",
    "pydantic==2.14.3",
    "redis==8.1.0",
    "celery==5.7.0",
    "tornado==6.6.1",
    "aiohttp==3.14.5",
    "mcp==2.3.0",
    "fastapi==0.162.4",
    "jupyter_server==2.21.1",
    "mcp-server-git==2026.10.19",
    "mcp-server-fetch==2026.10.24",
    "mcp-server-time==2026.10.19",
    "mcp-server-sqlite==2025.4.25",
];

/// Endings of code that all of them understand.
const CODE: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "mjs", "cjs", "py"];
/// Folders that analysers leave out by themselves, each in its own way.
const LEFT_OUT: [&str; 8] = ["node_modules", "vendor", "dist", "build", "target", "test", "tests", "bin"];
/// Files beyond this are data.
const BYTES_MOST: u64 = 512 * 1024;

/// Brings the tree, unless these very packages are there.
pub(crate) fn bring(folder: &Path) -> Outcome {
    step("code of others", || {
        let tree = folder.join("tree");
        let stamp = folder.join("tree.installed");
        let wanted = wanted();
        if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
            say(&format!("    {}", tree.display()));
            return Ok(());
        }
        let error = |e| format!("cannot prepare {}: {e}", tree.display());
        if tree.exists() {
            fs::remove_dir_all(&tree).map_err(error)?;
        }
        fs::create_dir_all(&tree).map_err(error)?;
        for (package, inside) in NPM {
            npm(folder, &tree, package, inside)?;
        }
        let python = which("python3").ok_or("no python3")?;
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:", "--target"]);
        capture(pip.arg(tree.join("pypi")).args(PYPI))?;
        let kept = prune(&tree).map_err(error)?;
        // stanchion-audit: ignore RC302 -- half a stamp is not the wanted one, and all is fetched again
        fs::write(&stamp, &wanted).map_err(error)?;
        say(&format!("    {} (fetched now, {kept} files)", tree.display()));
        Ok(())
    })
}

fn wanted() -> String {
    let npm = NPM.iter().map(|(package, inside)| format!("{package} {inside}\n"));
    npm.chain(PYPI.iter().map(|package| format!("{package}\n"))).collect()
}

/// Fetches one package and unpacks a folder of it; no script of it is run.
fn npm(folder: &Path, tree: &Path, package: &str, inside: &str) -> Outcome {
    let npm = which("npm").ok_or("no npm")?;
    let said = capture(Command::new(npm).args(["pack", "--silent", "--pack-destination"]).arg(folder).arg(package))?;
    let archive = folder.join(said.lines().last().unwrap_or_default().trim());
    let name = package.trim_start_matches('@').split('@').next().unwrap_or(package).replace('/', "-");
    let place = tree.join("npm").join(name);
    fs::create_dir_all(&place).map_err(|e| format!("cannot create {}: {e}", place.display()))?;
    let (path, depth) = if inside == "." { ("package".to_owned(), 1) } else { (format!("package/{inside}"), 2) };
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive).arg("-C").arg(&place).arg(format!("--strip-components={depth}")).arg(path);
    capture(&mut tar)?;
    fs::remove_file(&archive).map_err(|e| format!("cannot remove {}: {e}", archive.display()))
}

/// Removes all that is no code, and says how many files are left.
fn prune(folder: &Path) -> std::io::Result<usize> {
    let mut kept = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type()?.is_dir() {
            if name.starts_with(['.', '_']) && !name.starts_with("__") || LEFT_OUT.contains(&name.as_str()) {
                fs::remove_dir_all(&path)?;
            } else {
                kept += prune(&path)?;
            }
        } else if is_code(&name) && entry.metadata()?.len() <= BYTES_MOST {
            kept += 1;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(kept)
}

fn is_code(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    CODE.contains(&ending) && ![".d.ts", ".d.mts", ".d.cts", ".min.js"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_as_it_was_written_is_kept() {
        assert!(is_code("index.ts") && is_code("views.py") && is_code("a.test.mjs"));
        assert!(!is_code("index.d.ts") && !is_code("jquery.min.js") && !is_code("LICENSE") && !is_code("a.pyc"));
    }
}
