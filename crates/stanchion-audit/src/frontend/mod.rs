//! From source text to [`Module`](crate::hir::Module), one front-end per language.

mod build;
mod clock;
mod golang;
#[cfg(test)]
mod hostile;
mod javascript;
mod python;
mod rust;
#[cfg(test)]
mod show;
mod tree;

use crate::hir::{Language, Module};

/// A grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// `.js`, `.mjs`, `.cjs`, `.jsx`
    JavaScript,
    /// `.ts`, `.mts`, `.cts`
    TypeScript,
    /// `.tsx`
    Tsx,
    /// `.py`
    Python,
    /// `.go`
    Go,
    /// `.rs`
    Rust,
}

impl Dialect {
    /// The dialect of a file by the end of its name.
    #[must_use]
    pub(crate) fn of(path: &str) -> Option<Self> {
        if path.ends_with(".d.ts") || path.ends_with(".d.mts") || path.ends_with(".d.cts") {
            return None;
        }
        match path.rsplit_once('.')?.1 {
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            "py" => Some(Self::Python),
            "go" => Some(Self::Go),
            "rs" => Some(Self::Rust),
            _ => None,
        }
    }

    /// Its language.
    #[must_use]
    pub(crate) const fn language(self) -> Language {
        match self {
            Self::JavaScript => Language::JavaScript,
            Self::TypeScript | Self::Tsx => Language::TypeScript,
            Self::Python => Language::Python,
            Self::Go => Language::Go,
            Self::Rust => Language::Rust,
        }
    }
}

/// The module of this text; `None` if parsing it would take too long, as it may with what is no code at all.
#[must_use]
pub(crate) fn lower(dialect: Dialect, text: &str) -> Option<Module> {
    let frontend: &dyn Frontend = match dialect {
        Dialect::JavaScript | Dialect::TypeScript | Dialect::Tsx => &javascript::JavaScript(dialect),
        Dialect::Python => &python::Python,
        Dialect::Go => &golang::Go,
        Dialect::Rust => &rust::Rust,
    };
    let tree = tree::Tree::parse(text, &frontend.grammar())?;
    Some(frontend.lower(&tree))
}

/// What a language needs to join: one function from a parsed tree to a module. It never fails: what it does not understand
/// becomes [`ExprKind::Other`](crate::hir::ExprKind::Other) or is left out, and the line is noted.
pub(crate) trait Frontend: Sync {
    /// The grammar.
    fn grammar(&self) -> tree_sitter::Language;
    /// The module. `depth` and the number of nodes are bounded by the caller's [`Tree`](tree::Tree).
    fn lower(&self, tree: &tree::Tree<'_>) -> Module;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_goes_by_the_end_of_the_name_and_declarations_run_nowhere() {
        assert_eq!(Dialect::of("src/index.mts"), Some(Dialect::TypeScript));
        assert_eq!(Dialect::of("types.d.ts"), None);
        assert_eq!(Dialect::of("README.md"), None);
        assert_eq!(Dialect::Tsx.language(), Language::TypeScript);
    }

    #[test]
    fn a_module_has_its_package_and_functions() {
        let module = lower(Dialect::Go, "package store\nfunc Load() {}\n").unwrap();
        assert_eq!(module.package.as_deref(), Some("store"));
        assert_eq!(module.functions[1].name, "Load");
    }
}
