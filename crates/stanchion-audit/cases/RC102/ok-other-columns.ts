// The row's name makes its slug, and nobody else's slug is written back.
import { Pool } from "pg";
import express from "express";

const pool = new Pool();
const app = express();

app.post("/pages/:id/slug", async (req, res) => {
  const { rows } = await pool.query("SELECT id, name FROM pages WHERE id = $1", [req.params.id]);
  const slug = rows[0].name.toLowerCase().replaceAll(" ", "-");
  await pool.query("UPDATE pages SET slug = $1 WHERE id = $2", [slug, rows[0].id]);
  res.json({ slug });
});
