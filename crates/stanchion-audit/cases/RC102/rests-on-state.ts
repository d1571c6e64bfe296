// What is compared is changed by somebody else, and the write does not look at it again.
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
  await pool.query("UPDATE bookings SET guest = $1 WHERE id = $2", [req.body.guest, req.params.id]); // expect: RC102 read=14
  res.status(204).end();
});

app.put("/bookings/:id/room", async (req, res) => {
  const { rows } = await pool.query("SELECT id, phase FROM bookings WHERE id = $1", [req.params.id]);
  if (rows[0].phase === "open") {
    await pool.query("UPDATE bookings SET room = $1 WHERE id = $2", [req.body.room, req.params.id]); // expect: RC102 read=21
  }
  res.status(204).end();
});
