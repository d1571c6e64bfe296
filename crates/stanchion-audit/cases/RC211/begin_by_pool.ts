// deployment: cluster; also: RC102
import express from "express";
import { Pool } from "pg";

const pool = new Pool();
const app = express();
app.post("/:id", async (req, res) => {
  await pool.query("BEGIN");
  const { rows } = await pool.query("SELECT n FROM t WHERE id=$1 FOR UPDATE", [req.params.id]); // expect: RC211
  await pool.query("UPDATE t SET n=$1 WHERE id=$2", [rows[0].n + 1, req.params.id]);
  await pool.query("COMMIT");
  res.end();
});
app.listen(1);
