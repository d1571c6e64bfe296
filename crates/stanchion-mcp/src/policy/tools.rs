//! `[servers.NAME.tools.TOOL]`: which rules there are, and which of them win.

use toml::de::DeTable;

use super::keys::{rule_key, rule_names};
use super::pattern::Pattern;
use super::problem::Place;
use super::rules::{Inner, Layer, Layers, Resolved, Said, Table, resolve};
use super::setting::Setting;
use super::source::{Item, Source};
use super::target::Target;
use crate::{Fencing, Locking};

/// How many rules for tools one server may have, and how many of them with `*`.
const TOOLS_MAX: usize = 1024;
const PATTERNS_MAX: usize = 64;
const TOOL_NAME_MAX: usize = 128;

/// The settings of one table; everything in it must be a key of a rule.
pub(super) fn read_rule<'s>(source: &mut Source<'s>, items: Vec<Item<'_, 's>>) -> Table {
    let mut table = Table::default();
    for item in items {
        let Some(key) = rule_key(item.name) else {
            source.unknown(&item, &rule_names().collect::<Vec<_>>());
            continue;
        };
        match (key.read)(item.value) {
            Ok(setting) => {
                let (written, place) = (source.written(&item.span), source.place(item.name_span.start));
                let (path, offset) = (item.path.clone(), item.span.start);
                table.0.insert(key.name, Said { setting, written, place, path, offset });
            }
            Err(what) => source.value(&item, what, key.allowed),
        }
    }
    table
}

/// `keep` and `keep_key` are checked together, also if they stand in different tables.
pub(super) fn contradiction(source: &mut Source<'_>, said: &Said) {
    let what = "an answer would be kept for longer than its key is known";
    source.at(said.offset, &said.path, what).allowed =
        Some("keep (24h unless set) at most keep_key (72h unless set)".to_owned());
}

/// Puts the tables of a server over each other.
pub(super) struct Layering<'a, 's> {
    pub(super) source: &'a mut Source<'s>,
    pub(super) defaults: &'a Table,
    pub(super) own: &'a Table,
    /// How the server is reached, if the file says so.
    pub(super) target: Option<&'a Target>,
}

/// One table for tools, read.
struct Tool {
    name: String,
    path: String,
    place: Place,
    offset: usize,
    pattern: Option<Pattern>,
    table: Table,
}

impl<'s> Layering<'_, 's> {
    /// The rule of a tool, or of all that have none of their own.
    pub(super) fn resolve(&mut self, tool: Option<(&str, &Table)>) -> Resolved {
        let mut layers: Layers<'_> = vec![(Layer::Defaults, self.defaults), (Layer::Server, self.own)];
        layers.extend(tool.map(|(name, table)| (Layer::Tool(name.to_owned()), table)));
        let fence = layers.iter().rev().find_map(|(_, table)| table.0.get("fence"));
        match resolve(&layers) {
            Ok(resolved) => {
                if let (Some(fence), Fencing::Header(name)) = (fence, &resolved.rule.fencing) {
                    self.fence_header(fence, name);
                }
                resolved
            }
            Err(said) => {
                contradiction(self.source, &said);
                Resolved::default()
            }
        }
    }

    /// A fence in a header needs a way there, and a header of its own.
    fn fence_header(&mut self, fence: &Said, name: &str) {
        let (what, allowed) = match self.target {
            Some(Target::Command { .. }) => {
                ("a program on standard input has no headers", "\"none\", \"meta\", \"argument:NAME\"")
            }
            Some(Target::Url { headers, .. }) if headers.iter().any(|(other, _)| other == name) => {
                ("the server's `headers` set this header, too", "another header")
            }
            _ => return,
        };
        self.source.at(fence.offset, &fence.path, what).allowed = Some(allowed.to_owned());
    }

    pub(super) fn tools(&mut self, path: &str, tools: &DeTable<'s>, inner: &mut Inner) {
        let items = Source::items(path, tools);
        if items.len() > TOOLS_MAX {
            let (what, at) = (format!("these are more than {TOOLS_MAX} rules for tools"), items[0].name_span.start);
            self.source.at(at, path, what);
            return;
        }
        let tools: Vec<Tool> = items.iter().filter_map(|item| self.tool(item)).collect();
        let patterns: Vec<&Tool> = tools.iter().filter(|tool| tool.pattern.is_some()).collect();
        if let Some(extra) = patterns.get(PATTERNS_MAX) {
            self.source.at(extra.offset, &extra.path, format!("these are more than {PATTERNS_MAX} patterns"));
            return;
        }
        self.ambiguous(&patterns);
        self.left_out(&tools, &patterns);
        for Tool { name, place, pattern, table, .. } in tools {
            let resolved = self.resolve(Some((&name, &table)));
            match pattern {
                None => drop(inner.exact.insert(name, (place, resolved))),
                Some(pattern) => inner.patterns.push((pattern, name, place, resolved)),
            }
        }
    }

    fn tool(&mut self, item: &Item<'_, 's>) -> Option<Tool> {
        if item.name.is_empty() || item.name.len() > TOOL_NAME_MAX || item.name.chars().any(char::is_control) {
            let allowed = format!("1 to {TOOL_NAME_MAX} bytes without control characters; * stands for anything");
            self.source.name(item, "this is no name of a tool").allowed = Some(allowed);
            return None;
        }
        let table = self.source.table(item)?;
        let table = read_rule(self.source, Source::items(&item.path, table));
        // In one table this is a mistake; a wider table's fence is merely not used by a tool without a lock.
        let no_lock = table.0.get("lock").is_some_and(|said| matches!(said.setting, Setting::Lock(Locking::None)));
        let fence = table.0.get("fence").filter(|said| !matches!(said.setting, Setting::Fence(Fencing::None)));
        if let (true, Some(fence)) = (no_lock, fence) {
            let what = "without a lock there is no fence";
            self.source.at(fence.offset, &fence.path, what).allowed = Some("a lock, or fence = \"none\"".to_owned());
        }
        Some(Tool {
            name: item.name.to_owned(),
            path: item.path.clone(),
            place: self.source.place(item.name_span.start),
            offset: item.name_span.start,
            pattern: Pattern::of(item.name),
            table,
        })
    }

    /// Two patterns that say equally much must not match one tool: which of them counts would be a guess.
    fn ambiguous(&mut self, patterns: &[&Tool]) {
        for (nth, later) in patterns.iter().enumerate() {
            let rival = patterns[..nth].iter().find(|earlier| match (&earlier.pattern, &later.pattern) {
                (Some(a), Some(b)) => a.literals() == b.literals() && a.overlaps(b),
                _ => false,
            });
            if let Some(rival) = rival {
                let (first, second) = if rival.offset < later.offset { (rival, later) } else { (later, rival) };
                let what = format!(
                    "ambiguous: `{}` can match the same tool as `{}` (line {}), and neither says more",
                    second.name, first.name, first.place.line
                );
                self.source.at(second.offset, &second.path, what).allowed =
                    Some("exact names, or patterns of which one has more characters besides *".to_owned());
            }
        }
    }

    /// Only the closest table of a tool counts. Who adds one for a single tool may not see that a lock stays behind in
    /// the wider one, so it is said.
    fn left_out(&mut self, tools: &[Tool], patterns: &[&Tool]) {
        for tool in tools {
            // The text of a pattern, stars and all, is matched by exactly those patterns that match all it matches.
            let wider = |other: &&&Tool| {
                other.name != tool.name && other.pattern.as_ref().is_some_and(|pattern| pattern.matches(&tool.name))
            };
            for wider in patterns.iter().filter(wider) {
                let lost: Vec<_> =
                    wider.table.0.keys().filter(|key| !tool.table.0.contains_key(*key)).copied().collect();
                if !lost.is_empty() {
                    let what = format!(
                        "`{}` does not get {} from `{}` (line {}): only the closest table of a tool counts",
                        tool.name,
                        lost.join(", "),
                        wider.name,
                        wider.place.line
                    );
                    self.source.warn(tool.offset, &tool.path, what);
                }
            }
        }
    }
}
