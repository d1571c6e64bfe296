//! What is done outside of the program.

use std::rc::Rc;

/// Something outside that cannot be taken back.
#[derive(Debug, Clone)]
pub(crate) struct Effect {
    pub(crate) method: Rc<str>,
    pub(crate) keyed: bool,
    /// It only asks.
    pub(crate) safe: bool,
}

impl Effect {
    /// Done twice it is as if done once: it only asks, somebody counts it once, or HTTP says so.
    pub(crate) fn repeats(&self) -> bool {
        self.safe || self.keyed || matches!(&*self.method, "PUT" | "DELETE")
    }
}
