mod hostile;
mod modules;
mod syntax;

use crate::frontend::show::inline as show;
use crate::frontend::{Dialect, lower};
use crate::hir::Module;

fn module(dialect: Dialect, text: &str) -> Module {
    lower(dialect, text).unwrap()
}

fn js(text: &str) -> String {
    show(&module(Dialect::JavaScript, text))
}

fn ts(text: &str) -> String {
    show(&module(Dialect::TypeScript, text))
}

/// The same in all three dialects.
fn same(text: &str, expected: &str) {
    for dialect in [Dialect::JavaScript, Dialect::TypeScript, Dialect::Tsx] {
        let module = module(dialect, text);
        assert!(module.errors.is_empty(), "{dialect:?} does not parse {text}");
        assert_eq!(show(&module), expected, "{dialect:?}: {text}");
    }
}
