//! `policy explain`: one tool's rule, value by value, and the locks that given arguments produce.

use std::io::Read as _;
use std::path::Path;

use comfy_table::{Table, presets};
use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, Fingerprint, Key, Result};
use stanchion_mcp::policy::{PolicyFile, Source};
use stanchion_mcp::{ArgumentTemplate, Locking};

use super::{ExplainArgs, load};
use crate::exit::{self, print, say};

/// The largest file of arguments.
const ARGUMENTS_MAX: u64 = 16 << 20;

const BY_DEFAULT: &str = "under wrap one lock for the server, unless the tool is read-only; under serve none";

pub(super) fn run(args: &ExplainArgs) -> Result<u8> {
    let file = args.policy.as_deref().map_or_else(|| Ok(PolicyFile::default()), load::load)?;
    let arguments = args.arguments.as_deref().map(arguments).transpose()?;
    let rules = file.rules(&args.server);
    let sources = rules.explain(&args.tool);
    let locks = match &rules.of(&args.tool).locking {
        Locking::Keys(templates) => {
            Locks::Named(templates.iter().map(|template| Lock::new(template, arguments.as_ref())).collect())
        }
        Locking::None => Locks::None,
        Locking::Default => Locks::Default,
    };
    let named = file.servers().any(|(name, _)| name == args.server);
    if args.json {
        print(&to_json(args, named, &sources, &locks).to_string());
    } else {
        show(args, &file, named, &sources, &locks);
    }
    // A call with these arguments would be refused, too.
    Ok(if locks.refused() { exit::code(ErrorKind::Invalid) } else { 0 })
}

/// What a call locks.
enum Locks {
    Default,
    None,
    Named(Vec<Lock>),
}

/// A lock, and its name if there are arguments.
struct Lock {
    template: String,
    key: Option<Result<Key>>,
}

impl Lock {
    fn new(template: &ArgumentTemplate, arguments: Option<&Value>) -> Self {
        // Without holes it is a name already.
        let empty = template.names().is_empty().then_some(&Value::Null);
        Self { template: template.to_string(), key: arguments.or(empty).map(|arguments| template.fill(arguments)) }
    }
}

impl Locks {
    fn refused(&self) -> bool {
        matches!(self, Self::Named(locks) if locks.iter().any(|lock| matches!(lock.key, Some(Err(_)))))
    }
}

fn arguments(path: &Path) -> Result<Value> {
    let refuse = |why: &'static str| Error::new(ErrorKind::Invalid, why).with("file", path.display());
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(ARGUMENTS_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(ARGUMENTS_MAX + 1).read_to_string(&mut text))
    };
    read.map_err(|e| refuse("the arguments cannot be read").because(e))?;
    if text.len() as u64 > ARGUMENTS_MAX {
        return Err(refuse("the arguments are larger than 16 MiB"));
    }
    // As for a call: a member that is named twice is refused, because readers disagree which one counts.
    Fingerprint::of_json(&text).map_err(|e| refuse("these are no arguments of a call").because(e))?;
    let arguments: Value =
        serde_json::from_str(&text).map_err(|e| refuse("these are no arguments of a call").because(e))?;
    if !arguments.is_object() {
        return Err(refuse("the arguments of a call are a JSON object").hint("as in {\"path\": \"a.txt\"}"));
    }
    Ok(arguments)
}

fn show(args: &ExplainArgs, file: &PolicyFile, named: bool, sources: &[Source], locks: &Locks) {
    let policy = args.policy.as_deref().unwrap_or("no policy file");
    print(&format!("tool {} of server {}, by {policy}", args.tool, args.server));
    if !named && args.policy.is_some() {
        let names: Vec<_> = file.servers().map(|(name, _)| name).collect();
        say(&format!(
            "stanchion: the policy does not name this server, so only [defaults] and what is built in count; it names: {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        ));
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["KEY", "VALUE", "FROM", "LINE"]);
    for source in sources {
        let line = source.place.map_or_else(|| "-".to_owned(), |place| place.line.to_string());
        table.add_row([source.key, &source.value, &source.layer.to_string(), &line]);
    }
    table.lines().for_each(|line| print(line.trim_end()));
    match locks {
        Locks::Default => print(&format!("locks: {BY_DEFAULT}")),
        Locks::None => print("locks: none"),
        Locks::Named(locks) => {
            for lock in locks {
                match &lock.key {
                    Some(Ok(key)) => print(&format!("lock: {key}")),
                    Some(Err(error)) => {
                        print(&format!("lock: {}", lock.template));
                        exit::report(error);
                    }
                    None => print(&format!("lock: {} (filled from the arguments of each call)", lock.template)),
                }
            }
        }
    }
}

fn to_json(args: &ExplainArgs, named: bool, sources: &[Source], locks: &Locks) -> Value {
    let source = |source: &Source| {
        json!({
            "key": source.key,
            "value": source.value,
            "from": source.layer.to_string(),
            "line": source.place.map(|place| place.line),
        })
    };
    let lock = |lock: &Lock| match &lock.key {
        Some(Ok(key)) => json!({"template": lock.template, "key": key.as_str()}),
        Some(Err(error)) => json!({"template": lock.template, "error": error.to_string()}),
        None => json!({"template": lock.template}),
    };
    let locks = match locks {
        Locks::Default => json!("default"),
        Locks::None => json!([]),
        Locks::Named(locks) => locks.iter().map(lock).collect(),
    };
    json!({
        "server": args.server,
        "tool": args.tool,
        "policy": args.policy,
        "server_is_named": named,
        "rule": sources.iter().map(source).collect::<Vec<_>>(),
        "locks": locks,
    })
}
