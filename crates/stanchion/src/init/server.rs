//! The servers of a configuration: which can be wrapped, which are, and which are left alone.

use super::tree::{List, Map, Member, Node, Span, Word};

/// One server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    /// What it stands in, if that is not the top: the folder of a project.
    pub(super) within: Option<String>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Started directly.
    Plain(Launch),
    /// Started through `stanchion wrap`; the original command is the word at `inner`.
    Wrapped { launch: Launch, inner: usize },
    /// Reached by URL.
    Remote,
    /// Not for us, for this reason.
    Left(&'static str),
}

/// How a server is started.
#[derive(Debug)]
pub(super) struct Launch {
    /// The command, then its arguments.
    pub(super) words: Vec<Word>,
    pub(super) form: Form,
}

#[derive(Debug)]
pub(super) enum Form {
    /// The arguments are a list beside the command.
    Split { command: Span, args: Option<Args>, layout: super::tree::Layout },
    /// The command is the first word of the one list.
    Joined(Span),
}

#[derive(Debug)]
pub(super) struct Args {
    pub(super) key: Span,
    pub(super) list: Span,
}

const URLS: [&str; 5] = ["url", "serverUrl", "httpUrl", "uri", "endpoint"];

/// All servers under the members that `key` names.
///
/// # If it fails
/// Something on the way is there and is of another type; `None` inside if nothing is there.
pub(super) fn under(root: &Node, key: &str) -> Result<Option<Vec<Server>>, String> {
    let path: Vec<&str> = key.split('/').collect();
    let mut found = None;
    descend(root, &path, None, &mut found)?;
    Ok(found)
}

fn descend(node: &Node, path: &[&str], within: Option<&str>, found: &mut Option<Vec<Server>>) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else {
        found.get_or_insert_default().extend(servers(node, within)?);
        return Ok(());
    };
    let Node::Map(map) = node else {
        return Err(format!("`{step}` is looked for in something that has no members"));
    };
    for member in map.members.iter().filter(|member| *step == "*" || member.name == *step) {
        if *step != "*" && map.is_ambiguous(step) {
            return Err(format!("`{step}` is there twice"));
        }
        let inner = if *step == "*" { Some(member.name.as_str()) } else { within };
        // A project may be anything; only its servers are looked at.
        if *step == "*" && !matches!(member.value, Node::Map(_)) {
            continue;
        }
        descend(&member.value, rest, inner, found)?;
    }
    Ok(())
}

fn servers(node: &Node, within: Option<&str>) -> Result<Vec<Server>, String> {
    let server = |name: String, kind| Server { name, within: within.map(ToOwned::to_owned), kind };
    match node {
        Node::Map(map) => Ok(map
            .members
            .iter()
            .map(|member| {
                let twice = map.is_ambiguous(&member.name);
                let kind = if twice { Kind::Left("its name is there twice") } else { kind(&member.value) };
                server(member.name.clone(), kind)
            })
            .collect()),
        Node::List(list) => {
            Ok(list.items.iter().enumerate().map(|(at, item)| server(name_in(item, at), kind(item))).collect())
        }
        Node::Text(_) | Node::Other => Err("the servers are neither an object nor a list".to_owned()),
    }
}

fn name_in(item: &Node, at: usize) -> String {
    let name = match item {
        Node::Map(map) => map.get("name"),
        _ => None,
    };
    match name {
        Some(Member { value: Node::Text(name), .. }) => name.value.clone(),
        _ => format!("#{}", at + 1),
    }
}

fn kind(node: &Node) -> Kind {
    let Node::Map(map) = node else { return Kind::Left("it is not an object") };
    let remote = URLS.iter().any(|name| map.get(name).is_some());
    match launch(map) {
        Ok(None) if remote => Kind::Remote,
        Ok(None) => Kind::Left("it has no command"),
        Ok(Some(_)) if remote => {
            Kind::Left("it has a URL and a command, and which one counts is for the client to say")
        }
        Ok(Some(launch)) => sorted(launch),
        Err(why) => Kind::Left(why),
    }
}

fn launch(map: &Map) -> Result<Option<Launch>, &'static str> {
    if ["command", "args"].iter().any(|name| map.is_ambiguous(name)) {
        return Err("its command is there twice");
    }
    match map.get("command") {
        None => Ok(None),
        Some(Member { value: Node::List(list), .. }) => joined(list).map(Some),
        // Older settings of Zed: command: {path, args}.
        Some(Member { value: Node::Map(inner), .. }) => match inner.get("path") {
            Some(_) if ["path", "args"].iter().any(|name| inner.is_ambiguous(name)) => {
                Err("its command is there twice")
            }
            Some(path) => split(inner, path).map(Some),
            None => Err("its command is an object without a path"),
        },
        Some(command) => split(map, command).map(Some),
    }
}

fn split(map: &Map, command: &Member) -> Result<Launch, &'static str> {
    let Node::Text(word) = &command.value else { return Err("its command is not a text") };
    let mut found = vec![word.clone()];
    let args = match map.get("args") {
        None => None,
        Some(Member { key, value: Node::List(list), .. }) => {
            found.extend(words(list)?);
            Some(Args { key: key.clone(), list: list.span.clone() })
        }
        Some(_) => return Err("its args are not a list"),
    };
    Ok(Launch { words: found, form: Form::Split { command: command.key.clone(), args, layout: map.layout } })
}

fn joined(list: &List) -> Result<Launch, &'static str> {
    Ok(Launch { words: words(list)?, form: Form::Joined(list.span.clone()) })
}

fn words(list: &List) -> Result<Vec<Word>, &'static str> {
    let word = |item: &Node| match item {
        Node::Text(word) => Ok(word.clone()),
        _ => Err("one of its arguments is not a text"),
    };
    list.items.iter().map(word).collect()
}

/// Wrapped, plain, or something in between.
fn sorted(launch: Launch) -> Kind {
    let text = |at: usize| launch.words.get(at).map(|word: &Word| word.value.as_str());
    match text(0) {
        None => return Kind::Left("its command is empty"),
        Some(command) if command.trim().is_empty() => return Kind::Left("its command is empty"),
        Some(_) => {}
    }
    let end = launch.words.iter().position(|word| word.value == "--").unwrap_or(launch.words.len());
    let ours = launch.words[..end].iter().position(|word| is_stanchion(&word.value));
    let wrap = ours.and_then(|ours| launch.words[ours..end].iter().position(|word| word.value == "wrap"));
    match (ours, wrap) {
        (Some(0), Some(_)) if end + 1 < launch.words.len() => Kind::Wrapped { launch, inner: end + 1 },
        (Some(0), Some(_)) => Kind::Left("it is wrapped by hand, without `--`; undo it by hand"),
        (Some(0), None) => Kind::Left("it is stanchion itself"),
        (Some(_), Some(_)) => Kind::Left("it is wrapped by hand, through another command; undo it by hand"),
        _ => Kind::Plain(launch),
    }
}

/// By the name of the file, so that a moved or replaced binary is still ours; `stanchion@1` is how npx is told.
fn is_stanchion(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.split('@').next().unwrap_or_default();
    name == "stanchion" || name.eq_ignore_ascii_case("stanchion.exe")
}
