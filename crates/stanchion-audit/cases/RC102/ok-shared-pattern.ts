import { Pool } from "pg";

const db = new Pool();
const UNIT = new RegExp("^([0-9.]+) *([a-z]+)$");

function unit(text: string): string {
  const found = UNIT.exec(text);
  return found ? found[2] : text;
}

export async function measure(name: string, size: string) {
  const { rows } = await db.query("SELECT name, unit FROM sizes");
  const units = rows.map((row) => unit(row.unit));
  await db.query("UPDATE sizes SET unit = $1 WHERE name = $2", [unit(size), name]);
  return units;
}
