// Calls `append` twice under one key through the official TypeScript SDK:
//   node typescript_sdk.mjs NODE_MODULES LEDGER KEY COMMAND ARGS...
// Prints one JSON object: the names of the tools, and each call's text and replay mark.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, ledger, key, command, ...args] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');

const client = new Client({ name: 'test', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
const calls = [];
for (let n = 0; n < 2; n += 1) {
  const result = await client.callTool({
    name: 'append',
    arguments: { file: ledger, line: 'typescript' },
    _meta: { 'dev.stanchion/idempotencyKey': key },
  });
  calls.push({ text: result.content[0].text, replayed: result._meta?.['dev.stanchion/replayed'] ?? false });
}
await client.close();
process.stdout.write(`${JSON.stringify({ tools: tools.map((tool) => tool.name), calls })}\n`);
