// What the ledger's tools have in common.

import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Properties that every tool has. */
export const common = {
  file: { type: 'string', description: 'The ledger.' },
  line: { type: 'string', description: 'What to append to it, before the answer.' },
  answerWhen: { type: 'string', description: 'Answer only when this file exists.' },
};

export const schema = (properties = {}, required = []) => ({
  type: 'object',
  properties: { ...common, ...properties },
  required,
});

export const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });

/** One write call: lines of concurrent executions never mix. */
export function effect({ file, line }) {
  if (file !== undefined && line !== undefined) appendFileSync(file, `${line}\n`);
}

export async function until(file) {
  while (file !== undefined && !existsSync(file)) await delay(5);
}

export { delay };
