// deployment: cluster
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, serial, text, uniqueIndex } from "drizzle-orm/pg-core";

export const teams = pgTable("teams", { id: serial("id").primaryKey(), name: text("name") }, (t) => [
  uniqueIndex("by_name").on(t.name).where(sql`deleted_at IS NULL`),
]);
const db = drizzle(process.env.URL!);

export async function found(name: string) {
  const [row] = await db.select().from(teams).where(eq(teams.name, name));
  if (row) return false;
  await db.insert(teams).values({ name }); // expect: RC401 read=12
  return true;
}
