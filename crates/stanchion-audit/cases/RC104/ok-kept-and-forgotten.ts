// The promise is kept before anybody else can run, and forgotten only if it fails.
import { open, Engine } from "./engine.js";

class Reader {
  private engine?: Engine;
  private starting: Promise<void> | null = null;

  private async start(path: string) {
    if (this.engine) {
      return;
    }
    this.engine = await open(path);
  }

  async ready(path: string) {
    if (this.engine) {
      return;
    }
    if (this.starting !== null) {
      await this.starting;
      return;
    }
    this.starting = this.start(path).catch((error) => {
      this.starting = null;
      throw error;
    });
    await this.starting;
  }
}

export const reader = new Reader();
