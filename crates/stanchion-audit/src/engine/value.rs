//! What the interpreter knows of a value: which reads it derives from, what it is, and a name by which two values can be
//! recognised as the same.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use super::event::Site;
use super::name::{cut, joined, named, word};
use super::table::Table;
use crate::hir::{ClassId, FunctionId};

/// The number of an event in its trace.
pub(crate) type EventId = u32;

/// Reads that a value derives from, sorted. Most values derive from none, and cost no memory for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origins(Option<Rc<[EventId]>>);

/// Values that derive from more reads than this are taken to derive from the last ones.
const ORIGINS_MOST: usize = 32;
/// Results of one function.
const JOINED_MOST: usize = 8;
/// Functions inside functions inside functions.
const WRAPPED_DEEP: usize = 8;
/// Text of the program keeps so much more: it may be a statement.
const TEXT_MOST: usize = 8 * 1024;

impl Origins {
    pub(crate) fn one(event: EventId) -> Self {
        Self(Some(Rc::from([event])))
    }

    fn all(&self) -> &[EventId] {
        self.0.as_deref().unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = EventId> + '_ {
        self.all().iter().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn contains(&self, event: EventId) -> bool {
        self.all().binary_search(&event).is_ok()
    }

    fn has(&self, other: &Self) -> bool {
        self.all().len() >= other.all().len() && other.iter().all(|event| self.contains(event))
    }

    #[must_use]
    pub(crate) fn with(&self, other: &Self) -> Self {
        // Both mostly come from the same reads.
        if self.has(other) {
            return self.clone();
        }
        if other.has(self) {
            return other.clone();
        }
        let mut both: Vec<EventId> = self.iter().chain(other.iter()).collect();
        both.sort_unstable();
        both.dedup();
        let cut = both.len().saturating_sub(ORIGINS_MOST);
        Self(Some(both.split_off(cut).into()))
    }
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) origins: Origins,
    pub(crate) shape: Shape,
    /// Equal names of two values mean that they are probably equal: a constant's text, a path in the program, or how
    /// it was computed.
    pub(crate) name: Rc<str>,
}

/// What a value is.
#[derive(Debug, Clone, Default)]
pub(crate) enum Shape {
    #[default]
    Unknown,
    Str(Rc<str>),
    Num(f64),
    Bool(bool),
    Null,
    List(Rc<[Value]>),
    Func(Rc<Closure>),
    Class(usize, ClassId),
    Object(Rc<Object>),
    /// One of several objects that are made differently, or their methods of one name.
    Either(Rc<[Value]>),
    /// A file of the program.
    File(usize),
    /// A name of another file, which is loaded when somebody uses it: see [`Engine::find`](super::Engine::find).
    Import(usize, Rc<str>),
    /// A package that is not part of it, or a part of one: `fs`, `fs.promises`, `redis.asyncio`.
    Package(Rc<str>),
    /// An instance of a type that models know: `pg.Pool`.
    Api(Rc<str>),
    /// A field of one of the two: its method, not called yet.
    Method(Rc<Value>, Rc<str>),
    /// The value of a promise mutex, or of anything that stands for a lock.
    Lock(Rc<str>),
    /// Text with holes.
    Template(Rc<[Value]>),
    /// A statement that is being put together; it runs when somebody waits for it or says so.
    Query(Rc<super::query::Query>),
    /// A function inside a lock, a transaction or a retry: a modelled call gave it.
    Wrapped(Rc<Wrapped>),
}

/// A function that a model's call was given, and that runs inside of it.
#[derive(Debug)]
pub(crate) struct Wrapped {
    /// Which model: the package or type, and the call.
    pub(crate) on: Rc<str>,
    pub(crate) name: Rc<str>,
    pub(crate) this: Option<Value>,
    pub(crate) args: Vec<(Option<Rc<str>>, Value)>,
    pub(crate) inner: Value,
}

/// A function with what it sees.
#[derive(Debug)]
pub(crate) struct Closure {
    pub(crate) file: usize,
    pub(crate) function: FunctionId,
    pub(crate) scope: Rc<Scope>,
    pub(crate) this: Option<Value>,
}

/// The fields of an object.
pub(crate) type Fields = RefCell<Table<Value>>;

/// An object that can be changed.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    /// Its class, if it is one of the program's.
    pub(crate) class: Option<(usize, ClassId)>,
    /// What the model's type of its base class is, if any.
    pub(crate) api: Option<Rc<str>>,
    pub(crate) fields: Rc<Fields>,
    /// It lives longer than a call: an instance of a class, or something at the top of a module.
    pub(crate) shared: bool,
    /// Where it was made, if it has functions and no class: what a factory makes has the same ones each time.
    pub(crate) place: Option<Site>,
}

impl From<Object> for Shape {
    fn from(object: Object) -> Self {
        Self::Object(Rc::new(object))
    }
}

impl Object {
    pub(crate) fn new(shared: bool) -> Self {
        Self { class: None, api: None, fields: Rc::default(), shared, place: None }
    }
}

/// Variables of a block or function.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) vars: RefCell<Table<Binding>>,
    pub(crate) parent: Option<Rc<Scope>>,
    /// The top of a module, or of a function that ran before any call from outside: shared by all calls.
    pub(crate) is_module: bool,
}

/// A variable.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    pub(crate) value: Value,
    /// How many conditions it was declared under: assigned under as many, it is replaced; under more, joined.
    pub(crate) depth: u32,
}

impl Scope {
    pub(crate) fn inside(parent: &Rc<Self>) -> Rc<Self> {
        Rc::new(Self { vars: RefCell::default(), parent: Some(Rc::clone(parent)), is_module: false })
    }

    /// Variables that functions see which are called again and again.
    pub(crate) fn lasting(parent: &Rc<Self>) -> Rc<Self> {
        Rc::new(Self { vars: RefCell::default(), parent: Some(Rc::clone(parent)), is_module: true })
    }

    pub(crate) fn module() -> Rc<Self> {
        Rc::new(Self { vars: RefCell::default(), parent: None, is_module: true })
    }

    pub(crate) fn declare(&self, name: &str, value: Value, depth: u32) {
        self.vars.borrow_mut().insert(word(name), Binding { value, depth });
    }

    /// The variable, and whether all calls share it.
    pub(crate) fn find(&self, name: &str) -> Option<(Binding, bool)> {
        let mut scope = self;
        loop {
            if let Some(found) = scope.vars.borrow().get(name) {
                // A list or map of a function is mostly handed on, and asked somewhere else.
                let handed = scope.parent.is_some()
                    && matches!(&found.value.shape, Shape::Api(kind) if &**kind == super::memory::COLLECTION);
                return Some((found.clone(), scope.is_module && !handed));
            }
            scope = scope.parent.as_deref()?;
        }
    }

    /// Whether the variable belongs to a module; `None`: it is not declared.
    pub(crate) fn is_shared(&self, name: &str) -> Option<bool> {
        let mut scope = self;
        while !scope.vars.borrow().contains_key(name) {
            scope = scope.parent.as_deref()?;
        }
        Some(scope.is_module)
    }

    /// Replaces the variable where it is declared.
    pub(crate) fn replace(&self, name: &str, value: &Value) {
        let mut scope = self;
        loop {
            if let Some(found) = scope.vars.borrow_mut().get_mut(name) {
                found.value = value.clone();
                return;
            }
            match scope.parent.as_deref() {
                Some(parent) => scope = parent,
                None => return,
            }
        }
    }
}

impl Value {
    pub(crate) fn unknown(name: impl fmt::Display) -> Self {
        Self::of(Shape::Unknown, name)
    }

    pub(crate) fn of(shape: Shape, name: impl fmt::Display) -> Self {
        Self { origins: Origins::default(), shape, name: named(&name) }
    }

    /// Something unknown, by the parts of its name.
    pub(crate) fn joined(parts: &[&str]) -> Self {
        Self { origins: Origins::default(), shape: Shape::Unknown, name: joined(parts) }
    }

    /// Something of something: `of.name`.
    pub(crate) fn member(shape: Shape, of: &str, name: &str) -> Self {
        Self { origins: Origins::default(), shape, name: joined(&[of, ".", name]) }
    }

    pub(crate) fn text(text: &str) -> Self {
        let text = word(text);
        let name = if text.len() <= TEXT_MOST { Rc::clone(&text) } else { cut(&text) };
        Self { origins: Origins::default(), shape: Shape::Str(text), name }
    }

    /// With a name that may be a whole statement.
    pub(crate) fn long(shape: Shape, name: &str) -> Self {
        let name = if name.len() <= TEXT_MOST { word(name) } else { cut(name) };
        Self { origins: Origins::default(), shape, name }
    }

    pub(crate) fn null() -> Self {
        thread_local!(static NAME: Rc<str> = "null".into());
        Self { origins: Origins::default(), shape: Shape::Null, name: NAME.with(Rc::clone) }
    }

    #[must_use]
    pub(crate) fn from(mut self, origins: &Origins) -> Self {
        self.origins = self.origins.with(origins);
        self
    }

    /// One of the two.
    pub(crate) fn join(&self, other: &Self) -> Self {
        let origins = self.origins.with(&other.origins);
        let known = |value: &Self, beside: &Self| match &value.shape {
            Shape::Null => 0,
            // What a caller gives is another thing in every call, and stays so where a constant may take its place.
            Shape::Str(text) if text.is_empty() || beside.is_vague() && beside.name.contains('$') => 0,
            _ if value.is_vague() => 1,
            _ => 2,
        };
        // Several results are joined one by one.
        if let (Shape::List(one), Shape::List(two)) = (&self.shape, &other.shape)
            && one.len() == two.len()
            && one.len() <= JOINED_MOST
        {
            let items: Vec<Self> = one.iter().zip(two.iter()).map(|(one, two)| one.join(two)).collect();
            return Self { origins, shape: Shape::List(items.into()), name: Rc::clone(&other.name) };
        }
        if let Some(longer) = super::fields::longer_of(self, other) {
            return Self { origins, ..longer.clone() };
        }
        if let Some(several) = super::either::either(self, other) {
            return Self { origins, shape: Shape::Either(several), name: Rc::clone(&other.name) };
        }
        // What is known of one of them is better than nothing; of two that are known, the later one counts. What the
        // other one holds may be what was meant.
        let later = known(other, self) >= known(self, other) && !self.is_plain_of(other);
        let (kept, left) = if later { (other, self) } else { (self, other) };
        let held = matches!(left.shape, Shape::List(_))
            || left.object().is_some_and(|object| object.class.is_none() || !object.shared);
        let origins = if held { origins.with(&left.deep_origins()) } else { origins };
        Self { origins, shape: kept.shape.clone(), name: Rc::clone(&kept.name) }
    }

    /// Something that was given, and a call of its own makes the other one of it: most often it is used as it is.
    fn is_plain_of(&self, other: &Self) -> bool {
        let made = || other.name.strip_prefix(&*self.name).is_some_and(|rest| rest.starts_with('.'));
        self.is_vague() && other.is_vague() && self.name.starts_with('$') && made()
    }

    /// The same, where others can reach it.
    pub(crate) fn shared(&self) -> Self {
        let mut value = self.clone();
        match &mut value.shape {
            Shape::Object(object) if object.class.is_some() && !object.shared => Rc::make_mut(object).shared = true,
            Shape::Either(several) => *several = several.iter().map(Self::shared).collect(),
            _ => {}
        }
        value
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Shape::Str(text) = &self.shape { Some(text) } else { None }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        if let Shape::Num(number) = self.shape { Some(number) } else { None }
    }

    /// The function itself, whatever is around it.
    pub(crate) fn closure(&self) -> Option<&Rc<Closure>> {
        let mut value = self;
        for _ in 0..WRAPPED_DEEP {
            match &value.shape {
                Shape::Func(closure) => return Some(closure),
                Shape::Wrapped(wrapped) => value = &wrapped.inner,
                _ => return None,
            }
        }
        None
    }

    /// Nothing is known of it but its name.
    pub(crate) fn is_vague(&self) -> bool {
        matches!(self.shape, Shape::Unknown | Shape::Template(_))
    }

    /// The type whose calls it understands.
    pub(crate) fn kind(&self) -> Option<&Rc<str>> {
        match &self.shape {
            Shape::Api(kind) => Some(kind),
            Shape::Query(query) => Some(&query.kind),
            Shape::Object(object) => object.api.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn object(&self) -> Option<&Object> {
        if let Shape::Object(object) = &self.shape { Some(object) } else { None }
    }

    /// A field of an object literal, for options.
    pub(crate) fn option(&self, name: &str) -> Option<Value> {
        match &self.shape {
            Shape::Object(object) => object.fields.borrow().get(name).cloned(),
            Shape::Either(several) => several.iter().find_map(|one| one.object()?.fields.borrow().get(name).cloned()),
            _ => None,
        }
    }

    /// All that it derives from, also by its fields.
    pub(crate) fn deep_origins(&self) -> Origins {
        fn add(value: &Value, depth: u32, all: &mut Origins) {
            *all = all.with(&value.origins);
            if depth == 0 {
                return;
            }
            match &value.shape {
                Shape::Object(object) => object.fields.borrow().values().for_each(|field| add(field, depth - 1, all)),
                Shape::List(items) | Shape::Either(items) => items.iter().for_each(|item| add(item, depth - 1, all)),
                _ => {}
            }
        }
        let mut all = Origins::default();
        add(self, 3, &mut all);
        all
    }
}
