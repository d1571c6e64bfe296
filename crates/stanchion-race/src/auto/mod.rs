//! Without a specification: finds tools that create and show, learns how, and races them.

mod arguments;
mod draft;
mod learn;
mod tools;

use std::collections::{BTreeMap, BTreeSet};

use self::arguments::{CREATING, SHOWING, arguments, has_mark};
use self::draft::Draft;
use self::learn::{Not, Session};
use self::tools::{Pair, pairs, why_none};
use crate::run::{Options, race, random};
use crate::target::without_secrets;
use crate::verdict::{Outcome, Verdict};

/// Calls in a round.
const TIMES: usize = 20;
const ROUNDS: usize = 10;
const CALLS_MAX: usize = 500;
const SECONDS: u64 = 20;
/// Commands that bring what they start take a while.
const START_SECONDS: u64 = 30;
const LEARN_CALLS_MAX: usize = 400;
const LEARN_SECONDS: u64 = 20;
/// More tools that create are not raced.
const RACED_MAX: usize = 3;

/// A server, and nothing else known of it.
///
/// ```
/// let target = stanchion_race::AutoTarget { command: vec!["true".into()], ..Default::default() };
/// assert!(target.urls.is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct AutoTarget {
    /// Started for every instance, with this process' environment; for MCP over standard input and output.
    pub command: Vec<String>,
    /// Added to the environment; may contain `{dir}`, a new folder for every round.
    pub env: Vec<(String, String)>,
    /// Where it runs already, instead of a command: MCP over HTTP. One address is raced with two sessions.
    pub urls: Vec<String>,
}

impl AutoTarget {
    /// The same without what may be a key.
    fn covered(&self) -> Self {
        let env = self.env.iter().map(|(name, value)| (name.clone(), without_value(value).to_owned())).collect();
        Self { command: self.command.clone(), env, urls: self.urls.iter().map(|url| without_secrets(url)).collect() }
    }
}

/// The value of a variable as it may be told: it may be a key, unless it names a folder of the round.
///
/// ```
/// assert_eq!(stanchion_race::without_value("{dir}/memory.jsonl"), "{dir}/memory.jsonl");
/// assert_eq!(stanchion_race::without_value("s3cret"), "…");
/// ```
#[must_use]
pub fn without_value(value: &str) -> &str {
    if value.contains("{dir}") { value } else { "…" }
}

/// What came of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Auto {
    /// As of any run. If several tools were raced, the one that says most: a race, then a doubt.
    pub verdict: Verdict,
    /// The specification behind the verdict; `None` if none could be made.
    pub spec: Option<String>,
    /// The same to be shown, and not to be played: queries of addresses and values of the environment may be keys. Of the values those with
    /// `{dir}` are there.
    pub shown: Option<String>,
    /// What was raced, and what was left out and why.
    pub notes: Vec<String>,
}

/// Finds tools that create and tools that show what there is, learns from single calls how they belong together, and races them.
/// Never "safe": whatever hinders it makes the verdict inconclusive, with the reason.
///
/// The calls are real: some hundred things are created in the store that the target uses.
///
/// # Cancel safety
/// Dropping it ends every process that it started.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use stanchion_race::{AutoTarget, Options, Outcome, auto};
/// let target = AutoTarget { command: vec!["true".into()], ..AutoTarget::default() };
/// let auto = auto(&target, &Options::default()).await;
/// assert_eq!(auto.verdict.outcome, Outcome::Inconclusive);
/// assert!(auto.spec.is_none() && auto.verdict.reason.unwrap().contains("does not start"));
/// # });
/// ```
pub async fn auto(target: &AutoTarget, options: &Options) -> Auto {
    let mut notes = Vec::new();
    // Also where nothing comes to be raced, the verdict says which seed it would have been.
    let seed = options.seed.or_else(|| random().ok().map(|random| random % 1_000_000));
    let options = &Options { seed, ..options.clone() };
    match Box::pin(find_and_race(target, options, &mut notes)).await {
        Ok((verdict, draft)) => {
            let covered = target.covered();
            let shown = Draft { target: &covered, ..draft.clone() }.text();
            Auto { verdict, spec: Some(draft.text()), shown: Some(shown), notes }
        }
        Err(why) => {
            let addresses: Vec<String> = target.urls.iter().map(|url| without_secrets(url)).collect();
            let name = target.command.join(" ");
            let name = if name.is_empty() { addresses.join(" ") } else { name };
            let name: String = name.chars().take(200).collect();
            Auto { verdict: Verdict::unfounded(&name, seed.unwrap_or(0), why), spec: None, shown: None, notes }
        }
    }
}

async fn find_and_race<'t>(
    target: &'t AutoTarget,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<(Verdict, Draft<'t>), String> {
    let root = options.root.clone().map_or_else(std::env::current_dir, Ok).map_err(|error| error.to_string())?;
    let root = root.to_string_lossy().into_owned();
    let spec = Draft::of_target(target).spec()?;
    let mut session = Session::start(&spec, &root, &options.allow_remote).await?;
    let learnt = learn_of(target, &mut session, notes).await;
    session.end().await;
    let (learnt, why) = learnt?;
    let mut best: Option<(Verdict, Draft<'t>)> = None;
    let mut learnt = learnt.into_iter();
    while let Some(draft) = learnt.next() {
        let spec = draft.spec()?;
        let verdict = race(&spec, options).await;
        notes.push(format!("{}: {}", spec.name, verdict.outcome));
        let is_race = verdict.outcome == Outcome::Race;
        if best.as_ref().is_none_or(|(best, _)| rank(verdict.outcome) > rank(best.outcome)) {
            best = Some((verdict, draft));
        }
        if is_race {
            let others = learnt.map(|draft| format!("{}: not raced: a race was found before", draft.create.0));
            notes.extend(others);
            break;
        }
    }
    best.ok_or(why)
}

fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NothingFound => 0,
        Outcome::Inconclusive => 1,
        Outcome::Race => 2,
    }
}

async fn learn_of<'t>(
    target: &'t AutoTarget,
    session: &mut Session,
    notes: &mut Vec<String>,
) -> Result<(Vec<Draft<'t>>, String), String> {
    let tools = session.tools().await?;
    let found = pairs(&tools);
    if found.is_empty() {
        return Err(why_none(&tools));
    }
    Ok(learn_all(target, &found, session, notes).await)
}

/// What can be raced, one for each tool that creates; and if there is nothing, why.
async fn learn_all<'t>(
    target: &'t AutoTarget,
    found: &[Pair<'_>],
    session: &mut Session,
    notes: &mut Vec<String>,
) -> (Vec<Draft<'t>>, String) {
    let (mut learnt, mut done, mut first) = (Vec::new(), BTreeSet::new(), None);
    // Of each tool that creates, why nothing came of its likeliest pair.
    let mut left_out = BTreeMap::new();
    'learning: for Pair { create, show } in found {
        let name = &create.name;
        if done.contains(name) {
            continue;
        }
        if learnt.len() == RACED_MAX {
            left_out.entry(name).or_insert_with(|| format!("more than {RACED_MAX} tools are not raced"));
            continue;
        }
        let mut tried = Vec::new();
        for (creating, showing) in CREATING.iter().flat_map(|one| SHOWING.iter().map(move |other| (one, other))) {
            let made = arguments(&create.schema, *creating).filter(has_mark);
            let Some(asked) = made.zip(arguments(&show.schema, *showing)) else { continue };
            if tried.contains(&asked) {
                continue;
            }
            tried.push(asked.clone());
            let (made, shown) = asked;
            let mut draft = Draft::new(target, (name.clone(), made), (show.name.clone(), shown));
            match session.learn(&mut draft).await {
                Ok(note) => {
                    notes.extend(note.map(|note| format!("{name}: {note}")));
                    done.insert(name);
                    learnt.push(draft);
                    break;
                }
                Err(Not::Pair(why)) => {
                    first.get_or_insert_with(|| why.clone());
                    left_out.entry(name).or_insert(why);
                }
                Err(Not::Server(why)) if learnt.is_empty() => return (learnt, why),
                Err(Not::Server(why)) => {
                    notes.push(why);
                    break 'learning;
                }
            }
        }
    }
    if learnt.is_empty() {
        let why = first.unwrap_or_else(|| "no arguments could be made from the schemas of its tools".into());
        return (learnt, format!("no pair of tools could be learnt from; the first: {why}"));
    }
    // Whoever sees what was raced must see what was not.
    let creators: BTreeSet<_> =
        found.iter().map(|pair| &pair.create.name).filter(|name| !done.contains(name)).collect();
    for name in creators {
        let why = left_out.get(name).map_or("no arguments could be made from its schema in time", String::as_str);
        notes.push(format!("{name}: not raced: {why}"));
    }
    (learnt, String::new())
}
