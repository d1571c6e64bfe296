// Streamable HTTP: POST for both eras; sessions, GET, DELETE and resumption for the legacy one.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { EventStream } from './events.mjs';
import { checkHeaders } from './headers.mjs';
import { LEGACY, Session, isModern } from './protocol.mjs';

const LARGEST = 16 * 1024 * 1024;

export function serveHttp(server, port) {
  const sessions = new Map();
  const http = createServer((request, response) => {
    answer(server, sessions, request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  http.listen(port, '127.0.0.1', () => {
    process.stdout.write(`listening http://127.0.0.1:${http.address().port}/mcp\n`);
  });
}

async function answer(server, sessions, request, response) {
  if (!isLocal(request.headers.host) || (request.headers.origin && !isLocal(host(request.headers.origin)))) {
    return refuse(response, 403, -32600, 'Host or Origin is not of this machine');
  }
  if (request.method === 'GET' && server.era !== 'modern') return openStream(sessions, request, response);
  if (request.method === 'DELETE' && server.era !== 'modern') return endSession(server, sessions, request, response);
  if (request.method !== 'POST') {
    response.writeHead(405, { Allow: server.era === 'modern' ? 'POST' : 'GET, POST, DELETE' });
    return response.end();
  }
  const text = await body(request);
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return refuse(response, 400, -32700, 'Parse error');
  }
  const modern = server.era ? server.era === 'modern' : isModern(message, request.headers);
  const session = modern ? new Session(server, () => {}) : findSession(server, sessions, message, request, response);
  if (session) await exchange(session, message, text, request, response, modern);
}

/**
 * One POST: an answer in plain JSON, unless something is sent before it or the server likes events for this method
 * (`streams`); then everything goes as events.
 */
async function exchange(session, message, text, request, response, modern) {
  const stream = new EventStream(session);
  const head = session.key ? { 'Mcp-Session-Id': session.key } : {};
  const channel = {
    headers: request.headers,
    http: true,
    checkHeaders: modern ? checkHeaders : undefined,
    send(out) {
      if (!stream.opened) stream.attach(response, head);
      stream.send(JSON.stringify(out));
    },
    /** Ends the connection and keeps the stream: the client has to come back for the rest. */
    hangUp() {
      if (!stream.opened) stream.attach(response, head);
      stream.hangUp();
    },
  };
  if (modern) response.on('close', () => session.running.get(message.id)?.cancel());
  const out = await session.handle(message, text, channel);
  const asEvents = session.server.streams?.(message.method ?? '') && accepts(request, 'text/event-stream');
  if (message.method === undefined || message.id === undefined) {
    response.writeHead(202, head);
    response.end();
  } else if (out && (stream.opened || (asEvents && out.status === 200))) {
    if (!stream.opened) stream.attach(response, head);
    stream.finish(out.text);
  } else if (out) {
    response.writeHead(out.status, { 'Content-Type': 'application/json', ...head });
    response.end(out.text);
  } else {
    response.destroy();
  }
}

function findSession(server, sessions, message, request, response) {
  const version = request.headers['mcp-protocol-version'];
  if (version !== undefined && !LEGACY.includes(version)) {
    return refuse(response, 400, -32600, `No such protocol version: ${version}`);
  }
  if (message.method === 'initialize') {
    const session = new Session(server, (out) => session.standalone.send(JSON.stringify(out)));
    session.key = randomUUID();
    session.streams = new Map();
    session.standalone = new EventStream(session);
    sessions.set(session.key, session);
    return session;
  }
  return known(sessions, request, response);
}

function known(sessions, request, response) {
  const key = request.headers['mcp-session-id'];
  if (key === undefined) return refuse(response, 400, -32600, 'No Mcp-Session-Id');
  return sessions.get(key) ?? refuse(response, 404, -32600, 'No such session');
}

function openStream(sessions, request, response) {
  const session = known(sessions, request, response);
  if (!session) return;
  if (!accepts(request, 'text/event-stream')) {
    refuse(response, 406, -32600, 'Accept must name text/event-stream');
    return;
  }
  const head = { 'Mcp-Session-Id': session.key };
  const last = request.headers['last-event-id'];
  if (last === undefined) {
    session.standalone.attach(response, head);
    return;
  }
  const [name, number] = last.split('_');
  const stream = session.streams.get(name);
  if (stream) stream.attach(response, head, Number(number) + 1);
  else refuse(response, 400, -32600, 'No such event');
}

function endSession(server, sessions, request, response) {
  const session = known(sessions, request, response);
  if (!session) return;
  sessions.delete(session.key);
  server.hub.sessions.delete(session);
  session.standalone.hangUp();
  response.writeHead(200);
  response.end();
}

function refuse(response, status, code, message) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

async function body(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > LARGEST) throw new Error('body too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function host(origin) {
  try {
    return new URL(origin).host;
  } catch {
    return origin;
  }
}

function accepts(request, type) {
  return request.headers.accept?.includes(type) ?? false;
}

function isLocal(name = '') {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(name);
}
