// Only both together send somebody away, and between the two others come.
import { Client } from "pg";

class Ledger {
  client = null;
  version = null;

  async open() {
    if (this.client && this.version) return;
    this.client = new Client({ connectionString: process.env.LEDGER });
    await this.client.connect();
    this.version = await this.client.migrate(); // expect: RC104 read=9
  }

  async close() {
    if (!this.client || !this.version) return;
    await this.client.end();
  }
}

export const ledger = new Ledger();
