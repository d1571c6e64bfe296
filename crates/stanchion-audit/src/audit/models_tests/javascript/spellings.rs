//! Less usual names for what other libraries, or other functions of the same one, do as well.

use super::{Table, check};

#[test]
fn files() {
    const TABLE: Table = &[
        (
            "promisified",
            "import { promisify } from 'node:util';\nimport fs from 'fs';\nconst read = promisify(fs.readFile);\nconst write = promisify(fs.writeFile);\nexport async function f(x) {\n const d = await read('a');\n await write('a', d + x);\n}",
            &[("RC101", 6, 7)],
        ),
        (
            "blob",
            "import { openAsBlob } from 'node:fs';\nimport fs from 'fs/promises';\nexport async function f(x) {\n const d = await (await openAsBlob('a')).text();\n await fs.writeFile('a', d + x);\n}",
            &[("RC101", 4, 5)],
        ),
        (
            "fs-jetpack",
            "import jetpack from 'fs-jetpack';\nexport async function f(x) {\n const d = await jetpack.readAsync('a.json', 'json');\n await jetpack.writeAsync('a.json', { ...d, x });\n}",
            &[("RC101", 3, 4)],
        ),
        (
            "fs-jetpack append",
            "import jetpack from 'fs-jetpack';\nexport function f(x) {\n const d = jetpack.read('log');\n jetpack.append('log', d.length + x);\n}",
            &[],
        ),
        (
            "gray-matter",
            "import matter from 'gray-matter';\nimport fs from 'fs';\nexport function f(x) {\n const note = matter.read('a.md');\n fs.writeFileSync('a.md', note.content + x);\n}",
            &[("RC101", 4, 5)],
        ),
        (
            "bun, by names of the module",
            "import { file, write } from 'bun';\nexport async function f() {\n const n = await file('n').text();\n await write('n', String(Number(n) + 1));\n}",
            &[("RC101", 3, 4)],
        ),
        (
            "bun, to the file itself",
            "export async function f() {\n const file = Bun.file('n');\n const n = await file.bytes();\n await Bun.write(file, n + 1);\n}",
            &[("RC101", 3, 4)],
        ),
        (
            "deno handle",
            "export async function f(x) {\n const n = await Deno.readTextFile('n');\n const h = await Deno.create('n');\n await h.write(n + x);\n}",
            &[("RC101", 2, 4)],
        ),
        (
            "deno append",
            "export async function f(x) {\n const n = await Deno.readTextFile('n');\n await Deno.writeTextFile('n', n.length + x, { append: true });\n}",
            &[],
        ),
    ];
    check("a.ts", TABLE);
}

#[test]
fn stores() {
    const TABLE: Table = &[
        (
            "node-persist",
            "import storage from 'node-persist';\nexport async function f(k) {\n const n = await storage.getItem(k);\n await storage.setItem(k, n + 1);\n}",
            &[("RC103", 3, 4)],
        ),
        (
            "lmdb",
            "import { open } from 'lmdb';\nconst db = open({ path: 'd' });\nexport async function f(k) {\n const n = db.get(k);\n await db.put(k, n + 1);\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "lmdb transaction",
            "import { open } from 'lmdb';\nconst db = open({ path: 'd' });\nexport async function f(k) {\n await db.transaction(() => {\n  const n = db.get(k);\n  db.put(k, n + 1);\n });\n}",
            &[],
        ),
        (
            "deno kv",
            "export async function f(k) {\n const kv = await Deno.openKv();\n const n = await kv.get(k);\n await kv.set(k, n.value + 1);\n}",
            &[("RC103", 3, 4)],
        ),
        (
            "deno kv atomic",
            "export async function f(k) {\n const kv = await Deno.openKv();\n const n = await kv.get(k);\n await kv.atomic().check(n).set(k, n.value + 1).commit();\n}",
            &[],
        ),
        (
            "nedb",
            "import Datastore from '@seald-io/nedb';\nconst db = new Datastore({ filename: 'a.db' });\nexport async function f(id) {\n const d = await db.findOneAsync({ _id: id });\n await db.updateAsync({ _id: id }, { $set: { n: d.n + 1 } });\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "nedb inc",
            "import Datastore from '@seald-io/nedb';\nconst db = new Datastore({ filename: 'a.db' });\nexport async function f(id) {\n const d = await db.findOneAsync({ _id: id });\n await db.updateAsync({ _id: id }, { $inc: { n: d.step } });\n}",
            &[],
        ),
        (
            "redis json",
            "import { createClient } from 'redis';\nconst r = createClient();\nexport async function f(k) {\n const d = await r.json.get(k);\n await r.json.set(k, '$', { ...d, n: d.n + 1 });\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "redis json increment",
            "import { createClient } from 'redis';\nconst r = createClient();\nexport async function f(k) {\n const d = await r.json.get(k);\n await r.json.numIncrBy(k, '$.n', d.step);\n}",
            &[],
        ),
        (
            "redis list element",
            "import Redis from 'ioredis';\nconst r = new Redis();\nexport async function f(k) {\n const n = Number(await r.lindex(k, 0));\n await r.lset(k, 0, n + 1);\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "redis range of scores",
            "import Redis from 'ioredis';\nconst r = new Redis();\nexport async function f(k) {\n const jobs = await r.zrangebyscore(k, 0, 1);\n await r.set(k, jobs.length);\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "redis pop of the least",
            "import Redis from 'ioredis';\nconst r = new Redis();\nexport async function f(k) {\n const n = await r.zcard(k);\n await r.zpopmin(k, n);\n}",
            &[],
        ),
        (
            "mutex with a timeout",
            "import { Mutex, withTimeout } from 'async-mutex';\nimport Redis from 'ioredis';\nconst r = new Redis();\nconst m = withTimeout(new Mutex(), 100);\nexport async function f(k) {\n await m.runExclusive(async () => {\n  const n = Number(await r.get(k));\n  await r.set(k, n + 1);\n });\n}",
            &[("RC201", 7, 8)],
        ),
        (
            "bottleneck of one",
            "import Bottleneck from 'bottleneck';\nimport Redis from 'ioredis';\nconst r = new Redis();\nconst b = new Bottleneck({ maxConcurrent: 1 });\nexport async function f(k) {\n await b.schedule(async () => {\n  const n = Number(await r.get(k));\n  await r.set(k, n + 1);\n });\n}",
            &[("RC201", 7, 8)],
        ),
        (
            "bottleneck of five",
            "import Bottleneck from 'bottleneck';\nimport Redis from 'ioredis';\nconst r = new Redis();\nconst b = new Bottleneck({ maxConcurrent: 5 });\nexport async function f(k) {\n await b.schedule(async () => {\n  const n = Number(await r.get(k));\n  await r.set(k, n + 1);\n });\n}",
            &[("RC103", 7, 8)],
        ),
    ];
    check("a.ts", TABLE);
}

#[test]
fn databases_and_mappers() {
    const TABLE: Table = &[
        (
            "sql.js",
            "import initSqlJs from 'sql.js';\nimport fs from 'fs';\nexport async function f(x) {\n const SQL = await initSqlJs();\n const db = new SQL.Database(fs.readFileSync('a.db'));\n db.run('INSERT INTO t VALUES (?)', [x]);\n fs.writeFileSync('a.db', db.export());\n}",
            &[("RC101", 5, 7)],
        ),
        (
            "drizzle with a proxy",
            "import { drizzle } from 'drizzle-orm/libsql/node';\nimport { eq } from 'drizzle-orm';\nimport { users } from './schema';\nconst db = drizzle(url);\nexport async function f(id) {\n const [u] = await db.select().from(users).where(eq(users.id, id));\n await db.update(users).set({ n: u.n + 1 }).where(eq(users.id, id));\n}",
            &[("RC102", 6, 7)],
        ),
        (
            "typeorm manager",
            "import { DataSource } from 'typeorm';\nconst source = new DataSource({});\nexport async function f(email) {\n const old = await source.manager.findOneBy(User, { email });\n if (!old) await source.manager.insert(User, { email });\n}",
            &[("RC401", 4, 5)],
        ),
        (
            "typeorm manager upsert",
            "import { DataSource } from 'typeorm';\nconst source = new DataSource({});\nexport async function f(email) {\n const old = await source.manager.findOneBy(User, { email });\n if (!old) await source.manager.upsert(User, { email }, ['email']);\n}",
            &[],
        ),
        (
            "mikro-orm",
            "import { MikroORM } from '@mikro-orm/sqlite';\nconst orm = await MikroORM.init({});\nexport async function f(id) {\n const em = orm.em.fork();\n const u = await em.findOne(User, { id });\n await em.nativeUpdate(User, { id }, { n: u.n + 1 });\n}",
            &[("RC102", 5, 6)],
        ),
        (
            "mikro-orm with a lock",
            "import { MikroORM, LockMode } from '@mikro-orm/sqlite';\nconst orm = await MikroORM.init({});\nexport async function f(id) {\n await orm.em.transactional(async (em) => {\n  const u = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });\n  await em.nativeUpdate(User, { id }, { n: u.n + 1 });\n });\n}",
            &[],
        ),
    ];
    check("a.ts", TABLE);
}

#[test]
fn effects() {
    const TABLE: Table = &[
        (
            "axios form",
            "import axios from 'axios';\nimport pRetry from 'p-retry';\nexport const f = (x) => pRetry(() =>\n axios.postForm('https://a.b', x));",
            &[("RC402", 0, 4)],
        ),
        (
            "another fetch",
            "import fetch from 'isomorphic-unfetch';\nimport pRetry from 'p-retry';\nexport const f = (x) => pRetry(() =>\n fetch('https://a.b', { method: 'POST', body: x }));",
            &[("RC402", 0, 4)],
        ),
        (
            "mailbox",
            "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';\nimport { ImapFlow } from 'imapflow';\nconst s = new McpServer({});\nconst c = new ImapFlow({});\ns.registerTool('a', { annotations: { readOnlyHint: true } }, async () => {\n await c.mailboxCreate('b');\n});",
            &[("RC407", 5, 6)],
        ),
        (
            "drive",
            "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';\nimport { google } from 'googleapis';\nconst s = new McpServer({});\nconst d = google.drive({ version: 'v3' });\ns.registerTool('a', { annotations: { readOnlyHint: true } }, async () => {\n await d.files.update({ fileId: '1' });\n});",
            &[("RC407", 5, 6)],
        ),
        (
            "drive, only read",
            "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';\nimport { google } from 'googleapis';\nconst s = new McpServer({});\nconst d = google.drive({ version: 'v3' });\ns.registerTool('a', { annotations: { readOnlyHint: true } }, async () => {\n await d.files.list({ q: 'a' });\n});",
            &[],
        ),
        (
            "stripe, by a name of its own",
            "import Stripe from 'stripe';\nimport retry from 'async-retry';\nconst s = new Stripe('k');\nexport const f = (id) => retry(async () => {\n await s.transfers.createReversal(id);\n});",
            &[("RC402", 0, 5)],
        ),
    ];
    check("a.ts", TABLE);
}
