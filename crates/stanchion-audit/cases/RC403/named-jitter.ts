import { jitter } from "limits";

const randomDelay = () => jitter;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function fetchText(url: string): Promise<string> {
  for (;;) {
    try {
      const answer = await fetch(url); // expect: RC403
      return await answer.text();
    } catch {
      await sleep(randomDelay());
    }
  }
}
