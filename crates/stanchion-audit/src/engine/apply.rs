//! What models say of a call, carried out.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::effect::Effect;
use super::event::What;
use super::hints::hints;
use super::known::Known;
use super::mark::Mark;
use super::name::{Joined, named};
use super::value::{Closure, Origins, Shape, Value};
use super::{Engine, Entry};
use crate::hir::{Language, Span};

impl Engine<'_> {
    pub(super) fn apply(&mut self, known: &Known<'_>, on: &str) -> Value {
        if known.model.how.as_deref() == Some("wraps") && known.pass.is_none() {
            return self.wrap(known, on);
        }
        let result = self.does(known);
        let result = self.node_callback(known, result);
        if let (Some(this), Some(kind)) = (known.this, known.this.and_then(Value::kind))
            && known.model.gives.is_none()
            && self.models.of_type(self.language(self.file()), kind).is_some_and(|kind| kind.chains)
        {
            return Value { origins: this.origins.with(&result.origins), ..this.clone() };
        }
        match &known.model.gives {
            // What it gives depends on what it was given.
            Some(_) if known.model.does == "sql.opens" && result.kind().is_some() => result,
            Some(kind) => {
                if let Shape::Query(query) = &result.shape {
                    let mut query = (**query).clone();
                    query.kind = kind.as_str().into();
                    return Value { shape: Shape::Query(Rc::new(query)), ..result };
                }
                let name = if result.is_vague() || matches!(result.shape, Shape::Str(_)) {
                    Rc::clone(&result.name)
                } else {
                    known.at().map_or_else(|| Rc::clone(&result.name), |at| at.name)
                };
                Value { origins: result.origins, shape: Shape::Api(kind.as_str().into()), name }
            }
            None => result,
        }
    }

    /// JavaScript's old way: the last argument is called with an error and the result.
    fn node_callback(&mut self, known: &Known<'_>, result: Value) -> Value {
        let family = known.model.does.split('.').next().unwrap_or_default();
        let language = self.language(self.file());
        let takes = matches!(family, "file" | "key" | "doc" | "row" | "effect") || known.model.does == "sql";
        if !takes || !matches!(language, Language::JavaScript | Language::TypeScript) {
            return result;
        }
        let Some((_, last)) = known.args.last().filter(|(_, last)| last.closure().is_some()) else { return result };
        self.suspend(known.span);
        let args = vec![(None, Value::null()), (None, result.clone())];
        self.invoke(last, args, false, known.span);
        result
    }

    /// What comes back from a call that is known to do nothing else.
    pub(super) fn result(&self, known: &Known<'_>) -> Value {
        let names = Joined(known.args.iter().map(|(_, arg)| &*arg.name));
        let of = known.this.map_or("", |this| &*this.name);
        Value::unknown(format_args!("{of}.{}({names})", known.name)).from(&known.origins())
    }

    pub(super) fn does(&mut self, known: &Known<'_>) -> Value {
        let (family, verb) = known.model.does.split_once('.').unwrap_or((known.model.does.as_str(), ""));
        match family {
            "file" | "path" => self.file_call(known, family, verb),
            "key" | "doc" => self.key_call(known, family, verb),
            "sql" | "row" => self.row_call(known, family, verb),
            "build" => self.build_call(known, verb),
            "cond" => self.condition_call(known, verb),
            "process" => self.process_call(known, verb),
            "send" => self.send(known),
            "input" => self.input(known),
            "lock" => self.lock_call(known, verb),
            "effect" => self.effect(known),
            "sleep" => {
                let time = known.at().unwrap_or_else(|| Value::unknown("$"));
                let random = Mark::Random.is_in(&time.name);
                let growing = time.is_vague() && time.name.contains(['*', '<', '(', '$']);
                self.emit(What::Sleep { growing, random }, None, &time.origins, known.span);
                if let Some(callback) = known.get(&known.model.callback).filter(|callback| callback.closure().is_some())
                {
                    if self.comes_again(&callback, known.span) {
                        return self.result(known);
                    }
                    self.suspend(known.span);
                    self.invoke(&callback, Vec::new(), false, known.span);
                }
                Value::null()
            }
            "tool" => self.handler(known, Entry::Tool),
            "route" => self.handler(known, Entry::Route),
            "consumer" => self.handler(known, Entry::Consumer),
            "hook" => self.handler(known, Entry::Hook),
            "timer" => {
                self.emit(What::Starts, None, &Origins::default(), known.span);
                self.handler(known, Entry::Timer)
            }
            "ticks" => {
                self.emit(What::Ticks, None, &Origins::default(), known.span);
                self.result(known)
            }
            "retry" => {
                let id = self.new_branch();
                self.here.loops.push(id);
                let waits = !matches!(known.model.how.as_deref(), Some("bare"));
                if waits {
                    self.emit(What::Sleep { growing: true, random: true }, None, &Origins::default(), known.span);
                }
                self.here.retries += 1;
                let back = self.call_back(known);
                self.here.retries -= 1;
                self.here.loops.pop();
                back
            }
            // A client that repeats its calls by itself from now on.
            "retries" => {
                self.repeating.extend(known.at().map(|client| client.name));
                self.result(known)
            }
            "spawn" => {
                let outer = std::mem::take(&mut self.here.held);
                let back = self.call_back(known);
                self.here.held = outer;
                back
            }
            "memory" => self.collection(known, verb),
            "call" => {
                match known.model.how.as_deref() {
                    Some("error") => self.swallow(known, known.get(&known.model.callback).as_ref()),
                    Some("one") => {
                        if let Some(one) = self.one_of_list(known) {
                            return one;
                        }
                    }
                    // Whatever is called so makes the value: a function, a class, or a type of a library.
                    Some("made") => {
                        if let Some(maker) = known.get(&known.model.callback) {
                            return self.invoke(&maker, Vec::new(), false, known.span);
                        }
                    }
                    Some("each") => {
                        if let Some(all) = self.each_of_few(known) {
                            return all;
                        }
                    }
                    _ => {}
                }
                self.call_back(known)
            }
            "later" => {
                let this = known.this.cloned().unwrap_or_else(|| Value::unknown("$given"));
                let this = self.settled(this, known.span);
                // What is to be done if it fails.
                self.swallow(known, known.args.get(1).map(|(_, handler)| handler));
                let same = (known.model.how.as_deref() == Some("receiver")).then(|| this.clone());
                let given = || if same.is_some() { Vec::new() } else { vec![(None, this)] };
                let pass = known.pass.clone().or_else(|| Some(given()));
                let then = Known { pass, args: known.args, name: known.name, ..*known };
                // Only what is called waits; whoever hands it over goes on at once.
                let branch = self.new_branch();
                let (first, mark, back) = self.arm(branch, 0, &Origins::default(), |engine| {
                    engine.here.detached += 1;
                    engine.suspend(known.span);
                    engine.here.detached -= 1;
                    (engine.events.len(), engine.events.last().map(|event| event.id), engine.call_back(&then))
                });
                let back = same.unwrap_or(back);
                // `access(path).then(() => true, …)`: it tells whether what was waited for has succeeded.
                let back = match (&back.shape, known.this) {
                    (Shape::Bool(_), Some(this)) => back.from(&this.deep_origins()),
                    _ => back,
                };
                match (mark, known.this) {
                    (Some(mark), Some(this)) if !self.here.early => {
                        let (behind, last) = (this.deep_origins(), self.events.len());
                        self.chains.push(super::Chain { behind, first, last, mark });
                        back.from(&Origins::one(mark))
                    }
                    _ => back,
                }
            }
            "pass" => {
                let origins = known.origins();
                if let (Some("shared"), Some(at)) = (known.model.how.as_deref(), known.at()) {
                    self.made.remove(&at.name);
                }
                known.at().unwrap_or_else(|| self.result(known)).from(&origins)
            }
            // `of.get("name")` is `of["name"]`.
            "member" => match (known.this, known.at().as_ref().and_then(Value::as_text)) {
                (Some(this), Some(name)) => self.member(this, name, known.span).from(&known.origins()),
                _ => self.result(known),
            },
            // It keeps what is put into it.
            "object" => self.object_call(known),
            // What is bound to a statement, in order.
            "list" => {
                let items: Vec<Value> = known.args.iter().map(|(_, arg)| arg.clone()).collect();
                Value::of(Shape::List(items.into()), known.name)
            }
            "unique" => {
                let mark = if known.model.how.as_deref() == Some("random") { Mark::Random } else { Mark::Unique };
                let name = named(&format_args!("{mark}{}", known.name));
                let name = if self.here.retries > 0 { named(&format_args!("{name}{}", Mark::Anew)) } else { name };
                Value::unknown(name).from(&known.origins())
            }
            _ => self.result(known),
        }
    }

    /// Calls the function that was given, with what derives from the receiver.
    pub(super) fn call_back(&mut self, known: &Known<'_>) -> Value {
        let callback = known.get(&known.model.callback);
        let Some(callback) = callback.filter(|callback| known.runs(callback)) else { return self.result(known) };
        let origins = known.origins();
        let args = match &known.pass {
            Some(args) => args.clone(),
            None if known.model.rest => known.after(&callback),
            None => {
                let of = known.this.map_or("$given".to_owned(), |this| format!("{}[]", this.name));
                let given = Value::unknown(of).from(&origins);
                let given = match &known.model.given {
                    Some(kind) => Value { shape: Shape::Api(kind.as_str().into()), ..given },
                    None => given,
                };
                vec![(None, given.clone()), (None, given)]
            }
        };
        let back = self.invoke(&callback, args, false, known.span);
        match known.model.how.as_deref() {
            // What the function gives is what comes back.
            Some("result") => back,
            _ => self.result(known).from(&back.deep_origins()),
        }
    }

    /// A command that was made before is sent now.
    fn send(&mut self, known: &Known<'_>) -> Value {
        let Some(command) = known.at() else { return self.result(known) };
        let Some(kind) = command.kind().cloned() else { return self.result(known) };
        let language = self.language(self.file());
        let models = self.models;
        let Some(model) = models.call(language, &kind, "send") else { return self.result(known) };
        let args = vec![(None, command.clone())];
        self.does(&Known { model, this: Some(&command), args: &args, name: "send", span: known.span, pass: None })
    }

    /// A script that is fed by somebody: its own code is an entry point.
    pub(super) fn input(&mut self, known: &Known<'_>) -> Value {
        if let Some((_, last)) = known.args.last().filter(|(_, last)| last.closure().is_some()) {
            self.register(Entry::Hook, "input", last, BTreeMap::new(), None, known.span);
        }
        if self.here.early
            && let Some(frame) = self.frames.first().filter(|frame| frame.function == 0)
        {
            let file = frame.file;
            let scope = self.load(file);
            let closure = Closure { file, function: 0, scope, this: None };
            let handler = Value::of(Shape::Func(Rc::new(closure)), "script");
            if !self.roots.iter().any(|root| root.function.file == file && root.function.function == 0) {
                self.register(Entry::Hook, "script", &handler, BTreeMap::new(), None, known.span);
            }
        }
        self.result(known)
    }

    pub(super) fn handler(&mut self, known: &Known<'_>, entry: Entry) -> Value {
        let name = known.at().map_or_else(|| Rc::from(known.name), |at| at.name);
        let mut handler = known.get(&known.model.handler);
        if handler.as_ref().is_none_or(|handler| handler.closure().is_none()) {
            // Often the last function among the arguments, whatever stands before it.
            handler = known.args.iter().rev().map(|(_, arg)| arg.clone()).find(|arg| arg.closure().is_some());
        }
        let (hints, part) = (hints(known.args), self.server_part(&name));
        if let Some(handler) = handler {
            self.register(entry, &name, &handler, hints, part, known.span);
            return self.result(known);
        }
        // Or they stand in an object beside what describes them.
        for object in known.args.iter().filter_map(|(_, arg)| arg.object()) {
            let fields: Vec<Value> = object.fields.borrow().values().cloned().collect();
            for handler in fields.iter().filter(|field| field.closure().is_some()) {
                self.register(entry, &name, handler, hints.clone(), part, known.span);
            }
        }
        self.result(known)
    }

    fn effect(&mut self, known: &Known<'_>) -> Value {
        let method: Rc<str> = match known.model.how.as_deref() {
            Some("method") | None => {
                let said = known
                    .get(&known.model.options)
                    .or_else(|| known.args.iter().find_map(|(_, arg)| arg.option("method")));
                said.and_then(|said| said.as_text().map(str::to_uppercase)).unwrap_or_else(|| "GET".to_owned()).into()
            }
            // The request knows its method: it is called by it.
            Some("request") => known.at().map_or_else(|| Rc::from("POST"), |at| at.name.to_uppercase().into()),
            Some(method) => method.into(),
        };
        let target = known.at().map(|at| at.name);
        let safe =
            SAFE.contains(&&*method) || target.as_deref().is_some_and(|target| only_asks(&self.words().asks, target));
        let keyed = known
            .args
            .iter()
            .any(|(name, value)| name.as_deref().is_some_and(is_key_word) && is_kept(value) || mentions_key(value, 3));
        let resource = target.map(|name| super::event::Resource {
            kind: super::event::Kind::Remote,
            name,
            part: None,
            scope: super::event::Scope::Cluster,
        });
        let again = u32::from(self.repeats(known, &method));
        self.here.retries += again;
        let id = self.emit(What::Effect(Effect { method, keyed, safe }), resource, &known.origins(), known.span);
        self.here.retries -= again;
        self.result(known).from(&Origins::one(id))
    }

    /// What a loop goes through, if a model says what that does: the call `for`.
    pub(super) fn gone_through(&mut self, of: Value, span: Span) -> Value {
        let models = self.models;
        let Some(kind) = of.kind() else { return of };
        let Some(model) = models.call(self.language(self.file()), kind, "for") else { return of };
        self.does(&Known { model, this: Some(&of), args: &Vec::new(), name: "for", span, pass: None })
    }

    /// Whether the client repeats the call by itself: it was told so once, or with this call.
    fn repeats(&self, known: &Known<'_>, method: &str) -> bool {
        let client = known.this.map_or(known.model.on.first().map(String::as_str), |this| Some(&*this.name));
        let methods = known.args.iter().find_map(|(_, arg)| arg.option("retry")?.option("methods"));
        let named = methods.is_some_and(|methods| match &methods.shape {
            Shape::List(all) => all.iter().any(|one| one.as_text().is_some_and(|one| one.eq_ignore_ascii_case(method))),
            _ => false,
        });
        named || client.is_some_and(|client| self.repeating.contains(client))
    }

    /// A statement that was put together runs when somebody wants its result.
    pub(super) fn settled(&mut self, value: Value, span: Span) -> Value {
        match &value.shape {
            Shape::Query(query) if query.text.is_none() => {
                let query = Rc::clone(query);
                self.run_query(&query, span).from(&value.origins)
            }
            Shape::List(items) if items.iter().any(|item| matches!(item.shape, Shape::Query(_))) => {
                let items: Vec<Value> = items.iter().map(|item| self.settled(item.clone(), span)).collect();
                Value { shape: Shape::List(items.into()), ..value.clone() }
            }
            _ => value,
        }
    }
}

/// Methods that only ask, in the registry of HTTP's methods.
const SAFE: [&str; 8] = ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY"];

/// Whoever asks twice has two answers, and nothing else.
fn only_asks(asks: &[String], target: &str) -> bool {
    let path = target.split('?').next().unwrap_or(target).trim_end_matches('/');
    // `/v1/contextualizedembeddings`: the end of a word, if the program has written that word.
    let is_written = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let last = path.rsplit_once('/').map(|(_, last)| last).filter(is_written).unwrap_or_default();
    asks.iter().any(|end| if end.starts_with(char::is_alphanumeric) { last } else { path }.ends_with(end.as_str()))
}

/// A key that is made anew for every try is none.
fn is_kept(key: &Value) -> bool {
    !Mark::Anew.is_in(&key.name)
}

fn is_key_word(word: &str) -> bool {
    let word: String = word.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    word.contains("idempotency") || word.contains("idempotence") || word == "clienttoken" || word == "requestid"
}

fn mentions_key(value: &Value, depth: u32) -> bool {
    let Some(object) = value.object() else { return false };
    let fields = object.fields.borrow();
    fields
        .iter()
        .any(|(name, value)| is_key_word(name) && is_kept(value) || depth > 0 && mentions_key(value, depth - 1))
}
