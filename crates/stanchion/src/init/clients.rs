//! The clients we know: where their configuration is, and where in it the servers are. Data only.

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    /// What `--client` takes.
    pub(super) name: &'static str,
    pub(super) files: &'static [(Base, &'static str)],
    pub(super) format: Format,
    /// Paths of members, separated by `/`; `*` is every member.
    pub(super) keys: &'static [&'static str],
}

/// What a path begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// The home folder
    Home,
    /// Where desktop applications keep settings: `~/.config` (or `XDG_CONFIG_HOME`), `~/Library/Application Support`, `%APPDATA%`
    App,
    /// `~/.config` (or `XDG_CONFIG_HOME`) everywhere but on Windows, where it is `%APPDATA%`
    Config,
    /// The current folder: a file that others may share
    Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// With comments and trailing commas
    Json,
    Toml,
    /// Shown what to change, never written
    #[value(skip)]
    Yaml,
}

use Base::{App, Config, Home, Project};
use Format::{Json, Toml, Yaml};

const fn json(name: &'static str, files: &'static [(Base, &'static str)], keys: &'static [&'static str]) -> Client {
    Client { name, files, format: Json, keys }
}

const SERVERS: &[&str] = &["mcpServers"];

pub(super) const CLIENTS: &[Client] = &[
    json("claude-code", &[(Home, ".claude.json"), (Project, ".mcp.json")], &["mcpServers", "projects/*/mcpServers"]),
    json("claude-desktop", &[(App, "Claude/claude_desktop_config.json")], SERVERS),
    json("cursor", &[(Home, ".cursor/mcp.json"), (Project, ".cursor/mcp.json")], SERVERS),
    json(
        "vscode",
        &[
            (App, "Code/User/mcp.json"),
            (App, "Code - Insiders/User/mcp.json"),
            (Home, ".vscode-server/data/User/mcp.json"),
            (Project, ".vscode/mcp.json"),
        ],
        &["servers"],
    ),
    json("windsurf", &[(Home, ".codeium/windsurf/mcp_config.json")], SERVERS),
    json("cline", &[(App, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")], SERVERS),
    json(
        "roo",
        &[
            (App, "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
            (Project, ".roo/mcp.json"),
        ],
        SERVERS,
    ),
    json("gemini", &[(Home, ".gemini/settings.json"), (Project, ".gemini/settings.json")], SERVERS),
    json("antigravity", &[(Home, ".gemini/antigravity/mcp_config.json")], SERVERS),
    json("lm-studio", &[(Home, ".lmstudio/mcp.json")], SERVERS),
    json("kiro", &[(Home, ".kiro/settings/mcp.json"), (Project, ".kiro/settings/mcp.json")], SERVERS),
    json("trae", &[(App, "Trae/User/mcp.json"), (App, "Trae/mcp.json")], SERVERS),
    json("kimi", &[(Home, ".kimi/mcp.json")], SERVERS),
    json("factory", &[(Home, ".factory/mcp.json"), (Project, ".factory/mcp.json")], SERVERS),
    json("copilot-cli", &[(Home, ".copilot/mcp-config.json")], SERVERS),
    json("qoder", &[(App, "Qoder/SharedClientCache/mcp.json")], SERVERS),
    json("amp", &[(Config, "amp/settings.json"), (Project, ".amp/settings.json")], &["amp.mcpServers"]),
    json(
        "opencode",
        &[
            (Config, "opencode/opencode.json"),
            (Config, "opencode/opencode.jsonc"),
            (Project, "opencode.json"),
            (Project, "opencode.jsonc"),
        ],
        &["mcp"],
    ),
    json("zed", &[(Config, "zed/settings.json"), (Project, ".zed/settings.json")], &["context_servers"]),
    Client {
        name: "codex",
        files: &[(Home, ".codex/config.toml"), (Project, ".codex/config.toml")],
        format: Toml,
        keys: &["mcp_servers"],
    },
    Client {
        name: "vibe",
        files: &[(Home, ".vibe/config.toml"), (Project, ".vibe/config.toml")],
        format: Toml,
        keys: &["mcp_servers"],
    },
    Client { name: "goose", files: &[(Config, "goose/config.yaml")], format: Yaml, keys: &["extensions"] },
    Client { name: "continue", files: &[(Home, ".continue/config.yaml")], format: Yaml, keys: &["mcpServers"] },
];

/// What `--client` takes.
pub(crate) fn names() -> Vec<&'static str> {
    CLIENTS.iter().map(|client| client.name).collect()
}
