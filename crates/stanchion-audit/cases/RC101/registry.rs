// also: RC302
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

pub struct Registry {
    path: PathBuf,
}

impl Registry {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn one(&self) -> std::io::Result<BTreeMap<String, String>> {
        let text = fs::read_to_string(&self.path)?;
        Ok(serde_json::from_str(&text)?)
    }

    fn two(&self, all: &BTreeMap<String, String>) -> std::io::Result<()> {
        fs::write(&self.path, serde_json::to_string_pretty(all)?) // expect: RC101 read=16
    }

    pub fn register(&self, name: &str, address: &str) -> std::io::Result<()> {
        let mut all = self.one()?;
        all.insert(name.to_owned(), address.to_owned());
        self.two(&all)
    }
}
