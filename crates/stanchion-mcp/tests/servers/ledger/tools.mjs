// The ledger's tools: the honest ones here, those that misbehave in bad.mjs, those that ask the client in asking.mjs.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { asking } from './asking.mjs';
import { bad } from './bad.mjs';
import { delay, effect, schema, text, until } from './effects.mjs';

const lines = (file) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0);

export const tools = {
  append: {
    description: 'Appends a line to a file. `delayMs` passes before the effect.',
    inputSchema: schema({ delayMs: { type: 'integer' } }, ['file', 'line']),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
    async run(args) {
      await delay(args.delayMs ?? 0);
      effect(args);
      await until(args.answerWhen);
      return text('appended');
    },
  },
  bump: {
    description: 'Adds 1 to the number in a file, and loses updates when two run at once. `delayMs` is the gap.',
    inputSchema: schema({ delayMs: { type: 'integer' } }, ['file']),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
    async run({ file, delayMs = 1 }) {
      const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
      await delay(delayMs);
      // stanchion-audit: ignore RC101, RC302 -- the race that the tests of the gateway need
      writeFileSync(file, String(before + 1));
      return text(before + 1);
    },
  },
  set: {
    description: 'Replaces the content of a file: the same effect however often it runs.',
    inputSchema: schema({}, ['file', 'line']),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    run({ file, line }) {
      // stanchion-audit: ignore RC302 -- the race that the tests of the gateway need
      writeFileSync(file, line);
      return text('set');
    },
  },
  count: {
    description: 'How many lines a file has.',
    inputSchema: schema({}, ['file']),
    annotations: { readOnlyHint: true },
    run: ({ file }) => ({ ...text(lines(file)), structuredContent: { lines: lines(file) } }),
  },
  echo: {
    description: 'The params as JSON text; with `raw`, the whole message exactly as it arrived; with `headers`, those.',
    inputSchema: schema({ raw: { type: 'boolean' }, headers: { type: 'boolean' } }),
    annotations: { readOnlyHint: true },
    run: (args, call) => text(args.raw ? call.text : JSON.stringify(args.headers ? call.stream.headers : call.params)),
  },
  answer: {
    description: 'Answers with `result`, a JSON text, byte for byte.',
    inputSchema: schema({ result: { type: 'string' } }, ['result']),
    annotations: { readOnlyHint: true },
    run(args, call) {
      call.answer = () => ({ text: `{"jsonrpc":"2.0","id":${call.rawId},"result":${args.result}}`, status: 200 });
      return {};
    },
  },
  slow: {
    description: 'Answers after `ms`.',
    inputSchema: schema({ ms: { type: 'integer' } }, ['ms']),
    async run(args) {
      effect(args);
      await delay(args.ms);
      return text('slow');
    },
  },
  cancellable: {
    description: 'Runs for `ms`, or until it is cancelled when `honour` is true; then neither effect nor answer.',
    inputSchema: schema(
      {
        ms: { type: 'integer' },
        honour: { type: 'boolean' },
        started: { type: 'string', description: 'A file that is made when the call begins.' },
        cancelled: { type: 'string', description: 'A file that is made when the cancellation arrives.' },
      },
      ['ms'],
    ),
    async run(args, call) {
      const honoured = new Promise((resolve) => {
        call.signal.addEventListener('abort', () => {
          if (args.cancelled) writeFileSync(args.cancelled, '');
          if (args.honour) resolve((call.silenced = true));
        });
      });
      if (args.started) writeFileSync(args.started, '');
      await Promise.race([honoured, delay(args.ms)]);
      if (call.silenced) return {};
      effect(args);
      await until(args.answerWhen);
      return text('finished');
    },
  },
  progress: {
    description: 'Tells its progress `steps` times, `ms` apart.',
    inputSchema: schema({ steps: { type: 'integer' }, ms: { type: 'integer' } }, ['steps']),
    async run(args, call) {
      for (let step = 1; step <= args.steps; step += 1) {
        call.progress(step, args.steps, `step ${step}`);
        await delay(args.ms ?? 0);
      }
      effect(args);
      return text('done');
    },
  },
  list_changed: {
    description: 'Adds one more tool and says that the list has changed.',
    inputSchema: schema(),
    run(_args, call) {
      const { extras, hub } = call.server;
      extras.push(`extra_${extras.length + 1}`);
      hub.announce('notifications/tools/list_changed', undefined, 'toolsListChanged');
      return text(extras.at(-1));
    },
  },
  pid: {
    description: 'The process of this server.',
    inputSchema: schema(),
    annotations: { readOnlyHint: true },
    run: () => text(process.pid),
  },
  big: {
    description: 'An answer with a text of `bytes` letters.',
    inputSchema: schema({ bytes: { type: 'integer' } }, ['bytes']),
    run(args) {
      effect(args);
      return text('x'.repeat(args.bytes));
    },
  },
  fail: {
    description: 'A result with isError, after the effect.',
    inputSchema: schema({ message: { type: 'string' } }),
    run(args) {
      effect(args);
      return { ...text(args.message ?? 'failed'), isError: true };
    },
  },
  ...asking,
  ...bad,
};
