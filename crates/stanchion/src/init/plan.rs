//! What would be changed in one file, checked before it is shown.

use stanchion_core::{Error, ErrorKind, Result};

use super::read::{self, Loaded};
use super::server::{Kind, Launch, Server};
use super::splice::{self, Splice};
use super::{Way, Wish, diff};

/// The changes of one file.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) edits: Vec<Splice>,
    /// Places in the list of servers.
    pub(super) chosen: Vec<usize>,
    /// Servers that were chosen and cannot be changed, and why.
    pub(super) refused: Vec<(String, &'static str)>,
    /// The whole new text.
    pub(super) text: String,
}

impl Plan {
    pub(super) fn diff(&self, loaded: &Loaded) -> String {
        diff::unified(&loaded.target.path.display().to_string(), &loaded.text, &self.edits, &loaded.hidden)
    }
}

/// # If it fails
/// The edited text does not say what it should: a bug, found before anything was changed.
pub(super) fn plan(loaded: &Loaded, wish: &Wish) -> Result<Plan> {
    let mut plan = Plan { edits: Vec::new(), chosen: Vec::new(), refused: Vec::new(), text: String::new() };
    for (at, server) in loaded.servers.iter().enumerate().filter(|(_, server)| wish.wants(&server.name)) {
        match edits(&loaded.text, server, wish) {
            Ok(None) => {}
            Ok(Some(edits)) => {
                plan.edits.extend(edits);
                plan.chosen.push(at);
            }
            Err(why) => plan.refused.push((server.name.clone(), why)),
        }
    }
    plan.text = splice::apply(&loaded.text, &plan.edits);
    check(loaded, &plan, wish)?;
    Ok(plan)
}

fn edits(text: &str, server: &Server, wish: &Wish) -> Result<Option<Vec<Splice>>, &'static str> {
    match (wish.way, &server.kind) {
        (Way::Wrap, Kind::Plain(launch)) => {
            let name = wish.name_from_config.then_some(server.name.as_str());
            if name.is_some_and(|name| name.is_empty() || name.starts_with('-') || name.chars().any(char::is_control)) {
                return Err("its name cannot be a --name");
            }
            Ok(Some(splice::wrap(text, launch, &wish.binary, name)))
        }
        (Way::Unwrap, Kind::Wrapped { launch, inner }) => splice::unwrap(text, launch, *inner).map(Some),
        _ => Ok(None),
    }
}

fn launch(server: &Server) -> Option<&Launch> {
    match &server.kind {
        Kind::Plain(launch) | Kind::Wrapped { launch, .. } => Some(launch),
        Kind::Remote | Kind::Left(_) => None,
    }
}

/// The new text, read again, has to start the same servers with the same words.
fn check(loaded: &Loaded, plan: &Plan, wish: &Wish) -> Result<()> {
    let bug = || {
        Error::new(ErrorKind::Unsupported, "this file cannot be edited safely; nothing was changed")
            .with("file", loaded.target.path.display())
            .hint("edit it by hand, and please report how it is written")
    };
    let (servers, _) = read::understand(&loaded.target, &plan.text).map_err(|e| bug().because(e))?;
    let words = |launch: &Launch, from: usize| -> Vec<String> {
        launch.words[from..].iter().map(|word| word.value.clone()).collect()
    };
    let right = |(at, (old, new)): (usize, (&Server, &Server))| {
        let (Some(before), Some(after)) = (launch(old), launch(new)) else { return launch(new).is_none() };
        let (from, to) = match (plan.chosen.contains(&at), wish.way, &old.kind, &new.kind) {
            (false, ..) => (0, 0),
            (true, Way::Wrap, _, Kind::Wrapped { inner, .. }) if after.words[0].value == wish.binary => (0, *inner),
            (true, Way::Unwrap, Kind::Wrapped { inner, .. }, _) => (*inner, 0),
            _ => return false,
        };
        old.name == new.name && words(before, from) == words(after, to)
    };
    let all = loaded.servers.iter().zip(&servers).enumerate().all(right);
    if all && servers.len() == loaded.servers.len() { Ok(()) } else { Err(bug()) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::super::clients::Format;
    use super::super::find::Target;
    use super::super::splice::quoted;
    use super::{Loaded, Way, Wish, plan, read};

    fn loaded(text: &str, format: Format) -> Loaded {
        let (path, keys) = (PathBuf::from("f"), vec!["s".to_owned()]);
        let target = Target { client: "-", path: path.clone(), format, keys, project: false, named: true };
        let (servers, hidden) = read::understand(&target, text).expect("a configuration");
        Loaded { target, real: path, text: text.to_owned(), servers, hidden }
    }

    fn blank() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["", " ", "  ", "\n", "\r\n", "\n\t", "\n    ", " /* c */ ", " // c, \"x\"\n  "])
            .prop_map(ToOwned::to_owned)
    }

    fn word() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                "npx", "-y", "--", "wrap", "--name", "a b", "", "\"", "\\", "'", "[", "#", "\u{7f}"
            ])
            .prop_map(ToOwned::to_owned),
            "\\PC{0,6}"
        ]
    }

    prop_compose! {
        /// A server with its members in any order, its blanks anywhere, and perhaps no arguments.
        fn server()(
            command in "[a-z\\\\\"é/ ]{1,6}[a-z]", args in prop::option::of(prop::collection::vec(word(), 0..4)),
            blanks in prop::collection::vec(blank(), 12), swapped: bool, comma: bool, joined: bool,
        ) -> String {
            let b = |at: usize| blanks[at % blanks.len()].as_str();
            let list = |words: Vec<String>| {
                let words: Vec<String> = words.iter().map(|word| format!("{}{}{}", b(6), quoted(word), b(7))).collect();
                let end = if comma && !words.is_empty() { "," } else { "" };
                format!("[{}{}{end}{}]", b(4), words.join(","), b(5))
            };
            if joined {
                let words = std::iter::once(command).chain(args.unwrap_or_default()).collect();
                return format!("{{{}\"command\"{}:{}{}{}}}", b(0), b(1), b(2), list(words), b(3));
            }
            let command = format!("{}\"command\"{}:{}{}", b(0), b(1), b(2), quoted(&command));
            let Some(args) = args else { return format!("{{{command}{}}}", b(3)) };
            let args = format!("{}\"args\"{}:{}{}", b(8), b(9), b(10), list(args));
            let (one, two) = if swapped { (args, command) } else { (command, args) };
            format!("{{{one}{},{two}{}}}", b(3), b(11))
        }
    }

    proptest! {
        #[test]
        fn what_is_wrapped_and_unwrapped_is_what_it_was(servers in prop::collection::vec(server(), 1..4), named: bool) {
            let members: Vec<String> = servers.iter().enumerate().map(|(n, server)| format!("\"{n}\": {server}")).collect();
            let text = format!("{{\"s\": {{{}}}}}", members.join(", "));
            let wish = |way| Wish { way, servers: Vec::new(), binary: "/b \"/stanchion".to_owned(), name_from_config: named };
            let before = loaded(&text, Format::Json);
            let wrapped = plan(&before, &wish(Way::Wrap)).expect("it can be wrapped");
            prop_assert_eq!(wrapped.chosen.len(), servers.len());
            let diff = wrapped.diff(&before);
            prop_assert!(diff.contains("stanchion"), "{}", diff);
            let back = plan(&loaded(&wrapped.text, Format::Json), &wish(Way::Unwrap)).expect("it can be unwrapped");
            prop_assert_eq!(&back.refused, &[]);
            prop_assert_eq!(back.text, text);
        }
    }
}
