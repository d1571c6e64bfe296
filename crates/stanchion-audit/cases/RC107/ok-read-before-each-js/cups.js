// also: RC101, RC302
import fs from "node:fs";

class Cups {
  all = {};
  look() {
    this.all = JSON.parse(fs.readFileSync("/data/cups.json", "utf8"));
  }
  put() {
    fs.writeFileSync("/data/cups.json", JSON.stringify(this.all));
  }
  fill(cup, what) {
    this.look();
    this.all[cup] = what;
    this.put();
  }
}

export const cups = new Cups();
