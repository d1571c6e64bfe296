//! From calls and their answers to operations of the model.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::super::select::{select, text};
use super::super::vars;
use crate::check::{History, Input, Value};
use crate::run::{End, Played, Record};
use crate::spec::{Action, Model, Operation, Spec, Vars};
use crate::target::{Answer, shown};
use crate::verdict::time;

/// When something was called, and when it returned; `None` if that is not known.
type Times = (u64, Option<u64>);

/// The history of a round, and where each operation comes from.
pub(super) struct Seen {
    pub(super) history: History,
    /// By the place of the operation.
    pub(super) whose: Vec<Whose>,
}

/// Who made an operation, as the timeline has it.
#[derive(Debug, Clone)]
pub(super) struct Whose {
    name: String,
    /// Of a call.
    pub(super) id: Option<String>,
    /// Of a read-back.
    pub(super) read_on: Option<usize>,
    /// When it was called and when it returned, after the release.
    times: Option<Times>,
}

impl Whose {
    fn call(record: &Record, is_afterwards: bool, holder: Option<&str>, ended: bool) -> Self {
        let what = if is_afterwards { "after" } else { "call" };
        let by = holder.map_or(String::new(), |holder| format!(" by {holder:?}"));
        let name = format!("{what} {}{by} on instance {}", record.n, record.instance);
        let times = (record.started_us, ended.then_some(record.ended_us));
        Self { name, id: Some(record.id.clone()), read_on: None, times: Some(times) }
    }

    fn before() -> Self {
        Self { name: "before the round".into(), id: None, read_on: None, times: None }
    }
}

impl Seen {
    /// One operation on one line.
    pub(super) fn told(&self, at: usize, is_failing: bool) -> String {
        let Some((one, whose)) = self.history.operations().get(at).zip(self.whose.get(at)) else {
            return String::new();
        };
        let times = match whose.times {
            None => String::new(),
            Some((from, Some(to))) => format!(" from {} to {}", time(from), time(to)),
            Some((from, None)) => format!(" from {}", time(from)),
        };
        let gave = match (one.given(), one.output) {
            (None, _) => "outcome unknown".to_owned(),
            (_, Value::None) if one.input != Input::Read => "done".to_owned(),
            (_, output) => self.history.show(output).to_string(),
        };
        let mark = if is_failing { "   <- no place for this answer" } else { "" };
        format!("{}{times}: {} -> {gave}{mark}", whose.name, self.history.show(one.input))
    }
}

/// What is known of one call.
struct Done<'a> {
    operation: &'a Operation,
    vars: Vars,
    client: u32,
    whose: Whose,
    times: Times,
    /// `None` if it never came, or was "no".
    answer: Option<&'a Answer>,
    is_no: bool,
}

/// What a listing showed.
struct Listing {
    client: u32,
    whose: Whose,
    key: String,
    times: (u64, u64),
    shown: BTreeSet<String>,
}

/// The history of a round. What was there before it counts as written before all calls.
pub(super) fn operations(spec: &Spec, model: Model, played: &Played) -> Result<Seen, String> {
    let mut build =
        Build { history: History::new(), whose: Vec::new(), elements: BTreeMap::new(), listings: Vec::new() };
    let read = spec.read.as_ref().and_then(|read| read.operation.as_ref());
    let reader = u32::MAX;
    if let Some((operation, answer)) = read.zip(played.before.as_ref()) {
        build.start(operation, &played.vars, answer)?;
    }
    // Everything is one later than it was, because what was there before is at 0.
    let last = played.records.iter().map(|record| record.ended_us).max().unwrap_or(0) + 2;
    let raced = played.records.iter().map(|record| (record, 1, false));
    let afterwards = played.afterwards.iter().map(|record| (record, last, true));
    let mut clients = BTreeMap::new();
    for (record, later, is_afterwards) in raced.chain(afterwards) {
        let Some(operation) = spec.calls.get(record.call).and_then(|call| call.operation.as_ref()) else { continue };
        let is_no = operation.error_is_no && record.end == End::Failed && !record.nothing_ran;
        let is_lost = !record.is(End::Acknowledged) && !is_no;
        // What had no effect did not happen, and what only looks says nothing without its answer.
        if record.nothing_ran || (is_lost && operation.action.looks()) {
            continue;
        }
        let vars = vars(played, record);
        let holder = (model == Model::Mutex).then(|| operation.client.fill(&vars));
        let client = match &holder {
            Some(holder) => client(&mut clients, holder),
            None => u32::try_from(record.n).unwrap_or(u32::MAX),
        };
        let whose = Whose::call(record, is_afterwards, holder.as_deref(), !is_lost);
        let ended = (!is_lost).then_some(record.ended_us + later);
        let times = (record.started_us + later, ended);
        let done = Done { operation, vars, client, whose, times, answer: record.given.as_ref(), is_no };
        build.add(&done).map_err(|why| format!("call {}: {why}", record.n))?;
    }
    let after = played.afterwards.iter().map(|record| record.ended_us + last).max().unwrap_or(last) + 1;
    for ((instance, answer), at) in played.reads.iter().enumerate().zip((after..).step_by(2)) {
        let read_us = played.read_us.get(instance).map(|(from, to)| (*from, Some(*to)));
        let name = format!("the read-back of instance {instance}");
        let whose = Whose { name, id: None, read_on: Some(instance), times: read_us };
        // One that could not be read is told by others.
        let Some((operation, answer)) = read.zip(answer.as_ref().ok()) else { continue };
        let vars = Vars { i: instance, ..played.vars.clone() };
        let times = (at, Some(at + 1));
        let done = Done { operation, vars, client: reader, whose, times, answer: Some(answer), is_no: false };
        build.add(&done).map_err(|why| format!("the read-back of instance {instance}: {why}"))?;
    }
    build.list(played.before.is_some() && read.is_some())?;
    build.unwritten(model);
    Ok(Seen { history: build.history, whose: build.whose })
}

/// Clients are known by name.
fn client(clients: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    let next = u32::try_from(clients.len()).unwrap_or(u32::MAX);
    *clients.entry(name.to_owned()).or_insert(next)
}

struct Build {
    history: History,
    /// As many as there are operations.
    whose: Vec<Whose>,
    /// Elements of each set that somebody speaks of.
    elements: BTreeMap<String, BTreeSet<String>>,
    listings: Vec<Listing>,
}

impl Build {
    /// What was there before: as if it had been written at 0.
    fn start(&mut self, operation: &Operation, vars: &Vars, answer: &Answer) -> Result<(), String> {
        let name = operation.key.fill(vars);
        let key = self.key(&name)?;
        let inputs = match operation.action {
            Action::Read => vec![Input::Write(self.value(&given(operation, answer))?)],
            Action::Get => vec![Input::Add(number(&given(operation, answer))?)],
            Action::List => {
                let all = listed(operation, answer)?;
                let inputs = all.iter().map(|it| Ok(Input::Insert(self.element(&name, it)?)));
                inputs.collect::<Result<_, String>>()?
            }
            Action::Contains if yes(&given(operation, answer))? => {
                vec![Input::Insert(self.element(&name, &text(&operation.value.fill(vars)))?)]
            }
            _ => Vec::new(),
        };
        for input in inputs {
            self.was_there(key, input);
        }
        Ok(())
    }

    /// As if it had been made before all calls.
    fn was_there(&mut self, key: u32, input: Input) {
        self.history.done(u32::MAX, key, (0, 0), input, Value::None);
        self.whose.push(Whose::before());
    }

    fn add(&mut self, done: &Done<'_>) -> Result<(), String> {
        let Done { operation, vars, client, whose, times, answer, is_no } = done;
        let name = operation.key.fill(vars);
        let key = self.key(&name)?;
        let value = operation.value.fill(vars);
        let input = match operation.action {
            Action::Read => Input::Read,
            Action::Write => Input::Write(self.value(&value)?),
            Action::Cas => Input::Cas { from: self.value(&operation.from.fill(vars))?, to: self.value(&value)? },
            Action::Add => Input::Add(number(&value)?),
            Action::Get => Input::Get,
            Action::Insert => Input::Insert(self.element(&name, &text(&value))?),
            Action::Remove => Input::Remove(self.element(&name, &text(&value))?),
            Action::Contains => Input::Contains(self.element(&name, &text(&value))?),
            Action::Acquire => Input::Acquire,
            Action::Release => Input::Release,
            Action::List => {
                let (Some(ended), Some(answer)) = (times.1, answer) else { return Ok(()) };
                let shown = listed(operation, answer)?;
                let (whose, times) = (whose.clone(), (times.0, ended));
                self.listings.push(Listing { client: *client, whose, key: name, times, shown });
                return Ok(());
            }
        };
        let Some(ended) = times.1 else {
            self.history.open(*client, key, times.0, input);
            self.whose.push(whose.clone());
            return Ok(());
        };
        let output = match answer.filter(|_| operation.gives.is_some()) {
            _ if *is_no => Value::Bool(false),
            None => Value::None,
            Some(answer) => self.output(operation, &given(operation, answer))?,
        };
        self.history.done(*client, key, (times.0, ended), input, output);
        self.whose.push(whose.clone());
        Ok(())
    }

    fn output(&mut self, operation: &Operation, given: &Json) -> Result<Value, String> {
        match operation.action {
            Action::Read => self.value(given),
            Action::Get | Action::Add => number(given).map(Value::Int),
            Action::Acquire => match given {
                Json::Bool(false) => Ok(Value::Bool(false)),
                Json::Bool(true) | Json::Null => Ok(Value::None),
                token => number(token).map(Value::Int),
            },
            // Of a release "yes" says no more than an acknowledgement.
            Action::Release => yes(given).map(|yes| if yes { Value::None } else { Value::Bool(false) }),
            _ => yes(given).map(Value::Bool),
        }
    }

    /// Every listing says of every element whether it is there. Of elements that nobody speaks of nothing is known, unless
    /// it is known what was there before.
    fn list(&mut self, knows_before: bool) -> Result<(), String> {
        let listings = std::mem::take(&mut self.listings);
        for Listing { key, shown, .. } in listings.iter().filter(|_| knows_before) {
            self.elements.entry(key.clone()).or_default().extend(shown.iter().cloned());
        }
        for Listing { client, whose, key: name, times, shown } in listings {
            let key = self.key(&name)?;
            for element in self.elements.get(&name).cloned().unwrap_or_default() {
                let there = Value::Bool(shown.contains(&element));
                let element = self.history.text(&element).map_err(|full| full.to_string())?;
                self.history.done(client, key, times, Input::Contains(element), there);
                self.whose.push(whose.clone());
            }
        }
        Ok(())
    }

    /// The first value of a register that nobody wrote was there before.
    fn unwritten(&mut self, model: Model) {
        if model != Model::Register {
            return;
        }
        let (mut written, mut read) = (BTreeSet::new(), Vec::new());
        for one in self.history.operations() {
            match one.input {
                Input::Write(value) | Input::Cas { to: value, .. } => {
                    written.insert((one.key, value));
                }
                Input::Read => read.push((one.key, one.output)),
                _ => {}
            }
        }
        let mut known: BTreeSet<u32> = self
            .history
            .operations()
            .iter()
            .filter(|one| one.client == u32::MAX && one.call == 0)
            .map(|one| one.key)
            .collect();
        for (key, value) in read {
            if value != Value::None && !written.contains(&(key, value)) && known.insert(key) {
                self.was_there(key, Input::Write(value));
            }
        }
    }

    fn key(&mut self, name: &str) -> Result<u32, String> {
        self.history.key(name).map_err(|full| full.to_string())
    }

    /// Texts and numbers are compared as they are written: what is written as 5 may be read as "5".
    fn value(&mut self, json: &Json) -> Result<Value, String> {
        if json.is_null() {
            return Ok(Value::None);
        }
        self.history.text(&text(json)).map_err(|full| full.to_string())
    }

    fn element(&mut self, key: &str, element: &str) -> Result<Value, String> {
        self.elements.entry(key.to_owned()).or_default().insert(element.to_owned());
        self.history.text(element).map_err(|full| full.to_string())
    }
}

/// What the pointer finds; nothing is `null`. An answer that is no JSON is its text.
fn given(operation: &Operation, answer: &Answer) -> Json {
    let pointer = operation.gives.as_deref().unwrap_or_default();
    match &answer.json {
        Some(json) => select(json, pointer).first().map_or(Json::Null, |it| (*it).clone()),
        None if pointer.is_empty() => Json::String(answer.text.trim().to_owned()),
        None => Json::Null,
    }
}

fn listed(operation: &Operation, answer: &Answer) -> Result<BTreeSet<String>, String> {
    let json = answer.json.as_ref().ok_or_else(|| format!("its answer is not JSON: {}", answer.shown))?;
    Ok(select(json, operation.gives.as_deref().unwrap_or_default()).into_iter().map(text).collect())
}

fn number(json: &Json) -> Result<i64, String> {
    let number = json.as_i64().or_else(|| json.as_str()?.trim().parse().ok());
    number.ok_or_else(|| format!("{} is no whole number", shown(&json.to_string())))
}

fn yes(json: &Json) -> Result<bool, String> {
    json.as_bool().ok_or_else(|| format!("{} is neither true nor false", shown(&json.to_string())))
}
