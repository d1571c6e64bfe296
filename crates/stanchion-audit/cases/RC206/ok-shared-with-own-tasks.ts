import { Mutex } from "async-mutex";

export async function crawl(urls: string[]): Promise<string[]> {
  const mutex = new Mutex();
  const pages: string[] = [];
  await Promise.all(
    urls.map(async (url) => {
      const text = await (await fetch(url)).text();
      await mutex.runExclusive(async () => {
        pages.push(text);
      });
    }),
  );
  return pages;
}

const locks = new Map<string, Mutex>();

export async function perKey(key: string, work: () => Promise<void>) {
  let mutex = locks.get(key);
  if (!mutex) {
    mutex = new Mutex();
    locks.set(key, mutex);
  }
  await mutex.runExclusive(work);
}
