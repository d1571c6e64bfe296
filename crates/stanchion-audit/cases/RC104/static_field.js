import express from "express";
import { allowed } from "./remote.js";

class Seats {
  static left = 100;
}

const app = express();
app.post("/seats", async (req, res) => {
  const before = Seats.left;
  if (!(await allowed(req.body))) return res.status(403).end();
  Seats.left = before - 1; // expect: RC104 read=10
  res.end();
});
app.listen(3000);
