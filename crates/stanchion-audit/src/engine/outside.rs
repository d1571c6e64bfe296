//! Libraries that nobody has described: one that is given a path to load, and nothing else, gives what is in that file.

use std::rc::Rc;

use super::Engine;
use super::call::Args;
use super::compared::is_constant;
use super::event::{Kind, Resource, Scope, What};
use super::file::spelled;
use super::value::{Origins, Shape, Value};
use crate::hir::{Language, Span};
use crate::models::Words;
use crate::program::Meaning;

impl Engine<'_> {
    /// Whether it is a file at all, and which, whoever writes it says: what is given here is told by its name alone.
    pub(super) fn gives_path(&mut self, path: &str, args: &Args, is_new: bool, span: Span) -> Origins {
        let Some(((None, at), rest)) = args.split_first() else { return Origins::default() };
        // What else is given may be what is put into the file, or shown.
        let alone = rest.iter().all(|(_, arg)| arg.closure().is_some() || is_constant(arg));
        if !alone || !may_be_path(at) || !self.loads(path, is_new) || !self.is_of_package(path) {
            return Origins::default();
        }
        let name = spelled(&self.words().tidies, &at.name);
        let resource = Resource { kind: Kind::File, name: Rc::clone(&name), part: None, scope: Scope::Host };
        Origins::one(self.emit(What::Given, Some(resource), &at.origins, span))
    }

    /// Whether the library's own name for it says that it loads something, or makes an object.
    fn loads(&self, path: &str, is_new: bool) -> bool {
        let name = path.rsplit(['.', '/']).next().unwrap_or(path);
        let makes = match self.language(self.file()) {
            Language::Python => name.starts_with(char::is_uppercase),
            Language::JavaScript | Language::TypeScript => is_new,
            _ => return false,
        };
        makes || words_of(name).any(|word| self.words().loads.iter().any(|load| word.eq_ignore_ascii_case(load)))
    }

    /// Whether the present file has it from a package that is neither part of the program nor of the language.
    fn is_of_package(&self, path: &str) -> bool {
        let (file, words, language) = (self.file(), self.words(), self.language(self.file()));
        let mut imports = self.module(file).imports.iter().enumerate();
        imports.any(|(index, import)| {
            let module = match language {
                // `import a.b` gives `a`.
                Language::Python if !import.module.starts_with('.') => import.module.split('.').next(),
                _ => Some(import.module.as_str()),
            };
            let module = self.models.package(language, module.unwrap_or_default());
            let is_of = path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            let is_own = || words.own.iter().any(|begin| module.starts_with(begin.as_str()));
            is_of
                && !module.is_empty()
                && !is_own()
                && !Words::is_one(&words.standard, module.split('/').next().unwrap_or(module))
                && matches!(self.program.import(file, index), Meaning::Outside)
        })
    }
}

/// An address is none, and a word without a folder or an ending most likely neither.
fn may_be_path(value: &Value) -> bool {
    match &value.shape {
        Shape::Str(text) => text.contains(['/', '\\', '.']) && !text.contains("://"),
        Shape::Unknown | Shape::Template(_) => true,
        Shape::Api(kind) => &**kind == "path",
        _ => false,
    }
}

/// `loadFile`, `load_file` and `load-file` are two words.
fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split(['_', '-']).flat_map(|part| {
        let ends = part.char_indices().skip(1).filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at).chain([part.len()]);
        let mut from = 0;
        ends.filter_map(move |end| part.get(std::mem::replace(&mut from, end)..end))
    })
}

#[cfg(test)]
mod tests {
    use super::words_of;

    #[test]
    fn a_name_has_words_however_it_is_written() {
        let of = |name| words_of(name).collect::<Vec<_>>();
        assert_eq!(of("loadFile"), ["load", "File"]);
        assert_eq!(of("load_file"), ["load", "file"]);
        assert_eq!(of("load-json-file"), ["load", "json", "file"]);
        assert_eq!(of("reader"), ["reader"]);
        assert_eq!(of("äÄ_"), ["ä", "Ä", ""]);
        assert_eq!(of(""), [""]);
    }
}
