import { connect, Connection } from "./wire.js";
import express from "express";

class Link {
  private connection: Connection | null = null;
  private opened = 0;

  async get(url: string): Promise<Connection> {
    if (!this.connection) {
      this.connection = await connect(url); // expect: RC104 read=9
      this.opened += 1;
    }
    return this.connection;
  }
}

const link = new Link();
const app = express();

app.get("/rows", async (req, res) => {
  const connection = await link.get(process.env.WIRE_URL!);
  res.json(await connection.rows(req.query.table));
});
