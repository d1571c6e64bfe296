//! Object-relational mappers and query builders.

use super::{Table, check};

#[test]
fn mappers() {
    const TABLE: Table = &[
        (
            "prisma",
            "import { PrismaClient } from '@prisma/client';\nconst prisma = new PrismaClient();\nexport async function f(id) {\n const u = await prisma.user.findUnique({ where: { id } });\n await prisma.user.update({ where: { id }, data: { n: u.n + 1 } });\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "prisma by another key",
            "import { PrismaClient } from '@prisma/client';\nconst prisma = new PrismaClient();\nexport async function f(email) {\n const u = await prisma.user.findUnique({ where: { email } });\n await prisma.user.update({ where: { id: u.id }, data: { n: u.n + 1 } });\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "prisma untyped",
            "export async function f(db, id) {\n const u = await db.user.findUnique({ where: { id } });\n await db.user.update({ where: { id }, data: { n: u.n + 1 } });\n}",
            &[("RC102", 2, 3)],
        ),
        (
            "prisma increment",
            "import { PrismaClient } from '@prisma/client';\nconst prisma = new PrismaClient();\nexport async function f(id) {\n await prisma.user.update({ where: { id }, data: { n: { increment: 1 } } });\n}",
            &[],
        ),
        (
            "prisma version",
            "import { PrismaClient } from '@prisma/client';\nconst prisma = new PrismaClient();\nexport async function f(id) {\n const u = await prisma.user.findUnique({ where: { id } });\n await prisma.user.updateMany({ where: { id, version: u.version }, data: { n: u.n + 1, version: u.version + 1 } });\n}",
            &[],
        ),
        (
            "prisma check then create",
            "import { PrismaClient } from '@prisma/client';\nconst prisma = new PrismaClient();\nexport async function f(key) {\n const old = await prisma.job.findFirst({ where: { name: key } });\n if (!old) await prisma.job.create({ data: { name: key } });\n}",
            &[("RC401", 4, 5)],
        ),
        (
            "drizzle",
            "import { drizzle } from 'drizzle-orm/node-postgres';\nimport { eq } from 'drizzle-orm';\nimport { users } from './schema';\nconst db = drizzle(pool);\nexport async function f(id) {\n const [u] = await db.select().from(users).where(eq(users.id, id)).limit(1);\n await db.update(users).set({ n: u.n + 1 }).where(eq(users.id, id));\n}",
            &[("RC102", 6, 7)],
        ),
        (
            "drizzle version",
            "import { drizzle } from 'drizzle-orm/node-postgres';\nimport { and, eq } from 'drizzle-orm';\nimport { users } from './schema';\nconst db = drizzle(pool);\nexport async function f(id) {\n const [u] = await db.select().from(users).where(eq(users.id, id)).limit(1);\n await db.update(users).set({ n: u.n + 1, version: u.version + 1 }).where(and(eq(users.id, id), eq(users.version, u.version)));\n}",
            &[],
        ),
        (
            "drizzle for update",
            "import { drizzle } from 'drizzle-orm/node-postgres';\nimport { eq } from 'drizzle-orm';\nimport { users } from './schema';\nconst db = drizzle(pool);\nexport async function f(id) {\n await db.transaction(async (tx) => {\n  const [u] = await tx.select().from(users).where(eq(users.id, id)).for('update');\n  await tx.update(users).set({ n: u.n + 1 }).where(eq(users.id, id));\n });\n}",
            &[],
        ),
        (
            "drizzle insert",
            "import { drizzle } from 'drizzle-orm/node-postgres';\nimport { eq } from 'drizzle-orm';\nimport { users } from './schema';\nconst db = drizzle(pool);\nexport async function f(e) {\n const [u] = await db.select().from(users).where(eq(users.email, e));\n if (!u) await db.insert(users).values({ email: e });\n}",
            &[("RC401", 6, 7)],
        ),
        (
            "drizzle insert once",
            "import { drizzle } from 'drizzle-orm/node-postgres';\nimport { eq } from 'drizzle-orm';\nimport { users } from './schema';\nconst db = drizzle(pool);\nexport async function f(e) {\n const [u] = await db.select().from(users).where(eq(users.email, e));\n if (!u) await db.insert(users).values({ email: e }).onConflictDoNothing();\n}",
            &[],
        ),
        (
            "knex",
            "import knex from 'knex';\nconst db = knex({});\nexport async function f(id) {\n const row = await db('t').where({ id }).first();\n await db('t').where({ id }).update({ n: row.n + 1 });\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "knex for update",
            "import knex from 'knex';\nconst db = knex({});\nexport async function f(id) {\n await db.transaction(async (trx) => {\n  const row = await trx('t').where({ id }).forUpdate().first();\n  await trx('t').where({ id }).update({ n: row.n + 1 });\n });\n}",
            &[],
        ),
        (
            "knex increment",
            "import knex from 'knex';\nconst db = knex({});\nexport async function f(id) {\n const row = await db('t').where('id', id).first();\n await db('t').where('id', id).increment('n', row.step);\n}",
            &[],
        ),
        (
            "kysely",
            "import { Kysely } from 'kysely';\nconst db = new Kysely({});\nexport async function f(id) {\n const row = await db.selectFrom('t').where('id', '=', id).selectAll().executeTakeFirst();\n await db.updateTable('t').set({ n: row.n + 1 }).where('id', '=', id).execute();\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "kysely for update",
            "import { Kysely } from 'kysely';\nconst db = new Kysely({});\nexport async function f(id) {\n await db.transaction().execute(async (trx) => {\n  const row = await trx.selectFrom('t').where('id', '=', id).selectAll().forUpdate().executeTakeFirst();\n  await trx.updateTable('t').set({ n: row.n + 1 }).where('id', '=', id).execute();\n });\n}",
            &[],
        ),
        (
            "typeorm",
            "import { DataSource } from 'typeorm';\nconst ds = new DataSource({});\nexport async function f(id) {\n const repo = ds.getRepository(User);\n const u = await repo.findOneBy({ id });\n u.n = u.n + 1;\n await repo.save(u);\n}",
            &[("RC102", 5, 7)],
        ),
        (
            "typeorm lock",
            "import { DataSource } from 'typeorm';\nconst ds = new DataSource({});\nexport async function f(id) {\n await ds.transaction(async (m) => {\n  const u = await m.findOne(User, { where: { id }, lock: { mode: 'pessimistic_write' } });\n  u.n = u.n + 1;\n  await m.save(u);\n });\n}",
            &[],
        ),
        (
            "typeorm injected",
            "class S {\n constructor(private readonly repo: Repository<User>) {}\n async f(id: string) {\n  const u = await this.repo.findOneBy({ id });\n  await this.repo.update({ id }, { n: u.n + 1 });\n }\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "sequelize",
            "import { Model } from 'sequelize';\nclass User extends Model {}\nexport async function f(id) {\n const u = await User.findByPk(id);\n u.n += 1;\n await u.save();\n}",
            &[("RC102", 4, 6)],
        ),
        (
            "sequelize increment",
            "import { Model } from 'sequelize';\nclass User extends Model {}\nexport async function f(id) {\n const u = await User.findByPk(id);\n await u.increment('n');\n}",
            &[],
        ),
        (
            "mongoose",
            "import mongoose from 'mongoose';\nconst User = mongoose.model('User', schema);\nexport async function f(id) {\n const u = await User.findById(id);\n u.n += 1;\n await u.save();\n}",
            &[("RC103", 4, 6)],
        ),
        (
            "mongodb",
            "import { MongoClient } from 'mongodb';\nconst users = new MongoClient('x').db('a').collection('users');\nexport async function f(id) {\n const u = await users.findOne({ _id: id });\n await users.updateOne({ _id: id }, { $set: { n: u.n + 1 } });\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "mongodb inc",
            "import { MongoClient } from 'mongodb';\nconst users = new MongoClient('x').db('a').collection('users');\nexport async function f(id) {\n await users.updateOne({ _id: id }, { $inc: { n: 1 } });\n}",
            &[],
        ),
        (
            "mongodb compare",
            "import { MongoClient } from 'mongodb';\nconst users = new MongoClient('x').db('a').collection('users');\nexport async function f(id) {\n const u = await users.findOne({ _id: id });\n await users.updateOne({ _id: id, n: u.n }, { $set: { n: u.n + 1 } });\n}",
            &[],
        ),
        (
            "supabase",
            "import { createClient } from '@supabase/supabase-js';\nconst db = createClient('u', 'k');\nexport async function f(id) {\n const { data } = await db.from('t').select('n').eq('id', id).single();\n await db.from('t').update({ n: data.n + 1 }).eq('id', id);\n}",
            &[("RC102", 4, 5)],
        ),
        (
            "supabase compare",
            "import { createClient } from '@supabase/supabase-js';\nconst db = createClient('u', 'k');\nexport async function f(id) {\n const { data } = await db.from('t').select('n').eq('id', id).single();\n await db.from('t').update({ n: data.n + 1 }).eq('id', id).eq('n', data.n);\n}",
            &[],
        ),
        (
            "firestore",
            "import { getFirestore } from 'firebase-admin/firestore';\nconst db = getFirestore();\nexport async function f(id) {\n const ref = db.collection('t').doc(id);\n const s = await ref.get();\n await ref.update({ n: s.data().n + 1 });\n}",
            &[("RC103", 5, 6)],
        ),
        (
            "firestore transaction",
            "import { getFirestore } from 'firebase-admin/firestore';\nconst db = getFirestore();\nexport async function f(id) {\n const ref = db.collection('t').doc(id);\n await db.runTransaction(async (t) => {\n  const s = await t.get(ref);\n  t.update(ref, { n: s.data().n + 1 });\n });\n}",
            &[],
        ),
        (
            "dynamodb",
            "import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';\nconst c = DynamoDBDocumentClient.from(x);\nexport async function f(id) {\n const r = await c.send(new GetCommand({ TableName: 't', Key: { id } }));\n await c.send(new PutCommand({ TableName: 't', Item: { id, n: r.Item.n + 1 } }));\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "dynamodb condition",
            "import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';\nconst c = DynamoDBDocumentClient.from(x);\nexport async function f(id) {\n const r = await c.send(new GetCommand({ TableName: 't', Key: { id } }));\n await c.send(new PutCommand({ TableName: 't', Item: { id, n: r.Item.n + 1 }, ConditionExpression: 'v = :v' }));\n}",
            &[],
        ),
        (
            "s3",
            "import { S3Client, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';\nconst s3 = new S3Client({});\nexport async function f(x) {\n const o = await s3.send(new GetObjectCommand({ Bucket: 'b', Key: 'k' }));\n await s3.send(new PutObjectCommand({ Bucket: 'b', Key: 'k', Body: o.Body + x }));\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "s3 if match",
            "import { S3Client, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';\nconst s3 = new S3Client({});\nexport async function f(x) {\n const o = await s3.send(new GetObjectCommand({ Bucket: 'b', Key: 'k' }));\n await s3.send(new PutObjectCommand({ Bucket: 'b', Key: 'k', Body: o.Body + x, IfMatch: o.ETag }));\n}",
            &[],
        ),
    ];
    check("a.ts", TABLE);
}
