// also: RC302
use std::{fs, path::PathBuf, sync::Arc};
pub struct Store { path: PathBuf }
impl Store {
    pub fn load(&self) -> anyhow::Result<Vec<String>> { Ok(serde_json::from_str(&fs::read_to_string(&self.path)?)?) }
    pub fn save(&self, v: &[String]) -> anyhow::Result<()> {
        fs::write(&self.path, serde_json::to_vec(v)?)?; // expect: RC101 read=5
        Ok(())
    }
}
pub struct One { store: Store }
impl One {
    pub fn add(&self, s: String) -> anyhow::Result<()> {
        let mut v = self.store.load()?;
        v.push(s);
        self.store.save(&v)
    }
}
pub struct Two { store: Arc<Store> }
impl Two {
    pub fn add(&self, s: String) -> anyhow::Result<()> {
        let mut v = self.store.load()?;
        v.push(s);
        self.store.save(&v)
    }
}
