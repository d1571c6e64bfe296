// Nothing is kept until it has started: two who come at once both start.
import { launch, Browser } from "puppeteer";

class Reader {
  private engine?: Browser;

  async ready(path: string) {
    if (!this.engine) {
      this.engine = await launch({ executablePath: path }); // expect: RC104 read=8
    }
    return this.engine;
  }
}

export const reader = new Reader();
