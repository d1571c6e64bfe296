const Disk = require("./disk");

class Book {
  constructor() {
    this.disk = new Disk();
  }
  get lines() {
    return this.disk.k1();
  }
  edit(id, text) {
    const { lines } = this;
    lines[id].text = text;
    this.disk.k2(lines);
  }
}

module.exports = new Book();
