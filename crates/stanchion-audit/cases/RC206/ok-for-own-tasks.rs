use std::sync::{Arc, Mutex};

pub struct Store {
    rows: Mutex<Vec<String>>,
}

impl Store {
    pub fn new() -> Self {
        Self { rows: Mutex::new(Vec::new()) }
    }

    pub fn add(&self, row: String) {
        self.rows.lock().unwrap().push(row);
    }
}

pub fn push(remote: &mut Remote) -> Vec<String> {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let inner = Arc::clone(&refused);
    remote.on_refusal(move |text: String| inner.lock().unwrap().push(text));
    remote.push();
    let found = refused.lock().unwrap().clone();
    let store = Store::new();
    store.add("done".to_owned());
    found
}
