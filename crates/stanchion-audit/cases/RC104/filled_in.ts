// What is waited for is put there when others have looked, too.
import { connect, Connection } from "./wire.js";

class Link {
  private connection?: Connection;

  async rows(table: string) {
    this.connection ??= await connect(process.env.WIRE!); // expect: RC104 read=8
    return this.connection.rows(table);
  }
}

export const link = new Link();
