import express from "express";
import { allowed } from "./remote.js";

class Visits {
  private static readonly byPage = new Map<string, number>();

  static async count(page: string) {
    const before = Visits.byPage.get(page) ?? 0;
    if (!(await allowed(page))) return;
    Visits.byPage.set(page, before + 1); // expect: RC104 read=8
  }
}

const app = express();
app.post("/:page", async (req, res) => {
  await Visits.count(req.params.page);
  res.end();
});
app.listen(3000);
