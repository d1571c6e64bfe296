//! Race specifications for findings.

use crate::finding::Finding;
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
/// std::fs::write(folder.path().join("a.py"), "import json\ndef add(x):\n    all = json.load(open('n.json'))\n    all.append(x)\n    json.dump(all, open('n.json', 'w'))\n").unwrap();
/// let audited = audit(folder.path(), &[folder.path().to_owned()], &Config::default()).unwrap();
/// for finding in &audited.report.findings {
///     assert!(probe(&audited, finding).is_err());
/// }
/// ```
pub fn probe(_audited: &Audited, finding: &Finding) -> Result<Probe, String> {
    Err(format!("{}:{} cannot be probed: no tool or route leads to it", finding.path, finding.line))
}
