// deployment: cluster
import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, serial, text, uniqueIndex } from "drizzle-orm/pg-core";

export const users = pgTable("users", { id: serial("id").primaryKey(), email: text("email").notNull().unique() });
export const teams = pgTable("teams", { id: serial("id"), name: text("name") }, (t) => [
  uniqueIndex("by_name").on(t.name),
]);
const db = drizzle(process.env.URL!);

export async function register(email: string) {
  const [row] = await db.select().from(users).where(eq(users.email, email));
  if (row) return false;
  await db.insert(users).values({ email });
  return true;
}

export async function found(name: string) {
  const [row] = await db.select().from(teams).where(eq(teams.name, name));
  if (row) return false;
  await db.insert(teams).values({ name });
  return true;
}
