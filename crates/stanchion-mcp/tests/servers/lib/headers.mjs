// The modern era repeats parts of the body in headers, and a server must refuse a request whose two halves differ.

import { META, RpcError } from './protocol.mjs';

const NAMED = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

export function checkHeaders(call) {
  const { headers } = call.stream;
  same('MCP-Protocol-Version', headers, call.meta[`${META}protocolVersion`]);
  same('Mcp-Method', headers, call.method);
  const member = NAMED[call.method];
  if (member) same('Mcp-Name', headers, call.params[member]);
  const tool = call.method === 'tools/call' && call.server.tool?.(call.params.name);
  for (const [name, schema] of Object.entries(tool?.inputSchema?.properties ?? {})) {
    const suffix = schema['x-mcp-header'];
    if (suffix !== undefined) same(`Mcp-Param-${suffix}`, headers, call.params.arguments?.[name]);
  }
}

function same(header, headers, value) {
  const sent = headers[header.toLowerCase()];
  const absent = value === undefined || value === null;
  if (sent === undefined && absent) return;
  if (sent !== undefined && !absent && decode(sent.trim()) === String(value)) return;
  throw new RpcError(-32020, `Header mismatch: ${header}`, undefined, 400);
}

/** `=?base64?…?=` stands for text that no header can hold; undefined when what stands between is not base64. */
function decode(text) {
  const wrapped = /^=\?base64\?(.*)\?=$/.exec(text);
  if (!wrapped) return text;
  const bytes = Buffer.from(wrapped[1], 'base64');
  return bytes.toString('base64') === wrapped[1] ? bytes.toString('utf8') : undefined;
}
