// The first one alone sends those away who come meanwhile.
import { Client } from "pg";

class Ledger {
  client = null;
  version = null;

  async open() {
    if (this.client || this.version) return;
    this.client = new Client({ connectionString: process.env.LEDGER });
    await this.client.connect();
    this.version = await this.client.migrate();
  }

  async again() {
    if (!this.client && !this.version) {
      this.client = new Client({ connectionString: process.env.LEDGER });
      await this.client.connect();
      this.version = await this.client.migrate();
    }
  }
}

export const ledger = new Ledger();
