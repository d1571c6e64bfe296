//! A register, a set and a lock in memory over HTTP; sound, or each with the mistake that is made most often.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Result, busy, serve};

#[derive(Default)]
struct Objects {
    /// Two copies; racy, they are written one after the other, and read in turn.
    register: [Value; 2],
    reads: usize,
    set: BTreeSet<String>,
    holder: Option<String>,
}

fn lock(objects: &Mutex<Objects>) -> MutexGuard<'_, Objects> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `GET`, `PUT /register` · `GET`, `POST /set` · `POST`, `DELETE /lock`. Racy, a write is seen and then not seen until it is done, and
/// who inserts or locks looks first.
pub(crate) fn objects(port: &str, is_sound: bool) -> Result<()> {
    let objects = Arc::new(Mutex::new(Objects::default()));
    serve(port, move |method, path, body| {
        let asked: Value = serde_json::from_str(body).unwrap_or_default();
        let named = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        let pause = || busy(Duration::from_millis(4));
        match (method, path) {
            ("GET", "/register") => {
                let mut objects = lock(&objects);
                objects.reads += 1;
                (200, json!({"value": objects.register[objects.reads % 2]}).to_string())
            }
            ("PUT", _) => {
                let value = asked["value"].clone();
                if is_sound {
                    lock(&objects).register = [value.clone(), value];
                } else {
                    lock(&objects).register[0] = value.clone();
                    pause();
                    lock(&objects).register[1] = value;
                }
                (200, "{}".into())
            }
            ("GET", _) => (200, json!({"all": lock(&objects).set}).to_string()),
            ("POST", "/set") => {
                let value = named("value");
                let is_new = if is_sound {
                    lock(&objects).set.insert(value)
                } else {
                    let is_new = !lock(&objects).set.contains(&value);
                    pause();
                    lock(&objects).set.insert(value);
                    is_new
                };
                (200, json!({"new": is_new}).to_string())
            }
            ("POST", _) => {
                let who = named("who");
                if is_sound {
                    let mut objects = lock(&objects);
                    if objects.holder.is_some() {
                        return (409, "{}".into());
                    }
                    objects.holder = Some(who);
                } else {
                    if lock(&objects).holder.is_some() {
                        return (409, "{}".into());
                    }
                    pause();
                    lock(&objects).holder = Some(who);
                }
                (200, "{}".into())
            }
            _ => {
                let mut objects = lock(&objects);
                if objects.holder != Some(named("who")) {
                    return (409, "{}".into());
                }
                objects.holder = None;
                (200, "{}".into())
            }
        }
    })
}
