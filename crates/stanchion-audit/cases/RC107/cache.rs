// also: RC302
use std::collections::HashMap;
use std::sync::Mutex;

pub struct Store {
    path: std::path::PathBuf,
    map: Mutex<HashMap<String, String>>,
}

impl Store {
    pub fn open(path: std::path::PathBuf) -> std::io::Result<Self> {
        let text = std::fs::read_to_string(&path)?;
        Ok(Self { path, map: Mutex::new(serde_json::from_str(&text)?) })
    }

    pub fn put(&self, key: String, value: String) -> std::io::Result<()> {
        let mut map = self.map.lock().unwrap();
        map.insert(key, value);
        std::fs::write(&self.path, serde_json::to_string(&*map)?) // expect: RC107 read=12
    }
}
