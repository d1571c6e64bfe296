// also: RC302
import fs from "node:fs";
import { Mutex } from "async-mutex";
import Redis from "ioredis";
import lockfile from "proper-lockfile";

// One is asked, the other written: nothing goes from one to the other.
export function settings(file) {
  return {
    read: () => JSON.parse(fs.readFileSync(file, "utf8")),
    write: (all) => fs.writeFileSync(file, JSON.stringify(all)),
  };
}

// Whoever has the shelf has the lock.
export async function lockedShelf(file) {
  const release = await lockfile.lock(file);
  return {
    add(book) {
      const books = JSON.parse(fs.readFileSync(file, "utf8"));
      books.push(book);
      fs.writeFileSync(file, JSON.stringify(books));
    },
    close: () => release(),
  };
}

// The mutex is made once for all that it is given back with.
export function oneAfterTheOther(redis) {
  const mutex = new Mutex();
  let last = 0;
  return {
    next: () =>
      mutex.runExclusive(async () => {
        const now = last;
        await redis.ping();
        last = now + 1;
      }),
  };
}

const redis = new Redis();
export async function row(id) {
  const before = await redis.get(id);
  return { before, replace: (text) => redis.set(id, text) };
}
