const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function fetchForever(url: string): Promise<string> {
  for (;;) {
    try {
      const answer = await fetch(url); // expect: RC403
      return await answer.text();
    } catch {
      await sleep(1000);
    }
  }
}
