use super::{Table, check};

mod mappers;
mod spellings;

#[test]
fn files() {
    const TABLE: Table = &[
        (
            "fs callback",
            "import fs from 'fs';\nexport function f(x) {\n fs.readFile('a.json', 'utf8', (e, d) => {\n  const all = JSON.parse(d); all.push(x);\n  fs.writeFile('a.json', JSON.stringify(all), () => {});\n });\n}",
            &[("RC101", 3, 5)],
        ),
        (
            "fs handle",
            "import { open } from 'node:fs/promises';\nexport async function f(x) {\n const h = await open('a.json', 'r+');\n const d = await h.readFile();\n await h.writeFile(d + x);\n}",
            &[("RC101", 4, 5)],
        ),
        (
            "fs-extra",
            "const fs = require('fs-extra');\nexport async function f(x) {\n const d = await fs.readJson('a.json');\n d.n = x;\n await fs.outputJson('a.json', { ...d, n: d.n + 1 });\n}",
            &[("RC101", 3, 5)],
        ),
        (
            "promises then",
            "import { promises as fs } from 'fs';\nexport function f(x) {\n return fs.readFile('a').then((d) =>\n  fs.writeFile('a', d + x));\n}",
            &[("RC101", 3, 4)],
        ),
        (
            "bun",
            "export async function f() {\n const file = Bun.file('n');\n const n = await file.text();\n await Bun.write('n', String(Number(n) + 1));\n}",
            &[("RC101", 3, 4)],
        ),
        (
            "deno",
            "export async function f() {\n const n = await Deno.readTextFile('n');\n await Deno.writeTextFile('n', n + 1);\n}",
            &[("RC101", 2, 3)],
        ),
        (
            "append is safe",
            "import fs from 'fs';\nexport function f(x) {\n const d = fs.readFileSync('log');\n fs.appendFileSync('log', d.length + x);\n}",
            &[],
        ),
        (
            "conf",
            "import Conf from 'conf';\nconst c = new Conf();\nexport async function f() {\n const n = c.get('n');\n await g();\n c.set('n', n + 1);\n}",
            &[("RC101", 4, 6)],
        ),
        (
            "lowdb",
            "import { JSONFilePreset } from 'lowdb/node';\nconst db = await JSONFilePreset('db.json', {});\nexport async function f(x) {\n db.data.posts.push(x);\n await db.write();\n}",
            &[("RC107", 2, 5)],
        ),
        (
            "write-file-atomic",
            "import write from 'write-file-atomic';\nimport fs from 'fs';\nexport async function f(x) {\n const d = fs.readFileSync('a');\n await write('a', d + x);\n}",
            &[("RC101", 4, 5)],
        ),
    ];
    check("a.ts", TABLE);
}

#[test]
fn databases() {
    const TABLE: Table = &[
        (
            "pg",
            "import pg from 'pg';\nconst pool = new pg.Pool();\nexport async function f(id, a) {\n const { rows } = await pool.query('SELECT balance FROM acc WHERE id = $1', [id]);\n await pool.query('UPDATE acc SET balance = $1 WHERE id = $2', [rows[0].balance - a, id]);\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "pg for update",
            "import { Pool } from 'pg';\nconst pool = new Pool();\nexport async function f(id, a) {\n const c = await pool.connect();\n await c.query('BEGIN');\n const { rows } = await c.query('SELECT balance FROM acc WHERE id = $1 FOR UPDATE', [id]);\n await c.query('UPDATE acc SET balance = $1 WHERE id = $2', [rows[0].balance - a, id]);\n await c.query('COMMIT');\n}",
            &[],
        ),
        (
            "pg object",
            "import { Pool } from 'pg';\nconst pool = new Pool();\nexport async function f(id) {\n const r = await pool.query({ text: 'SELECT n FROM t WHERE id = $1', values: [id] });\n await pool.query({ text: 'UPDATE t SET n = $1 WHERE id = $2', values: [r.rows[0].n + 1, id] });\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "pg relative",
            "import { Pool } from 'pg';\nconst pool = new Pool();\nexport async function f(id, a) {\n await pool.query('UPDATE acc SET balance = balance - $1 WHERE id = $2', [a, id]);\n}",
            &[],
        ),
        (
            "pg version",
            "import { Pool } from 'pg';\nconst pool = new Pool();\nexport async function f(id) {\n const r = await pool.query('SELECT n, version FROM t WHERE id = $1', [id]);\n const done = await pool.query('UPDATE t SET n = $1, version = version + 1 WHERE id = $2 AND version = $3', [r.rows[0].n + 1, id, r.rows[0].version]);\n return done.rowCount === 1;\n}",
            &[],
        ),
        (
            "pg version that nobody counts",
            "import { Pool } from 'pg';\nconst pool = new Pool();\nexport async function f(id) {\n const r = await pool.query('SELECT n, version FROM t WHERE id = $1', [id]);\n await pool.query('UPDATE t SET n = $1, version = version + 1 WHERE id = $2 AND version = $3', [r.rows[0].n + 1, id, r.rows[0].version]);\n}",
            &[("RC106", 4, 5)],
        ),
        (
            "mysql2",
            "import mysql from 'mysql2/promise';\nconst pool = mysql.createPool({});\nexport async function f(id) {\n const [rows] = await pool.execute('SELECT n FROM t WHERE id = ?', [id]);\n await pool.execute('UPDATE t SET n = ? WHERE id = ?', [rows[0].n + 1, id]);\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "better-sqlite3",
            "import Database from 'better-sqlite3';\nconst db = new Database('a.db');\nexport async function f(id) {\n const row = db.prepare('SELECT n FROM t WHERE id = ?').get(id);\n await g();\n db.prepare('UPDATE t SET n = ? WHERE id = ?').run(row.n + 1, id);\n}",
            &[("RC102", 4, 6)],
        ),
        (
            "better-sqlite3 transaction",
            "import Database from 'better-sqlite3';\nconst db = new Database('a.db');\nexport const go = db.transaction((id) => {\n const row = db.prepare('SELECT n FROM t WHERE id = ?').get(id);\n db.prepare('UPDATE t SET n = ? WHERE id = ?').run(row.n + 1, id);\n});",
            &[],
        ),
        (
            "pg transaction without a lock",
            "import { Pool } from 'pg';\nconst pool = new Pool();\nexport async function f(id) {\n const c = await pool.connect();\n await c.query('BEGIN');\n const r = await c.query('SELECT n FROM t WHERE id = $1', [id]);\n await c.query('UPDATE t SET n = $1 WHERE id = $2', [r.rows[0].n + 1, id]);\n await c.query('COMMIT');\n}",
            &[("RC102", 6, 7)],
        ),
        (
            "sqlite3 callback",
            "import sqlite3 from 'sqlite3';\nconst db = new sqlite3.Database('a.db');\nexport function f(id) {\n db.get('SELECT n FROM t WHERE id = ?', [id], (e, row) => {\n  db.run('UPDATE t SET n = ? WHERE id = ?', [row.n + 1, id]);\n });\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "bun sqlite",
            "import { Database } from 'bun:sqlite';\nconst db = new Database('a.db');\nexport async function f(id) {\n const row = db.query('SELECT n FROM t WHERE id = ?').get(id);\n await g();\n db.query('UPDATE t SET n = ? WHERE id = ?').run(row.n + 1, id);\n}",
            &[("RC102", 4, 6)],
        ),
        (
            "node sqlite",
            "import { DatabaseSync } from 'node:sqlite';\nconst db = new DatabaseSync('a.db');\nexport async function f(id) {\n const row = db.prepare('SELECT n FROM t WHERE id = ?').get(id);\n await g();\n db.prepare('UPDATE t SET n = ? WHERE id = ?').run(row.n + 1, id);\n}",
            &[("RC102", 4, 6)],
        ),
        (
            "D1",
            "export async function f(env, id) {\n const row = await env.DB.prepare('SELECT n FROM t WHERE id = ?').bind(id).first();\n await env.DB.prepare('UPDATE t SET n = ? WHERE id = ?').bind(row.n + 1, id).run();\n}",
            &[("RC102", 2, 3)],
        ),
        (
            "postgres.js",
            "import postgres from 'postgres';\nconst sql = postgres();\nexport async function f(id) {\n const [row] = await sql`SELECT n FROM t WHERE id = ${id}`;\n await sql`UPDATE t SET n = ${row.n + 1} WHERE id = ${id}`;\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "postgres.js for update",
            "import postgres from 'postgres';\nconst sql = postgres();\nexport async function f(id) {\n await sql.begin(async (tx) => {\n  const [row] = await tx`SELECT n FROM t WHERE id = ${id} FOR UPDATE`;\n  await tx`UPDATE t SET n = ${row.n + 1} WHERE id = ${id}`;\n });\n}",
            &[],
        ),
        (
            "vercel",
            "import { sql } from '@vercel/postgres';\nexport async function f(id) {\n const { rows } = await sql`SELECT n FROM t WHERE id = ${id}`;\n await sql`UPDATE t SET n = ${rows[0].n + 1} WHERE id = ${id}`;\n}",
            &[("RC102", 3, 4)],
        ),
        (
            "neon",
            "import { neon } from '@neondatabase/serverless';\nconst sql = neon(process.env.URL);\nexport async function f(id) {\n const rows = await sql`SELECT n FROM t WHERE id = ${id}`;\n await sql`UPDATE t SET n = ${rows[0].n + 1} WHERE id = ${id}`;\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "libsql",
            "import { createClient } from '@libsql/client';\nconst db = createClient({ url: 'x' });\nexport async function f(id) {\n const r = await db.execute({ sql: 'SELECT n FROM t WHERE id = ?', args: [id] });\n await db.execute({ sql: 'UPDATE t SET n = ? WHERE id = ?', args: [r.rows[0].n + 1, id] });\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "libsql transaction",
            "import { createClient } from '@libsql/client';\nconst db = createClient({ url: 'x' });\nexport async function f(id) {\n const tx = await db.transaction('write');\n const r = await tx.execute({ sql: 'SELECT n FROM t WHERE id = ?', args: [id] });\n await tx.execute({ sql: 'UPDATE t SET n = ? WHERE id = ?', args: [r.rows[0].n + 1, id] });\n await tx.commit();\n}",
            &[],
        ),
    ];
    check("a.ts", TABLE);
}

#[test]
fn keys_and_locks() {
    const TABLE: Table = &[
        (
            "ioredis",
            "import Redis from 'ioredis';\nconst r = new Redis();\nexport async function f(k) {\n const n = Number(await r.get(k));\n await r.set(k, n + 1);\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "redis incr",
            "import { createClient } from 'redis';\nconst r = createClient();\nexport async function f(k) {\n await r.incr(k);\n}",
            &[],
        ),
        (
            "redis watch",
            "import { createClient } from 'redis';\nconst r = createClient();\nexport async function f(k) {\n await r.watch(k);\n const n = Number(await r.get(k));\n await r.multi().set(k, n + 1).exec();\n}",
            &[],
        ),
        (
            "redis multi without watch",
            "import { createClient } from 'redis';\nconst r = createClient();\nexport async function f(k) {\n const n = Number(await r.get(k));\n await r.multi().expire('a', 1).set(k, n + 1).exec();\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "upstash",
            "import { Redis } from '@upstash/redis';\nconst r = Redis.fromEnv();\nexport async function f(k) {\n const n = await r.get(k);\n await r.set(k, n + 1);\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "redlock",
            "import Redis from 'ioredis';\nimport Redlock from 'redlock';\nconst r = new Redis();\nconst l = new Redlock([r]);\nexport async function f(k) {\n await l.using([k], 5000, async () => {\n  const n = Number(await r.get(k));\n  await r.set(k, n + 1);\n });\n}",
            &[],
        ),
        (
            "async-lock",
            "import AsyncLock from 'async-lock';\nimport Redis from 'ioredis';\nconst r = new Redis();\nconst l = new AsyncLock();\nexport async function f(k) {\n await l.acquire(k, async () => {\n  const n = Number(await r.get(k));\n  await r.set(k, n + 1);\n });\n}",
            &[("RC201", 7, 8)],
        ),
        (
            "p-limit of one",
            "import pLimit from 'p-limit';\nimport Redis from 'ioredis';\nconst r = new Redis();\nconst limit = pLimit(1);\nexport async function f(k) {\n await limit(async () => {\n  const n = Number(await r.get(k));\n  await r.set(k, n + 1);\n });\n}",
            &[("RC201", 7, 8)],
        ),
        (
            "p-limit of five",
            "import pLimit from 'p-limit';\nimport Redis from 'ioredis';\nconst r = new Redis();\nconst limit = pLimit(5);\nexport async function f(k) {\n await limit(async () => {\n  const n = Number(await r.get(k));\n  await r.set(k, n + 1);\n });\n}",
            &[("RC103", 7, 8)],
        ),
        (
            "keyv",
            "import Keyv from 'keyv';\nconst kv = new Keyv('redis://x');\nexport async function f(k) {\n const n = await kv.get(k);\n await kv.set(k, n + 1);\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "cosmos",
            "import { CosmosClient } from '@azure/cosmos';\nconst c = new CosmosClient({}).database('d').container('c');\nexport async function f(id) {\n const { resource } = await c.item(id, id).read();\n await c.item(id, id).replace({ n: resource.n + 1 });\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "cosmos with a condition",
            "import { CosmosClient } from '@azure/cosmos';\nconst c = new CosmosClient({}).database('d').container('c');\nexport async function f(id) {\n const { resource } = await c.item(id, id).read();\n await c.item(id, id).replace({ n: resource.n + 1 }, { accessCondition: { type: 'IfMatch', condition: resource._etag } });\n}",
            &[],
        ),
        (
            "dynamo counter",
            "import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';\nconst c = DynamoDBDocumentClient.from(x);\nexport async function f(id) {\n const r = await c.send(new GetCommand({ TableName: 't', Key: { id } }));\n await c.send(new UpdateCommand({ TableName: 't', Key: { id }, UpdateExpression: 'SET n = n + :s', ExpressionAttributeValues: { ':s': r.Item.step } }));\n}",
            &[],
        ),
        (
            "a class of our own that is called the same",
            "class Redis { get(k) { return 1; } set(k, v) {} }\nexport async function f(r: Redis, k: string) {\n const n = await r.get(k);\n await r.set(k, n + 1);\n}",
            &[],
        ),
        (
            "KV namespace",
            "export async function f(kv: KVNamespace, k: string) {\n const n = await kv.get(k);\n await kv.put(k, n + 1);\n}",
            &[("RC103", 2, 3)],
        ),
    ];
    check("a.ts", TABLE);
}

#[test]
fn effects_and_handlers() {
    const TABLE: Table = &[
        (
            "p-retry",
            "import pRetry from 'p-retry';\nexport async function f(x) {\n await pRetry(async () => {\n  await fetch('https://a.b', { method: 'POST', body: x });\n });\n}",
            &[("RC402", 0, 4)],
        ),
        (
            "p-retry get",
            "import pRetry from 'p-retry';\nexport async function f(x) {\n await pRetry(() => fetch('https://a.b'));\n}",
            &[],
        ),
        (
            "stripe",
            "import Stripe from 'stripe';\nimport retry from 'async-retry';\nconst s = new Stripe('k');\nexport async function f(x) {\n await retry(async () => {\n  await s.paymentIntents.create({ amount: x });\n });\n}",
            &[("RC402", 0, 6)],
        ),
        (
            "stripe with key",
            "import Stripe from 'stripe';\nimport retry from 'async-retry';\nconst s = new Stripe('k');\nexport async function f(x, k) {\n await retry(async () => {\n  await s.paymentIntents.create({ amount: x }, { idempotencyKey: k });\n });\n}",
            &[],
        ),
        (
            "cockatiel",
            "import { retry, handleAll } from 'cockatiel';\nimport nodemailer from 'nodemailer';\nconst p = retry(handleAll, {});\nconst m = nodemailer.createTransport({});\nexport async function f(x) {\n await p.execute(() => m.sendMail({ to: x }));\n}",
            &[("RC402", 0, 6)],
        ),
        (
            "slack",
            "import { WebClient } from '@slack/web-api';\nimport pRetry from 'p-retry';\nconst s = new WebClient('t');\nexport async function f(x) {\n await pRetry(() => s.chat.postMessage({ text: x }));\n}",
            &[("RC402", 0, 5)],
        ),
        (
            "sqs",
            "import { SQSClient, SendMessageCommand } from '@aws-sdk/client-sqs';\nimport pRetry from 'p-retry';\nconst s = new SQSClient({});\nexport async function f(x) {\n await pRetry(() => s.send(new SendMessageCommand({ MessageBody: x })));\n}",
            &[("RC402", 0, 5)],
        ),
        (
            "request handler",
            "import fs from 'fs';\nserver.setRequestHandler(CallToolRequestSchema, async (request) => {\n switch (request.params.name) {\n  case 'add': {\n   const d = fs.readFileSync('a');\n   fs.writeFileSync('a', d + 1);\n   break;\n  }\n }\n});",
            &[("RC101", 5, 6)],
        ),
        (
            "fastmcp",
            "import { FastMCP } from 'fastmcp';\nimport fs from 'fs';\nconst s = new FastMCP({});\ns.addTool({ name: 'a', execute: async () => {\n const d = fs.readFileSync('a');\n fs.writeFileSync('a', d + 1);\n} });",
            &[("RC101", 5, 6)],
        ),
        (
            "mcp-framework",
            "import { MCPTool } from 'mcp-framework';\nimport fs from 'fs';\nexport default class T extends MCPTool {\n async execute(x) {\n  const d = fs.readFileSync('a');\n  fs.writeFileSync('a', d + 1);\n }\n}",
            &[("RC101", 5, 6)],
        ),
        (
            "read only hint",
            "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';\nimport fs from 'fs';\nconst s = new McpServer({});\ns.registerTool('a', { annotations: { readOnlyHint: true } }, async () => {\n fs.writeFileSync('a', 'x');\n});",
            &[("RC407", 4, 5)],
        ),
        (
            "express",
            "import express from 'express';\nimport fs from 'fs';\nconst app = express();\napp.post('/a', auth, async (req, res) => {\n const d = fs.readFileSync('a');\n fs.writeFileSync('a', d + 1);\n});",
            &[("RC101", 5, 6)],
        ),
        (
            "bullmq",
            "import { Worker } from 'bullmq';\nimport fs from 'fs';\nnew Worker('q', async (job) => {\n const d = fs.readFileSync('a');\n fs.writeFileSync('a', d + 1);\n});",
            &[("RC101", 4, 5)],
        ),
        (
            "node-cron",
            "import cron from 'node-cron';\nimport nodemailer from 'nodemailer';\nconst m = nodemailer.createTransport({});\ncron.schedule('* * * * *', async () => {\n await m.sendMail({});\n});",
            &[("RC406", 4, 5)],
        ),
        (
            "setInterval under a lock",
            "import Redlock from 'redlock';\nimport nodemailer from 'nodemailer';\nconst l = new Redlock([]);\nconst m = nodemailer.createTransport({});\nsetInterval(async () => {\n await l.using(['a'], 1, async () => { await m.sendMail({}); });\n}, 1000);",
            &[],
        ),
        (
            "script",
            "import fs from 'fs';\nconst input = JSON.parse(fs.readFileSync(0, 'utf8'));\nconst d = JSON.parse(fs.readFileSync('/tmp/s.json'));\nfs.writeFileSync('/tmp/s.json', JSON.stringify([...d, input]));",
            &[("RC101", 3, 4)],
        ),
        (
            "main of a script",
            "import fs from 'fs';\nfunction main() {\n const d = JSON.parse(fs.readFileSync('/tmp/s.json'));\n fs.writeFileSync('/tmp/s.json', JSON.stringify([...d, 1]));\n}\nmain();",
            &[("RC101", 3, 4)],
        ),
    ];
    check("a.ts", TABLE);
}
