//! What entry points change of what was there before them, so that the next file finds it as it was loaded.

use std::rc::Rc;

use super::Engine;
use super::name::word;
use super::value::{Binding, Fields, Object, Scope as Vars, Value};

/// A change that can be taken back.
pub(super) enum Undo {
    Variable(Rc<Vars>, Rc<str>, Binding),
    /// `None`: there was no such field.
    Field(Rc<Fields>, Rc<str>, Option<Value>),
}

impl Engine<'_> {
    /// More is known of a variable's value from now on, whichever arm of a branch this is.
    pub(super) fn add_to_variable(&mut self, scope: &Rc<Vars>, name: &str, value: &Value) {
        let mut at = Some(scope);
        while let Some(scope) = at {
            if let Some(found) = scope.vars.borrow_mut().get_mut(name) {
                let new = Binding { value: value.clone(), depth: found.depth };
                let old = std::mem::replace(found, new);
                if scope.is_module && !self.here.early {
                    self.undo.push(Undo::Variable(Rc::clone(scope), word(name), old));
                }
                return;
            }
            at = scope.parent.as_ref();
        }
    }

    /// The same of a field.
    pub(super) fn add_to_field(&mut self, object: &Object, name: &str, value: Value) {
        let name = word(name);
        let old = object.fields.borrow_mut().insert(Rc::clone(&name), value);
        if object.shared && !self.here.early {
            self.undo.push(Undo::Field(Rc::clone(&object.fields), Rc::clone(&name), old));
            self.field_grows(&object.fields, name);
        }
    }

    /// Everything is as it was loaded.
    pub(super) fn take_back(&mut self) {
        while let Some(undo) = self.undo.pop() {
            // What is replaced is dropped only when nothing is borrowed any more: it may hold the very same object.
            match undo {
                Undo::Variable(scope, name, old) => {
                    let new = scope.vars.borrow_mut().insert(name, old);
                    drop(new);
                }
                Undo::Field(fields, name, Some(old)) => {
                    let new = fields.borrow_mut().insert(name, old);
                    drop(new);
                }
                Undo::Field(fields, name, None) => {
                    let new = fields.borrow_mut().remove(&name);
                    drop(new);
                }
            }
        }
    }
}
