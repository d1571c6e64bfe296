//! What is there before any entry point runs: modules, and objects as their methods see them.

use std::rc::Rc;

use super::event::Site;
use super::value::{Binding, Scope as Vars, Shape, Value};
use super::{Engine, Frame, Here, SCRIPT_STEPS, STEPS_MOST, share};
use crate::hir::{ClassId, Expr, ExprKind, Language, Span};
use crate::models::Type;

impl<'p> Engine<'p> {
    /// The variables of a module, after its own code has run.
    pub(super) fn load(&mut self, file: usize) -> Rc<Vars> {
        if let Some(scope) = self.modules.get(&file) {
            return Rc::clone(scope);
        }
        let scope = Vars::module();
        self.modules.insert(file, Rc::clone(&scope));
        let may = if self.files.contains(&file) { STEPS_MOST } else { share(self.early_left) };
        self.before_all(may, |engine| {
            let frame = Frame::new(file, 0, Site { file, span: Span::default() }, None);
            let frames = std::mem::replace(&mut engine.frames, vec![frame]);
            engine.bind_imports(file, &scope);
            if let Some(top) = engine.module(file).functions.first() {
                engine.hoist(&top.body, &scope);
                engine.run_block(&top.body, &scope);
            }
            engine.know_types(file, &scope);
            engine.frames = frames;
        });
        self.loaded.insert(file);
        scope
    }

    /// A variable that is declared now and filled by a call that we do not see: it will be what its type says.
    fn know_types(&mut self, file: usize, scope: &Vars) {
        for (name, text) in &self.module(file).typed {
            let is_filled = |found: &Binding| !matches!(found.value.shape, Shape::Null);
            if scope.vars.borrow().get(name.as_str()).is_some_and(is_filled) {
                continue;
            }
            let value = match self.declared(file, text) {
                Some(kind) => Some(Value::of(Shape::Api(kind.name.as_str().into()), self.variable_name(name))),
                None => self.typed(file, text),
            };
            if let Some(value) = value {
                scope.declare(name, value.shared(), 0);
            }
        }
    }

    /// How much of what a script does is run while it is loaded: enough to see what it registers. All of it runs when the
    /// script is an entry point; whoever only imports the file runs nothing of it.
    pub(super) fn script_steps(&self, cond: &Expr) -> Option<u32> {
        if !self.here.early || self.frames.last().is_none_or(|frame| frame.function != 0) {
            return None;
        }
        let is_name = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(text) if text == "__name__");
        let is_main = |expr: &Expr| matches!(&expr.kind, ExprKind::Str(text) if text == "__main__");
        let ExprKind::Binary { op, left, right } = &cond.kind else { return None };
        let asks = op == "==" && is_name(left) && is_main(right);
        asks.then(|| if self.files.contains(&self.file()) { SCRIPT_STEPS } else { 0 })
    }

    /// Does as much of `work` as `most` steps allow; a file in which that is not all is a script.
    pub(super) fn bounded<T>(&mut self, most: u32, work: impl FnOnce(&mut Self) -> T) -> T {
        let all = self.steps_most;
        self.steps_most = all.min(self.steps.saturating_add(most));
        let done = work(self);
        if self.steps >= self.steps_most {
            self.scripts.insert(self.file());
        }
        self.steps_most = all;
        done
    }

    /// Does what is done before any entry point runs, apart from whatever is under way now.
    pub(super) fn before_all<T>(&mut self, steps_most: u32, work: impl FnOnce(&mut Self) -> T) -> T {
        let here = std::mem::replace(&mut self.here, Here { early: true, ..Here::default() });
        let steps = std::mem::take(&mut self.steps);
        let most = std::mem::replace(&mut self.steps_most, steps_most);
        let from = std::mem::replace(&mut self.early_from, self.early.len());
        let done = work(self);
        self.early_left = self.early_left.saturating_sub(self.steps);
        (self.steps, self.steps_most, self.early_from, self.here) = (steps, most, from, here);
        done
    }

    /// An object of a class as methods see it: made once, with symbols for what the constructor is given.
    pub(super) fn instance(&mut self, file: usize, class: ClassId) -> Value {
        if let Some(instance) = self.instances.get(&(file, class)) {
            return instance.clone();
        }
        let name: Rc<str> = self.module(file).classes.get(class).map_or("", |class| class.name.as_str()).into();
        let site = Site { file, span: Span::default() };
        // Classes that need each other meet this one.
        self.instances.insert((file, class), Value::unknown(&*name));
        let may = share(self.early_left);
        let instance = self.before_all(may, |engine| engine.construct(file, class, None, &name, site));
        self.instances.insert((file, class), instance.clone());
        instance
    }

    /// The modelled type that something is declared with, unless the program has a class of that name. What stands in its
    /// brackets may be the program's.
    pub(super) fn declared(&mut self, file: usize, text: &str) -> Option<&'p Type> {
        let models = self.models;
        let Some((found, written)) = models.written(self.language(file), text) else {
            return self.declared_as(file, text);
        };
        let scope = self.modules.get(&file).cloned();
        let own = |word: &str| {
            let var = scope.as_ref().and_then(|scope| self.find(scope, word));
            var.is_some_and(|(var, _)| matches!(var.value.shape, Shape::Class(..)))
        };
        // `sql.DB` is the package's, whatever is called `DB` here.
        let mut words = written.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        (!words.next().is_some_and(own)).then_some(found)
    }

    /// The same under another name: `Db = Annotated[Session, Depends(connect)]`.
    fn declared_as(&mut self, file: usize, text: &str) -> Option<&'p Type> {
        let (language, models) = (self.language(file), self.models);
        let scope = self.modules.get(&file).filter(|_| language == Language::Python).cloned()?;
        let Shape::Package(path) = self.find(&scope, text)?.0.value.shape else { return None };
        let last = path.rsplit('.').next().unwrap_or(&path);
        models.written(language, &path).or_else(|| models.written(language, last)).map(|(kind, _)| kind)
    }
}
