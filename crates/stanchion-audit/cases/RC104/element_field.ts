// A session is one object for all requests that name it.
import express from "express";
import { allowed } from "./remote.js";

const sessions = new Map<string, { left: number }>();

const app = express();
app.post("/:session", async (req, res) => {
  const session = sessions.get(req.params.session);
  if (!session) return res.status(404).end();
  const before = session.left;
  if (!(await allowed(req.body))) return res.status(403).end();
  session.left = before - 1; // expect: RC104 read=11
  res.end();
});
app.listen(3000);
