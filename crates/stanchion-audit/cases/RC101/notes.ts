// also: RC304
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { promises as fs } from "fs";
import path from "path";
import { z } from "zod";

interface Note { id: string; title: string; body: string; tags: string[] }

const DATA_DIR = process.env.NOTES_DIR ?? path.join(process.cwd(), "data");
const NOTES_PATH = path.join(DATA_DIR, "notes.json");

async function readNotes(): Promise<Note[]> {
  try {
    const raw = await fs.readFile(NOTES_PATH, "utf-8");
    return JSON.parse(raw) as Note[];
  } catch {
    return [];
  }
}

async function writeNotes(notes: Note[]): Promise<void> {
  await fs.mkdir(DATA_DIR, { recursive: true });
  await fs.writeFile(NOTES_PATH, JSON.stringify(notes, null, 2)); // expect: RC101 read=15, RC302
}

const server = new McpServer({ name: "notes", version: "1.0.0" });

server.tool("create_note", { title: z.string(), body: z.string() }, async ({ title, body }) => {
  const notes = await readNotes();
  const note: Note = { id: String(notes.length + 1), title, body, tags: [] };
  notes.push(note);
  await writeNotes(notes);
  return { content: [{ type: "text", text: note.id }] };
});

server.tool("list_notes", {}, async () => {
  const notes = await readNotes();
  return { content: [{ type: "text", text: notes.map((n) => n.title).join("\n") }] };
});

await server.connect(new StdioServerTransport());
