//! A shared cell that must be empty when a holder enters: mutual exclusion, checked where it matters.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::Outcome;

/// Eight bytes in a file that all processes share; 0 means "nobody is inside".
#[derive(Debug)]
pub(crate) struct Cell {
    file: File,
    id: u64,
}

impl Cell {
    /// `id` must differ between all tasks of all processes.
    pub(crate) fn open(path: &Path, id: u64) -> Outcome<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        Ok(Self { file, id: id + 1 })
    }

    /// Enters; counts 1 if somebody is inside.
    pub(crate) fn enter(&self) -> Outcome<u64> {
        let inside = self.read()?;
        self.file.write_all_at(&self.id.to_le_bytes(), 0)?;
        Ok(u64::from(inside != 0))
    }

    /// Leaves; counts 1 if somebody came in meanwhile.
    pub(crate) fn leave(&self) -> Outcome<u64> {
        let inside = self.read()?;
        self.file.write_all_at(&0_u64.to_le_bytes(), 0)?;
        Ok(u64::from(inside != self.id))
    }

    fn read(&self) -> Outcome<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_seen_by_both() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0; 8]).unwrap();
        let (one, two) = (Cell::open(file.path(), 0).unwrap(), Cell::open(file.path(), 1).unwrap());
        assert_eq!((one.enter().unwrap(), one.leave().unwrap()), (0, 0));
        assert_eq!((one.enter().unwrap(), two.enter().unwrap(), one.leave().unwrap()), (0, 1, 1));
    }
}
