// deployment: cluster
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";

const db = drizzle(process.env.URL!);

export async function add() {
  await db.execute(sql`SELECT pg_advisory_lock(7)`); // expect: RC210
  try {
    await db.execute(sql`UPDATE t SET n = n + 1`);
  } finally {
    await db.execute(sql`SELECT pg_advisory_unlock(7)`);
  }
}
