//! Probes are read back strictly, by the format of `docs/race-spec.md`.

mod spec;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use self::spec::Spec;
use super::*;
use crate::catalogue::RULES;
use crate::config::{Config, Instances};

fn audited(folder: &Path) -> Audited {
    let mut config = Config::default();
    config.instances = Some(Instances::Many);
    crate::audit(folder, &[folder.to_owned()], &config).unwrap()
}

/// Every probe of this code, read back, by the code of its finding.
fn probes(file: &str, code: &str) -> Vec<(&'static str, Result<Spec, String>, String)> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(file), code).unwrap();
    let audited = audited(folder.path());
    let one = |finding: &Finding| match probe(&audited, finding) {
        Ok(probe) => (finding.code, Ok(spec::read(&probe.text)), probe.text),
        Err(why) => (finding.code, Err(why), String::new()),
    };
    audited.report.findings.iter().map(one).collect()
}

fn one(file: &str, code: &str, rule: &str) -> (Spec, String) {
    let all = probes(file, code);
    let (_, spec, text) = all.into_iter().find(|(code, ..)| *code == rule).unwrap_or_else(|| panic!("no {rule}"));
    (spec.unwrap(), text)
}

const NOTES: &str = r#"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { promises as fs } from "fs";
import { z } from "zod";
const server = new McpServer({ name: "notes", version: "1" });
const where = (book: string) => `${process.env.NOTES_DIR}/${book}.json`;
const Mark = z.object({ word: z.string() }), Text = z.string().min(1);
const Note = z.object({ text: Text, stars: z.number().optional(), marks: z.array(Mark) });
server.registerTool("add", { inputSchema: { book: z.string(), note: Note, kind: z.enum(["a", "b"]) } }, async (args) => {
  const all = JSON.parse(await fs.readFile(where(args.book), "utf8"));
  all.push(args.note);
  await fs.writeFile(where(args.book), JSON.stringify(all));
  return { content: [] };
});
server.registerTool("all", { inputSchema: { book: z.string() } }, async (args) => {
  return { content: [{ type: "text", text: await fs.readFile(where(args.book), "utf8") }] };
});
"#;

#[test]
fn a_tool_is_called_with_its_schema_and_read_back_by_one_that_only_reads() {
    let (spec, text) = one("index.ts", NOTES, "RC101");
    assert_eq!(spec.target.kind, "mcp-stdio");
    assert_eq!(spec.target.env["NOTES_DIR"], "{dir}/state");
    let call = &spec.call[0];
    assert_eq!(call.tool.as_deref(), Some("add"));
    // What names the file is the same in all calls; what is put into it is not.
    let wanted = r#"{ book = "probe-{seed}", note = { text = "{id}", marks = [{ word = "{id}" }] }, kind = "a" }"#;
    assert!(text.contains(&format!("arguments = {wanted}\n")), "{text}");
    let read = spec.read.unwrap();
    assert_eq!(read.tool.as_deref(), Some("all"));
    assert_eq!(read.arguments["book"].as_str(), Some("probe-{seed}"));
    assert_eq!(spec.expect.every.as_deref(), Some("{id}"));
    assert!(!text.contains("fill in:"), "{text}");
    assert!(text.contains("not reproduced is not refuted"));
}

#[test]
fn a_common_handler_is_told_apart_by_the_names_it_compares() {
    let code = r#"
import json
from mcp.server import Server
import mcp.types as types
server = Server("n")

@server.list_tools()
async def listed():
    return [
        types.Tool(name="put", description="", inputSchema={"type": "object", "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}}, "required": ["text"]}),
        types.Tool(name="show", description="", inputSchema={"type": "object", "properties": {}}),
    ]

def foo():
    with open("state.json") as f:
        return json.load(f)

@server.call_tool()
async def called(name: str, arguments: dict):
    if name == "put":
        data = foo()
        data.append(arguments["text"])
        with open("state.json", "w") as f:
            json.dump(data, f)
        return []
    elif name == "show":
        return [types.TextContent(type="text", text=json.dumps(foo()))]
"#;
    let (spec, _) = one("server.py", code, "RC101");
    assert_eq!(spec.call[0].tool.as_deref(), Some("put"));
    assert_eq!(spec.call[0].arguments.keys().collect::<Vec<_>>(), ["text"]);
    assert_eq!(spec.read.unwrap().tool.as_deref(), Some("show"));
    assert_eq!(spec.target.command, ["python3", "{root}/server.py"]);
}

/// Calls that nothing tells apart are counted.
#[test]
fn tools_without_arguments_leave_nothing_to_fill_in() {
    let code = r#"
from mcp.server.fastmcp import FastMCP
mcp = FastMCP("n")

@mcp.tool()
def bump() -> int:
    with open("count") as f:
        n = int(f.read())
    with open("count", "w") as f:
        f.write(str(n + 1))
    return n + 1

@mcp.tool()
def value() -> int:
    with open("count") as f:
        return int(f.read())
"#;
    let (spec, text) = one("server.py", code, "RC101");
    assert!(!text.contains("fill in:"), "{text}");
    assert_eq!((spec.call[0].tool.as_deref(), spec.call[0].arguments.len()), (Some("bump"), 0));
    assert_eq!(spec.read.unwrap().tool.as_deref(), Some("value"));
    assert!(text.contains("sum = { is = \"before+acknowledged\" }") && text.contains("\n[[setup]]"), "{text}");
}

#[test]
fn a_route_is_requested_with_the_fields_that_it_takes() {
    let code = r#"
import express from "express";
import { Pool } from "pg";
const pool = new Pool();
const app = express();
app.post("/users", async (req, res) => {
  const { email } = req.body;
  const found = await pool.query("SELECT id FROM users WHERE email = $1", [email]);
  if (found.rows.length > 0) return res.sendStatus(409);
  await pool.query("INSERT INTO users (email) VALUES ($1)", [email]);
  res.sendStatus(201);
});
app.get("/users", async (req, res) => { res.json((await pool.query("SELECT email FROM users")).rows); });
"#;
    let (spec, text) = one("app.ts", code, "RC401");
    assert_eq!(spec.target.kind, "http");
    assert_eq!((spec.call[0].method.as_deref(), spec.call[0].path.as_deref()), (Some("POST"), Some("/users")));
    assert_eq!(spec.read.unwrap().path.as_deref(), Some("/users"));
    assert_eq!(spec.expect.once.as_deref(), Some("probe-{seed}"));
    // Nothing says what an e-mail is.
    assert!(text.contains("# fill in: `email`"), "{text}");
}

#[test]
fn what_no_call_can_show_says_so() {
    let timer = r#"
import fs from "node:fs";
setInterval(async () => {
  const all = JSON.parse(fs.readFileSync("n.json", "utf8"));
  all.push(await (await fetch("https://example.com/x")).text());
  fs.writeFileSync("n.json", JSON.stringify(all));
}, 1000);
"#;
    let all = probes("timer.ts", timer);
    assert!(!all.is_empty());
    for (code, probe, _) in all {
        let why = probe.unwrap_err();
        assert!(why.starts_with(code) && (why.ends_with("leads to it") || why.contains("timer")), "{why}");
    }
}

#[test]
fn what_is_read_back_after_a_kill_is_asked_only_whether_it_can_be_read() {
    let (spec, _) = one("index.ts", NOTES, "RC302");
    assert_eq!(spec.call[0].faults, ["kill"]);
    assert_eq!((spec.expect.every, spec.expect.readable), (None, Some(true)));
    let forgiving = NOTES.replace("  const all = JSON.parse(await fs.readFile(where(args.book), \"utf8\"));", "  let all: unknown[];\n  try { all = JSON.parse(await fs.readFile(where(args.book), \"utf8\")); } catch { all = []; }");
    let (spec, _) = one("index.ts", &forgiving, "RC304");
    assert_eq!((spec.target.instances, spec.call[0].faults.as_slice()), (1, &["kill".to_owned()][..]));
    assert_eq!((spec.expect.every.as_deref(), spec.expect.readable), (Some("{id}"), None));
}

#[test]
fn names_from_code_cannot_break_out_of_their_strings() {
    let code = NOTES.replace("\"add\"", r#""a\"\nversion = 2 # {id}""#);
    let (spec, text) = one("index.ts", &code, "RC101");
    assert_eq!(spec.call[0].tool.as_deref(), Some("a\" version = 2 # {{id}}"), "{text}");
}

/// Registers what a finding is in, where its case does not do so itself.
fn registered(language: &str, text: &str, finding: &Finding) -> String {
    let (class, name) = finding.function.rsplit_once('.').map_or((None, &*finding.function), |(c, n)| (Some(c), n));
    match (language, class) {
        ("py", None) => format!("{text}\nserver.add_tool({name})\n"),
        ("py", Some(class)) => {
            format!("{text}\ndef probed(text: str):\n    return {class}().{name}(text)\nserver.add_tool(probed)\n")
        }
        (_, None) => format!("{text}\nserver.registerTool(\"probed\", {{}}, {name});\n"),
        (_, Some(class)) => {
            format!("{text}\nserver.registerTool(\"probed\", {{}}, async (a) => new {class}().{name}(a));\n")
        }
    }
}

/// Where the cases of a rule make what no constructor of a test could make.
const MORE: [(&str, &str, &str); 3] = [
    (
        "RC204",
        "ts",
        r#"
import { createClient } from "redis";
const client = createClient();
server.registerTool("take", {}, async ({ job, me }) => client.set(`job:${job}`, me, { NX: true, EX: 15 }));
server.registerTool("extend", {}, async ({ job, me }) => {
  if ((await client.get(`job:${job}`)) !== me) return false;
  await client.expire(`job:${job}`, 15);
});
"#,
    ),
    (
        "RC204",
        "py",
        r#"
import redis
r = redis.Redis()

@mcp.tool()
def take(job: str, me: str):
    return r.set(f"job:{job}", me, nx=True, ex=15)

@mcp.tool()
def extend(job: str, me: str):
    if r.get(f"job:{job}") != me:
        return False
    return r.expire(f"job:{job}", 15)
"#,
    ),
    (
        "RC108",
        "py",
        r#"
import asyncio, json, aiofiles
state = {}

async def load():
    async with aiofiles.open("/data/state.json") as f:
        state.update(json.loads(await f.read()))

async def w(data):
    async with aiofiles.open("/data/state.json", "w") as f:
        await f.write(json.dumps(data))

@mcp.tool()
async def put(key: str, value: str):
    state[key] = value
    asyncio.create_task(w(dict(state)))
"#,
    ),
];

/// All cases of a language in one tree, a folder for each rule.
fn tree(language: &str) -> tempfile::TempDir {
    let (root, tree) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), tempfile::tempdir().unwrap());
    for rule in RULES.iter().filter(|rule| oracle(rule.code).is_ok()) {
        let folder = tree.path().join(rule.code);
        fs::create_dir(&folder).unwrap();
        for path in fs::read_dir(root.join(rule.code)).unwrap().map(|it| it.unwrap().path()) {
            if path.extension().is_some_and(|it| it == language) {
                fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    for (code, _, text) in MORE.iter().filter(|(_, of, _)| *of == language) {
        fs::write(tree.path().join(code).join(format!("more.{language}")), text).unwrap();
    }
    tree
}

#[test]
fn every_rule_that_calls_can_show_has_a_probe_in_typescript_and_python() {
    let mut missing = BTreeSet::new();
    for language in ["ts", "py"] {
        let tree = tree(language);
        let mut shown: BTreeSet<&str> = BTreeSet::new();
        let mut written = BTreeSet::new();
        // Once as they are, and once with a tool for what none leads to.
        for _ in 0..2 {
            let audited = audited(tree.path());
            for finding in audited.report.findings.iter().filter(|it| it.path.starts_with(it.code)) {
                if let Ok(probe) = probe(&audited, finding) {
                    spec::read(&probe.text);
                    shown.insert(finding.code);
                } else if written.insert(finding.path.clone()) {
                    let file = tree.path().join(&finding.path);
                    let text = fs::read_to_string(&file).unwrap();
                    fs::write(file, registered(language, &text, finding)).unwrap();
                }
            }
        }
        let wanted = RULES.iter().map(|rule| rule.code).filter(|code| oracle(code).is_ok());
        missing.extend(wanted.filter(|code| !shown.contains(code)).map(|code| format!("{code} {language}")));
    }
    assert_eq!(missing, BTreeSet::new());
}
