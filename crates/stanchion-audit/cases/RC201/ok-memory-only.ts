import { Mutex } from "async-mutex";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const mutex = new Mutex();
const sums = new Map<string, number>();
const server = new McpServer({ name: "sums", version: "1.0.0" });

async function rate(currency: string): Promise<number> {
  const answer = await fetch(`https://rates.example/${currency}`);
  return (await answer.json()).rate;
}

server.tool("add", { currency: z.string(), amount: z.number() }, async ({ currency, amount }) => {
  const total = await mutex.runExclusive(async () => {
    const before = sums.get(currency) ?? 0;
    const after = before + amount * (await rate(currency));
    sums.set(currency, after);
    return after;
  });
  return { content: [{ type: "text", text: String(total) }] };
});
