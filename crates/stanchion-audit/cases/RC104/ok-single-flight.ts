// One who comes meanwhile waits for the same promise, or is sent away.
import { chromium } from "playwright";

let found: string | null = null;
let pending: Promise<string> | null = null;
let browser: unknown;
let starting = false;

export async function where(): Promise<string> {
  if (found !== null) return found;
  if (pending) return pending;
  pending = (async () => {
    const path = await chromium.executablePath();
    found = path;
    return path;
  })();
  return pending;
}

export async function start() {
  if (browser || starting) return;
  starting = true;
  try {
    browser = await chromium.launch();
  } finally {
    starting = false;
  }
}

const sessions = new Map<string, unknown>();

export async function open(id: string | undefined) {
  let session = id ? sessions.get(id) : undefined;
  session ??= await chromium.launch();
  const key = String(session);
  if (!sessions.has(key)) sessions.set(key, session);
}
