import { Pool } from "pg";
import express from "express";

const pool = new Pool();
const app = express();

app.put("/tasks/:id", async (req, res) => {
  const found = await pool.query("SELECT id, title FROM tasks WHERE id = $1", [req.params.id]);
  if (found.rows.length === 0) return res.status(404).end();
  await pool.query("UPDATE tasks SET title = $1 WHERE id = $2", [req.body.title, req.params.id]);
  res.status(204).end();
});

export async function run(jobId: string, work: (job: unknown) => Promise<void>) {
  const { rows } = await pool.query("SELECT * FROM jobs WHERE id = $1", [jobId]);
  try {
    await work(rows[0]);
    await pool.query("UPDATE jobs SET state = 'done' WHERE id = $1", [jobId]);
  } catch (error) {
    await pool.query("UPDATE jobs SET state = 'failed' WHERE id = $1", [jobId]);
  }
}
