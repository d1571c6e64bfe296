// Two that come first both connect, and one of the two connections is nobody's.
import express from "express";
import mysql from "mysql2/promise";

class Db {
  private static instance?: mysql.Connection;

  static async get() {
    if (!Db.instance) {
      Db.instance = await mysql.createConnection(process.env.DB!); // expect: RC104 read=9
    }
    return Db.instance;
  }
}

const app = express();
app.get("/", async (_req, res) => {
  const [rows] = await (await Db.get()).query("SELECT 1");
  res.json(rows);
});
app.listen(3000);
