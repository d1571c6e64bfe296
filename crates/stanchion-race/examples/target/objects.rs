//! A register, a set and a lock in memory over HTTP; sound, or each with the mistake that is made most often.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Result, serve};

#[derive(Default)]
struct Objects {
    /// The value and its copy; racy, they are written one after the other.
    register: [Value; 2],
    set: BTreeSet<String>,
    holder: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Between the two steps of a mistake. It stays open while others still come, so that they come into it however busy the
/// machine is; to one call after the other it is only slow.
#[derive(Default)]
struct Window {
    calls: Mutex<u64>,
    more: Condvar,
}

impl Window {
    const QUIET: Duration = Duration::from_millis(80);

    fn enter(&self) {
        *lock(&self.calls) += 1;
        self.more.notify_all();
    }

    fn stay_open(&self) {
        let mut calls = lock(&self.calls);
        loop {
            let seen = *calls;
            let waited = self.more.wait_timeout_while(calls, Self::QUIET, |calls| *calls == seen);
            let (now, quiet) = waited.unwrap_or_else(PoisonError::into_inner);
            if quiet.timed_out() {
                return;
            }
            calls = now;
        }
    }
}

/// `GET`, `PUT /register` · `GET`, `POST /set` · `POST`, `DELETE /lock`. Racy, who reads while a value is written gets a value that
/// nobody wrote, and who inserts or locks looks first.
pub(crate) fn objects(port: &str, is_sound: bool) -> Result<()> {
    let (objects, window) = (Arc::new(Mutex::new(Objects::default())), Arc::new(Window::default()));
    serve(port, move |method, path, body| {
        let asked: Value = serde_json::from_str(body).unwrap_or_default();
        let named = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        window.enter();
        match (method, path) {
            ("GET", "/register") => {
                let [value, copy] = lock(&objects).register.clone();
                let value = if value == copy { value } else { json!(format!("{value} and {copy}")) };
                (200, json!({"value": value}).to_string())
            }
            ("PUT", _) => {
                let value = asked["value"].clone();
                if is_sound {
                    lock(&objects).register = [value.clone(), value];
                } else {
                    lock(&objects).register[0] = value.clone();
                    window.stay_open();
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
                    window.stay_open();
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
                    window.stay_open();
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
