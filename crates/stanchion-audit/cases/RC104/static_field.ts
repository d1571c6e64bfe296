// A field of the class is one for all requests.
import express from "express";
import { allowed } from "./remote.js";

class Seats {
  static left = 100;

  static async take(who: string) {
    const before = this.left;
    if (!(await allowed(who))) return false;
    this.left = before - 1; // expect: RC104 read=9
    return true;
  }
}

const app = express();
app.post("/seats", async (req, res) => {
  res.json(await Seats.take(req.body.who));
});
app.listen(3000);
