// A variable of a block is not the one outside that has its name.
import path from "node:path";

let config: Record<string, string> = {};

export async function load(all: Map<string, string>) {
  const names = [...all].map(([path, _]) => path);
  for (const [config, value] of all) console.error(config, value);
  return names;
}

export async function show(url: string) {
  const shown = config.title ?? path.basename(url);
  const answer = await fetch(url);
  const config_ = await answer.json();
  {
    const config = { ...config_, title: shown };
    return config;
  }
}
