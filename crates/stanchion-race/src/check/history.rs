//! What the clients of a race saw.

use std::collections::HashMap;
use std::fmt;

/// The return time of an operation that never returned: its outcome is unknown.
pub const OPEN: u64 = u64::MAX;

/// A value that was sent or seen. Texts are kept once per [`History`], so that values are small and quick to compare.
///
/// ```
/// use stanchion_race::check::{History, Value};
/// let mut history = History::new();
/// let milk = history.text("milk")?;
/// assert_eq!(milk, history.text("milk")?);
/// assert_ne!(milk, Value::Int(1));
/// assert_eq!(history.show(milk).to_string(), "\"milk\"");
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// Nothing: an empty key, or an acknowledgement that carries no value.
    #[default]
    None,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A text, by its place in the history: see [`History::text`].
    Text(u32),
}

/// What an operation asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// Register: gives the value.
    Read,
    /// Register: replaces the value.
    Write(Value),
    /// Register: replaces `from` by `to`, and gives whether it did.
    Cas {
        /// What must be there.
        from: Value,
        /// What is put there.
        to: Value,
    },
    /// Counter: adds; gives nothing, or the sum afterwards.
    Add(i64),
    /// Counter: gives the sum.
    Get,
    /// Set: adds an element; gives nothing, or whether it is new.
    Insert(Value),
    /// Set: takes an element away; gives nothing, or whether it was there.
    Remove(Value),
    /// Set: gives whether an element is there.
    Contains(Value),
    /// Mutex: gives the fencing token, nothing if it has none, or `false` if somebody else has it.
    Acquire,
    /// Mutex: gives nothing, or `false` if it was not the caller's.
    Release,
    /// Queue: adds an element at the end.
    Push(Value),
    /// Queue: takes the first element; nothing if the queue is empty.
    Pop,
    /// Versioned record: a write under a fencing token (0: none) that was based on a version; gives the new version.
    Store {
        /// The fencing token that was sent, or 0.
        token: u64,
        /// The version that the write was based on, or nothing for a blind write.
        base: Option<u64>,
    },
    /// Versioned record: a read under a fencing token (0: none); gives the version that was seen, 0 before the first write.
    Load {
        /// The fencing token that was sent, or 0.
        token: u64,
    },
}

/// One call of one client on one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Who called. A client may have several calls under way.
    pub client: u32,
    /// The key, by its place in the history: see [`History::key`].
    pub key: u32,
    /// When it was called, on the clock of the whole history.
    pub call: u64,
    /// When it returned, or [`OPEN`].
    pub ret: u64,
    /// What it asked for.
    pub input: Input,
    /// What it gave. Means nothing while the operation is open.
    pub output: Value,
}

impl Operation {
    /// Whether the outcome is unknown: it may have happened at any time after its call, or never.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.ret == OPEN
    }

    /// What it gave, if that is known.
    #[must_use]
    pub const fn given(&self) -> Option<Value> {
        if self.is_open() { None } else { Some(self.output) }
    }
}

/// What the clients of a race saw, in any order. A call that failed without effect is left out; one whose outcome is
/// unknown is open.
///
/// ```
/// use stanchion_race::check::{History, Input, Value};
/// let mut history = History::new();
/// let key = history.key("stock")?;
/// history.done(1, key, (0, 10), Input::Add(1), Value::None);
/// history.open(2, key, 5, Input::Add(1));
/// assert_eq!(history.operations().len(), 2);
/// assert_eq!(History::parse(&history.lines())?, history);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct History {
    operations: Vec<Operation>,
    names: Names,
}

/// Two histories are equal if they print the same.
impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.lines() == other.lines()
    }
}

impl History {
    /// An empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The place of a key; it is kept once.
    ///
    /// # Errors
    /// [`Full`] if the history already has 2^32 - 1 texts and keys.
    pub fn key(&mut self, name: &str) -> Result<u32, Full> {
        self.names.place(name)
    }

    /// A text as a value; it is kept once.
    ///
    /// # Errors
    /// As [`History::key`].
    pub fn text(&mut self, text: &str) -> Result<Value, Full> {
        self.names.place(text).map(Value::Text)
    }

    /// Adds an operation.
    pub fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    /// Adds an operation that returned; `times` are those of its call and of its return.
    pub fn done(&mut self, client: u32, key: u32, times: (u64, u64), input: Input, output: Value) {
        let (call, ret) = times;
        self.push(Operation { client, key, call, ret, input, output });
    }

    /// Adds an operation whose outcome is unknown.
    pub fn open(&mut self, client: u32, key: u32, call: u64, input: Input) {
        self.push(Operation { client, key, call, ret: OPEN, input, output: Value::None });
    }

    /// All operations, in the order in which they were added.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The name of a key or text; empty for a place that this history did not give.
    #[must_use]
    pub fn name(&self, place: u32) -> &str {
        usize::try_from(place).ok().and_then(|place| self.names.all.get(place)).map_or("", String::as_str)
    }

    /// How many keys and texts there are.
    pub(super) fn names(&self) -> usize {
        self.names.all.len()
    }

    /// A value or operation in words.
    pub fn show<T: Shown>(&self, what: T) -> impl fmt::Display {
        what.words(self)
    }
}

/// There is no more room for names: 2^32 - 1 keys and texts are the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many different keys and texts in one history")
    }
}

impl std::error::Error for Full {}

#[derive(Debug, Clone, Default)]
struct Names {
    all: Vec<String>,
    places: HashMap<String, u32>,
}

impl Names {
    fn place(&mut self, name: &str) -> Result<u32, Full> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        let place = u32::try_from(self.all.len()).ok().filter(|place| *place < u32::MAX).ok_or(Full)?;
        self.all.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        Ok(place)
    }
}

/// What [`History::show`] can put into words.
pub trait Shown {
    /// In words, with the texts of this history.
    fn words(&self, history: &History) -> String;
}

impl Shown for Value {
    fn words(&self, history: &History) -> String {
        match self {
            Value::None => "nothing".to_owned(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::Int(number) => number.to_string(),
            Value::Text(place) => format!("{:?}", history.name(*place)),
        }
    }
}

impl Shown for Input {
    fn words(&self, history: &History) -> String {
        let show = |value: &Value| value.words(history);
        let under = |token: u64| if token == 0 { String::new() } else { format!(" under token {token}") };
        match self {
            Input::Read => "read".to_owned(),
            Input::Write(value) => format!("write {}", show(value)),
            Input::Cas { from, to } => format!("replace {} by {}", show(from), show(to)),
            Input::Add(number) => format!("add {number}"),
            Input::Get => "get".to_owned(),
            Input::Insert(value) => format!("insert {}", show(value)),
            Input::Remove(value) => format!("remove {}", show(value)),
            Input::Contains(value) => format!("contains {}", show(value)),
            Input::Acquire => "acquire".to_owned(),
            Input::Release => "release".to_owned(),
            Input::Push(value) => format!("push {}", show(value)),
            Input::Pop => "pop".to_owned(),
            Input::Store { token, base: None } => format!("store{}", under(*token)),
            Input::Store { token, base: Some(base) } => format!("store over version {base}{}", under(*token)),
            Input::Load { token } => format!("load{}", under(*token)),
        }
    }
}

impl Shown for &Operation {
    fn words(&self, history: &History) -> String {
        let asked = format!("client {} {}", self.client, self.input.words(history));
        let versioned = matches!(self.input, Input::Store { .. } | Input::Load { .. });
        match (self.given(), self.output) {
            (None, _) => format!("{asked} -> outcome unknown [{}, ...]", self.call),
            (_, Value::Int(version)) if versioned => {
                format!("{asked} -> version {version} [{}, {}]", self.call, self.ret)
            }
            (_, Value::None) if !matches!(self.input, Input::Read | Input::Pop) => {
                format!("{asked} -> done [{}, {}]", self.call, self.ret)
            }
            (_, output) => format!("{asked} -> {} [{}, {}]", output.words(history), self.call, self.ret),
        }
    }
}
