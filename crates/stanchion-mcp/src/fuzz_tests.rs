//! Mutated messages: nothing is changed on its way, nothing passes that another reader would take for a call, and a member that is added can be
//! taken away again.

use std::io::{Cursor, Read};
use std::sync::Arc;

use serde_json::Value;
use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
use stanchion_testkit::fuzz::Target;

use crate::lines::{Line, Lines};
use crate::policy::PolicyFile;
use crate::{Caller, Frame, Gate, Outlet, Session, splice, stdio};

const SEEDS: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
    "{\"jsonrpc\": \"2.0\", \"id\": \"a\\u0062\", \"method\": \"tools\\/call\", \"params\": {\"name\": \"add\", \"arguments\": {\"x\": 1e2}, \"_meta\": {\"dev.stanchion/idempotencyKey\": \"k\", \"progressToken\": 7}}}\n",
    "{\"id\":2.0,\"method\":\"tools/list\"}\r\n[{\"id\":3,\"method\":\"ping\"},{\"id\":4,\"result\":{\"a\":[1,{\"b\":null}]}}]\n",
    "{\"id\":5,\"error\":{\"code\":-32000,\"message\":\"\u{1f4a5}\"},\"extra\":12345678901234567890}\n\n{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}\n",
    "{\"id\":6,\"method\":\"resources/read\",\"params\":{\"uri\":\"a://b\",\"Method\":\"tools/call\"}}",
];

/// Hands out a few bytes at a time.
struct Slow<R>(R, usize);
impl<R: Read> Read for Slow<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = self.1.min(into.len());
        self.0.read(&mut into[..most])
    }
}

/// Whether a reader that is not as strict as we are finds a call in it.
fn looks_like_a_call(text: &str) -> bool {
    let first = splice::members(text).unwrap_or_default();
    let named = |name: &str| name.eq_ignore_ascii_case("method");
    let calls = |raw: &str| serde_json::from_str::<String>(raw).is_ok_and(|method| method == "tools/call");
    let in_some_place = first.iter().any(|(name, raw)| named(name) && calls(raw.get()));
    let last: Value = serde_json::from_str(text).unwrap_or_default();
    in_some_place || last["method"] == "tools/call"
}

fn look_at_frame(text: &str) -> Result<(), String> {
    let Ok(frame) = Frame::parse(text) else { return Ok(()) };
    if frame.text() != text {
        return Err("the text is another".to_owned());
    }
    if looks_like_a_call(text) && frame.method() != Some("tools/call") {
        return Err(format!("others find a call, we find {:?}", frame.method()));
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        // Both are JSON; it is this reader that cannot hold them.
        Err(e) if e.to_string().contains("out of range") || e.to_string().contains("recursion limit") => return Ok(()),
        Err(e) => return Err(format!("we read what is no JSON: {e}")),
    };
    for path in [&["zz"][..], &["params", "_meta", "zz"]] {
        let Some(longer) = splice::set(text, path, "[1]") else { continue };
        let mut expected = value.clone();
        let mut at = &mut expected;
        for name in path {
            at = &mut at[*name];
        }
        let was_there = !at.is_null();
        *at = serde_json::json!([1]);
        if serde_json::from_str::<Value>(&longer).ok() != Some(expected) {
            return Err(format!("with {path:?} it is {longer}"));
        }
        // Objects on the way stay: only what stood in an object that was there leaves no trace.
        let leaves_no_trace = path.len() == 1 || value["params"]["_meta"].is_object();
        if !was_there && leaves_no_trace && splice::remove(&longer, path).as_deref() != Some(text) {
            return Err(format!("without {path:?} it is {:?}", splice::remove(&longer, path)));
        }
    }
    Ok(())
}

#[test]
fn mutated_messages_are_looked_at_and_not_changed() {
    Target::text("frames", SEEDS.iter().copied()).run(|input| {
        for (step, most) in [(7, 300), (4096, 64 << 20)] {
            let mut lines = Lines::new(Slow(Cursor::new(input), step), most);
            let (mut seen, mut long) = (Vec::new(), false);
            loop {
                match lines.next().map_err(|e| e.to_string())? {
                    Line::Whole(line) if line.len() > most => return Err("a line over the limit".to_owned()),
                    Line::Whole(line) => seen.extend([line, b"\n"].concat()),
                    Line::TooLong { bytes, .. } if bytes <= most => return Err("too long, and is not".to_owned()),
                    Line::TooLong { .. } => long = true,
                    Line::End => break,
                }
            }
            let ended = input.is_empty() || input.ends_with(b"\n");
            let expected = if ended { input.to_vec() } else { [input, b"\n"].concat() };
            if !long && seen != expected {
                return Err(format!("lines of {step} bytes at a time are {:?}", String::from_utf8_lossy(&seen)));
            }
        }
        String::from_utf8_lossy(input).split('\n').try_for_each(look_at_frame)
    });
}

/// Everything that reaches the server, when the client sends this and goes.
#[cfg(unix)]
fn passed(runtime: &tokio::runtime::Runtime, input: &[u8]) -> Vec<u8> {
    use std::os::unix::net::UnixStream;
    let store = MemoryStore::new();
    let (records, locks) = (Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    let claims = Idempotency::new(records.clone(), locks.clone());
    let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), records);
    let (to_server, mut server) = UnixStream::pair().unwrap();
    let reading = std::thread::spawn(move || {
        let mut all = Vec::new();
        server.read_to_end(&mut all).unwrap();
        all
    });
    let nobody = std::fs::File::options().write(true).open("/dev/null").unwrap();
    let nobody = Outlet::new("client", nobody).unwrap();
    let session = Session::new(
        Arc::new(gate),
        Outlet::new("server", to_server.try_clone().unwrap()).unwrap(),
        Arc::new(stdio::PipeClient(nobody)),
        runtime.handle().clone(),
    );
    stdio::pump_client(&session, input, &Caller::new("alice"), stdio::FRAME_MAX).unwrap();
    session.server_gone();
    // Calls may hold the session a little longer; the pipe ends now.
    to_server.shutdown(std::net::Shutdown::Write).ok();
    reading.join().unwrap()
}

#[cfg(unix)]
#[test]
fn mutated_messages_pass_the_pump_byte_for_byte() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let count = std::cell::Cell::new(0);
    Target::text("pump", SEEDS.iter().copied()).run(|input| {
        count.set(count.get() + 1);
        if std::env::var_os("STANCHION_FUZZ_SECONDS").is_none() && count.get() % 8 != 0 {
            return Ok(());
        }
        let got = passed(&runtime, input);
        let is_call = |text: &str| Frame::parse(text).is_ok_and(|frame| frame.method() == Some("tools/call"));
        let mut expected = Vec::new();
        for line in input.split(|byte| *byte == b'\n') {
            let Ok(text) = std::str::from_utf8(line) else { continue };
            let clean = text.strip_suffix('\r').unwrap_or(text);
            let text = if clean.contains('\r') { clean.replace('\r', " ") } else { text.to_owned() };
            for frame in stdio::elements(&text).unwrap_or_else(|| vec![&text]) {
                if !frame.trim_ascii().is_empty() && Frame::parse(frame).is_ok() && !is_call(frame) {
                    expected.push(frame.replace('\n', " "));
                }
            }
        }
        let got = String::from_utf8(got).map_err(|e| e.to_string())?;
        let lines = got.split('\n').filter(|line| !line.trim_ascii().is_empty());
        // Calls go their own way, and so do questions of the gateway.
        let passed: Vec<&str> = lines.clone().filter(|line| !is_call(line) && !line.contains("\"stanchion-")).collect();
        if passed != expected {
            return Err(format!("passed {passed:?} of {expected:?}"));
        }
        match lines.clone().find(|line| looks_like_a_call(line) && !is_call(line)) {
            Some(call) => Err(format!("a call that nobody has seen: {call}")),
            None => Ok(()),
        }
    });
}
