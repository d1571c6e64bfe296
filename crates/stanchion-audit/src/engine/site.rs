//! Where something stands.

use crate::hir::Span;

/// A place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    pub(crate) file: usize,
    pub(crate) span: Span,
}

impl Site {
    /// Whether the other one stands inside of it.
    pub(crate) fn holds(self, other: Self) -> bool {
        let (outer, inner) = (self.span, other.span);
        self.file == other.file
            && self != other
            && (outer.line, outer.column) <= (inner.line, inner.column)
            && inner.end_line <= outer.end_line
    }
}
