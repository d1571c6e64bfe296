import fs from "node:fs";
import path from "node:path";

export function move(dir: string, from: string, to: string) {
  const target = path.join(dir, to);
  if (fs.existsSync(target)) throw new Error("there");
  fs.renameSync(path.join(dir, from), target); // expect: RC301 read=6
}

export function archive(from: string, to: string) {
  if (fs.existsSync("/data/" + to)) throw new Error("there");
  fs.renameSync("/data/" + from, "/data/" + to); // expect: RC301 read=11
}

function put(from: string, to: string) {
  if (fs.existsSync(to)) throw new Error("there");
  fs.renameSync(from, to); // expect: RC301 read=16
}

export function go(o: { a: string; b: string }) {
  put(o.a, o.b);
}
