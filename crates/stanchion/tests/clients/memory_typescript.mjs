// Uses a memory server through the official TypeScript SDK:
//   node memory_typescript.mjs NODE_MODULES COMMAND ARGS...
// Prints one JSON object: the tools, what a search found, what a wrong call was told, and the resource in the end.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, command, ...args] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');

const client = new Client({ name: 'test', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
const call = (name, input) => client.callTool({ name, arguments: input });
const person = (name) => ({ name, entityType: 'person', observations: ['first'] });
await call('create_entities', { entities: [person('Ada'), person('Brook')] });
await call('create_relations', { relations: [{ from: 'Ada', to: 'Brook', relationType: 'knows' }] });
await call('add_observations', { observations: [{ entityName: 'Ada', contents: ['second'] }] });
const found = await call('search_nodes', { query: 'SECOND' });
const refused = await call('add_observations', { observations: [{ entityName: 'Nobody', contents: ['x'] }] });
await call('delete_entities', { entityNames: ['Brook'] });
const resource = await client.readResource({ uri: 'memory://knowledge-graph' });
await client.close();
const report = {
  tools: tools.map((tool) => tool.name),
  found: found.structuredContent,
  refused: refused.isError ? refused.content[0].text : null,
  resource: resource.contents[0].text,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
