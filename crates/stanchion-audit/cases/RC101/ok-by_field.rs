// also: RC302
use fs2::FileExt;
use std::{fs, path::PathBuf, sync::Arc};

pub struct Store {
    path: PathBuf,
}

impl Store {
    pub fn change(&self, change: impl FnOnce(&mut Vec<String>)) -> anyhow::Result<()> {
        let lock = fs::File::create(self.path.with_extension("lock"))?;
        lock.lock_exclusive()?;
        let mut all: Vec<String> = serde_json::from_str(&fs::read_to_string(&self.path)?)?;
        change(&mut all);
        fs::write(&self.path, serde_json::to_vec(&all)?)?;
        Ok(())
    }
}

pub struct Service {
    store: Arc<Store>,
}

impl Service {
    pub fn add(&self, line: String) -> anyhow::Result<()> {
        self.store.change(|all| all.push(line))
    }
}
