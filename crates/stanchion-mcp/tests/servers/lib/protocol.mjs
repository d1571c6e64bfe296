// What both transports share: the two eras of MCP, sessions, running calls, and who is told of changes.
//
// A server is `{ info, hub, era, capabilities, handlers, legacy, modern }`: `handlers` answers methods of both eras,
// the last two those of one era; `era` may restrict it to one. A handler gets `(params, call)` and returns a result or
// throws an RpcError.

import { rawMember } from './raw.mjs';

export const MODERN = '2026-07-28';
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
/** The prefix of the protocol's own `_meta` members. */
export const META = 'io.modelcontextprotocol/';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** What a handler returns when the call shall stay without an answer. */
export const NO_ANSWER = Symbol('no answer');

/** An error answer. `status` is for HTTP, and only in the modern era. */
export class RpcError extends Error {
  constructor(code, message, data, status = 200) {
    super(message);
    Object.assign(this, { code, data, status });
  }
}

/** Every open legacy session and every open modern subscription, so that changes reach all of them. */
export class Hub {
  sessions = new Set();
  listeners = new Set();

  /** Tells everybody who may hear it. `filter` names the member of a modern subscription that asks for it. */
  announce(method, params, filter, wants = () => true) {
    for (const session of this.sessions) {
      if (wants(session)) session.send({ jsonrpc: '2.0', method, ...(params && { params }) });
    }
    for (const listener of this.listeners) {
      if (!listener.asks(filter, params)) continue;
      const _meta = { [`${META}subscriptionId`]: listener.id };
      listener.send({ jsonrpc: '2.0', method, params: { ...params, _meta } });
    }
  }
}

/** One client's state. The modern era has none, so there it is only the list of running calls. */
export class Session {
  pending = new Map();
  running = new Map();
  subscriptions = new Set();
  version = LEGACY[0];
  clientCapabilities = {};
  level = 'debug';
  #next = 1;

  constructor(server, send) {
    this.server = server;
    this.send = send;
  }

  /** Answers one message, or undefined when it wants no answer. `stream.send` carries what belongs to the call. */
  async handle(message, text, stream) {
    if (message.method === undefined) return this.#settle(message);
    if (message.id === undefined) return this.#notified(message);
    const call = new Call(this, message, text, stream);
    this.running.set(message.id, call);
    try {
      const result = await this.#dispatch(call);
      return result === NO_ANSWER || call.silenced ? undefined : call.answer({ result });
    } catch (error) {
      if (call.silenced) return undefined;
      return call.answer({ error: describe(error) }, error.status);
    } finally {
      this.running.delete(message.id);
    }
  }

  /** A request from the server to the client. */
  ask(stream, method, params) {
    const id = this.#next;
    this.#next += 1;
    const answered = new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
    stream.send({ jsonrpc: '2.0', id, method, params });
    return answered;
  }

  #settle(message) {
    const waiting = this.pending.get(message.id);
    this.pending.delete(message.id);
    if (message.error) waiting?.reject(new RpcError(message.error.code, message.error.message, message.error.data));
    else waiting?.resolve(message.result);
  }

  #notified(message) {
    if (message.method === 'notifications/cancelled') this.running.get(message.params?.requestId)?.cancel();
  }

  async #dispatch(call) {
    const { server } = this;
    const own = call.modern ? server.modern : server.legacy;
    const handler = own?.[call.method] ?? server.handlers[call.method] ?? basics(call.modern)[call.method];
    if (!handler) throw new RpcError(-32601, `Method not found: ${call.method}`, undefined, 404);
    if (call.modern) checkMeta(call);
    const result = await handler(call.params, call);
    return call.modern && result !== NO_ANSWER ? complete(result, server) : result;
  }
}

/** One request that is being answered. */
export class Call {
  #abort = new AbortController();

  constructor(session, message, text, stream) {
    Object.assign(this, { session, text, stream, server: session.server, id: message.id, method: message.method });
    this.params = message.params ?? {};
    this.meta = this.params._meta ?? {};
    this.modern = this.server.era ? this.server.era === 'modern' : isModern(message, stream.headers);
    this.rawId = rawMember(text, 'id');
    this.clientCapabilities = this.modern ? this.meta[`${META}clientCapabilities`] : session.clientCapabilities;
    /** Set by a handler that honours a cancellation: nothing more is written for this call. */
    this.silenced = false;
  }

  get signal() {
    return this.#abort.signal;
  }

  cancel() {
    this.#abort.abort();
  }

  notify(method, params) {
    this.stream.send({ jsonrpc: '2.0', method, params });
  }

  /** Legacy era only: the modern one has no requests from the server. */
  request(method, params) {
    return this.session.ask(this.stream, method, params);
  }

  progress(progress, total, message) {
    const { progressToken } = this.meta;
    if (progressToken === undefined) return;
    this.notify('notifications/progress', { progressToken, progress, total, ...(message && { message }) });
  }

  log(level, data, logger = 'test') {
    const least = this.modern ? this.meta[`${META}logLevel`] : this.session.level;
    if (least === undefined || LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
    this.notify('notifications/message', { level, logger, data });
  }

  /** An answer as text, under exactly the id that came. `rawResult` replaces the result's text. */
  answer(body, status = 200, rawId = this.rawId) {
    const member = body.rawResult === undefined ? JSON.stringify(body).slice(1, -1) : `"result":${body.rawResult}`;
    return { text: `{"jsonrpc":"2.0","id":${rawId},${member}}`, status: this.modern ? status : 200 };
  }
}

/** Is this message of the stateless era? Over HTTP the version header says so too. */
export function isModern(message, headers) {
  const version = headers?.['mcp-protocol-version'];
  const claimed = message.params?._meta?.[`${META}protocolVersion`] !== undefined;
  return claimed || message.method === 'server/discover' || (version !== undefined && !LEGACY.includes(version));
}

function checkMeta(call) {
  for (const member of ['protocolVersion', 'clientCapabilities']) {
    const kind = member === 'protocolVersion' ? 'string' : 'object';
    const value = call.meta[META + member];
    if (typeof value !== kind || value === null) {
      throw new RpcError(-32602, `_meta lacks ${META}${member}`, undefined, 400);
    }
  }
  call.stream.checkHeaders?.(call);
  const requested = call.meta[`${META}protocolVersion`];
  if (requested !== MODERN) {
    throw new RpcError(-32022, 'Unsupported protocol version', { supported: [MODERN], requested }, 400);
  }
}

function complete(result, server) {
  const _meta = { ...result._meta, [`${META}serverInfo`]: server.info };
  return { resultType: 'complete', ...result, _meta };
}

function describe(error) {
  if (!(error instanceof RpcError)) return { code: -32603, message: String(error) };
  return { code: error.code, message: error.message, ...(error.data !== undefined && { data: error.data }) };
}

/** What every server answers alike. */
function basics(modern) {
  return modern ? MODERN_BASICS : LEGACY_BASICS;
}

const LEGACY_BASICS = {
  initialize(params, { session, server }) {
    session.version = LEGACY.includes(params.protocolVersion) ? params.protocolVersion : LEGACY[0];
    session.clientCapabilities = params.capabilities ?? {};
    server.hub.sessions.add(session);
    return { protocolVersion: session.version, capabilities: server.capabilities(false), serverInfo: server.info };
  },
  ping: () => ({}),
  'logging/setLevel'(params, { session }) {
    if (!LEVELS.includes(params.level)) throw new RpcError(-32602, `No such level: ${params.level}`);
    session.level = params.level;
    return {};
  },
};

const MODERN_BASICS = {
  'server/discover': (_params, { server }) => ({
    supportedVersions: [MODERN],
    capabilities: server.capabilities(true),
    ttlMs: 0,
    cacheScope: 'public',
  }),
  'subscriptions/listen'(params, call) {
    const asked = params.notifications ?? {};
    const listener = {
      id: call.id,
      send: (message) => call.stream.send(message),
      asks: (filter, about) =>
        filter === 'resourceSubscriptions' ? asked[filter]?.includes(about.uri) : asked[filter] === true,
    };
    const _meta = { [`${META}subscriptionId`]: call.id };
    call.notify('notifications/subscriptions/acknowledged', { notifications: asked, _meta });
    call.server.hub.listeners.add(listener);
    return new Promise((resolve) => {
      call.signal.addEventListener('abort', () => {
        call.server.hub.listeners.delete(listener);
        resolve(NO_ANSWER);
      });
    });
  },
};
