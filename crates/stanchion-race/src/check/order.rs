//! Soon.
use super::History;
/// Soon.
#[derive(Debug)]
pub struct Checked {
    /// Soon.
    pub operations: usize,
    /// Soon.
    pub count: usize,
}
/// Soon.
pub fn check(history: &History) -> Checked {
    Checked { operations: history.operations().len(), count: 0 }
}
