//! What library calls do, as data: see `models/*.toml`.

mod does;
mod words;

use std::collections::BTreeMap;

use foldhash::HashMap;
use serde::Deserialize;

pub(crate) use self::words::Words;
use crate::engine::Scope;
use crate::error::line_of;
use crate::hir::Language;

/// The built-in model files.
const BUILT_IN: &[(&str, &str)] = &[
    ("javascript.toml", include_str!("../models/javascript.toml")),
    ("python.toml", include_str!("../models/python.toml")),
    ("go.toml", include_str!("../models/go.toml")),
    ("rust.toml", include_str!("../models/rust.toml")),
];

/// Types that are like others that are like others.
const LIKE_DEEP: usize = 4;

/// A model file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    language: Vec<String>,
    #[serde(default)]
    package: Vec<PackageNames>,
    #[serde(default, rename = "type")]
    types: Vec<Type>,
    #[serde(default)]
    call: Vec<Call>,
    #[serde(default)]
    words: Words,
}

/// Other names of a package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackageNames {
    name: String,
    also: Vec<String>,
}

/// A type whose methods are modelled.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Type {
    pub(crate) name: String,
    /// Constructors and constants: `pg.Pool`.
    #[serde(default)]
    pub(crate) made: Vec<String>,
    /// How the type is written where variables and fields are declared.
    #[serde(default)]
    pub(crate) written: Vec<String>,
    /// What any field of it is, unless a call model says more: `prisma.user`; `.type`: under the field's name alone.
    #[serde(default)]
    pub(crate) members: Option<String>,
    /// It is a lock, and reaches so far.
    #[serde(default)]
    pub(crate) lock: Option<Reach>,
    /// Methods that give it back to its pool; so does the end of a `with`.
    #[serde(default)]
    pub(crate) returns: Vec<String>,
    /// Other types whose calls it understands as well.
    #[serde(default)]
    pub(crate) like: Vec<String>,
    /// What single fields of it are; `=type`: under the same name as the whole, `=`: the whole itself.
    #[serde(default)]
    pub(crate) fields: BTreeMap<String, String>,
    /// What it is instead, depending on how it is made.
    #[serde(default)]
    pub(crate) instead: Vec<Instead>,
    /// Its statements open a transaction by themselves, which lasts until it is ended.
    #[serde(default)]
    pub(crate) begins: Option<Begins>,
    /// It is an object with the fields that it is made with, such as a command that is sent later.
    #[serde(default)]
    pub(crate) keeps: bool,
    /// Its transactions fail rather than write over what others have written since they read.
    #[serde(default)]
    pub(crate) serial: bool,
    /// Its statements run on whichever connection is free.
    #[serde(default)]
    pub(crate) pools: bool,
    /// It has a pool of its own; one that a caller gives may be a transaction.
    #[serde(default)]
    pub(crate) has_pool: bool,
    /// Every call on it gives itself.
    #[serde(default)]
    pub(crate) chains: bool,
    /// Whoever assigns to one of its fields changes the row that it was read from.
    #[serde(default)]
    pub(crate) tracked: bool,
    /// Its tables have no unique keys, and it has no transactions.
    #[serde(default)]
    pub(crate) keyless: bool,
    /// Its tables are shared no further than this.
    #[serde(default)]
    pub(crate) scope: Option<Reach>,
    /// It is a column: whoever asks for it asks its table.
    #[serde(default)]
    pub(crate) column: bool,
    /// Methods of classes that extend it, and how they are called from outside: `execute = "tool"`.
    #[serde(default)]
    pub(crate) methods: BTreeMap<String, String>,
}

/// `{ option = ["concurrency", 0], not = "1", type = "limiter" }`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Instead {
    pub(crate) option: Argument,
    #[serde(default)]
    pub(crate) is: Option<String>,
    /// Also when the option is not there.
    #[serde(default)]
    pub(crate) not: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

/// Which statements open a transaction.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Begins {
    Any,
    Write,
}

/// How far a lock or a store reaches.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reach {
    Thread,
    Process,
    Host,
    Cluster,
}

impl Reach {
    pub(crate) const fn scope(self) -> Scope {
        match self {
            Self::Thread => Scope::Thread,
            Self::Process => Scope::Process,
            Self::Host => Scope::Host,
            Self::Cluster => Scope::Cluster,
        }
    }
}

/// Which argument: its position, a keyword, `"this"` for the receiver, `"0.text"` for a field of one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "an argument is a position such as 0, or in quotes a keyword, `this`, or `0.field`")]
pub(crate) enum Which {
    Position(usize),
    Keyword(String),
}

/// Positions and keywords that all mean one argument.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Argument(pub(crate) Vec<Which>);

/// What a call does.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// Packages (for their functions) and types (for their methods); `*`: a method of anything.
    pub(crate) on: Vec<String>,
    pub(crate) name: Vec<String>,
    pub(crate) does: String,
    /// Path, key, statement, address, or the lock's name.
    #[serde(default)]
    pub(crate) at: Argument,
    #[serde(default)]
    pub(crate) value: Argument,
    /// A function that is called.
    #[serde(default)]
    pub(crate) callback: Argument,
    /// Options, flags or mode.
    #[serde(default)]
    pub(crate) options: Argument,
    /// The type of what comes back.
    #[serde(default)]
    pub(crate) gives: Option<String>,
    #[serde(default)]
    pub(crate) scope: Option<Reach>,
    /// A further word, depending on what it does.
    #[serde(default)]
    pub(crate) how: Option<String>,
    /// Only if this argument is a function.
    #[serde(default)]
    pub(crate) handler: Argument,
    /// The table, collection or bucket, where it is not the receiver.
    #[serde(default)]
    pub(crate) table: Argument,
    /// With one of these it writes only if all is as expected.
    #[serde(default)]
    pub(crate) compares: Argument,
    /// With one of these it writes only if nothing is there.
    #[serde(default)]
    pub(crate) creates: Argument,
    /// An expression that the store computes: a sum in it means that the value is not ours.
    #[serde(default)]
    pub(crate) relative: Argument,
    /// How long something stays.
    #[serde(default)]
    pub(crate) ttl: Argument,
    /// The type of what the callback is given.
    #[serde(default)]
    pub(crate) given: Option<String>,
    /// The arguments after the callback are passed on to it.
    #[serde(default)]
    pub(crate) rest: bool,
    /// It is this call only if all of these are there.
    #[serde(default)]
    pub(crate) needs: Argument,
}

/// All models.
#[derive(Debug, Default)]
pub(crate) struct Models {
    languages: BTreeMap<Language, Set>,
    no_words: Words,
}

/// Only asked by name, never gone through: their order does not matter.
#[derive(Debug, Default)]
struct Set {
    packages: HashMap<String, String>,
    types: HashMap<String, Type>,
    made: HashMap<String, String>,
    /// What is made of by naming it: `pg.pool value`.
    constants: HashMap<String, String>,
    written: HashMap<String, String>,
    words: Words,
    /// By name of the call, then package or type.
    calls: HashMap<String, HashMap<String, Vec<Call>>>,
}

/// A model file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadModel {
    /// Which file.
    pub(crate) file: String,
    /// Where in it; 0 if that is not known.
    pub(crate) line: u32,
    /// What is wrong with it.
    pub(crate) why: String,
}

impl Models {
    /// The built-in ones and those of the user.
    pub(crate) fn new(more: &[(String, String)]) -> Result<Self, BadModel> {
        let mut models = Self::default();
        for (name, text) in BUILT_IN {
            models.add(name, text)?;
        }
        for (name, text) in more {
            models.add(name, text)?;
        }
        Ok(models)
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), BadModel> {
        let bad = |line, why| BadModel { file: name.to_owned(), line, why };
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| line_of(text, span.start));
            bad(line, error.message().trim_end().replace('\n', ", "))
        })?;
        if let Some((word, why)) = file.call.iter().find_map(|call| Some((&call.does, does::unknown(&call.does)?))) {
            return Err(bad(does::line(text, word), why));
        }
        for language in &file.language {
            let languages: &[Language] = match language.as_str() {
                "javascript" => &[Language::JavaScript, Language::TypeScript],
                "python" => &[Language::Python],
                "go" => &[Language::Go],
                "rust" => &[Language::Rust],
                other => return Err(bad(1, format!("unknown language {other:?}: javascript, python, go or rust"))),
            };
            for language in languages {
                self.languages.entry(*language).or_default().add(&file);
            }
        }
        Ok(())
    }

    fn set(&self, language: Language) -> Option<&Set> {
        self.languages.get(&language)
    }

    /// What words mean to the libraries of a language.
    pub(crate) fn words(&self, language: Language) -> &Words {
        self.set(language).map_or(&self.no_words, |set| &set.words)
    }

    /// The usual name of a package: `node:fs/promises` is `fs`.
    pub(crate) fn package<'a>(&'a self, language: Language, name: &'a str) -> &'a str {
        self.set(language).and_then(|set| set.packages.get(name)).map_or(name, String::as_str)
    }

    /// The type that a constructor or constant gives.
    pub(crate) fn made(&self, language: Language, path: &str) -> Option<&Type> {
        let set = self.set(language)?;
        set.types.get(set.made.get(path)?)
    }

    /// The type of a constant of a package.
    pub(crate) fn constant(&self, language: Language, path: &str) -> Option<&Type> {
        let set = self.set(language)?;
        set.types.get(set.constants.get(path)?)
    }

    /// The type of a variable that is declared with this type, and the part of the text that says so.
    pub(crate) fn written<'t>(&self, language: Language, text: &'t str) -> Option<(&Type, &'t str)> {
        let set = self.set(language)?;
        let mut rest = text;
        // `Annotated[Session, …]`, `Promise<Pool>`, `Arc<Mutex<T>>`: from the outside in.
        for _ in 0..LIKE_DEEP {
            let bare = rest.trim_start_matches(['*', '&', ' ', ':']).trim_start_matches("mut ").trim();
            let head = bare.split(['<', '[', ' ', ',', '>', ']']).next().unwrap_or(bare);
            if let Some(said) = [bare, head].into_iter().find(|said| set.written.contains_key(*said)) {
                return Some((set.types.get(set.written.get(said)?)?, said));
            }
            rest = bare.split_once(['<', '['])?.1;
        }
        None
    }

    pub(crate) fn of_type(&self, language: Language, name: &str) -> Option<&Type> {
        self.set(language)?.types.get(name)
    }

    /// What a function of a package, or a method of a type, can do; the first that fits counts.
    pub(crate) fn calls(&self, language: Language, on: &str, name: &str) -> &[Call] {
        let Some(set) = self.set(language) else { return &[] };
        let Some(by_name) = set.calls.get(name) else { return &[] };
        if let Some(calls) = by_name.get(on) {
            return calls;
        }
        let mut at = on;
        for _ in 0..LIKE_DEEP {
            let Some(kind) = set.types.get(at) else { break };
            if let Some(calls) = kind.like.iter().find_map(|like| by_name.get(like)) {
                return calls;
            }
            let Some(next) = kind.like.first() else { break };
            at = next;
        }
        &[]
    }

    /// The first of them.
    pub(crate) fn call(&self, language: Language, on: &str, name: &str) -> Option<&Call> {
        self.calls(language, on, name).first()
    }

    pub(crate) fn has(&self, language: Language, on: &str, name: &str) -> bool {
        !self.calls(language, on, name).is_empty()
    }
}

impl Set {
    fn add(&mut self, file: &File) {
        self.words.add(&file.words);
        for package in &file.package {
            for also in &package.also {
                self.packages.insert(also.clone(), package.name.clone());
            }
        }
        for kind in &file.types {
            for made in &kind.made {
                let (all, path) = match made.strip_suffix(" value") {
                    Some(path) => (&mut self.constants, path),
                    None => (&mut self.made, made.as_str()),
                };
                all.insert(path.to_owned(), kind.name.clone());
            }
            self.written.extend(kind.written.iter().map(|written| (written.clone(), kind.name.clone())));
            self.types.insert(kind.name.clone(), kind.clone());
        }
        // What is added later comes first; inside a file the order is kept.
        for call in file.call.iter().rev() {
            for name in &call.name {
                let by_name = self.calls.entry(name.clone()).or_default();
                for on in &call.on {
                    by_name.entry(on.clone()).or_default().insert(0, call.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_models_say_only_what_the_engine_understands() {
        for (name, text) in BUILT_IN {
            let file: File = toml::from_str(text).unwrap();
            let types: Vec<&str> = file.types.iter().map(|kind| kind.name.as_str()).collect();
            let is_type = |kind: &str| {
                let kind = kind.trim_start_matches(['=', '.']);
                kind.is_empty() || types.contains(&kind) || kind.starts_with("file.")
            };
            for call in &file.call {
                assert!(!call.on.is_empty() && !call.name.is_empty(), "{name}: {call:?}");
                let named = call.gives.iter().chain(&call.given);
                assert!(named.into_iter().all(|kind| is_type(kind)), "{name}: {:?} gives no type: {call:?}", call.name);
            }
            for kind in &file.types {
                let named = kind.members.iter().chain(&kind.like).chain(kind.fields.values());
                let instead = kind.instead.iter().map(|instead| &instead.kind);
                assert!(named.chain(instead).all(|kind| is_type(kind)), "{name}: {kind:?}");
                assert_eq!(types.iter().filter(|other| *other == &kind.name).count(), 1, "{name}: twice {}", kind.name);
            }
        }
    }

    #[test]
    fn what_a_model_file_cannot_say_is_refused_with_what_it_can() {
        let model = |call: &str| {
            let text = format!("language = [\"go\"]\n[[call]]\non = [\"a\"]\nname = [\"b\"]\n{call}\n");
            Models::new(&[("mine.toml".to_owned(), text)]).map(drop).unwrap_err()
        };
        let slip = model("does = \"key.gett\"");
        assert_eq!((slip.line, slip.why.as_str()), (5, "`does` cannot be `key.gett`; did you mean `key.get`?"));
        assert_eq!(model("does = 'conjure up'").why, "`does` cannot be `conjure up`");
        let at = model("does = \"key.get\"\nat = [{ a = 1 }]");
        assert!(at.why.contains("a position such as 0, or in quotes a keyword"), "{}", at.why);
    }

    #[test]
    fn what_a_user_adds_comes_first() {
        let more = "language = [\"go\"]\n[[call]]\non = [\"os\"]\nname = [\"ReadFile\"]\ndoes = \"ignore\"\n";
        let models = Models::new(&[("mine.toml".to_owned(), more.to_owned())]).unwrap();
        let calls = models.calls(Language::Go, "os", "ReadFile");
        assert_eq!(calls.iter().map(|call| call.does.as_str()).collect::<Vec<_>>(), ["ignore", "file.read"]);
    }

    #[test]
    fn words_of_a_user_are_added_to_those_of_the_language() {
        let more = "language = [\"go\"]\n[words]\nunlocks = [\"LetGo\"]\n[words.units]\n\"clock.Tick\" = 0.5\n";
        let models = Models::new(&[("mine.toml".to_owned(), more.to_owned())]).unwrap();
        let words = models.words(Language::Go);
        assert_eq!(words.unlocks, ["LOCK_UN", "LetGo"]);
        assert_eq!((words.units.get("clock.Tick"), words.units.get("time.Minute")), (Some(&0.5), Some(&60.0)));
        assert!(!models.words(Language::Rust).unlocks.iter().any(|word| word == "LetGo"));
    }

    #[test]
    fn a_type_is_recognised_inside_of_others() {
        let models = Models::new(&[]).unwrap();
        let name = |language, text| models.written(language, text).map(|(kind, _)| kind.name.as_str());
        assert_eq!(name(Language::Python, "Annotated[Session, Depends(get)]"), Some("sqlalchemy session"));
        assert_eq!(name(Language::Rust, "Arc<Mutex<u8>>"), Some("mutex"));
        assert_eq!(name(Language::Go, "*sql.DB"), Some("pool"));
        assert_eq!(name(Language::Go, "[[[[[[[[*sql.DB"), None);
    }
}
