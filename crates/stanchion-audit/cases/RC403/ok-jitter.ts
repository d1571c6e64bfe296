const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function fetchText(url: string): Promise<string> {
  let last: unknown;
  for (let attempt = 0; attempt < 6; attempt++) {
    try {
      const answer = await fetch(url);
      return await answer.text();
    } catch (error) {
      last = error;
      await sleep(Math.random() * Math.min(30_000, 250 * 2 ** attempt));
    }
  }
  throw last;
}
