// It is locked, asked for again, or compared in the statement itself.
import express from "express";
import { Pool } from "pg";

const pool = new Pool();
const app = express();

app.post("/bookings/:id/close", async (req, res) => {
  await pool.query("UPDATE bookings SET phase = 'closed' WHERE id = $1", [req.params.id]);
  res.status(204).end();
});

app.put("/bookings/:id/guest", async (req, res) => {
  const { rows } = await pool.query("SELECT id, phase FROM bookings WHERE id = $1", [req.params.id]);
  if (rows[0].phase !== "open") return res.status(409).end();
  const sql = "UPDATE bookings SET guest = $1 WHERE id = $2 AND phase = 'open'";
  const done = await pool.query(sql, [req.body.guest, req.params.id]);
  res.status(done.rowCount ? 204 : 409).end();
});

app.put("/bookings/:id/room", async (req, res) => {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query("SELECT phase FROM bookings WHERE id = $1 FOR UPDATE", [req.params.id]);
    if (rows[0].phase === "open") {
      await client.query("UPDATE bookings SET room = $1 WHERE id = $2", [req.body.room, req.params.id]);
    }
    await client.query("COMMIT");
  } finally {
    client.release();
  }
  res.status(204).end();
});

app.put("/bookings/:id/wish", async (req, res) => {
  const { rows } = await pool.query("SELECT id, kind FROM bookings WHERE id = $1", [req.params.id]);
  if (rows[0].kind === "group") return res.status(409).end();
  await pool.query("UPDATE bookings SET wish = $1 WHERE id = $2", [req.body.wish, req.params.id]);
  res.status(204).end();
});
