//! Files.

use std::rc::Rc;

use super::Engine;
use super::bound::Bound;
use super::call::Args;
use super::compared::is_constant;
use super::event::{Event, Kind, Resource, Scope, What, Write};
use super::known::{Known, constants};
use super::listing::kept_alike;
use super::mark::Mark;
use super::name::called;
use super::value::{Origins, Shape, Value};
use crate::hir::Span;
use crate::models::Words;
use crate::sql::Piece;

/// What a model says of a call that asks for more than whether there is such a file.
const STATE: &str = "state";
/// And of one that asks where it is, or what is around it.
const PLACE: &str = "place";

/// The name of what is in a file, before its path.
pub(super) const CONTENT: &str = "content of ";
/// The statement by which another database is opened beside one.
const ATTACH: &str = "ATTACH";

impl Engine<'_> {
    pub(super) fn file_call(&mut self, known: &Known<'_>, family: &str, verb: &str) -> Value {
        let none = Origins::default();
        let at = known.at();
        let tidies = &self.words().tidies;
        let path = at.as_ref().map_or_else(|| Rc::from("?"), |at| spelled(tidies, &at.name));
        let resource = || Some(Resource { kind: Kind::File, name: Rc::clone(&path), part: None, scope: Scope::Host });
        match (family, verb) {
            ("path", "join") => {
                let parts: Vec<&str> = known
                    .args
                    .iter()
                    .enumerate()
                    .map(|(at, (_, arg))| match at {
                        0 if arg.name.len() > 1 => arg.name.trim_end_matches('/'),
                        0 => "",
                        _ => arg.name.trim_matches('/'),
                    })
                    .collect();
                let shape = if known.args.iter().all(|(_, arg)| arg.as_text().is_some()) {
                    Shape::Str(parts.join("/").into())
                } else {
                    joined_parts(known.args)
                };
                Value::of(shape, parts.join("/")).from(&known.origins())
            }
            ("path", _) => {
                // A path made from another names the same file.
                let value = Value::unknown(&*path).from(&known.origins());
                match known.this {
                    Some(this) if verb == "part" => {
                        Value::unknown(format_args!("{}.{}", this.name, known.name)).from(&this.origins)
                    }
                    _ => value,
                }
            }
            (_, "read") if matches!(&*path, "0" | "/dev/stdin") => self.input(known),
            (_, "read") => {
                let id = self.emit(What::READ, resource(), &none, known.span);
                Value::unknown(format_args!("{CONTENT}{path}")).from(&Origins::one(id))
            }
            // Not the file itself, but what others of its folder, or links, make of its name.
            (_, "check") if known.model.how.as_deref() == Some(PLACE) => {
                self.may_fail(&known.origins());
                let of = known.model.on.first().map_or("", String::as_str);
                let name = called(&format!("{of}.{}", known.name), known.args.iter().map(|(_, arg)| &*arg.name));
                let resource = resource().map(|resource| Resource { name: Rc::clone(&name), ..resource });
                let id = self.emit(What::Check, resource, &none, known.span);
                Value::unknown(name).from(&Origins::one(id)).from(&known.origins())
            }
            (_, "list") => self.listed(known, &path),
            (_, "check") => {
                // Its time or size is only a part of it.
                let part = known.model.how.clone().filter(|how| how == STATE).map(Into::into);
                let resource = resource().map(|resource| Resource { part, ..resource });
                let id = self.emit(What::Check, resource, &none, known.span);
                Value::unknown(format_args!("{}({path})", known.name)).from(&Origins::one(id))
            }
            (_, "write" | "append" | "create" | "delete") => {
                let value = known.get(&known.model.value);
                let constant = value.as_ref().is_none_or(is_constant);
                let words = self.words();
                let owner = value.as_ref().is_some_and(|value| is_owner(words, value));
                let random = value.as_ref().is_some_and(is_random);
                let clears = verb == "write" && value.as_ref().is_none_or(is_empty);
                let deps = value.map(|value| value.deep_origins()).unwrap_or_default();
                let exclusive = known.flag(&words.creates);
                let appends = verb == "append" || known.flag(&words.appends);
                let write = Write {
                    whole: !appends && verb == "write",
                    creates: exclusive || verb == "create",
                    deletes: verb == "delete",
                    relative: appends,
                    publishes: known.model.how.as_deref() == Some("atomic"),
                    compares: known.get(&known.model.compares).is_some(),
                    constant,
                    owner,
                    random,
                    clears,
                    named: at.map(|at| at.deep_origins()).unwrap_or_default(),
                    ..Write::default()
                };
                // A call that returns when it is done cannot be left alone.
                let at_once = words.at_once.iter().any(|end| known.name.ends_with(end.as_str()));
                let detached = if at_once { std::mem::take(&mut self.here.detached) } else { 0 };
                let is_asked = write.creates;
                let id = self.emit(What::Write(write), resource(), &deps, known.span);
                self.here.detached += detached;
                let done = Value::unknown(format_args!("{}({path})", known.name));
                // Whether it could be made is an answer.
                if is_asked { done.from(&Origins::one(id)) } else { done }
            }
            // What a library keeps in memory of a file is written back.
            (_, "save") => {
                if let Some(callback) = known.get(&known.model.callback) {
                    self.invoke(&callback, Vec::new(), false, known.span);
                }
                let read = self.events.iter().rev().chain(self.early.iter().rev()).find(|event| {
                    matches!(event.what, What::Read { .. })
                        && event.resource.as_ref().is_some_and(|r| r.kind == Kind::File && r.name == path)
                });
                let deps = read.map(|event| Origins::one(event.id)).unwrap_or_default();
                let publishes = known.model.how.as_deref() == Some("atomic");
                let write = Write { whole: true, publishes, ..Write::default() };
                self.emit(What::Write(write), resource(), &deps, known.span);
                Value::null()
            }
            (_, "options") => {
                let on = known.args.first().is_none_or(|(_, arg)| !matches!(arg.shape, Shape::Bool(false)));
                let this = known.this.cloned().unwrap_or_else(|| Value::unknown("options"));
                let name = if on { format!("{}|{}", this.name, known.name) } else { this.name.to_string() };
                Value::of(this.shape, name)
            }
            (_, "rename") => {
                let to = known.get(&known.model.value);
                let named = to.as_ref().map(Value::deep_origins).unwrap_or_default();
                let to = to.map_or_else(|| Rc::from("?"), |to| spelled(tidies, &to.name));
                // What is moved into place derives from what was written to the other file since it was moved last.
                let moves = |event: &&Event| matches!(&event.what, What::Write(w) if w.from.as_ref() == Some(&path));
                let since = self.events.iter().rev().take_while(|event| !moves(event));
                let written = since.filter(|event| {
                    matches!(event.what, What::Write(_))
                        && event.resource.as_ref().is_some_and(|r| r.kind == Kind::File && r.name == path)
                });
                let deps = written.fold(Origins::default(), |all, event| all.with(&event.deps));
                let resource = Resource { kind: Kind::File, name: to, part: None, scope: Scope::Host };
                let write = Write { whole: true, publishes: true, from: Some(path), named, ..Write::default() };
                self.emit(What::Write(write), Some(resource), &deps, known.span);
                Value::null()
            }
            (_, "open") => self.open(known, &path),
            (_, "opens") => {
                if at.is_some() && !self.here.early {
                    self.emit(What::Opens, resource(), &none, known.span);
                }
                self.result(known)
            }
            (_, "handle" | "stream") => self.handle(known, verb == "stream"),
            (_, "temp") => {
                let name = format!("{}{}@{}", Mark::Unique, known.name, known.span.line);
                // Open already, and its path beside it.
                if known.model.how.as_deref() == Some("pair") {
                    let file = Value::of(Shape::Api("file.w".into()), &name);
                    let pair = Value::of(Shape::List(Rc::from([file, Value::unknown(&name)])), &name);
                    return pair;
                }
                Value::unknown(name)
            }
            _ => self.result(known),
        }
    }

    /// `ATTACH DATABASE '/data/old.db' AS old`: what is stored there stands in that file.
    pub(super) fn attaches(&mut self, pieces: &[Piece], bound: &Bound, span: Span) {
        let Some((Piece::Text(first), rest)) = pieces.split_first() else { return };
        let is_it = first.trim_start().get(..ATTACH.len()).is_some_and(|verb| verb.eq_ignore_ascii_case(ATTACH));
        if !is_it || self.here.early {
            return;
        }
        let written = first.split('\'').nth(1).filter(|path| !path.is_empty());
        let path = match (written, rest.first()) {
            (Some(path), _) => Some(Rc::from(path)),
            (None, Some(Piece::Hole(hole))) => bound.names.get(*hole).map(|name| Rc::from(name.as_str())),
            (None, _) => bound.values.first().map(|value| Rc::clone(&value.name)),
        };
        let Some(name) = path.map(|path| spelled(&self.words().tidies, &path)) else { return };
        let resource = Resource { kind: Kind::File, name, part: None, scope: Scope::Host };
        self.emit(What::Opens, Some(resource), &Origins::default(), span);
    }

    /// An open file: its type tells what may be done with it, its name is the path.
    fn open(&mut self, known: &Known<'_>, path: &Rc<str>) -> Value {
        let mode = known.get(&known.model.options);
        let words = self.words();
        // A mode is a text, or constants of a package, or what was said to the options before; never a variable's name.
        let has = |words: &[String]| match mode.as_ref().map(|mode| (mode, mode.as_text())) {
            Some((_, Some(text))) => words.iter().any(|word| word == text),
            Some((mode, None)) if mode.kind().is_some() => {
                mode.name.split('|').skip(1).any(|said| Words::is_one(words, said))
            }
            Some((mode, None)) => constants(&mode.name).any(|constant| Words::is_one(words, constant)),
            None => false,
        };
        // A descriptor: who opened it has said how.
        let opened =
            known.at().and_then(|at| at.kind().and_then(|kind| kind.strip_prefix("file.").map(ToOwned::to_owned)));
        let kind = match known.model.how.as_deref() {
            _ if opened.as_deref() == Some("x") => "x",
            _ if has(&words.creates) => "x",
            _ if has(&words.extends) => "a+",
            _ if has(&words.appends) => "a",
            _ if has(&words.updates) || has(&words.reads) && has(&words.writes) => "r+",
            Some(how) => how,
            None if has(&words.writes) => "w",
            None => "r",
        };
        if kind == "x" && opened.is_none() {
            let resource = Resource { kind: Kind::File, name: Rc::clone(path), part: None, scope: Scope::Host };
            let write = Write { creates: true, ..Write::default() };
            self.emit(What::Write(write), Some(resource), &Origins::default(), known.span);
        }
        Value::of(Shape::Api(format!("file.{kind}").into()), &**path).from(&known.origins())
    }

    /// Something is done with an open file, or with whatever a path is of, if it may be `any` of the two.
    fn handle(&mut self, known: &Known<'_>, any: bool) -> Value {
        let Some(file) = known.at() else { return self.result(known) };
        let Shape::Api(kind) = &file.shape else {
            // The text itself, which may be none of what is wanted.
            self.may_fail(&known.origins());
            return kept_alike(&file, self.result(known));
        };
        let language = self.language(self.file());
        if self.models.call(language, kind, "read").is_some_and(|call| call.does == "input") {
            return self.input(known);
        }
        if !(kind.starts_with("file.") || any && &**kind == "path") {
            return self.result(known);
        }
        let resource = Resource { kind: Kind::File, name: Rc::clone(&file.name), part: None, scope: Scope::Host };
        let keeps = matches!(&**kind, "file.r+" | "file.a+");
        match known.model.how.as_deref() {
            Some("write") => {
                let value = known.get(&known.model.value);
                let constant = value.as_ref().is_none_or(is_constant);
                let owner = value.as_ref().is_some_and(|value| is_owner(self.words(), value));
                let random = value.as_ref().is_some_and(is_random);
                let deps = value.map(|value| value.deep_origins()).unwrap_or_default();
                let named = file.origins.clone();
                let extends = &**kind == "file.a+" && !self.is_empty(&resource);
                let (appends, creates) = (extends || &**kind == "file.a", &**kind == "file.x");
                let write = Write { relative: appends, creates, constant, keeps, owner, named, ..Write::default() };
                let write = Write { whole: !appends, random, ..write };
                self.emit(What::Write(write), Some(resource), &deps, known.span);
                Value::null()
            }
            Some("empty") => {
                let creates = &**kind == "file.x";
                let write = Write { whole: true, creates, constant: true, keeps, empties: true, ..Write::default() };
                let write = Write { clears: true, ..write };
                self.emit(What::Write(write), Some(resource), &Origins::default(), known.span);
                Value::null()
            }
            _ => {
                let id = self.emit(What::READ, Some(resource), &Origins::default(), known.span);
                // What it says may be none of what is wanted: `json.load(file)`.
                if known.this.is_none() {
                    self.may_fail(&Origins::one(id));
                }
                Value::unknown(format_args!("{CONTENT}{}", file.name)).from(&Origins::one(id))
            }
        }
    }

    /// Whether this call has cut an open file off before.
    fn is_empty(&self, file: &Resource) -> bool {
        let same = |event: &&Event| event.resource.as_ref() == Some(file);
        self.log().iter().filter(same).any(|event| matches!(&event.what, What::Write(how) if how.empties))
    }
}

/// Parts of a path that are known.
const PARTS_MOST: usize = 24;

/// What a path is made of, where a part of it is put together itself.
fn joined_parts(args: &Args) -> Shape {
    let is_template = |value: &Value| matches!(value.shape, Shape::Template(_));
    if !args.iter().any(|(_, arg)| is_template(arg)) {
        return Shape::Unknown;
    }
    let slash = Value::text("/");
    let inner = |arg: &Value| match &arg.shape {
        Shape::Template(inner) => inner.to_vec(),
        _ => vec![arg.clone()],
    };
    let parts = args.iter().flat_map(|(_, arg)| std::iter::once(slash.clone()).chain(inner(arg))).skip(1);
    let parts: Vec<Value> = parts.take(PARTS_MOST + 1).collect();
    if parts.len() > PARTS_MOST { Shape::Unknown } else { Shape::Template(parts.into()) }
}

/// It has in it by what the present process is known, or one that was started here.
pub(super) fn is_owner(words: &Words, value: &Value) -> bool {
    Mark::Process.is_in(&value.name)
        || words.owners.iter().any(|owner| value.name.contains(&format!("{}{owner}", Mark::Unique)))
}

/// Fields of what is written that are looked at.
const FIELDS_MOST: usize = 32;

/// It has in it, or in one of its fields, what another caller would not have there.
fn is_random(value: &Value) -> bool {
    let is = |value: &Value| Mark::Random.is_in(&value.name);
    is(value) || value.object().is_some_and(|of| of.fields.borrow().values().take(FIELDS_MOST).any(is))
}

/// Nothing at all is written: an empty text, or up to the length of nothing.
fn is_empty(value: &Value) -> bool {
    match &value.shape {
        Shape::Str(text) => text.is_empty(),
        Shape::Num(length) => *length == 0.0,
        _ => false,
    }
}

/// A path in one spelling: `${dir}/items` is what joining gives as `dir/items`, and `a/./b` is `a/b`.
pub(super) fn spelled(tidies: &[String], name: &Rc<str>) -> Rc<str> {
    if let Some(tidy) = tidies.iter().find(|tidy| name.contains(tidy.as_str())) {
        return spelled(tidies, &name.replace(tidy, "").into());
    }
    if !name.contains("${") && !name.contains("./") {
        return Rc::clone(name);
    }
    let (mut parts, mut depth, mut from): (Vec<&str>, u32, usize) = (Vec::new(), 0, 0);
    for (at, c) in name.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => {
                parts.extend(name.get(from..at));
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(name.get(from..));
    let mut whole = String::with_capacity(name.len());
    let relative = parts.first() == Some(&".");
    for (at, part) in parts.iter().enumerate() {
        if *part == "." {
            continue;
        }
        // A hole that is all of this part.
        let inner =
            part.strip_prefix("${").and_then(|part| part.strip_suffix('}')).filter(|inner| !inner.contains("${"));
        if at > 0 && !whole.ends_with('/') && !(relative && whole.is_empty()) {
            whole.push('/');
        }
        whole.push_str(inner.unwrap_or(part));
    }
    whole.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        let tidies = [r".replace(\,/)", ".strip(/)"].map(str::to_owned);
        let one = |name: &str| spelled(&tidies, &Rc::from(name)).to_string();
        assert_eq!(one("${$dir}/items/${$id}.json"), "$dir/items/${$id}.json");
        assert_eq!(one("$dir/items/${$id}.json"), "$dir/items/${$id}.json");
        assert_eq!(one("/data/./a"), "/data/a");
        assert_eq!(one("./a"), "a");
        assert_eq!(one("${a}${b}/c"), "${a}${b}/c");
        assert_eq!(one("${f(${x}/y)}/c"), "${f(${x}/y)}/c");
        assert_eq!(one("}/${"), "}/${");
        assert_eq!(one("$dir/${$id.replace(\\,/).strip(/)}"), "$dir/$id");
        assert_eq!(one("$dir/$id.replace(a,b)"), "$dir/$id.replace(a,b)");
    }
}
