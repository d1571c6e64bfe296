// One call of `append` over Streamable HTTP through the official TypeScript SDK, which comes back when it is hung up on:
//   node typescript_http.mjs NODE_MODULES URL LEDGER GO
// The answer is let go (the file GO is made) once the client has come back twice. Prints one JSON object.

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, url, ledger, go] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');

const resumed = [];
const counting = (input, init) => {
  const id = new Headers(init?.headers).get('last-event-id');
  if (id !== null) resumed.push(id);
  if (resumed.length === 2) writeFileSync(go, '');
  return fetch(input, init);
};
const client = new Client({ name: 'test', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: counting }));
const result = await client.callTool({
  name: 'append',
  arguments: { file: ledger, line: 'typescript', answerWhen: go },
});
await client.close();
process.stdout.write(`${JSON.stringify({ text: result.content[0].text, resumed: resumed.length })}\n`);
