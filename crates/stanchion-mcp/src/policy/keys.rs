//! Every key of a rule, in one list: how it is read, what is allowed, what holds without it, and what it means.

use serde_json::{Value, json};
use toml::de::DeValue;

use super::setting::{self, Read};

/// One key of a rule.
pub(super) struct RuleKey {
    pub(super) name: &'static str,
    pub(super) read: fn(&DeValue<'_>) -> Read,
    pub(super) allowed: &'static str,
    /// What holds without it, as it would be written.
    pub(super) default: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: fn() -> Value,
}

/// All of them, in the order in which they are explained.
pub(super) const RULE_KEYS: &[RuleKey] = &[
    RuleKey {
        name: "effect",
        read: setting::effect,
        allowed: "\"read_only\", \"idempotent\", \"reconcilable\", \"non_idempotent\"",
        default: "the tool's readOnlyHint, else non_idempotent",
        about: "How the tool may be repeated.",
        schema: || json!({"enum": ["read_only", "idempotent", "reconcilable", "non_idempotent"]}),
    },
    RuleKey {
        name: "lock",
        read: setting::lock,
        allowed: "\"none\", \"default\", a name as \"budget:{projectId}\", or a list of 1 to 16 names",
        default: "\"default\"",
        about: "The locks a call takes; {argument} is filled from its arguments. \"default\": under wrap one lock for the \
                server for every tool that is not read-only, under serve none.",
        schema: || {
            let name = json!({"type": "string", "minLength": 1, "maxLength": 512, "pattern": "^([^{}]|\\{\\{|\\}\\})"});
            json!({"anyOf": [name, {"type": "array", "items": name, "minItems": 1, "maxItems": 16, "uniqueItems": true}]})
        },
    },
    RuleKey {
        name: "mode",
        read: setting::mode,
        allowed: "\"exclusive\", \"shared\", \"slots:N\" with N from 1 to 1024",
        default: "\"exclusive\"",
        about: "How the locks are held.",
        schema: || json!({"type": "string", "pattern": "^(exclusive|shared|slots:[1-9][0-9]{0,3})$"}),
    },
    RuleKey {
        name: "wait",
        read: setting::wait,
        allowed: "\"0\" to \"24h\", as in \"250ms\", \"20s\", \"5m\"",
        default: "\"20s\"",
        about: "How long a busy lock is waited for.",
        schema: duration,
    },
    RuleKey {
        name: "ttl",
        read: setting::ttl,
        allowed: "\"50ms\" to \"24h\"",
        default: "\"30s\"",
        about: "How long a lock outlives a stopped gateway (stores with leases).",
        schema: duration,
    },
    RuleKey {
        name: "max_hold",
        read: setting::max_hold,
        allowed: "\"50ms\" to \"30d\"",
        default: "\"10m\"",
        about: "How long a call may hold its locks; after that its outcome is unknown.",
        schema: duration,
    },
    RuleKey {
        name: "fence",
        read: setting::fence,
        allowed: "\"none\", \"meta\", \"argument:NAME\", \"header:NAME\" (HTTP upstreams only)",
        default: "\"none\"",
        about: "How the server learns the fencing token of the lock.",
        schema: || json!({"type": "string", "pattern": "^(none|meta|argument:.{1,128}|header:[^ :]{1,128})$"}),
    },
    RuleKey {
        name: "key_argument",
        read: setting::key_argument,
        allowed: "the name of an argument, or \"none\"",
        default: "\"none\"",
        about: "The argument that carries the idempotency key.",
        schema: || json!({"type": "string", "minLength": 1, "maxLength": 128}),
    },
    RuleKey {
        name: "host_call_id",
        read: setting::host_call_id,
        allowed: "true, false",
        default: "false",
        about: "Take the host's id of the call as its idempotency key.",
        schema: boolean,
    },
    RuleKey {
        name: "dedupe",
        read: setting::dedupe,
        allowed: "\"1ms\" to \"30d\", or \"none\"",
        default: "\"none\"",
        about: "Identical calls without a key are one call while the first runs and for this long after.",
        schema: || or_none(duration()),
    },
    RuleKey {
        name: "in_flight",
        read: setting::in_flight,
        allowed: "\"reject\", \"attach\", or a time to wait from \"1ms\" to \"24h\"",
        default: "\"reject\"",
        about: "What a repetition gets while the first call runs.",
        schema: || json!({"anyOf": [{"enum": ["reject", "attach"]}, duration()]}),
    },
    RuleKey {
        name: "keep",
        read: setting::keep,
        allowed: "\"1ms\" to \"366d\", at most keep_key",
        default: "\"24h\"",
        about: "How long answers are kept.",
        schema: duration,
    },
    RuleKey {
        name: "keep_key",
        read: setting::keep_key,
        allowed: "\"1ms\" to \"366d\", at least keep",
        default: "\"72h\"",
        about: "How long keys are known.",
        schema: duration,
    },
    RuleKey {
        name: "keep_suspended",
        read: setting::keep_suspended,
        allowed: "\"1ms\" to \"366d\"",
        default: "\"1h\"",
        about: "How long a call that asked for input waits for it; after that its outcome is unknown.",
        schema: duration,
    },
    RuleKey {
        name: "lease",
        read: setting::lease,
        allowed: "\"50ms\" to \"24h\"",
        default: "\"30s\"",
        about: "After how long without a sign of life a gateway is taken for dead, and its running calls for unknown.",
        schema: duration,
    },
    RuleKey {
        name: "response_cap",
        read: setting::response_cap,
        allowed: "0 to \"15MiB\", as in \"64KiB\"",
        default: "\"1MiB\"",
        about: "The largest answer that is kept; of a larger one a repetition learns only that it ran.",
        schema: || json!({"anyOf": [{"type": "string", "pattern": "^[0-9]+(KiB|MiB)?$"}, {"type": "integer", "minimum": 0, "maximum": 15 << 20}]}),
    },
    RuleKey {
        name: "attempts",
        read: setting::attempts,
        allowed: "a whole number from 1",
        default: "without limit",
        about: "How often a call that had no effect may be tried under one key.",
        schema: || json!({"type": "integer", "minimum": 1}),
    },
    RuleKey {
        name: "rate",
        read: setting::rate,
        allowed: "\"CALLS/TIME\" as in \"10/1s\" (1 to 10000 calls, 1ms to 24h), or \"none\"",
        default: "\"none\"",
        about: "How many calls within a time, for each principal and tool.",
        schema: per,
    },
    RuleKey {
        name: "concurrency",
        read: setting::concurrency,
        allowed: "1 to 10000, or \"none\"",
        default: "\"none\"",
        about: "How many calls of the tool run at the same time in one process.",
        schema: || or_none(json!({"type": "integer", "minimum": 1, "maximum": 10000})),
    },
    RuleKey {
        name: "breaker",
        read: setting::breaker,
        allowed: "\"CALLS/TIME\" as in \"5/10s\" (from 1 call, 1ms to 1h), or \"none\"",
        default: "\"none\"",
        about: "After so many unanswered calls in a row, none for this long.",
        schema: per,
    },
    RuleKey {
        name: "on_store_down",
        read: setting::on_store_down,
        allowed: "\"refuse\", \"read_only\", \"local\"",
        default: "\"refuse\"",
        about: "What happens while the store is away.",
        schema: || json!({"enum": ["refuse", "read_only", "local"]}),
    },
    RuleKey {
        name: "allow_weak",
        read: setting::allow_weak,
        allowed: "true, false",
        default: "false",
        about: "Accept a store that can forget, for calls which must not be repeated.",
        schema: boolean,
    },
    RuleKey {
        name: "log_arguments",
        read: setting::log_arguments,
        allowed: "true, false",
        default: "false",
        about: "Write the arguments of calls to the call log.",
        schema: boolean,
    },
];

/// The key of this name.
pub(super) fn rule_key(name: &str) -> Option<&'static RuleKey> {
    RULE_KEYS.iter().find(|key| key.name == name)
}

/// The names of all keys of a rule.
pub(super) fn rule_names() -> impl Iterator<Item = &'static str> {
    RULE_KEYS.iter().map(|key| key.name)
}

pub(super) fn duration() -> Value {
    json!({"type": "string", "pattern": "^(0|([0-9]+(ms|s|m|h|d))+)$"})
}

fn per() -> Value {
    json!({"type": "string", "pattern": "^(none|[0-9]+/([0-9]+(ms|s|m|h|d))+)$"})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn or_none(schema: Value) -> Value {
    json!({"anyOf": [schema, {"const": "none"}]})
}
