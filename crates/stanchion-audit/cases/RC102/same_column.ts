// The twin of ok-other-columns: the column that is written is among those that were read.
import { Pool } from "pg";
import express from "express";

const pool = new Pool();
const app = express();

app.post("/pages/:id/tags", async (req, res) => {
  const { rows } = await pool.query("SELECT id, tags FROM pages WHERE id = $1", [req.params.id]);
  const tags = [...rows[0].tags, req.body.tag];
  await pool.query("UPDATE pages SET tags = $1 WHERE id = $2", [tags, rows[0].id]); // expect: RC102 read=9
  res.json({ tags });
});
