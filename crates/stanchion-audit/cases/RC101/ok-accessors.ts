// also: RC302
import fs from "node:fs";

class Settings {
  private kept: Record<string, unknown> = {};

  get all() {
    return this.kept;
  }

  set all(value: Record<string, unknown>) {
    this.kept = value;
  }

  restore() {
    this.all = JSON.parse(fs.readFileSync("/data/defaults.json", "utf8"));
  }
}

const settings = new Settings();

export function export_(path: string) {
  settings.restore();
  fs.writeFileSync(path, JSON.stringify(settings.all));
}
