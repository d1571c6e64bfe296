// Newline-delimited JSON-RPC on standard input and output.

import { createInterface } from 'node:readline';
import { Session } from './protocol.mjs';

export function serveStdio(server) {
  const write = (text) => process.stdout.write(`${text}\n`);
  const send = (message) => write(JSON.stringify(message));
  const session = new Session(server, send);
  // `write` is for the tools that misbehave.
  const stream = { send, write };
  const open = new Set();
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      send({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } });
      return;
    }
    const answered = session.handle(message, line, stream).then((answer) => answer && write(answer.text));
    open.add(answered);
    answered.finally(() => open.delete(answered));
  });
  // The client is gone. Calls end as they would, but one that never ends must not keep the process.
  lines.on('close', async () => {
    const patience = new Promise((resolve) => setTimeout(resolve, 2000));
    await Promise.race([Promise.allSettled(open), patience]);
    process.exit(0);
  });
}
