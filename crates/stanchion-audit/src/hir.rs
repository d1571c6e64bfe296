//! What a front-end makes of a file: one small language for all languages.
//!
//! It keeps what decides about races: order, branches, loops, exceptions, calls with arguments, what is assigned to what.

pub(crate) mod each;
mod expr;

pub(crate) use self::expr::replaces;

/// A word of a program. Nearly all are short, and then they need no memory of their own.
pub(crate) type Text = smol_str::SmolStr;

/// Where something stands; lines and columns count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Span {
    /// First line.
    pub(crate) line: u32,
    /// Column of the first character, in bytes.
    pub(crate) column: u32,
    /// Last line.
    pub(crate) end_line: u32,
}

/// A language that has a front-end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Language {
    /// JavaScript and JSX.
    JavaScript,
    /// TypeScript and TSX.
    TypeScript,
    /// Python 3.
    Python,
    /// Go.
    Go,
    /// Rust.
    Rust,
}

/// The index of a function in [`Module::functions`].
pub(crate) type FunctionId = usize;
/// The index of a class in [`Module::classes`].
pub(crate) type ClassId = usize;

/// One file.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    /// Its language.
    pub(crate) language: Language,
    /// What it takes from other modules, in order; also those inside functions.
    pub(crate) imports: Vec<Import>,
    /// What others can take from it. In Python and Go everything at the top; front-ends list it all the same.
    pub(crate) exports: Vec<Export>,
    /// All functions. The first is the module's own code.
    pub(crate) functions: Vec<Function>,
    /// All classes; in Go and Rust: types with methods.
    pub(crate) classes: Vec<Class>,
    /// All comments, for suppressions.
    pub(crate) comments: Vec<Comment>,
    /// Go: the package's name.
    pub(crate) package: Option<String>,
    /// JavaScript: names of fields and methods that it asks of something else than `this`.
    pub(crate) asked: std::collections::BTreeSet<String>,
    /// Variables at the top that are declared with a type and without a value, and those types as written.
    pub(crate) typed: Vec<(Text, String)>,
    /// Lines on which the parser did not understand something.
    pub(crate) errors: Vec<u32>,
    /// Lines of source.
    pub(crate) lines: u32,
}

/// A comment without its marks.
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    /// Where.
    pub(crate) span: Span,
    /// Its text, trimmed.
    pub(crate) text: String,
}

/// `import {name as local} from "module"`.
#[derive(Debug, Clone)]
pub(crate) struct Import {
    /// The name in this file. Python's `import a.b` binds `a`; Go's default is the last part of the path.
    pub(crate) local: String,
    /// What is imported from, as written (`./store`, `..store`, `os.path`, `encoding/json`, `crate::store`).
    pub(crate) module: String,
    /// Which part of it.
    pub(crate) what: Imported,
}

/// Which part of a module is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Imported {
    /// All of it, as one object (`import * as fs`, `import os`, Go's imports, `require` without destructuring).
    Module,
    /// JavaScript's default export.
    Default,
    /// One name.
    Name(String),
    /// Every name becomes a name here (`from x import *`).
    Everything,
}

/// A name that others can import.
#[derive(Debug, Clone)]
pub(crate) struct Export {
    /// Its name outside; `default` for a default export, `*` with `from` for all names of another module.
    pub(crate) name: String,
    /// Its name in this file, or in the module it is passed on from.
    pub(crate) local: String,
    /// Passed on from this module.
    pub(crate) from: Option<String>,
}

/// A class, or a type with methods.
#[derive(Debug, Clone, Default)]
pub(crate) struct Class {
    /// Its name; empty if it has none.
    pub(crate) name: String,
    /// What it extends, as written.
    pub(crate) bases: Vec<Expr>,
    /// TypeScript: the interfaces that it says it implements.
    pub(crate) implements: Vec<String>,
    /// Go: the methods that an interface asks for.
    pub(crate) asks: Vec<String>,
    /// Its methods and their functions. A constructor is called `constructor` in every language.
    pub(crate) methods: Vec<(String, FunctionId)>,
    /// Fields with what they begin with. Go and Rust: without a value, but with the type as written in `Field::type_text`.
    pub(crate) fields: Vec<Field>,
    /// Its decorators.
    pub(crate) decorators: Vec<Expr>,
    /// Where.
    pub(crate) span: Span,
}

/// A field of a class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: String,
    /// What it begins with.
    pub(crate) value: Option<Expr>,
    /// Its type as written.
    pub(crate) type_text: Option<String>,
    /// It belongs to the class, not to an instance.
    pub(crate) is_static: bool,
    /// JavaScript: its decorators.
    pub(crate) decorators: Vec<Expr>,
}

/// A function, method, lambda, or the module's own code.
#[derive(Debug, Clone, Default)]
pub(crate) struct Function {
    /// Its name; empty for lambdas. For `const f = () => …` and `{f() {}}` and `f: () => …` the name it is bound to.
    pub(crate) name: String,
    /// The class it is a method of.
    pub(crate) class: Option<ClassId>,
    /// The function it stands in.
    pub(crate) parent: Option<FunctionId>,
    /// Its parameters. `self`, `cls`, Go receivers and Rust's `self` are not among them.
    pub(crate) params: Vec<Param>,
    /// The name of Go's receiver; uses of it in the body are [`ExprKind::This`].
    pub(crate) receiver: Option<String>,
    /// Its statements. An arrow function's expression is a `Return`; so is the value of a Rust block.
    pub(crate) body: Vec<Stmt>,
    /// `async`.
    pub(crate) is_async: bool,
    /// `function*`, or a Python function with `yield`.
    pub(crate) is_generator: bool,
    /// JavaScript's `() => …`: its `this` is that of what it stands in.
    pub(crate) is_arrow: bool,
    /// JavaScript's `get name()`: whoever reads it calls it.
    pub(crate) is_getter: bool,
    /// `set name(value)`, `@name.setter`: whoever assigns to it calls it.
    pub(crate) is_setter: bool,
    /// JavaScript's `#name`, TypeScript's `private`.
    pub(crate) is_private: bool,
    /// A static or class method.
    pub(crate) is_static: bool,
    /// Its decorators; Rust: attributes such as `#[tool(...)]` as calls.
    pub(crate) decorators: Vec<Expr>,
    /// Names of outer scopes that it assigns to: Python's `global` and `nonlocal`.
    pub(crate) outer: Vec<String>,
    /// The return type as written.
    pub(crate) returns: Option<String>,
    /// Where.
    pub(crate) span: Span,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    /// What it binds.
    pub(crate) pattern: Pattern,
    /// Its default.
    pub(crate) default: Option<Expr>,
    /// Its type as written.
    pub(crate) type_text: Option<String>,
    /// `...rest`, `*args`.
    pub(crate) is_rest: bool,
}

/// What a value is assigned to.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    /// A variable.
    Name(Text),
    /// A field or an element: `this.count`, `table[key]`, `*pointer`.
    Place(Box<Expr>),
    /// `{a, b: c}`; a Python dictionary pattern; a Rust struct pattern.
    Object(Vec<(Text, Pattern)>),
    /// `[a, b]`, `(a, b)`; Go's several results; Rust's `Some(a)` (the name is left out).
    List(Vec<Pattern>),
    /// `...rest` inside one of those.
    Rest(Box<Pattern>),
    /// `_`, and whatever binds nothing.
    Nothing,
}

/// A statement.
#[derive(Debug, Clone)]
pub(crate) struct Stmt {
    /// What.
    pub(crate) kind: StmtKind,
    /// Where.
    pub(crate) span: Span,
}

/// The operator of an assignment that makes a variable of its block, whatever has its name outside.
pub(crate) const DECLARES: &str = "let";

/// What a statement does.
#[derive(Debug, Clone)]
pub(crate) enum StmtKind {
    /// An expression for its effect.
    Expr(Expr),
    /// `a = b = value`; `op`: the operator of `a += value` without `=`, or [`DECLARES`]. Other declarations, too.
    Assign { to: Vec<Pattern>, value: Expr, op: Option<Text> },
    /// `return`.
    Return(Option<Expr>),
    /// `throw`, `raise`, `panic!`.
    Throw(Option<Expr>),
    /// `if`; `if let` has the match as its condition ([`ExprKind::Matches`]).
    If { cond: Expr, then: Vec<Stmt>, other: Vec<Stmt> },
    /// Any loop.
    Loop(Box<Loop>),
    /// `try`.
    Try { body: Vec<Stmt>, handlers: Vec<Handler>, otherwise: Vec<Stmt>, finally: Vec<Stmt> },
    /// `with a as b, c:`; JavaScript's `using`, Java's try-with-resources.
    With { items: Vec<(Expr, Option<Pattern>)>, body: Vec<Stmt>, is_async: bool },
    /// `switch`, `match`; an arm without tests is the default. The subject is bound by `binds` (Rust, Python).
    Switch { subject: Expr, arms: Vec<Arm> },
    /// Go's `defer`.
    Defer(Expr),
    /// Go's `go`.
    Go(Expr),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// A function declared here, by the name it has.
    Function(FunctionId),
    /// A class declared here.
    Class(ClassId),
    /// Statements in braces.
    Block(Vec<Stmt>),
    /// `delete a.b`, `del a[b]`.
    Delete(Expr),
}

/// A loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loop {
    /// What runs before.
    pub(crate) init: Vec<Stmt>,
    /// The condition; `None`: for ever.
    pub(crate) cond: Option<Expr>,
    /// `for (pattern of expr)`, `for pattern in expr`, Go's `range`.
    pub(crate) each: Option<(Pattern, Expr)>,
    /// What runs after every turn.
    pub(crate) step: Vec<Stmt>,
    /// What is repeated.
    pub(crate) body: Vec<Stmt>,
    /// Python's `else`.
    pub(crate) otherwise: Vec<Stmt>,
    /// `for await`, `async for`.
    pub(crate) is_async: bool,
}

/// `catch`, `except`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handler {
    /// The types it catches, as written; empty: all.
    pub(crate) catches: Vec<Expr>,
    /// What the exception is bound to.
    pub(crate) name: Option<Pattern>,
    /// What it does.
    pub(crate) body: Vec<Stmt>,
}

/// One arm of a `switch` or `match`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arm {
    /// Values or patterns that are compared with the subject; empty: default.
    pub(crate) tests: Vec<Expr>,
    /// What the arm binds.
    pub(crate) binds: Option<Pattern>,
    /// What it does.
    pub(crate) body: Vec<Stmt>,
    /// It goes on with the next arm (JavaScript without `break`, Go's `fallthrough`).
    pub(crate) falls_through: bool,
}

/// An expression.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    /// What.
    pub(crate) kind: ExprKind,
    /// Where.
    pub(crate) span: Span,
}

/// What an expression is.
#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    /// A variable. `undefined` is [`ExprKind::Null`].
    Name(Text),
    /// `this`, `self`, Go's receiver.
    This,
    /// `super`, `super()`.
    Super,
    /// A string without holes, unescaped.
    Str(String),
    /// A template or f-string: strings and holes in order. Also what is joined by `+` where one side is a string.
    Template(Vec<Expr>),
    /// A number as written.
    Num(Text),
    /// A truth value.
    Bool(bool),
    /// `null`, `None`, `nil`, `undefined`.
    Null,
    /// `of.name`; Rust's and Go's `a::b`, `pkg.Name`.
    Member { of: Box<Expr>, name: Text },
    /// `of[index]`.
    Index { of: Box<Expr>, index: Box<Expr> },
    /// `callee(args)`; `new callee(args)`; Rust's macros with their arguments; a tagged template with its template as argument.
    Call(Box<Call>),
    /// `await`; Rust's `.await`.
    Await(Box<Expr>),
    /// `yield`, `yield*`.
    Yield(Option<Box<Expr>>),
    /// A function as a value.
    Function(FunctionId),
    /// A class as a value.
    Class(ClassId),
    /// `{key: value}`, a dictionary, a Go or Rust struct (then with its type's name as `of`).
    Object { of: Option<Text>, fields: Vec<(Option<Text>, Expr)> },
    /// Array, list, tuple, set; also comprehensions' elements come here.
    List(Vec<Expr>),
    /// `left op right`; `op` as written, but `&&`, `||`, `==`, `!=`, `!`, `in`, `??` in every language.
    Binary { op: Text, left: Box<Expr>, right: Box<Expr> },
    /// `op of`: `!`, `-`, `typeof`, `*`, `&`.
    Unary { op: Text, of: Box<Expr> },
    /// `test ? then : other`.
    Cond { test: Box<Expr>, then: Box<Expr>, other: Box<Expr> },
    /// An assignment as an expression; `i++` is `i += 1`.
    Assign { to: Box<Pattern>, value: Box<Expr>, op: Option<Text> },
    /// `...of`, `*args`, `**kwargs`.
    Spread(Box<Expr>),
    /// Rust's `?`.
    Try(Box<Expr>),
    /// `[element for pattern in of if cond]`.
    Comprehension { element: Box<Expr>, each: Vec<(Pattern, Expr)>, conds: Vec<Expr> },
    /// Rust's `if let PATTERN = of`.
    Matches { of: Box<Expr>, binds: Pattern },
    /// A block as a value: that of its last expression (Rust's `{ …; value }`, `if` and `match`).
    Block(Vec<Stmt>),
    /// Anything else, by what it is made of.
    Other(Vec<Expr>),
}

/// A call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// What is called.
    pub(crate) callee: Expr,
    /// With what.
    pub(crate) args: Vec<Arg>,
    /// `new`.
    pub(crate) is_new: bool,
}

/// An argument.
#[derive(Debug, Clone)]
pub(crate) struct Arg {
    /// The keyword in `f(name=value)`.
    pub(crate) name: Option<Text>,
    /// The value; `...x` is [`ExprKind::Spread`].
    pub(crate) value: Expr,
}
