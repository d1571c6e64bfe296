// It is set before anybody else can run, and a promise is there for all who come meanwhile.
import express from "express";
import mysql from "mysql2/promise";
import { allowed } from "./remote.js";

class Seats {
  static readonly most = 100;
  static taken = 0;
  private static starting?: Promise<mysql.Connection>;

  static db() {
    if (!this.starting) this.starting = mysql.createConnection(process.env.DB!);
    return this.starting;
  }

  static async take(who: string) {
    if (!(await allowed(who)) || Seats.taken >= Seats.most) return false;
    Seats.taken += 1;
    await (await this.db()).query("INSERT INTO seats (who) VALUES (?)", [who]);
    return true;
  }
}

const app = express();
app.post("/seats", async (req, res) => {
  res.json(await Seats.take(req.body.who));
});
app.listen(3000);
