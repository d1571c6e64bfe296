// Whoever gives no address is sent away with whoever is there already: behind that, nobody was found.
import { Pool } from "pg";
import express from "express";

const pool = new Pool();
const app = express();

app.post("/members", async (req, res) => {
  const { email } = req.body;
  const existing = (await pool.query("SELECT id FROM members WHERE email = $1", [email])).rows[0];
  if (!email || existing) return res.status(409).end();
  await pool.query("INSERT INTO members (email) VALUES ($1)", [email]); // expect: RC401 read=10
  res.status(201).end();
});
