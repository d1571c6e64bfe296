// also: RC302
const fs = require("fs");

class Disk {
  constructor() {
    this.file = "/data/book.json";
  }
  k1() {
    return JSON.parse(fs.readFileSync(this.file, "utf8"));
  }
  k2(all) {
    fs.writeFileSync(this.file, JSON.stringify(all)); // expect: RC101 read=disk.js:9
  }
}

module.exports = Disk;
