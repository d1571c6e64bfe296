// also: RC302
import * as fs from "node:fs/promises";

export interface Entity { name: string; facts: string[] }
export interface Graph { entities: Entity[]; edges: [string, string][] }

export class Box {
  constructor(private readonly where: string) {}

  async a(): Promise<Graph> {
    const text = await fs.readFile(this.where, "utf-8");
    const graph: Graph = { entities: [], edges: [] };
    for (const line of text.split("\n")) {
      const item = JSON.parse(line);
      if (item.kind === "entity") graph.entities.push(item);
      else graph.edges.push(item.edge);
    }
    return graph;
  }

  async b(graph: Graph): Promise<void> {
    const lines = [
      ...graph.entities.map((e) => JSON.stringify({ kind: "entity", ...e })),
      ...graph.edges.map((edge) => JSON.stringify({ kind: "edge", edge })),
    ];
    await fs.writeFile(this.where, lines.join("\n")); // expect: RC101 read=11
  }
}
