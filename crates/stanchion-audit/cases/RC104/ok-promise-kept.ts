import { connect, Connection } from "./wire.js";

class Link {
  private connection?: Promise<Connection>;
  private calls = 0;

  get(url: string): Promise<Connection> {
    this.connection ??= connect(url);
    return this.connection;
  }

  async rows(url: string, table: string) {
    const connection = await this.get(url);
    const rows = await connection.rows(table);
    this.calls += 1;
    return rows;
  }
}

export const link = new Link();
