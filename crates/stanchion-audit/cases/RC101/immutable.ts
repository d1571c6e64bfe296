// also: RC302
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

type Task = { id: number; title: string; done: boolean };

class Tasks {
  private readonly file: string;
  constructor(dir: string) {
    this.file = path.join(dir, "tasks.json");
  }

  all = async (): Promise<Task[]> => {
    const raw = await fs.readFile(this.file, { encoding: "utf8" });
    return JSON.parse(raw);
  };

  put = async (tasks: Task[]): Promise<void> => {
    await fs.writeFile(this.file, JSON.stringify(tasks)); // expect: RC101 read=16
  };

  async finish(id: number): Promise<void> {
    const tasks = await this.all();
    await this.put(tasks.map((t) => (t.id === id ? { ...t, done: true } : t)));
  }

  async remove(id: number): Promise<void> {
    const left = (await this.all()).filter((t) => t.id !== id);
    await this.put(left);
  }
}

const tasks = new Tasks(process.env.TASKS_DIR ?? ".");
const server = new McpServer({ name: "tasks", version: "0.1.0" });
server.tool("finish", { id: z.number() }, async ({ id }) => {
  await tasks.finish(id);
  return { content: [] };
});
server.tool("remove", { id: z.number() }, async ({ id }) => {
  await tasks.remove(id);
  return { content: [] };
});
