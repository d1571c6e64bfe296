// A variable of the function that makes the server is shared by all requests.
import express from "express";
import { allowed } from "./remote.js";

function made() {
  const app = express();
  let left = 10;
  app.post("/take", async (req, res) => {
    const before = left;
    if (!(await allowed(req.body))) return res.status(403).end();
    left = before - 1; // expect: RC104 read=9
    res.end();
  });
  return app;
}

made().listen(3000);
