import express from "express";
import fs from "node:fs";

class Vault {
  constructor(private root: string) {}

  private at(name: string) {
    return `${this.root}/${name}`;
  }

  has(name: string) {
    return fs.existsSync(this.at(name));
  }

  move(a: string, b: string) {
    if (this.has(b)) throw new Error("taken");
    fs.renameSync(this.at(a), this.at(b)); // expect: RC301 read=12
  }
}

const vault = new Vault("/data");
const app = express();
app.post("/move", (req, res) => {
  vault.move(req.body.a, req.body.b);
  res.end();
});
app.post("/rename", (req, res) => {
  if (fs.existsSync(req.body.b)) throw new Error("taken");
  fs.renameSync(req.body.a, req.body.b); // expect: RC301 read=28
  res.end();
});
app.listen(1);
