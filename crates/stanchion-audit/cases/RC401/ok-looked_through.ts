import { Pool } from "pg";

const pool = new Pool();

export async function everyOneIsWhole(title: string) {
  const { rows } = await pool.query("SELECT body FROM notes");
  for (const row of rows) {
    if (!row.body) throw new Error("damaged");
  }
  await pool.query("INSERT INTO notes (title, body) VALUES ($1, '-')", [title]);
}

export async function parentsAreThere(title: string, parents: number[]) {
  for (const parent of parents) {
    const { rows } = await pool.query("SELECT id FROM topics WHERE id = $1", [parent]);
    if (rows.length === 0) throw new Error(`no topic ${parent}`);
  }
  await pool.query("INSERT INTO topics (title) VALUES ($1)", [title]);
}

export async function onConflict(title: string) {
  const { rows } = await pool.query("SELECT title FROM pages");
  for (const row of rows) {
    if (row.title === title) return;
  }
  await pool.query("INSERT INTO pages (title) VALUES ($1) ON CONFLICT DO NOTHING", [title]);
}
