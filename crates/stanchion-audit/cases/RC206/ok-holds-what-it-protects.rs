use std::sync::{Arc, Mutex};

pub fn walk(roots: &[String]) -> Vec<String> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&found);
    for root in roots {
        visit(root, |name| sink.lock().unwrap().push(name));
    }
    let all = found.lock().unwrap().clone();
    all
}

fn visit(root: &str, see: impl Fn(String)) {
    see(root.to_owned());
}
