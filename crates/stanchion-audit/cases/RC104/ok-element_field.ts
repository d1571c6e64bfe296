import express from "express";
import { allowed } from "./remote.js";

const sessions = new Map<string, { left: number; last: string }>();

const app = express();
app.post("/:session", async (req, res) => {
  const session = sessions.get(req.params.session);
  if (!session) return res.status(404).end();
  session.last = await allowed(session.left);
  session.left = session.left - 1;
  res.end();
});
app.listen(3000);
