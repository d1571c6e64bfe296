// A server whose every effect is a line in a file, and which can misbehave on request.
//
//   node ledger.mjs [--stdio | --http PORT] [--era legacy|modern] [--page N]
//
// Every tool takes `file` and `line`: the line is appended to the file, once per execution, before the answer. `count`
// reads it back, so a test knows how often a call really ran. `answerWhen` names a file: the answer waits until that
// file exists, and a test can act between the effect and the answer without guessing times.

import { option, start } from './lib/main.mjs';
import { RpcError } from './lib/protocol.mjs';
import { tools } from './ledger/tools.mjs';

const page = Number(option('page') ?? 1000);
/** Grows with the tool `list_changed`. */
const extras = [];

const shown = () => [
  ...Object.entries(tools).map(([name, { run, ...rest }]) => ({ name, ...rest })),
  ...extras.map((name) => ({ name, description: 'Appeared later.', inputSchema: { type: 'object' } })),
];

const server = {
  info: { name: 'ledger', version: '1.0.0' },
  capabilities: () => ({ tools: { listChanged: true }, logging: {} }),
  tool: (name) => shown().find((tool) => tool.name === name),
  extras,
  handlers: {
    'tools/list'(params, call) {
      const from = params.cursor === undefined ? 0 : Number(params.cursor);
      const all = shown();
      if (!Number.isInteger(from) || from < 0 || from > all.length) throw new RpcError(-32602, 'Invalid cursor');
      const next = from + page < all.length ? { nextCursor: String(from + page) } : {};
      return { tools: all.slice(from, from + page), ...next, ...(call.modern && { ttlMs: 0, cacheScope: 'public' }) };
    },
    'tools/call'(params, call) {
      const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined;
      if (!tool) throw new RpcError(-32602, `Unknown tool: ${params.name}`);
      return tool.run(params.arguments ?? {}, call);
    },
  },
};

start(server);
