// Tools that break the rules or the process. `call.stream.write` is the raw output, which only stdio has.

import { RpcError } from '../lib/protocol.mjs';
import { effect, schema, text } from './effects.mjs';

const write = (call, line) => call.stream.write?.(line);

export const bad = {
  crash: {
    description: 'Has its effect, then the process dies without an answer. With `before`, it dies first.',
    inputSchema: schema({ before: { type: 'boolean' } }),
    run(args) {
      if (!args.before) effect(args);
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    },
  },
  never: {
    description: 'Has its effect and never answers, cancelled or not.',
    inputSchema: schema(),
    run(args) {
      effect(args);
      return new Promise(() => {});
    },
  },
  flood: {
    description: 'Writes `lines` lines that are no JSON and one line of `bytes` letters, then answers.',
    inputSchema: schema({ lines: { type: 'integer' }, bytes: { type: 'integer' } }),
    run(args, call) {
      for (let n = 0; n < (args.lines ?? 1000); n += 1) write(call, `noise ${n}, this is no JSON {`);
      write(call, 'y'.repeat(args.bytes ?? 1_000_000));
      effect(args);
      return text('flooded');
    },
  },
  twice: {
    description: 'Answers twice; the second answer is a lie.',
    inputSchema: schema(),
    run(args, call) {
      effect(args);
      write(call, call.answer({ result: text('first') }).text);
      return text('second');
    },
  },
  wrong_id: {
    description: 'Answers an id that nobody asked with, then the right one unless `only` is true.',
    inputSchema: schema({ only: { type: 'boolean' } }),
    run(args, call) {
      effect(args);
      write(call, call.answer({ result: text('astray') }, 200, '"nobody-asked-this"').text);
      return args.only ? new Promise(() => {}) : text('right');
    },
  },
  half: {
    description: 'Has its effect, writes half an answer and dies.',
    inputSchema: schema(),
    run(args, call) {
      effect(args);
      process.stdout.write(`{"jsonrpc":"2.0","id":${call.rawId},"result":{"conte`);
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    },
  },
  rpc_error: {
    description: 'A JSON-RPC error with `code`, after the effect.',
    inputSchema: schema({ code: { type: 'integer' }, message: { type: 'string' }, data: {} }, ['code']),
    run(args) {
      effect(args);
      throw new RpcError(args.code, args.message ?? 'refused', args.data);
    },
  },
};
