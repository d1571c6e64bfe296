//! Policies for well-known servers, to use as they are or to copy from.

macro_rules! ready {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../policies/", $name, ".toml")))),*]
    };
}

/// Each with its name: `--policy @memory`. The server in it has the same name.
///
/// ```
/// use stanchion_mcp::policy::{PolicyFile, READY};
/// for (name, text) in READY {
///     let file = PolicyFile::parse(text, name)?;
///     assert_eq!(file.servers().next().unwrap().0, *name);
/// }
/// # Ok::<(), stanchion_mcp::policy::PolicyError>(())
/// ```
pub const READY: &[(&str, &str)] = ready![
    "everything",
    "fetch",
    "filesystem",
    "git",
    "github",
    "memory",
    "postgres",
    "redis",
    "sequential-thinking",
    "slack",
    "sqlite",
    "time",
];
