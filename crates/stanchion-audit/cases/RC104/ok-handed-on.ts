// The map is handed on before the pause, and asked behind it.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";

type Session = { key: string; calls: number };

async function body(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += part;
  return text;
}

function session(sessions: Map<string, Session>, message: { method: string }, key: string): Session | undefined {
  if (message.method === "initialize") {
    const made = { key: randomUUID(), calls: sessions.size };
    sessions.set(made.key, made);
    return made;
  }
  return sessions.get(key);
}

async function answer(sessions: Map<string, Session>, request: IncomingMessage, response: ServerResponse) {
  const message = JSON.parse(await body(request));
  response.end(JSON.stringify(session(sessions, message, String(request.headers["x-session"]))));
}

export function serve(port: number) {
  const sessions = new Map<string, Session>();
  createServer((request, response) => void answer(sessions, request, response)).listen(port);
}

serve(3000);
