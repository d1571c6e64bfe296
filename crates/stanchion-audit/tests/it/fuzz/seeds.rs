//! What is mutated: the labelled cases, the model files, and a little of everything else that is read.

use std::fs;
use std::path::Path;

use crate::files_of;

/// A file to begin with.
pub(super) struct Seed {
    /// Its name without folders.
    pub(super) name: String,
    pub(super) text: String,
}

/// Small files that decide how the code beside them is understood.
const BESIDE: &[(&str, &str)] = &[
    (
        "web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n---\napiVersion: batch/v1\nkind: CronJob\nspec:\n  schedule: \"* * * * *\"\n  concurrencyPolicy: Forbid\n",
    ),
    (
        "values.yaml",
        "replicaCount: &n 3\nworker:\n  replicaCount: *n\nautoscaling: {enabled: true, maxReplicas: 5}\ntext: |\n  a\n  b\n",
    ),
    (
        "docker-compose.yml",
        "services:\n  web:\n    deploy:\n      replicas: 2\n    command:\n      - uvicorn\n      - --workers\n      - \"5\"\n    environment:\n      - WEB_CONCURRENCY=3\n",
    ),
    ("Dockerfile", "FROM a AS b\nRUN x \\\n  && y\nCMD [\"gunicorn\", \"-w\", \"4\", \"a:b\"]\n"),
    ("Procfile", "release: x\nworker: gunicorn a:b --workers=3\n"),
    ("start.sh", "#!/bin/sh\nexec pm2 start app.js -i max -- --port 3 # four\n"),
    ("web.service", "[Service]\nExecStart=/usr/bin/uvicorn app:app --workers 4\n"),
    ("main.tf", "resource \"aws_ecs_service\" \"web\" {\n  desired_count = 3\n}\n"),
    ("fly.toml", "app = \"a\"\n[processes]\nweb = \"gunicorn -w 3 a\"\n[[services]]\nmin_machines_running = 2\n"),
    (
        "ecosystem.config.js",
        "module.exports = { apps: [{ name: 'a', script: 'a.js', instances: 4, exec_mode: 'cluster' }] };\n",
    ),
    ("gunicorn.conf.py", "import multiprocessing\nworkers = multiprocessing.cpu_count() * 2 + 1\n"),
    (".mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"node\", \"args\": [\"a.js\"], \"type\": \"stdio\"}}}"),
    (
        "package.json",
        "{\"name\": \"@a/b\", \"main\": \"./a.js\", \"exports\": {\".\": {\"import\": \"./a.mjs\"}, \"./*\": \"./src/*.js\"}, \"imports\": {\"#x\": \"./x.js\"}, \"workspaces\": [\"p/*\"], \"scripts\": {\"start\": \"pm2 start a.js -i 4\"}, \"dependencies\": {\"@modelcontextprotocol/sdk\": \"1\"}}",
    ),
    (
        "tsconfig.json",
        "{ // comment\n \"extends\": \"./tsconfig.json\", \"compilerOptions\": {\"baseUrl\": \".\", \"paths\": {\"@/*\": [\"./src/*\", \"./*\"], \"*\": [\"*\"]},}, \"references\": [{\"path\": \".\"}],}",
    ),
    (
        "go.mod",
        "module example.com/a\n\ngo 1.22\n\nrequire (\n\tgithub.com/x/y v1.0.0 // indirect\n)\nreplace example.com/a => ./a\n",
    ),
    (
        "Cargo.toml",
        "[package]\nname = \"a-b\"\n[lib]\npath = \"src/lib.rs\"\n[workspace]\nmembers = [\"a/*\"]\n[dependencies]\nrmcp = \"1\"\n",
    ),
    (
        "pyproject.toml",
        "[project]\nname = \"a\"\ndependencies = [\"mcp[cli]>=1\", \"fastmcp\"]\n[project.scripts]\na = \"a:main\"\n",
    ),
    (
        "schema.sql",
        "CREATE TABLE users (id serial PRIMARY KEY, email text UNIQUE, n int DEFAULT (1 + 2), CHECK (n > 0));\nCREATE UNIQUE INDEX CONCURRENTLY u ON users (lower(email)) WHERE n > 0;\n/* c */ -- d\nALTER TABLE users ADD CONSTRAINT c UNIQUE (id, email);\n",
    ),
    (
        "schema.prisma",
        "model User {\n  id Int @id @default(autoincrement())\n  email String @unique\n  a Int\n  b Int\n  @@unique([a, b], name: \"x\")\n}\n",
    ),
    (
        "stanchion-audit.toml",
        "include = ['**']\nexclude = ['**/gen/**', '!src/keep.ts']\nfail_on = 'medium'\ninstances = 'many'\nmodels = []\n[rules]\nRC403 = 'off'\nRC101 = 'high'\n[[model]]\ncall = 'a.b'\n",
    ),
    (
        "baseline.json",
        "{\"version\": 1, \"findings\": {\"0123456789abcdef\": {\"code\": \"RC101\", \"path\": \"a.ts\", \"message\": \"m\"}}}",
    ),
    (
        "changes.diff",
        "diff --git a/a.ts b/a.ts\nindex 1..2 100644\n--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,3 @@\n a\n+b\n-c\n@@ -9 +10,0 @@ f\n-x\nrename from \"a \\303\\244\"\nrename to b\nBinary files differ\n",
    ),
    (
        "queries.py",
        "import psycopg\ndef f(c, a):\n    c.execute(\"WITH x AS (SELECT a FROM t WHERE b = %s FOR UPDATE SKIP LOCKED) UPDATE t SET a = x.a + 1 FROM x WHERE t.id = x.id RETURNING *\", (a,))\n    c.execute(f\"INSERT INTO {a} (a, b) VALUES ({a!r}, 'it''s') ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b\")\n    c.execute('SELECT pg_try_advisory_lock(%(k)s)', {'k': 1})  # stanchion-audit: ignore RC212 -- one instance\n    c.execute('BEGIN IMMEDIATE'); c.execute(\"DELETE FROM t USING u WHERE t.id = u.id AND t.v = ?\", [a]); c.execute('COMMIT')\n",
    ),
    (
        "queries.ts",
        "import { Pool } from 'pg';\nconst pool = new Pool({ max: 1 });\nexport async function f(id: string) {\n  const { rows: [row] } = await pool.query(`SELECT * FROM ${'a'} WHERE id = $1 -- x`, [id]);\n  await pool.query('UPDATE a SET n = $2, v = v + 1 WHERE id = $1 AND v = $3', [id, row.n + 1, row.v]);\n  // stanchion-audit: ignore RC102,RC101 -- a test\n  for await (const x of pool) try { await x; } catch { continue } finally { pool.end() }\n}\n",
    ),
];

pub(super) fn seeds() -> Vec<Seed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["cases", "models"] {
        files_of(&root.join(folder), &mut paths);
    }
    let read = |path: &Path| Seed {
        name: path.file_name().unwrap().to_str().unwrap().to_owned(),
        text: fs::read_to_string(path).unwrap(),
    };
    let mut seeds: Vec<Seed> =
        paths.iter().filter(|path| !path.ends_with("solved.txt")).map(|path| read(path)).collect();
    // Several times: there are few of them, and they are small.
    for (name, text) in BESIDE.repeat(4) {
        seeds.push(Seed { name: name.to_owned(), text: text.to_owned() });
    }
    seeds
}
