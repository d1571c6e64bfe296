// also: RC101, RC302
import fs from "fs";

class I {
  private x: { list: string[] } = { list: [] };

  i1(p: string) {
    try {
      this.x = JSON.parse(fs.readFileSync(p, "utf8"));
    } catch {
      this.x = { list: [] };
    }
  }

  i2(p: string, item: string) {
    this.i1(p);
    this.x.list.push(item);
    fs.writeFileSync(p, JSON.stringify(this.x)); // expect: RC304 read=9
  }
}

export const i = new I();
