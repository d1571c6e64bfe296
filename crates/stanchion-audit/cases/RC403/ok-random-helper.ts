function foo(): number {
  return Math.random();
}

function bar(most: number): number {
  const x = foo();
  return x * most;
}

export async function fetchText(url: string): Promise<string> {
  for (;;) {
    try {
      const answer = await fetch(url);
      return await answer.text();
    } catch {
      const x = bar(1000);
      await new Promise((resolve) => setTimeout(resolve, x));
    }
  }
}
