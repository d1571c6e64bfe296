import { Pool } from "pg";
import express from "express";

const pool = new Pool();
const app = express();

app.put("/forms/:id", async (req, res) => {
  const found = await pool.query("SELECT revision FROM forms WHERE id = $1", [req.params.id]);
  if (found.rows[0].revision !== req.body.revision) return res.status(409).end();
  await pool.query("UPDATE forms SET fields = $1, revision = revision + 1 WHERE id = $2", [req.body.fields, req.params.id]); // expect: RC106 read=8
  res.status(204).end();
});
