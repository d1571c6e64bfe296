//! The value of one key of a rule, checked.

use std::time::Duration;

use stanchion_core::text::parse_duration;
use stanchion_core::{Breaker, Effect, Error, InFlight, Mode, OnStoreDown, PERMITS_MAX, Policy, SLOTS_MAX, Window};
use toml::de::DeValue;

use super::source::{kind, texts};
use crate::{ArgumentTemplate, Fencing, Locking, Rate, Rule};

/// How many locks one call may take.
const LOCKS_MAX: usize = 16;
/// How long the name of an argument or a header may be.
const NAME_MAX: usize = 128;
/// A fence in one of these would break the request that carries it.
const HEADERS_TAKEN: &[&str] =
    &["host", "connection", "content-length", "content-type", "transfer-encoding", "authorization", "accept", "cookie"];

/// What one key says.
#[derive(Debug, Clone)]
pub(super) enum Setting {
    Effect(Effect),
    Lock(Locking),
    Mode(Mode),
    Wait(Duration),
    Ttl(Duration),
    MaxHold(Duration),
    Lease(Duration),
    Keep(Duration),
    KeepKey(Duration),
    KeepSuspended(Duration),
    ResponseCap(usize),
    Attempts(u64),
    InFlight(InFlight),
    KeyArgument(Option<String>),
    HostCallId(bool),
    Dedupe(Option<Duration>),
    Fence(Fencing),
    Rate(Option<Rate>),
    Concurrency(Option<usize>),
    Breaker(Option<(u32, Duration)>),
    OnStoreDown(OnStoreDown),
    AllowWeak(bool),
    LogArguments(bool),
}

/// A rule while its settings come in. What a policy checks together waits for the end.
#[derive(Debug, Default)]
pub(super) struct Draft {
    rule: Rule,
    lease: Option<Duration>,
    keep: Option<Duration>,
    keep_key: Option<Duration>,
    response_cap: Option<usize>,
    allow_weak: bool,
}

impl Draft {
    pub(super) fn set(&mut self, setting: Setting) {
        let rule = &mut self.rule;
        match setting {
            Setting::Effect(effect) => {
                rule.effect = Some(effect);
                rule.policy = rule.policy.clone().effect(effect);
            }
            Setting::Lock(locking) => rule.locking = locking,
            Setting::Mode(mode) => rule.mode = mode,
            Setting::Wait(time) => rule.wait = time,
            Setting::Ttl(time) => rule.ttl = time,
            Setting::MaxHold(time) => rule.max_hold = time,
            Setting::Lease(time) => self.lease = Some(time),
            Setting::Keep(time) => self.keep = Some(time),
            Setting::KeepKey(time) => self.keep_key = Some(time),
            Setting::KeepSuspended(time) => rule.policy = rule.policy.clone().keep_suspended(time),
            Setting::ResponseCap(bytes) => self.response_cap = Some(bytes),
            Setting::Attempts(most) => rule.policy = rule.policy.clone().attempts(most),
            Setting::InFlight(in_flight) => rule.policy = rule.policy.clone().in_flight(in_flight),
            Setting::KeyArgument(name) => rule.key.argument = name,
            Setting::HostCallId(counts) => rule.key.host_call_id = counts,
            Setting::Dedupe(window) => rule.key.dedupe = window,
            Setting::Fence(fencing) => rule.fencing = fencing,
            Setting::Rate(rate) => rule.rate = rate,
            Setting::Concurrency(most) => rule.concurrency = most,
            Setting::Breaker(breaker) => rule.breaker = breaker,
            Setting::OnStoreDown(policy) => rule.on_store_down = policy,
            Setting::AllowWeak(allow) => self.allow_weak = allow,
            Setting::LogArguments(log) => rule.log_arguments = log,
        }
    }

    /// The rule. Fails if keys contradict each other, as `keep` and `keep_key` may.
    pub(super) fn finish(self) -> Result<Rule, Error> {
        let mut policy = self.rule.policy;
        if let Some(lease) = self.lease {
            policy = policy.lease(lease)?;
        }
        if let Some(bytes) = self.response_cap {
            policy = policy.response_cap(bytes)?;
        }
        if self.keep.is_some() || self.keep_key.is_some() {
            let (keep, keep_key) = (self.keep.unwrap_or(KEEP), self.keep_key.unwrap_or(policy.key_ttl()));
            policy = policy.keep(keep, keep_key)?;
        }
        if self.allow_weak {
            policy = policy.allow_weak();
        }
        Ok(Rule { policy, ..self.rule })
    }
}

/// How long an answer is kept unless set: the same as in [`Policy`], which does not tell.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// What a reader makes of a value; `Err` says what is wrong, the table of keys what is allowed.
pub(super) type Read = Result<Setting, String>;

fn text<'t>(value: &'t DeValue<'_>) -> Result<&'t str, String> {
    value.as_str().ok_or_else(|| match value {
        DeValue::Integer(_) | DeValue::Float(_) => {
            "a number without a unit says too little; a text belongs here".into()
        }
        _ => format!("a text belongs here, not {}", kind(value)),
    })
}

fn whole(value: &DeValue<'_>) -> Result<u64, String> {
    let DeValue::Integer(number) = value else {
        return Err(format!("a whole number belongs here, not {}", kind(value)));
    };
    u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| "this number is out of range".to_owned())
}

fn yes(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("true or false belongs here, not {}", kind(value)))
}

fn time(value: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let time = parse_duration(value).map_err(|_| "this is no time".to_owned())?;
    if time < least || time > most { Err("this time is out of range".to_owned()) } else { Ok(time) }
}

const MS: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A time of 0 to 24 h.
pub(super) fn wait(value: &DeValue<'_>) -> Read {
    Ok(Setting::Wait(time(text(value)?, Duration::ZERO, DAY)?))
}

/// Not a setting of a rule: it belongs to a server.
pub(super) fn hang_up(value: &DeValue<'_>) -> Result<Option<Duration>, String> {
    match text(value)? {
        "none" => Ok(None),
        text => time(text, MS * 50, DAY).map(Some),
    }
}

pub(super) fn ttl(value: &DeValue<'_>) -> Read {
    Ok(Setting::Ttl(time(text(value)?, MS * 50, DAY)?))
}

pub(super) fn max_hold(value: &DeValue<'_>) -> Read {
    Ok(Setting::MaxHold(time(text(value)?, MS * 50, DAY * 30)?))
}

pub(super) fn lease(value: &DeValue<'_>) -> Read {
    let lease = time(text(value)?, MS * 50, DAY)?;
    Policy::default().lease(lease).map(|_| Setting::Lease(lease)).map_err(|e| e.to_string())
}

pub(super) fn keep(value: &DeValue<'_>) -> Read {
    Ok(Setting::Keep(time(text(value)?, MS, DAY * 366)?))
}

pub(super) fn keep_key(value: &DeValue<'_>) -> Read {
    Ok(Setting::KeepKey(time(text(value)?, MS, DAY * 366)?))
}

pub(super) fn keep_suspended(value: &DeValue<'_>) -> Read {
    Ok(Setting::KeepSuspended(time(text(value)?, MS, DAY * 366)?))
}

pub(super) fn effect(value: &DeValue<'_>) -> Read {
    match text(value)?.parse() {
        Ok(Effect::Transactional) => Err("a gateway cannot be `transactional`: the tool's effect is not in the \
                                          transaction that records the claim"
            .to_owned()),
        Ok(effect) => Ok(Setting::Effect(effect)),
        Err(_) => Err("there is no such effect class".to_owned()),
    }
}

pub(super) fn lock(value: &DeValue<'_>) -> Read {
    let templates = match value {
        DeValue::String(name) if name == "none" => return Ok(Setting::Lock(Locking::None)),
        DeValue::String(name) if name == "default" => return Ok(Setting::Lock(Locking::Default)),
        DeValue::String(name) => vec![&**name],
        _ => match texts(value) {
            Some(list) if (1..=LOCKS_MAX).contains(&list.len()) => list.into_iter().map(|(text, _)| text).collect(),
            Some(list) if list.is_empty() => return Err("an empty list names no lock".to_owned()),
            Some(_) => return Err("these are too many locks for one call".to_owned()),
            None => return Err(format!("a text or a list of texts belongs here, not {}", kind(value))),
        },
    };
    let mut keys: Vec<ArgumentTemplate> = Vec::with_capacity(templates.len());
    for template in templates {
        let key: ArgumentTemplate = template.parse().map_err(|e: Error| e.to_string())?;
        if !key.begins_with_text() {
            return Err("a lock begins with a word of its own, as in file:{path}: without one, a caller could take \
                        any lock of the store"
                .to_owned());
        }
        if keys.contains(&key) {
            return Err("the same lock twice: a call would wait for itself".to_owned());
        }
        keys.push(key);
    }
    Ok(Setting::Lock(Locking::Keys(keys)))
}

pub(super) fn mode(value: &DeValue<'_>) -> Read {
    match text(value)? {
        "exclusive" => Ok(Setting::Mode(Mode::Exclusive)),
        "shared" => Ok(Setting::Mode(Mode::Shared)),
        other => match other.strip_prefix("slots:").map(str::parse) {
            Some(Ok(slots)) if (1..=SLOTS_MAX).contains(&slots) => Ok(Setting::Mode(Mode::Slots(slots))),
            Some(_) => Err("this is no number of slots".to_owned()),
            None => Err("there is no such mode".to_owned()),
        },
    }
}

pub(super) fn response_cap(value: &DeValue<'_>) -> Read {
    let bytes = match value {
        DeValue::Integer(_) => usize::try_from(whole(value)?).ok(),
        _ => bytes(text(value)?),
    };
    let bytes = bytes.ok_or("this is no size")?;
    let fits = Policy::default().response_cap(bytes).is_ok();
    if fits { Ok(Setting::ResponseCap(bytes)) } else { Err("answers of this size cannot be kept".to_owned()) }
}

fn bytes(text: &str) -> Option<usize> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift)
}

pub(super) fn attempts(value: &DeValue<'_>) -> Read {
    match whole(value)? {
        0 => Err("a call is tried at least once".to_owned()),
        most => Ok(Setting::Attempts(most)),
    }
}

pub(super) fn in_flight(value: &DeValue<'_>) -> Read {
    Ok(Setting::InFlight(match text(value)? {
        "reject" => InFlight::Reject,
        "attach" => InFlight::Attach,
        wait => InFlight::Wait(time(wait, MS, DAY)?),
    }))
}

/// `none` undoes what a wider table says.
fn or_none<T>(value: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if value == "none" { Ok(None) } else { read(value).map(Some) }
}

fn name(text: &str) -> Result<String, String> {
    let good = !text.is_empty() && text.len() <= NAME_MAX && !text.chars().any(char::is_control);
    if good { Ok(text.to_owned()) } else { Err("this is no name: it is empty, too long, or not printable".to_owned()) }
}

pub(super) fn key_argument(value: &DeValue<'_>) -> Read {
    or_none(text(value)?, name).map(Setting::KeyArgument)
}

pub(super) fn host_call_id(value: &DeValue<'_>) -> Read {
    yes(value).map(Setting::HostCallId)
}

pub(super) fn dedupe(value: &DeValue<'_>) -> Read {
    or_none(text(value)?, |text| time(text, MS, DAY * 30)).map(Setting::Dedupe)
}

pub(super) fn fence(value: &DeValue<'_>) -> Read {
    let text = text(value)?;
    Ok(Setting::Fence(match text.split_once(':') {
        None if text == "none" => Fencing::None,
        None if text == "meta" => Fencing::Meta,
        Some(("argument", argument)) => Fencing::Argument(name(argument)?),
        Some(("header", header)) => Fencing::Header(header_name(header)?),
        _ => return Err("there is no such way to hand the fence on".to_owned()),
    }))
}

fn header_name(header: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if header.is_empty() || header.len() > NAME_MAX || !header.chars().all(good) {
        return Err("this is no name of a header".to_owned());
    }
    let lower = header.to_ascii_lowercase();
    if HEADERS_TAKEN.contains(&&*lower) || lower.starts_with("mcp-") {
        return Err("this header has a meaning of its own".to_owned());
    }
    Ok(lower)
}

/// `10/1s`.
fn per(text: &str) -> Result<(u32, Duration), String> {
    let (most, within) = text.split_once('/').ok_or("a / belongs between number and time")?;
    let most = most.parse().map_err(|_| "this is no number of calls")?;
    Ok((most, parse_duration(within).map_err(|_| "this is no time")?))
}

pub(super) fn rate(value: &DeValue<'_>) -> Read {
    let rate = or_none(text(value)?, |text| {
        let (most, within) = per(text)?;
        Window::new(most, within).map(|_| Rate { most, within }).map_err(|e| e.to_string())
    });
    rate.map(Setting::Rate)
}

pub(super) fn breaker(value: &DeValue<'_>) -> Read {
    let breaker = or_none(text(value)?, |text| {
        let (most, rest) = per(text)?;
        Breaker::new(most, rest).map(|_| (most, rest)).map_err(|e| e.to_string())
    });
    breaker.map(Setting::Breaker)
}

pub(super) fn concurrency(value: &DeValue<'_>) -> Read {
    if value.as_str() == Some("none") {
        return Ok(Setting::Concurrency(None));
    }
    match usize::try_from(whole(value)?) {
        Ok(most) if most > 0 && most <= PERMITS_MAX as usize => Ok(Setting::Concurrency(Some(most))),
        _ => Err("this number is out of range".to_owned()),
    }
}

pub(super) fn on_store_down(value: &DeValue<'_>) -> Read {
    text(value)?.parse().map(Setting::OnStoreDown).map_err(|_| "there is no such policy".to_owned())
}

pub(super) fn allow_weak(value: &DeValue<'_>) -> Read {
    yes(value).map(Setting::AllowWeak)
}

pub(super) fn log_arguments(value: &DeValue<'_>) -> Read {
    yes(value).map(Setting::LogArguments)
}
