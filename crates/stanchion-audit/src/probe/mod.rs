//! Race specifications for findings.
//!
//! A probe is a race specification (`docs/race-spec.md`) whose calls lead to the lines of a finding. What the code does not
//! say stays a line `# fill in:`, and no made-up answer takes its place.

mod argument;
mod ground;
mod handler;
mod oracle;
mod start;
mod value;
mod visit;
mod write;

pub(crate) use self::ground::Ground;
use self::handler::Handler;
use self::oracle::oracle;
use crate::finding::{Finding, Role, Surface};
use crate::pipeline::Audited;

/// A race specification that tries a finding out; the format is in `docs/race-spec.md`.
///
/// ```
/// let probe = stanchion_audit::probe::Probe { file: "rc101-5d1c0b7a9e3f2c44.toml".into(), text: "version = 1\n".into() };
/// assert!(probe.file.ends_with(".toml"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// A name for its file, without a folder; no two findings of a run have the same.
    pub file: String,
    /// The specification.
    pub text: String,
}

/// The probe of a finding of this run.
///
/// # Errors
/// Why it cannot be probed, in words for people: no tool or route leads to it, or no call can show it.
///
/// ```
/// use stanchion_audit::{audit, config::Config, probe::probe};
/// let folder = tempfile::tempdir().unwrap();
/// let code = r#"import json
/// from mcp.server.fastmcp import FastMCP
/// mcp = FastMCP("notes")
///
/// @mcp.tool()
/// def add(text: str) -> str:
///     notes = json.load(open("notes.json"))
///     notes.append(text)
///     json.dump(notes, open("notes.json", "w"))
///     return "ok"
/// "#;
/// std::fs::write(folder.path().join("server.py"), code).unwrap();
/// let audited = audit(folder.path(), &[folder.path().to_owned()], &Config::default()).unwrap();
/// let probe = probe(&audited, &audited.report.findings[0]).unwrap();
/// assert!(probe.text.contains("tool = \"add\"\narguments = { text = \"{id}\" }\n"));
/// ```
pub fn probe(audited: &Audited, finding: &Finding) -> Result<Probe, String> {
    let code = finding.code;
    let oracle = oracle(code).map_err(|why| format!("{code}: {why}"))?;
    if matches!(finding.surface, Surface::Test | Surface::Generated) {
        return Err(format!("{code}: it is in a test or in generated code, which nobody calls from outside"));
    }
    let handlers = audited.ground.handlers();
    let near = |role| finding.flow.iter().find(move |step| step.role == role).map(|step| (&step.path, step.line));
    let leads = |handler: &&Handler| {
        let does = |place: Option<(&String, u32)>| {
            place.is_none_or(|(path, line)| handler.does.contains(&(path.clone(), line)))
        };
        does(near(Role::Write).or(Some((&finding.path, finding.line)))) && does(near(Role::Read))
    };
    let drafts = handlers.iter().filter(leads).map(|handler| write::draft(audited, finding, oracle, handler, handlers));
    // The one that leaves least to a person; of several, the first.
    let best = drafts.min_by_key(|draft| draft.open);
    let Some(best) = best else {
        return Err(format!("{code}: no MCP tool and no HTTP route leads to it"));
    };
    let fingerprint = finding.fingerprint().replace('#', "-");
    Ok(Probe { file: format!("{}-{fingerprint}.toml", code.to_lowercase()), text: best.text })
}

#[cfg(test)]
mod tests;
