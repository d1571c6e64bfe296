// also: RC302
import { readFileSync, writeFileSync } from "node:fs";

export class Guests {
  names = [];
  constructor(file) {
    this.file = file;
    for (const name of JSON.parse(readFileSync(file, "utf8"))) this.names.push(name);
  }

  add(name) {
    this.names.push(name);
    writeFileSync(this.file, JSON.stringify(this.names)); // expect: RC107 read=8
  }
}
