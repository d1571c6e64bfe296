import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import knexLib from "knex";

const users = sqliteTable("users", { id: text("id").primaryKey(), email: text("email") });
const db = drizzle("x.db");
const knex = knexLib({ client: "pg" });

export async function ensure(email: string) {
  const found = await db.query.users.findFirst({ where: eq(users.email, email) });
  if (found) return found;
  return db.insert(users).values({ id: crypto.randomUUID(), email }).returning(); // expect: RC401 read=11
}

export async function ensureRow(email: string) {
  const found = await knex("members").where({ email }).first();
  if (found) return found;
  return knex("members").insert({ email }); // expect: RC401 read=17
}

// It is only put together here, and nothing has been asked where it is run.
function adding(email: string) {
  return knex("guests").insert({ email });
}

export async function add(email: string) {
  await adding(email);
}
