// also: RC302
import fs from "node:fs";
import Redis from "ioredis";

export function openShelf(file) {
  const load = () => JSON.parse(fs.readFileSync(file, "utf8"));
  return {
    size: () => load().length,
    add(book) {
      const books = load();
      books.push(book);
      fs.writeFileSync(file, JSON.stringify(books)); // expect: RC101 read=10
    },
  };
}

export function visits(file) {
  return (req, res, next) => {
    const all = JSON.parse(fs.readFileSync(file, "utf8"));
    all.count += 1;
    fs.writeFileSync(file, JSON.stringify(all)); // expect: RC101 read=19
    next();
  };
}

const redis = new Redis();
export const session = () => async (ctx, next) => {
  const session = JSON.parse(await redis.get(ctx.id));
  session.count += 1;
  await next();
  await redis.set(ctx.id, JSON.stringify(session)); // expect: RC103 read=28
};

export function register(file) {
  const names = JSON.parse(fs.readFileSync(file, "utf8"));
  return (name) => {
    names.push(name);
    fs.writeFileSync(file, JSON.stringify(names)); // expect: RC107 read=35
  };
}
