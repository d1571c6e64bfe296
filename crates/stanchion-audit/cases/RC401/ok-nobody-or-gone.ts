// The twin of nothing-to-ask-or-there: behind the condition the member is there, and is no reason for a second one.
import { Pool } from "pg";
import express from "express";

const pool = new Pool();
const app = express();

app.post("/members/:email/again", async (req, res) => {
  const { email } = req.params;
  const member = (await pool.query("SELECT id, gone FROM members WHERE email = $1", [email])).rows[0];
  if (!member || member.gone) return res.status(404).end();
  await pool.query("INSERT INTO members (email, parent) VALUES ($1, $2)", [req.body.email, email]);
  res.status(201).end();
});
