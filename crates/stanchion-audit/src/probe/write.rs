//! The text of a probe.

use super::handler::Handler;
use super::oracle::Oracle;
use super::start::start;
use super::value::{Made, OPEN, Vary, flat, key, quoted, template, values};
use crate::finding::{Finding, Role, Scope};
use crate::pipeline::Audited;

/// Calls of one round.
const TIMES: u32 = 20;

/// A probe, and how much of it is left to a person.
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) open: usize,
}

/// Writes a probe that reaches the finding through this handler.
pub(super) fn draft(audited: &Audited, finding: &Finding, oracle: Oracle, handler: &Handler, all: &[Handler]) -> Draft {
    let mut page = Page { audited, finding, handler, out: String::new(), open: 0 };
    page.head();
    page.target(oracle);
    if oracle == Oracle::Effect {
        page.put("\n[upstream]                     # stands in for the service that the effect goes to");
        page.put("faults = [\"lost-reply\"]");
    }
    let calls = page.calls(oracle);
    if oracle != Oracle::Effect {
        page.read(all);
    }
    page.expect(oracle, &calls);
    Draft { open: page.open, text: page.out }
}

struct Page<'a> {
    audited: &'a Audited,
    finding: &'a Finding,
    handler: &'a Handler,
    out: String,
    open: usize,
}

impl Page<'_> {
    fn put(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn fill_in(&mut self, what: &str) {
        self.open += 1;
        self.put(&format!("# fill in: {}", flat(what)));
    }

    fn head(&mut self) {
        let Finding { code, name, path, line, .. } = self.finding;
        self.put(&format!("# {code} {name}: {}", flat(&self.finding.message)));
        self.put("# Race specification for `stanchion race`; the format is in docs/race-spec.md.");
        self.put("# A race that is not reproduced is not refuted: the calls may have missed the window between read and write.");
        self.put("version = 1");
        self.put(&format!("name = {}", quoted(&format!("{code} {path}:{line}"))));
        self.put("\n[origin]");
        self.put(&format!("code = {}", quoted(code)));
        self.put(&format!("fingerprint = {}", quoted(self.finding.fingerprint())));
        // Of several ways to it, the first: the calls of the probe go by that.
        for role in [Role::Read, Role::Write] {
            if let Some(step) = self.finding.flow.iter().find(|step| step.role == role) {
                self.put(&format!("{} = {}", step.role.as_str(), quoted(&format!("{}:{}", step.path, step.line))));
            }
        }
    }

    fn target(&mut self, oracle: Oracle) {
        let is_http = !self.handler.is_tool || self.speaks_http();
        let kind = match (self.handler.is_tool, is_http) {
            (true, false) => "mcp-stdio",
            (true, true) => "mcp-http",
            (false, _) => "http",
        };
        self.put("\n[target]");
        self.put(&format!("kind = \"{kind}\""));
        match start(&self.audited.ground.settings, &self.handler.place.0) {
            Some(start) => {
                self.put(&format!("# check: how it is started, by {}; build it first", flat(&start.from)));
                let words: Vec<String> = start.command.iter().map(|word| template(word)).collect();
                self.put(&format!("command = [{}]", words.join(", ")));
            }
            None => {
                let what = format!(
                    "how the server of {} is started; `{{root}}` is where you start `race`",
                    self.handler.place.0
                );
                self.fill_in(&what);
                self.put(&format!("command = [{}]", quoted(OPEN)));
            }
        }
        let mut env = vec![("HOME".to_owned(), "{dir}".to_owned())];
        if is_http {
            let path = if self.handler.is_tool { "/mcp" } else { "" };
            self.put("# check: the address; `{port}` is a free port, and the server learns it from PORT");
            self.put(&format!("urls = [\"http://127.0.0.1:{{port}}{path}\"]"));
            env.push(("PORT".to_owned(), "{port}".to_owned()));
        }
        env.extend(self.variables().into_iter().map(|name| (name, "{dir}/state".to_owned())));
        if oracle == Oracle::Effect {
            self.fill_in("the variable by which the server finds the service; it has to be the recorder at {upstream}");
            env.push(("FILL_IN".to_owned(), "{upstream}".to_owned()));
        }
        let env: Vec<String> = env.iter().map(|(name, value)| format!("{} = \"{value}\"", key(name))).collect();
        self.put(&format!("env = {{ {} }}", env.join(", ")));
        let (instances, why) = match self.finding.scope {
            // What another writer takes away would look the same.
            _ if oracle == Oracle::Kept(&["kill"]) => {
                (1, "nobody else writes: what is lost was lost to a file that could not be read")
            }
            Scope::Task | Scope::Thread | Scope::Process => (1, "calls of one process race with each other"),
            Scope::Host | Scope::Cluster => (2, "processes race with each other"),
        };
        self.put(&format!("instances = {instances:<18} # {why}"));
        self.put("\n[limits]");
        self.put("calls = 2000");
        self.put("seconds = 60");
        self.put("rounds = 20");
    }

    /// Whether MCP comes over HTTP: by the SDKs' names of their transports.
    fn speaks_http(&self) -> bool {
        let texts = || self.audited.ground.texts.values();
        let has = |marks: &[&str]| texts().any(|text| marks.iter().any(|mark| text.contains(mark)));
        has(&["StreamableHTTPServerTransport", "\"streamable-http\"", "'streamable-http'", "SSEServerTransport"])
            && !has(&["StdioServerTransport", "stdio_server", "\"stdio\"", "'stdio'"])
    }

    /// Variables of the environment that say where the raced-for thing is.
    fn variables(&self) -> Vec<String> {
        let mut found = Vec::new();
        for mark in ["process.env.", "env.", "environ."] {
            for (at, _) in self.finding.resource.match_indices(mark) {
                let rest = self.finding.resource.get(at + mark.len()..).unwrap_or_default();
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                let name = rest.get(..end).unwrap_or_default().to_owned();
                if !name.is_empty() && !found.contains(&name) && name.chars().any(|c| c.is_ascii_uppercase()) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Whether an argument says which file, row or key is meant: it is part of the name under which that is known.
    fn fixes(&self, name: &str) -> bool {
        let resource = &self.finding.resource;
        resource.match_indices(name).any(|(at, _)| {
            let before = resource.get(..at).unwrap_or_default();
            let after = resource.get(at + name.len()..).and_then(|rest| rest.chars().next());
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let is_param = before.ends_with('$') || before.contains('$') && before.ends_with('.');
            is_param && !word(after)
        })
    }

    fn made(&mut self, handler: &Handler, vary: Vary) -> Made {
        match &handler.arguments {
            Some(arguments) => values(arguments, &|name| self.fixes(name), vary),
            None => Made { text: "{}".to_owned(), ..Made::default() },
        }
    }

    /// Tool and arguments, or method, path and body.
    fn request(&mut self, handler: &Handler, made: &Made) {
        if handler.is_tool {
            if handler.name.is_empty() {
                self.fill_in("the tool's name: one function answers several, and which one leads here is not clear");
            }
            let name = if handler.name.is_empty() { OPEN } else { handler.name.as_str() };
            self.put(&format!("tool = {}", quoted(name)));
        } else {
            self.put(&format!("method = {}", quoted(&handler.method)));
            let path = if handler.name.starts_with('/') { handler.name.as_str() } else { OPEN };
            if path == OPEN {
                self.fill_in("the path of the route");
            } else if path.contains([':', '{', '<', '*']) {
                self.fill_in("the parts of the path that name one thing; all calls have to mean the same");
            }
            self.put(&format!("path = {}", quoted(path)));
        }
        if handler.arguments.is_none() {
            self.fill_in("the arguments: no schema was found; `{id}` in a text tells the calls apart");
        }
        for what in &made.open {
            self.fill_in(what);
        }
        if handler.is_tool {
            self.put(&format!("arguments = {}", made.text));
        } else if handler.method != "GET" && handler.method != "DELETE" {
            self.put("headers = { content-type = \"application/json\" }");
            self.put(&format!("body = {}", made.text));
        }
    }

    fn calls(&mut self, oracle: Oracle) -> Made {
        let vary = if matches!(oracle, Oracle::Once) { Vary::Same } else { Vary::Each };
        let handler = self.handler;
        let made = self.made(handler, vary);
        if self.is_counted(oracle, &made) {
            self.put("\n[[setup]]                      # so that there is something to count before");
            self.request(handler, &made);
        }
        self.put("\n[[call]]");
        self.request(handler, &made);
        self.put(&format!("times = {TIMES}"));
        let faults: &[&str] = match oracle {
            Oracle::Kept(faults) | Oracle::Answered(faults) => faults,
            Oracle::Readable => &["kill"],
            Oracle::Effect => &["lost-reply", "duplicate"],
            Oracle::Once => &[],
        };
        if !faults.is_empty() {
            let words: Vec<String> = faults.iter().map(|fault| quoted(fault)).collect();
            self.put(&format!("faults = [{}]", words.join(", ")));
        }
        made
    }

    /// Nothing tells the calls apart, so that only their number can be seen.
    fn is_counted(&self, oracle: Oracle, made: &Made) -> bool {
        matches!(oracle, Oracle::Kept(_)) && !made.has_mark && made.open.is_empty() && self.handler.arguments.is_some()
    }

    /// The call that reads back.
    fn read(&mut self, all: &[Handler]) {
        let mine = self.handler;
        let resource = self.finding.resource.as_str();
        let reads = |other: &&Handler| {
            other.is_tool == mine.is_tool
                && !other.name.is_empty()
                && (other.is_tool || other.method == "GET")
                && other.writes.is_empty()
                && (other.reads.contains(resource) || other.reads.iter().any(|name| mine.writes.contains(name)))
        };
        let needs = |other: &Handler| {
            other.arguments.as_ref().map_or(usize::MAX, |all| all.iter().filter(|argument| argument.needed).count())
        };
        let same_file = |other: &Handler| other.place.0 != mine.place.0;
        let best = all.iter().filter(reads).min_by_key(|other| (needs(other), same_file(other)));
        self.put("\n[read]");
        let Some(best) = best else {
            self.fill_in("a call that reads the state back; none was found that reads it and changes nothing");
            self.put(&if mine.is_tool {
                format!("tool = {}", quoted(OPEN))
            } else {
                format!("method = \"GET\"\npath = {}", quoted(OPEN))
            });
            return;
        };
        let made = self.made(best, Vary::Same);
        self.request(best, &made);
    }

    fn expect(&mut self, oracle: Oracle, calls: &Made) {
        self.put("\n[expect]");
        match oracle {
            Oracle::Kept(_) => {
                if calls.has_mark {
                    self.put("every = \"{id}\"                 # what each acknowledged call brought is there");
                } else if self.is_counted(oracle, calls) {
                    self.put("# check: the one number of the answer counts the calls; `select` names it if there are several");
                    self.put("sum = { is = \"before+acknowledged\" }");
                } else {
                    self.put("every = \"{id}\"                 # needs `{id}` in the arguments");
                }
            }
            Oracle::Readable => {
                self.put("readable = true                # a read-back that fails after a kill is a finding");
            }
            Oracle::Once => {
                self.put("once = \"probe-{seed}\"          # equal calls, and one result");
            }
            Oracle::Effect => {
                self.put("effects = \"once\"               # the recorder has seen what each call sends at most once");
            }
            Oracle::Answered(_) => {
                self.put("answers = true                 # nobody waits for ever for one who died");
            }
        }
    }
}
