// A flag that is set in the end says only that it has been there, in whichever branch.
import { mkdir } from "node:fs/promises";
import { register } from "./remote.js";

export class Store {
  private ready = false;

  async open() {
    if (this.ready) return;
    try {
      await mkdir("/data", { recursive: true });
      await register();
      this.ready = true;
    } catch {
      await register();
      this.ready = true;
    }
  }
}
