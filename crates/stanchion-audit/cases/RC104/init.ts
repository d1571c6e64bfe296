import { createClient } from "redis";

class Store {
  private client: ReturnType<typeof createClient> | undefined;

  private async open() {
    const made = createClient({ url: process.env.REDIS_URL });
    await made.connect();
    this.client = made; // expect: RC104
  }

  async get(key: string) {
    if (!this.client) await this.open();
    return this.client!.get(key);
  }
}

export const store = new Store();
