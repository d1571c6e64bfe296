//! The whole way: files, modules, traces, findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use crate::advice::{self, Way};
use crate::audit::{Callers, Hits, hits_in, threads};
use crate::catalogue;
use crate::checklist::{Met, Subject};
use crate::config::Config;
use crate::copies::Copies;
use crate::deploy::{Deployment, started};
use crate::engine::{Entry, Scope, Site, plain};
use crate::error::Error;
use crate::finding::{self, Confidence, Finding, Marks, Role, Severity, Step, Surface};
use crate::format::{Note, Report};
use crate::frontend::lower;
use crate::hir::{Function, Import, Imported, Language};
use crate::models::Models;
use crate::probe::Ground;
use crate::program::{Program, Source};
use crate::rules::Hit;
use crate::schema::Schema;
use crate::suppress;
use crate::walk::{self, Limits};

/// What was looked at and what was found.
///
/// ```
/// let config = stanchion_audit::config::Config::default();
/// let audited = stanchion_audit::audit("/".as_ref(), &["/nowhere".into()], &config).unwrap();
/// assert_eq!(audited.refused[0].text, "cannot be read: entity not found");
/// assert!(audited.deployment.facts.is_empty() && audited.subjects.is_empty());
/// ```
#[derive(Debug)]
pub struct Audited {
    /// Findings and notes.
    pub report: Report,
    /// How the program is run, as far as its files say it.
    pub deployment: Deployment,
    /// What the code is about: of what it is not about, the checklist says nothing.
    pub subjects: Vec<Subject>,
    /// And where it was seen, for the items that pass.
    pub met: Vec<Met>,
    /// What was asked for by name and could not be analysed.
    pub refused: Vec<Note>,
    texts: BTreeMap<String, Arc<str>>,
    pub(crate) ground: Ground,
}

impl Audited {
    /// The text of a file that was looked at.
    ///
    /// ```
    /// let config = stanchion_audit::config::Config::default();
    /// let audited = stanchion_audit::audit("/".as_ref(), &[], &config).unwrap();
    /// assert!(audited.text("a.py").is_none());
    /// ```
    #[must_use]
    pub fn text(&self, path: &str) -> Option<Arc<str>> {
        self.texts.get(path).cloned()
    }
}

/// How far a run is.
///
/// ```
/// let progress = stanchion_audit::Progress { doing: "parsing", done: 3, total: 10 };
/// assert!(progress.done < progress.total);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub doing: &'static str,
    /// So much of it is done.
    pub done: usize,
    /// Of so much; 0 if that is not known.
    pub total: usize,
}

/// Looks at everything below `roots`; paths are shown from `base`.
///
/// # Errors
/// A model file that cannot be read, or no memory for threads.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join("a.py"), "import json\ndef add(x):\n    all = json.load(open('n.json'))\n    all.append(x)\n    json.dump(all, open('n.json', 'w'))\n").unwrap();
/// let config = stanchion_audit::config::Config::default();
/// let audited = stanchion_audit::audit(folder.path(), &[folder.path().to_owned()], &config).unwrap();
/// assert_eq!(audited.report.files, 1);
/// ```
pub fn audit(base: &Path, roots: &[PathBuf], config: &Config) -> Result<Audited, Error> {
    audit_and_tell(base, roots, config, &|_| {})
}

/// The same, and `tell` hears how far it is, from several threads.
///
/// # Errors
/// A model file that cannot be read, or no memory for threads.
///
/// ```
/// use std::sync::Mutex;
/// let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join("a.py"), "print('hello')\n").unwrap();
/// let heard = Mutex::new(Vec::new());
/// let config = stanchion_audit::config::Config::default();
/// let tell = |progress: stanchion_audit::Progress| heard.lock().unwrap().push(progress.doing);
/// stanchion_audit::audit_and_tell(folder.path(), &[folder.path().to_owned()], &config, &tell).unwrap();
/// assert_eq!(heard.into_inner().unwrap(), ["reading", "parsing", "following calls"]);
/// ```
pub fn audit_and_tell(
    base: &Path,
    roots: &[PathBuf],
    config: &Config,
    tell: &(dyn Fn(Progress) + Sync),
) -> Result<Audited, Error> {
    let start = Instant::now();
    let models = models(base, config)?;
    tell(Progress { doing: "reading", done: 0, total: 0 });
    let walked = walk::walk(base, roots, Limits::default());
    let mut notes: Vec<Note> =
        walked.notes.into_iter().map(|note| Note { path: note.path, line: 0, text: note.text }).collect();
    let named: BTreeSet<String> = roots.iter().map(|root| walk::shown(base, root)).collect();
    let refused: Vec<Note> = notes.iter().filter(|note| named.contains(&note.path)).cloned().collect();
    let (mut left_out, mut partly) = (notes.len(), 0);
    let (code, configs): (Vec<_>, Vec<_>) = walked.files.into_iter().partition(|file| file.dialect.is_some());
    let code: Vec<_> = code.into_iter().filter(|file| config.covers(&file.path)).collect();
    let (done, total) = (AtomicUsize::new(0), code.len());
    let tick = |doing| tell(Progress { doing, done: done.fetch_add(1, Ordering::Relaxed) + 1, total });
    let findings = threads()?.install(|| {
        let modules = code.par_iter().with_max_len(1).map(|file| {
            let module = file.dialect.and_then(|dialect| lower(dialect, &file.text));
            tick("parsing");
            module
        });
        let texts = configs.iter().chain(&code).map(|file| (file.path.as_str(), file.text.as_str()));
        let (mut deployment, modules): (_, Vec<_>) = rayon::join(|| Deployment::read(texts), || modules.collect());
        let mut files = Vec::new();
        let mut surfaces = Vec::new();
        for (file, module) in code.iter().zip(modules) {
            let Some(module) = module else {
                left_out += 1;
                let text = "not analysed: the parser finds no way through it".to_owned();
                notes.push(Note { path: file.path.clone(), line: 0, text });
                continue;
            };
            if let Some(line) = module.errors.first() {
                partly += 1;
                let count = module.errors.len();
                let lines = if count == 1 { "line" } else { "lines" };
                let text = format!("not all of it was understood: {count} {lines} with syntax errors");
                notes.push(Note { path: file.path.clone(), line: *line, text });
            }
            files.push(Source { path: file.path.clone(), module });
            surfaces.push(surface(file.surface));
        }
        let started = files.par_iter().map(|file| started(&models, &file.path, &file.module));
        started.collect::<Vec<_>>().into_iter().flatten().for_each(|fact| deployment.add(fact));
        let settings: Vec<_> = configs.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
        let program = Program::new(files, &settings);
        let copies = Copies::new(&program, &deployment, config);
        let tell = |done| tell(Progress { doing: "following calls", done, total: program.len() });
        let looked = hits_in(&program, &models, &Schema::of(&settings), &copies, &tell);
        partly += looked.partly.values().sum::<usize>();
        notes.extend(followed_in_part(&program, &looked));
        notes.extend(unfollowed(&models, &program));
        let found = looked.found.iter().filter_map(|(hit, callers)| {
            let way = way(copies.is_stdio(hit.at.file), program.module(hit.write.file).language, callers);
            finding(&program, hit, callers, &surfaces, way)
        });
        let mut findings: Vec<Finding> = found.collect();
        findings.retain_mut(|finding| match config.severity(finding.code, finding.severity) {
            Some(severity) => {
                finding.severity = severity;
                true
            }
            None => false,
        });
        let texts: Vec<(String, Arc<str>)> = code.into_par_iter().map(|file| (file.path, file.text.into())).collect();
        let lines: usize = texts.par_iter().map(|(_, text)| text.lines().count()).sum();
        let texts: BTreeMap<_, _> = texts.into_iter().collect();
        finding::finish(&mut findings, &|path| texts.get(path).cloned());
        // Where a part of the tree is looked at, what leads to a line may stand in the rest.
        let is_whole = roots.iter().any(|root| walk::shown(base, root).is_empty());
        let was_looked_for = |code: &str| is_whole && config.severity(code, Severity::High).is_some();
        let of_files = suppress::by_file(&findings);
        for file in (0..program.len()).filter(|file| !program.module(*file).comments.is_empty()) {
            let (path, comments) = (program.path(file), &program.module(file).comments);
            let own = of_files.get(path).map_or(&[][..], Vec::as_slice);
            notes.extend(suppress::suppress(path, comments, &mut findings, own, &was_looked_for));
        }
        let place = |(subject, sites): (&Subject, &BTreeSet<Site>)| {
            let first = sites.first()?;
            let (path, line) = (program.path(first.file).to_owned(), first.span.line);
            Some(Met { subject: *subject, path, line, more: sites.len() - 1 })
        };
        let met: Vec<Met> = looked.subjects.iter().filter_map(place).collect();
        let files = program.len();
        program.free();
        (findings, texts, lines, files, met, deployment)
    });
    let (findings, texts, lines, files, met, deployment) = findings;
    let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    notes.sort_by(|a, b| (&a.path, a.line, &a.text).cmp(&(&b.path, b.line, &b.text)));
    let report = Report { findings, notes, gone: Vec::new(), files, lines, millis, left_out, partly };
    let ground = Ground::new(models, &configs, &texts);
    let subjects = met.iter().map(|met| met.subject).collect();
    Ok(Audited { report, deployment, subjects, met, refused, texts, ground })
}

/// What was followed only in part.
fn followed_in_part(program: &Program, hits: &Hits) -> Vec<Note> {
    let note = |path: &str, text: String| Note { path: path.to_owned(), line: 0, text };
    let entry = |(file, count): (&usize, &usize)| {
        note(program.path(*file), format!("{count} entry points lead to too much code and were followed only in part"))
    };
    let mut notes: Vec<Note> = hits.partly.iter().map(entry).collect();
    if hits.loose > 0 {
        let text =
            "functions that nothing here calls from outside lead to too much code and were followed only in part";
        notes.push(note("", format!("{} {text}", hits.loose)));
    }
    notes
}

/// Files that hand work to threads by messages: who sends one and who gets it are judged as if they had nothing to do with
/// each other.
fn unfollowed(models: &Models, program: &Program) -> Vec<Note> {
    let sends = |file: &usize| {
        let module = program.module(*file);
        let gives = |import: &Import, class: &str| {
            let (package, name) = class.rsplit_once('.').unwrap_or_default();
            let is_given =
                matches!(&import.what, Imported::Name(given) if given == name) || import.what == Imported::Module;
            is_given && models.package(module.language, &import.module) == package
        };
        let threads = &models.words(module.language).threads;
        module.imports.iter().any(|import| threads.iter().any(|class| gives(import, class)))
    };
    let text = "messages to a worker thread are not followed: what is done by them is judged where the worker does it";
    let files = (0..program.len()).filter(sends);
    files.map(|file| Note { path: program.path(file).to_owned(), line: 0, text: text.to_owned() }).collect()
}

fn models(base: &Path, config: &Config) -> Result<Models, Error> {
    let mut more = Vec::new();
    for name in &config.models {
        let text = std::fs::read_to_string(base.join(name));
        let text = text.map_err(|e| Error::new(format!("the model file cannot be read: {e}")).at(name.clone(), 0))?;
        more.push((name.clone(), text));
    }
    Models::new(&more).map_err(|bad| {
        let known = "see the files in crates/stanchion-audit/models for what a model can say";
        Error::new(format!("this is no model file: {}", bad.why)).at(bad.file, bad.line).hint(known)
    })
}

/// How calls come to code in this language, by what leads to it.
fn way(is_stdio: bool, language: Language, callers: &Callers) -> Way {
    if callers.values().any(|entry| *entry == Entry::Route) {
        Way::Http
    } else if is_stdio {
        Way::Mcp
    } else if language == Language::Rust {
        Way::Library
    } else {
        Way::Command
    }
}

fn surface(of: walk::Surface) -> Surface {
    match of {
        walk::Surface::Product => Surface::Product,
        walk::Surface::Test => Surface::Test,
        walk::Surface::Script => Surface::Script,
        walk::Surface::Example => Surface::Example,
        walk::Surface::Generated => Surface::Generated,
    }
}

/// The function that a line belongs to, with its class.
fn function_at(program: &Program, site: Site) -> String {
    let module = program.module(site.file);
    let holds =
        |f: &&Function| !f.name.is_empty() && f.span.line <= site.span.line && site.span.line <= f.span.end_line;
    let inner = module.functions.iter().skip(1).filter(holds).max_by_key(|f| f.span.line);
    inner.map_or_else(String::new, |function| {
        let class = function.class.and_then(|class| module.classes.get(class)).filter(|class| !class.name.is_empty());
        class.map_or_else(|| function.name.clone(), |class| format!("{}.{}", class.name, function.name))
    })
}

fn finding(program: &Program, hit: &Hit, callers: &Callers, surfaces: &[Surface], way: Way) -> Option<Finding> {
    let rule = catalogue::rule(hit.code)?;
    let site = hit.at;
    let mut flow = Vec::new();
    let step = |role, site: Site, note: &str| Step {
        role,
        path: program.path(site.file).to_owned(),
        line: site.span.line,
        end_line: site.span.end_line,
        note: note.to_owned(),
    };
    let (reads, writes) = (hit.reads(), hit.writes());
    flow.extend(reads.iter().map(|site| step(Role::Read, *site, "")));
    flow.extend(hit.window.map(|site| step(Role::Window, site, "others can run here")));
    flow.extend(writes.iter().map(|site| step(Role::Write, *site, "")));
    // What lies between the calls and what they come to.
    let between = hit.frames.iter().filter(|call| !reads.contains(call) && !writes.contains(call));
    flow.extend(between.map(|call| step(Role::Call, *call, "")));
    let surface_of = |file: usize| surfaces.get(file).copied().unwrap_or(Surface::Product);
    // Product code that only tests come to in this way.
    let is_tested = !hit.by.is_empty() && hit.by.iter().all(|file| surface_of(*file) == Surface::Test);
    let surface = if is_tested { Surface::Test } else { surface_of(site.file) };
    let new = Finding::new(rule, program.path(site.file), site.span.line, site.span.end_line);
    // Tests and scripts are run by one person at a time, and what may well be meant so is not severe.
    let severity = if surface == Surface::Product && hit.sure > 0 { new.severity } else { Severity::Low };
    Some(Finding {
        severity,
        confidence: match hit.sure {
            0 => Confidence::Low,
            1 => Confidence::Medium,
            _ => Confidence::High,
        },
        scope: match hit.scope {
            Scope::Task => finding::Scope::Task,
            Scope::Thread => finding::Scope::Thread,
            Scope::Process => finding::Scope::Process,
            Scope::Host => finding::Scope::Host,
            Scope::Cluster => finding::Scope::Cluster,
        },
        message: hit.message.clone(),
        why: match callers.len() {
            0 => hit.why.clone(),
            1..=4 => {
                format!("{}; it is reached from {}", hit.why, callers.keys().cloned().collect::<Vec<_>>().join(", "))
            }
            more => {
                let some = callers.keys().take(3).cloned().collect::<Vec<_>>().join(", ");
                format!("{}; it is reached from {some} and {} more", hit.why, more - 3)
            }
        },
        fix: advice::fix(rule, way),
        flow,
        function: function_at(program, site),
        resource: plain(&hit.resource),
        surface,
        marks: Marks { column: site.span.column, ..Marks::default() },
        ..new
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Instances as Said;

    const LOCKED: &str = "import fs from 'node:fs';\nimport express from 'express';\nimport { Mutex } from 'async-mutex';\nconst m = new Mutex();\nexpress().post('/x', (q, s) => m.runExclusive(() => {\n  const all = JSON.parse(fs.readFileSync('/data/a.json', 'utf8'));\n  all.push(q.body);\n  fs.writeFileSync('/data/a.json', JSON.stringify(all));\n}));\n";

    /// The paths at which a lock of the process is found too small.
    fn too_small(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = audit(folder.path(), &[folder.path().to_owned()], &Config::default()).unwrap();
        let found = found.report.findings.into_iter().filter(|finding| finding.code == "RC201");
        found.map(|finding| finding.path).collect()
    }

    #[test]
    fn processes_that_the_code_itself_starts_count() {
        let main = (
            "src/main.ts",
            "import cluster from 'node:cluster';\nif (cluster.isPrimary) cluster.fork(); else import('./a');\n",
        );
        assert_eq!(too_small(&[("src/a.ts", LOCKED)]), Vec::<String>::new());
        assert_eq!(too_small(&[("src/a.ts", LOCKED), main]), ["src/a.ts"]);
    }

    #[test]
    fn how_one_package_runs_says_nothing_of_another_that_does_not_use_it() {
        let tool = (
            "tool/src/s.ts",
            "import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';\nimport { x } from '../../core/src/a';\nx();\n",
        );
        let other =
            ("tool/src/s.ts", "import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';\n");
        let named = |path| (path, "{\"name\": \"a\"}");
        let (first, second) = (named("tool/package.json"), named("core/package.json"));
        assert_eq!(too_small(&[first, second, other, ("core/src/a.ts", LOCKED)]), Vec::<String>::new());
        assert_eq!(too_small(&[first, second, tool, ("core/src/a.ts", LOCKED)]), ["core/src/a.ts"]);
        assert_eq!(too_small(&[first, tool, ("api/src/a.ts", LOCKED)]), Vec::<String>::new());
    }

    #[test]
    fn work_that_is_sent_to_a_thread_is_noted() {
        let notes = |code: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("a.js"), code).unwrap();
            let found = audit(folder.path(), &[folder.path().to_owned()], &Config::default()).unwrap();
            found.report.notes.into_iter().map(|note| note.path).collect::<Vec<_>>()
        };
        assert_eq!(notes("import { Worker } from 'node:worker_threads';\nnew Worker('./b.js');\n"), ["a.js"]);
        assert_eq!(notes("const threads = require('worker_threads');\nnew threads.Worker('./b.js');\n"), ["a.js"]);
        assert_eq!(notes("import { Worker } from 'bullmq';\nnew Worker('./b.js');\n"), Vec::<String>::new());
        assert!(
            notes("import { parentPort } from 'worker_threads';\nparentPort.on('message', () => {});\n").is_empty()
        );
    }

    /// Code for users in which a test alone finds a race is as severe as the test.
    #[test]
    fn what_only_tests_lead_to_is_not_severe() {
        let folder = tempfile::tempdir().unwrap();
        let send = "export function send(text: string) {\n  return fetch('https://api.acme.test/mails', { method: 'POST', body: text });\n}\n";
        let uses = "import { send } from '../src/send';\nexport async function uses(text: string) {\n  for (let tries = 0; tries < 3; tries++) {\n    try { return await send(text); } catch { await new Promise((done) => setTimeout(done, 100)); }\n  }\n}\n";
        let look = |path: &str| {
            for folders in ["src", "test"] {
                std::fs::create_dir_all(folder.path().join(folders)).unwrap();
            }
            std::fs::write(folder.path().join("src/send.ts"), send).unwrap();
            std::fs::write(folder.path().join(path), uses).unwrap();
            let found = audit(folder.path(), &[folder.path().to_owned()], &Config::default()).unwrap();
            let again = found.report.findings.into_iter().find(|finding| finding.code == "RC402").unwrap();
            (again.path, again.severity, again.surface)
        };
        let send = || "src/send.ts".to_owned();
        assert_eq!(look("test/uses.ts"), (send(), Severity::Low, Surface::Test));
        assert_eq!(look("src/uses.ts"), (send(), Severity::High, Surface::Product));
    }

    #[test]
    fn a_comment_is_needless_only_if_what_it_is_about_was_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let code = "// stanchion-audit: ignore-file RC101,RC302 -- why\nexport const x = 1;\n";
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/a.ts"), code).unwrap();
        let notes =
            |root: &Path, config: &Config| audit(folder.path(), &[root.to_owned()], config).unwrap().report.notes.len();
        let mut config = Config::default();
        assert_eq!((notes(folder.path(), &config), notes(&folder.path().join("src"), &config)), (2, 0));
        config.select(&["RC302".to_owned()]).unwrap();
        assert_eq!(notes(folder.path(), &config), 1);
    }

    /// What is checked before an insert is harmless if the database has a key for it.
    #[test]
    fn keys_of_a_schema_beside_the_code_count() {
        let folder = tempfile::tempdir().unwrap();
        let code = "import { Pool } from 'pg';\nconst pool = new Pool();\nexport async function add(email: string) {\n  const found = await pool.query('SELECT id FROM users WHERE email = $1', [email]);\n  if (found.rows.length > 0) return;\n  await pool.query('INSERT INTO users (email) VALUES ($1)', [email]);\n}\n";
        std::fs::write(folder.path().join("a.ts"), code).unwrap();
        let codes = || -> Vec<&str> {
            let mut config = Config::default();
            config.instances = Some(Said::Many);
            let found = audit(folder.path(), &[folder.path().to_owned()], &config).unwrap();
            found.report.findings.iter().map(|finding| finding.code).collect()
        };
        assert_eq!(codes(), ["RC401"]);
        std::fs::write(folder.path().join("schema.sql"), "CREATE TABLE users (id int, email text UNIQUE);").unwrap();
        assert_eq!(codes(), Vec::<&str>::new());
    }
}
