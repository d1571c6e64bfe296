//! What is given to calls: to things that keep it, to those that run it by themselves.

use std::rc::Rc;

use super::call::Args;
use super::class::BASES_DEEP;
use super::either::EITHER_MOST;
use super::eval::template;
use super::event::{Kind, What};
use super::fields::LIST_MOST;
use super::file::spelled;
use super::known::Known;
use super::value::{Object, Origins, Scope as Vars, Shape, Value};
use super::{Engine, Here};
use crate::hir::{ClassId, Expr, ExprKind, Language, Span};
use crate::models::Words;

/// Whatever is in a map under names that nobody knows.
pub(super) const INSIDE: &str = "[]";
/// Items of a list for each of which a function is called.
const EACH_MOST: usize = 8;

impl Engine<'_> {
    /// Whether what it is given runs by itself.
    pub(super) fn spawns(&self, callee: &Value) -> bool {
        let language = self.language(self.file());
        let model = match &callee.shape {
            Shape::Package(path) => path.rsplit_once('.').and_then(|(on, name)| self.models.call(language, on, name)),
            Shape::Method(of, name) => match &of.shape {
                Shape::Api(kind) => self.models.call(language, kind, name),
                _ => self.models.call(language, "*", name),
            },
            _ => None,
        };
        model.is_some_and(|model| model.does == "spawn")
    }

    /// `list.push(x)` of a list that this call has made: it has one more item, unless this is run again and again.
    pub(super) fn append(&mut self, place: &Expr, list: &Value, method: &str, args: &Args, scope: &Rc<Vars>) -> bool {
        let (ExprKind::Name(name), Shape::List(items)) = (&place.kind, &list.shape) else { return false };
        // Where others are in it already, nobody knows its place.
        let places = list.origins.is_empty() && items.len() + args.len() <= LIST_MOST;
        if !places || !Words::is_one(&self.words().adds_last, method) {
            return false;
        }
        let Some((binding, false)) = self.find(scope, name) else { return false };
        let all: Rc<[Value]> = items.iter().chain(args.iter().map(|(_, arg)| arg)).cloned().collect();
        let more = Value { shape: Shape::List(all), ..binding.value };
        let more = match &args[..] {
            _ if self.is_run_once(binding.depth) => more,
            // All that come later are like this one.
            [(None, one)] if items.is_empty() && self.is_file_with_content(one) => more.from(&one.deep_origins()),
            _ => return false,
        };
        self.add_to_variable(scope, name, &more);
        true
    }

    /// `(path, text)`: a path beside what was read there.
    fn is_file_with_content(&self, value: &Value) -> bool {
        let Shape::List(parts) = &value.shape else { return false };
        let (tidies, read) = (&self.words().tidies, value.deep_origins());
        let mut read = read.iter().filter_map(|id| self.event(id)).filter(|e| matches!(e.what, What::Read { .. }));
        read.any(|e| {
            let file = e.resource.as_ref().filter(|r| r.kind == Kind::File);
            file.is_some_and(|file| parts.iter().any(|part| spelled(tidies, &part.name) == file.name))
        })
    }

    /// Whether nothing has been repeated since there were so many conditions around.
    fn is_run_once(&self, depth: u32) -> bool {
        let Here { depth: now, path, loops, .. } = &self.here;
        let repeats = |arms: &[(u32, u16)]| arms.iter().any(|(branch, _)| loops.contains(branch));
        depth == *now || path.get(depth as usize..).is_some_and(|since| !repeats(since))
    }

    /// `["a.json", "b.json"].map(read)`: of a few texts each is known, and so is what is made of it.
    pub(super) fn each_of_few(&mut self, known: &Known<'_>) -> Option<Value> {
        let lists = self.named.lists;
        let is_own = |list: &&Value| list.origins.iter().all(|id| lists && self.is_of_memory(id));
        let list = known.this.filter(is_own)?;
        let Shape::List(items) = &list.shape else { return None };
        let is_few = (1..=EACH_MOST).contains(&items.len()) && items.iter().all(|item| item.as_text().is_some())
            || lists && items.len() <= LIST_MOST;
        let callback = known.get(&known.model.callback).filter(|callback| is_few && callback.closure().is_some())?;
        let mut all = Vec::with_capacity(items.len());
        for (at, item) in (0_u32..).zip(items.iter()) {
            let place = Value::of(Shape::Num(at.into()), at);
            all.push(self.invoke(&callback, vec![(None, item.clone()), (None, place)], false, known.span));
        }
        Some(Value { shape: Shape::List(all.into()), ..self.result(known) })
    }

    /// `texts.join(", ")` or `", ".join(texts)`, where all of them are known.
    pub(super) fn joined_text(&self, of: &Value, method: &str, args: &Args) -> Option<Value> {
        let [(None, arg)] = args.as_slice() else { return None };
        let (list, between) = if of.as_text().is_some() { (arg, of) } else { (of, arg) };
        let (Shape::List(texts), Shape::Str(_)) = (&list.shape, &between.shape) else { return None };
        let is_text = |value: &Value| matches!(value.shape, Shape::Str(_) | Shape::Template(_));
        // More may be in it, somewhere.
        let known = list.origins.is_empty() && !texts.is_empty() && texts.iter().all(is_text);
        if !known || !Words::is_one(&self.words().joins, method) {
            return None;
        }
        let parts = texts.iter().flat_map(|text| [between, text]).skip(1).cloned();
        Some(template(&parts.collect::<Vec<_>>()))
    }

    /// `list.push(x)`: what a thing nobody knows is given may be part of it from now on. A thing that all calls share and that
    /// is asked for an answer, such as a pattern, mostly gives one and keeps nothing.
    pub(super) fn absorb(
        &mut self,
        place: &Expr,
        value: &Value,
        args: &[(Option<Rc<str>>, Value)],
        is_told: bool,
        scope: &Rc<Vars>,
    ) {
        let asked = !is_told && matches!(value.shape, Shape::Unknown | Shape::Method(..));
        let collects = matches!(&value.shape, Shape::Api(kind) if &**kind == super::memory::COLLECTION);
        if !collects && !matches!(value.shape, Shape::Unknown | Shape::List(_) | Shape::Object(_) | Shape::Method(..)) {
            return;
        }
        let given = args.iter().fold(Origins::default(), |all, (_, arg)| all.with(&arg.deep_origins()));
        if given.is_empty() || given.iter().all(|origin| value.origins.contains(origin)) {
            return;
        }
        self.put_inside(value, &given);
        match &place.kind {
            ExprKind::Name(name) => {
                if let Some((binding, shared)) = self.find(scope, name)
                    && !(asked && shared)
                {
                    self.add_to_variable(scope, name, &binding.value.from(&given));
                }
            }
            ExprKind::Index { of, index } if !matches!(index.kind, ExprKind::Str(_)) => {
                let value = self.eval(of, scope);
                self.absorb(of, &value, args, is_told, scope);
            }
            // `groups.setdefault(key, []).append(x)`.
            ExprKind::Call(call) => {
                if let ExprKind::Member { of, name } = &call.callee.kind
                    && Words::is_one(&self.words().adds, name)
                {
                    let value = self.eval(of, scope);
                    self.absorb(of, &value, args, is_told, scope);
                }
            }
            _ => {
                let Some((of, name)) = field_of(place) else { return };
                let of = self.eval(of, scope);
                if let Some(object) = of.object().filter(|object| !(asked && object.shared)) {
                    let field = object.fields.borrow().get(name).cloned();
                    if let Some(field) = field {
                        self.add_to_field(object, name, field.from(&given));
                    }
                }
            }
        }
    }

    /// `Object.assign(target, …sources)`: fields that are known are set, and the rest may be any part of it from now on.
    pub(super) fn fill_with(&mut self, place: &Expr, args: &Args, span: Span, scope: &Rc<Vars>) {
        let Some(((_, target), sources)) = args.split_first() else { return };
        for (_, source) in sources {
            let Some(object) = source.object().filter(|object| object.class.is_none()) else { continue };
            let fields = object.fields.borrow().clone();
            fields.iter().for_each(|(name, value)| self.set_field(target, name, value, span));
        }
        self.absorb(place, target, sources, true, scope);
    }

    /// Whether this is the method of a map that puts something into it, goes through it, or gives what others can reach.
    pub(super) fn adds(&self, object: &Object, method: &str) -> bool {
        let words = self.words();
        let is_one = |all: &[String]| Words::is_one(all, method);
        object.class.is_none()
            && (is_one(&words.adds) || is_one(&words.pairs) || object.shared && is_one(&words.entries))
    }

    /// Whoever has the same object sees what is put into it.
    fn put_inside(&mut self, value: &Value, given: &Origins) {
        if let Some(object) = value.object().filter(|object| object.class.is_none()) {
            let old = object.fields.borrow().get(INSIDE).cloned();
            let part = old.unwrap_or_else(|| Value::joined(&[&value.name, INSIDE]));
            self.add_to_field(object, INSIDE, part.from(given));
        }
    }

    /// What is given by reference derives from this now.
    pub(super) fn fill(&mut self, place: &Expr, origins: &Origins, scope: &Rc<Vars>) {
        if origins.is_empty() {
            return;
        }
        match &place.kind {
            ExprKind::Name(name) => {
                if let Some((found, _)) = self.find(scope, name) {
                    // What it began with is no longer there.
                    let constant =
                        matches!(found.value.shape, Shape::Num(_) | Shape::Str(_) | Shape::Bool(_) | Shape::Null);
                    // Whoever has the same map sees it.
                    if let Some(object) = found.value.object() {
                        let part = Value::unknown(format_args!("{name}[]")).from(origins);
                        self.add_to_field(object, INSIDE, part);
                    }
                    let filled = if constant { Value::unknown(name) } else { found.value };
                    self.add_to_variable(scope, name, &filled.from(origins));
                }
            }
            _ => {
                let Some((of, name)) = field_of(place) else { return };
                let of = self.eval(of, scope);
                if let Some(object) = of.object() {
                    let old = object.fields.borrow().get(name).cloned();
                    let new = old.unwrap_or_else(|| Value::joined(&[&of.name, ".", name])).from(origins);
                    self.add_to_field(object, name, new);
                }
            }
        }
    }

    /// `text.trim().trim()`: it is what it was after the first one.
    pub(super) fn done_twice(&self, callee: &str) -> Option<Rc<str>> {
        let (of, method) = callee.rsplit_once('.')?;
        let before = of.strip_suffix("()")?.strip_suffix(method)?;
        (before.ends_with('.') && Words::is_one(&self.words().settles, method)).then(|| of.into())
    }

    /// An object of the program's class that a variable is declared with.
    pub(super) fn typed(&mut self, file: usize, text: &str) -> Option<Value> {
        // What `Arc<Store>` has is a `Store`.
        let inside = |text: &str| {
            let (around, rest) = text.split_once('<')?;
            Words::is_last(&self.words().annotates, &around.replace("::", ".")).then(|| rest.to_owned())
        };
        let inner = std::iter::successors(Some(text.to_owned()), |text| inside(text)).take(BASES_DEEP as usize).last();
        let text = inner.as_deref().unwrap_or(text);
        let name = text.trim_start_matches([':', ' ', '*', '&', '\'', '"']).trim_start_matches("mut ");
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())?;
        let scope = self.load(file);
        match self.find(&scope, name).map(|(found, _)| found.value.shape) {
            Some(Shape::Class(file, class)) => {
                if let Some(one) = self.one_of_those(self.program.fitting((file, class))) {
                    return Some(one);
                }
                let found = self.instance(file, class);
                Some(if self.is_record(file, class) { own(&found) } else { found })
            }
            // An interface is no value; where few classes implement it, it is one of those.
            _ if self.language(file) == Language::TypeScript => self.one_of_those(self.program.implements(name)),
            _ => None,
        }
    }

    /// An object of one of a few classes.
    fn one_of_those(&mut self, classes: &[(usize, ClassId)]) -> Option<Value> {
        if classes.len() > EITHER_MOST {
            return None;
        }
        classes.iter().map(|(file, class)| self.instance(*file, *class)).reduce(|all, one| all.join(&one))
    }

    /// A class of data without a constructor, of its own or inherited: whoever is given one has it for himself.
    fn is_record(&mut self, file: usize, class: usize) -> bool {
        if self.language(file) != Language::Python {
            return false;
        }
        let (mut at, mut holds) = ((file, class), false);
        for _ in 0..BASES_DEEP {
            let Some(found) = self.module(at.0).classes.get(at.1) else { break };
            if found.methods.iter().any(|(name, _)| name == "constructor") {
                return false;
            }
            holds |= found.fields.iter().any(|field| !field.is_static);
            match self.base(at.0, at.1) {
                Some(base) => at = base,
                None => break,
            }
        }
        holds
    }
}

/// `notes.open`, `notes["open"]`.
fn field_of(place: &Expr) -> Option<(&Expr, &str)> {
    match &place.kind {
        ExprKind::Member { of, name } => Some((of, name)),
        ExprKind::Index { of, index } => match &index.kind {
            ExprKind::Str(name) => Some((of, name)),
            _ => None,
        },
        _ => None,
    }
}

/// A copy that nobody else has.
fn own(value: &Value) -> Value {
    let Shape::Object(object) = &value.shape else { return value.clone() };
    let fields = object.fields.borrow().clone();
    let copy = Object { fields: Rc::new(fields.into()), shared: false, ..(**object).clone() };
    Value { shape: copy.into(), ..value.clone() }
}
