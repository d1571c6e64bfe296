// also: RC302
import fs from "node:fs";

class Settings {
  constructor(private path = "/data/settings.json") {}

  get all() {
    return JSON.parse(fs.readFileSync(this.path, "utf8"));
  }

  set all(value: Record<string, unknown>) {
    fs.writeFileSync(this.path, JSON.stringify(value)); // expect: RC101 read=8
  }
}

const settings = new Settings();

export function put(name: string, value: unknown) {
  const all = settings.all;
  all[name] = value;
  settings.all = all;
}
