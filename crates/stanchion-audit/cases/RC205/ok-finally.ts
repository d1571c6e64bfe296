// also: RC302
import { Mutex } from "async-mutex";
import fs from "node:fs/promises";

const mutex = new Mutex();
let count = 0;

export async function fetchOnce(url: string): Promise<string> {
  const release = await mutex.acquire();
  try {
    const answer = await fetch(url);
    if (!answer.ok) return "";
    return await answer.text();
  } finally {
    release();
  }
}

export async function bump(): Promise<number> {
  const release = await mutex.acquire();
  count += 1;
  release();
  return count;
}
