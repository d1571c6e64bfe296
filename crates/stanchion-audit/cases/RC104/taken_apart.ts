import express from "express";
import { allowed } from "./remote.js";

const state = { seats: { left: 100 } };

const app = express();
app.post("/seats", async (req, res) => {
  const {
    seats: { left },
  } = state;
  if (!(await allowed(req.body))) return res.status(403).end();
  state.seats.left = left - 1; // expect: RC104 read=8
  res.end();
});
app.listen(3000);
