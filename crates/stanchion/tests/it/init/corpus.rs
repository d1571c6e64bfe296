//! Configurations as people write them.

/// (file, key, content, servers that can be wrapped)
pub(super) const CORPUS: &[(&str, &str, &str, usize)] = &[
    (
        "plain.json",
        "mcpServers",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"pkg\"],\n      \"env\": {\"K\": \"v\"}\n    }\n  }\n}\n",
        1,
    ),
    (
        "lines.json",
        "mcpServers",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"args\": [\n        \"-y\",\n        \"pkg\"\n      ],\n      \"command\": \"npx\"\n    }\n  }\n}",
        1,
    ),
    (
        "tabs.json",
        "mcpServers",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [\n\t\t\t\t\"-y\"\n\t\t\t]\n\t\t}\n\t}\n}\n",
        1,
    ),
    (
        "crlf.json",
        "mcpServers",
        "{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"npx\",\r\n      \"args\": [\r\n        \"-y\"\r\n      ]\r\n    },\r\n    \"b\": {\r\n      \"command\": \"b\"\r\n    }\r\n  }\r\n}\r\n",
        2,
    ),
    ("bom.json", "mcpServers", "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"é\", \"args\": [\"ü\"]}}}", 1),
    (
        "minified.json",
        "mcpServers",
        "{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\",\"x\"]},\"b\":{\"args\":[],\"command\":\"b\"},\"c\":{\"command\":\"c\"}}}",
        3,
    ),
    (
        "comments.jsonc",
        "servers",
        "// top\n{\n  /* before */ \"servers\": {\n    \"a\": { // here\n      \"command\": \"npx\", // the command\n      \"args\": [ // the arguments\n        // first\n        \"-y\", /* yes */\n        \"pkg\", // trailing\n      ],\n    },\n    \"b\": {\n      \"command\": \"b\" // no comma\n      // the end\n    },\n  },\n}\n// bottom",
        2,
    ),
    (
        "empty-lists.json",
        "mcpServers",
        "{\"mcpServers\": {\n  \"a\": {\"command\": \"a\", \"args\": []},\n  \"b\": {\"command\": \"b\", \"args\": [ ]},\n  \"c\": {\"command\": \"c\", \"args\": [\n  ]},\n  \"d\": {\"args\": [  ], \"command\": \"d\"},\n  \"e\": {\"command\": \"e\"},\n  \"f\": {\n    \"command\": \"f\",\n    \"env\": {}\n  },\n  \"g\": {\"command\": \"g\", \"args\": [ \"x\" ]}\n}}\n",
        7,
    ),
    (
        "escapes.json",
        "mcpServers",
        r#"{"mcpServers": {"\u0061 \"b\"": {"command": "C:\\Program Files\\n\u006fde.exe", "args": ["\/x", "--", "a\tb", "wrap", "stanchion"]}}}"#,
        1,
    ),
    ("order.json", "mcpServers", "{\"mcpServers\": {\"a\" : {\"args\" :[\"x\"] , \"command\" :\"npx\" }}}", 1),
    (
        "projects.json",
        "projects/*/mcpServers",
        "{\"projects\": {\"/p/a\": {\"mcpServers\": {\"m\": {\"command\": \"npx\", \"args\": [\"x\"]}}, \"n\": 1}, \"/p/b\": {}, \"/p/c\": {\"mcpServers\": {\"m\": {\"command\": \"uvx\"}}}}}",
        2,
    ),
    (
        "amp.json",
        "amp.mcpServers",
        "{\"amp.x\": true, \"amp.mcpServers\": {\"m\": {\"command\": \"npx\", \"args\": [\"x\"]}}}",
        1,
    ),
    (
        "opencode.jsonc",
        "mcp",
        "{\"mcp\": {\"m\": {\"type\": \"local\", \"command\": [\"npx\", \"-y\", \"x\"]}, \"n\": {\"command\": [\n    \"one\"\n  ], \"type\": \"local\"}, \"o\": {\"command\": [ \"x\", ]}}}",
        3,
    ),
    (
        "zed.json",
        "context_servers",
        "{\n  \"context_servers\": {\n    \"old\": {\"command\": {\"path\": \"npx\", \"args\": [\"x\"], \"env\": null}},\n    \"older\": {\"command\": {\"path\": \"npx\"}},\n    \"flat\": {\"source\": \"custom\", \"command\": \"npx\", \"args\": [\"x\"]},\n    \"extension\": {\"settings\": {}}\n  },\n}\n",
        3,
    ),
    (
        "named-list.json",
        "servers",
        "{\"servers\": [{\"name\": \"a\", \"command\": \"npx\"}, {\"command\": \"b\", \"args\": [\"c\"]}]}",
        2,
    ),
    (
        "codex.toml",
        "mcp_servers",
        "# mine\nmodel = \"x\"\n\n[mcp_servers.a] # a\ncommand = 'npx' # literal\nargs = [\"-y\", 'pkg'] # why\n\n[mcp_servers.a.env]\nK = \"v\"\n\n[mcp_servers.b]\nargs = [\n  # first\n  \"x\", # trailing\n]\ncommand = \"uvx\"\n\n[mcp_servers.c]\n  command = \"c\" # no args\n  enabled = true\n[mcp_servers.\"d e\"]\ncommand = \"d\"",
        4,
    ),
    (
        "dotted.toml",
        "mcp_servers",
        "mcp_servers.a.command = \"a\"\nmcp_servers.b = { command = \"b\" }\nmcp_servers.c = { args = [], command = 'c', env = { K = \"v\" } }\n\n[mcp_servers.d]\ncommand = \"\"\"d\"\"\"\nargs = []\n",
        4,
    ),
    (
        "crlf.toml",
        "mcp_servers",
        "[mcp_servers.a]\r\ncommand = \"a\"\r\n\r\n[mcp_servers.b]\r\ncommand = \"b\"\r\nargs = [\r\n\t\"x\",\r\n]\r\n",
        2,
    ),
    (
        "vibe.toml",
        "mcp_servers",
        "\u{feff}[[mcp_servers]]\nname = \"a\"\ntransport = \"stdio\"\ncommand = \"uvx\"\nargs = [\"x\"]\n\n[[mcp_servers]]\nname = \"b\"\ntransport = \"http\"\nurl = \"http://localhost\"\n\n[[mcp_servers]]\nname = \"c\"\ncommand = \"c\"\n",
        2,
    ),
];
